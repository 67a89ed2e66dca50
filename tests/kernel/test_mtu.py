# SPDX-License-Identifier: Apache-2.0
"""Packets of other sizes than 1500 bytes: jumbo frames, IPv6's least, and what a tunnel leaves."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ccbench import Bottleneck, Change, Flow, Noise, Scenario
from ccbench.experiment.impairments import Policer
from ccbench.experiment.receiver import Receiver
from ccbench.run.tables import NO_FLOW
from tests.kernel.conftest import check_estimate, events, run
from tests.scenarios import flat

pytestmark = pytest.mark.kernel

SIZES = pytest.mark.parametrize("mtu", [576, 1280, 1420, 9000, 9216])
CCAS = ("reno", "cubic", "bbr", "bbr3", "vegas", "copa", "nimbus", "rapid", "dctcp")


def path(*flows: Flow, mtu: int, link: dict[str, Any] | None = None, **settings: Any) -> Scenario:
    """Return a path of 50 Mbit/s and 40 ms whose full packets have this size."""
    bottleneck = Bottleneck(**{"bandwidth_mbps": 50, "queue_bdp": 1, **(link or {})})
    return flat(
        **{
            "flows": flows or (Flow(),),
            "bottlenecks": (bottleneck,),
            "rtt_ms": 40,
            "duration_s": 5,
            "mtu_bytes": mtu,
            **settings,
        }
    )


class TestPackets:
    @SIZES
    def test_tcp(self, mtu: int) -> None:
        """Full packets of TCP have the size, none is larger, and the link is full."""
        result = run(path(mtu=mtu))
        sizes = events(result, "enqueue")["bytes"]
        assert sizes.max() == mtu
        assert (sizes == mtu).mean() > 0.95
        assert result.bottleneck_summary()["utilisation"].iloc[0] > 0.9
        check_estimate(result)

    @pytest.mark.parametrize("mtu", [1280, 9000])
    def test_ipv6(self, mtu: int) -> None:
        """Packets of IPv6 have the same size, in either direction."""
        flows = Flow(ip_version=6), Flow(ip_version=6, direction="reverse")
        back = Bottleneck(bandwidth_mbps=50, queue_bdp=1)
        result = run(path(*flows, mtu=mtu, reverse_bottlenecks=(back,)))
        assert {events(result, "enqueue", i)["bytes"].max() for i in (0, 1)} == {mtu}

    @pytest.mark.parametrize("cca", CCAS)
    @pytest.mark.parametrize("mtu", [1280, 9000])
    def test_ccas(self, cca: str, mtu: int) -> None:
        """Each congestion control fills a link with packets of any size."""
        result = run(path(Flow(cca=cca), mtu=mtu, duration_s=10))
        assert events(result, "enqueue")["bytes"].max() == mtu
        sent = result.throughput(1.0)[0].iloc[3:].mean()
        assert 0.75 * 50 < sent <= 50.01, cca

    def test_udp(self) -> None:
        """UDP has packets of up to the size, at its rate."""
        flow = Flow(kind="cbr", rate_mbps=20, packet_bytes=9000)
        result = run(path(flow, mtu=9000))
        arrived = events(result, "enqueue")
        assert (arrived["bytes"] == 9000).all()
        assert len(arrived) == pytest.approx(5 * 20e6 / 8 / 9000, abs=1)
        assert result.summary()["goodput_mbps"].iloc[0] == pytest.approx(20 * 8972 / 9000, rel=0.01)

    @pytest.mark.parametrize("mtu", [1280, 9000])
    def test_default(self, mtu: int) -> None:
        """A path of another MTU differs, and one of 1500 is the same as without the setting."""
        plain = path(mtu=1500)
        assert (
            plain.key()
            == replace(plain, path=replace(plain.path, mtu_bytes=1500)).key()
            != path(mtu=mtu).key()
        )


class TestLinks:
    @SIZES
    def test_service_times(self, mtu: int) -> None:
        """Successive full packets leave a full link at exactly their transmission time."""
        result = run(path(mtu=mtu))
        left = events(result, "dequeue")
        full = (left["bytes"].to_numpy()[:-1] == mtu) & (left["bytes"].to_numpy()[1:] == mtu)
        gaps_ns = np.diff(left["time_ns"])[full]
        busy = gaps_ns[gaps_ns < 1.5 * mtu * 8e3 / 50]
        assert busy.size > 0.5 * full.sum()
        assert np.median(busy) == pytest.approx(mtu * 8e3 / 50, abs=1)

    @SIZES
    def test_queue(self, mtu: int) -> None:
        """A queue of one BDP holds as many bytes as with packets of any size."""
        scenario = path(mtu=mtu)
        packets = scenario.path.bottlenecks[0].queue_packets
        assert packets == max(1, round(50e6 / 8 * 0.04 / mtu))
        assert run(scenario).queue_events()["event"].eq("drop").any()

    @pytest.mark.parametrize("qdisc", ["bfifo", "red", "tbf", "cake"])
    @pytest.mark.parametrize("mtu", [1280, 9000])
    def test_limits_in_bytes(self, qdisc: str, mtu: int) -> None:
        """A qdisc with a limit in bytes or memory holds about so many full packets."""
        options = {"tbf": {"rate_mbps": 40}, "red": {"max_packets": 99, "min_packets": 98}}
        link: dict[str, Any] = {"queue_bdp": None, "queue_packets": 100, "qdisc": qdisc}
        link |= {"qdisc_options": options.get(qdisc, {})}
        flow = Flow(kind="cbr", rate_mbps=80, packet_bytes=mtu)
        result = run(path(flow, mtu=mtu, link=link, duration_s=3))
        log = result.queue_events()
        signs = log["event"].map({"enqueue": 1, "dequeue": -1, "drop": -1}).fillna(0)
        assert 55 <= signs.cumsum().max() <= 102

    def test_changed_limit(self) -> None:
        """A change of a limit in bytes counts packets of the path's size as well."""
        link = {"queue_bdp": None, "queue_packets": 100, "qdisc": "bfifo"}
        flow = Flow(kind="cbr", rate_mbps=80, packet_bytes=9000)
        change = Change(at_s=1, queue_packets=30)
        result = run(path(flow, mtu=9000, link=link, duration_s=3, changes=(change,)))
        log = result.queue_events()
        signs = log["event"].map({"enqueue": 1, "dequeue": -1, "drop": -1}).fillna(0).cumsum()
        late = signs[log["time_ns"] > 2e9]
        assert signs.max() == pytest.approx(100, abs=2)
        assert late.max() == pytest.approx(30, abs=2)

    def test_background(self) -> None:
        """Background traffic has packets of the size, and its share of the rate."""
        result = run(path(mtu=9000, noise=Noise(background_share=0.2), duration_s=20))
        arrived = events(result, "enqueue")
        arrived = arrived[arrived["flow"] == NO_FLOW]
        assert (arrived["bytes"] == 9000).all()
        expected = 0.2 * 50e6 / 8 / 9000 * 20
        assert len(arrived) == pytest.approx(expected, abs=4 * math.sqrt(expected))

    def test_policer(self) -> None:
        """A policer passes its rate in packets of the size."""
        policer = Policer(rate_mbps=10, burst_bytes=18_000)
        flow = Flow(kind="cbr", rate_mbps=40, packet_bytes=9000)
        result = run(path(flow, mtu=9000, link={"policer": policer}))
        passed = events(result, "enqueue")["bytes"].sum()
        assert passed == pytest.approx(5 * 10e6 / 8 + 18_000, abs=9000)


class TestHosts:
    def test_rate(self) -> None:
        """An application at a rate offers exactly this payload, in packets of the size."""
        result = run(path(Flow(kind="rate", rate_mbps=8), mtu=9000, duration_s=20))
        assert result.summary()["goodput_mbps"].iloc[0] == pytest.approx(8, rel=0.01)

    def test_window(self) -> None:
        """A limited receive window bounds throughput to a window per round trip."""
        flow = Flow(receiver=Receiver(window_bytes=100_000))
        result = run(path(flow, mtu=9000, link={"bandwidth_mbps": 1000}))
        goodput = result.goodput(1.0)[0].iloc[2:].mean()
        # Of the window, a packet may not fit.
        assert 0.88 * 100_000 <= goodput * 1e6 / 8 * 0.04 <= 100_000

    def test_square_root_law(self) -> None:
        """Reno's rate at a share of losses grows with the size of packets (Mathis 1997)."""

        def mbps(mtu: int) -> float:
            link = {"bandwidth_mbps": 1000, "queue_packets": 10_000, "queue_bdp": None}
            flows = (Flow(cca="reno", acks="every", count=5),)
            scenario = path(*flows, mtu=mtu, link={**link, "loss": 0.002}, duration_s=60)
            return float(run(scenario).summary()["throughput_mbps"].mean())

        assert mbps(9000) / mbps(1500) == pytest.approx(6, rel=0.15)
