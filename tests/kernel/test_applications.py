# SPDX-License-Identifier: Apache-2.0
"""Changes of applications take effect at their time or event, and offer the given rate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from ccbench import Bottleneck, Change, Flow, Run, Scenario, When
from ccbench.emulate._load import packets
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.run.tables import RUN_TABLES
from tests.kernel.conftest import run
from tests.scenarios import flat

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.kernel

LINK = Bottleneck(bandwidth_mbps=20, queue_bdp=1)
#: Payload of a full packet over either version of IP.
MSS = {4: 1448, 6: 1428}
#: Rate at which TCP's application is unlimited.
UNLIMITED_MBPS = 100_000


def path(*flows: Flow, changes: tuple[Change, ...] = (), **settings: Any) -> Scenario:
    """Return a scenario over a link of 20 Mbit/s and 40 ms in each direction."""
    values = {"rtt_ms": 40, "duration_s": 10, "sample_interval_ms": 10, **settings}
    links = {"bottlenecks": (LINK,), "reverse_bottlenecks": (LINK,)}
    return flat(flows=flows or (Flow(),), changes=changes, **{**links, **values})


def app(at_s: float, rate_mbps: float, flow: int = 0) -> Change:
    """Return a change of an application."""
    return Change(at_s=at_s, flow=flow, app_rate_mbps=rate_mbps)


def delivered_bytes(result: Run, start_s: float, end_s: float, flow: int = 0) -> float:
    """Return the payload that arrived between two sampling times."""
    so_far = result.samples("delivered_bytes")[flow]
    return float(so_far.loc[: end_s + 1e-9].iloc[-1] - so_far.loc[: start_s + 1e-9].iloc[-1])


def sent(result: Run, flow: int = 0) -> pd.DataFrame:
    """Return the data packets that arrived at the first queue, with their times in seconds."""
    log = result.queue_events(result.scenario.flow_table()["first_bottleneck"][flow])
    own = log[(log["flow"] == flow) & (log["event"] == "enqueue") & (log["bytes"] > 100)]
    return own.assign(time_s=own["time_ns"] / 1e9)


class TestRate:
    @pytest.mark.parametrize("direction", ["forward", "reverse"])
    @pytest.mark.parametrize("version", [4, 6])
    @pytest.mark.parametrize("kind", ["bulk", "rate"])
    def test_offered(self, kind: str, version: int, direction: str) -> None:
        """From some time after the change on, the payload that arrives is the rate times time."""
        rate: dict[str, Any] = {"rate_mbps": 8} if kind == "rate" else {}
        flow = Flow(kind=kind, ip_version=version, direction=direction, **rate)
        result = run(path(flow, changes=(app(3, 4), app(6, 12))))
        for start_s, end_s, mbps in ((4, 6, 4), (7, 10, 12)):
            expected = mbps * 1e6 / 8 * (end_s - start_s)
            arrived = delivered_bytes(result, start_s, end_s)
            assert arrived == pytest.approx(expected, abs=3 * MSS[version])

    def test_total(self) -> None:
        """On an idle path, all that arrives is the integral of the rate."""
        changes = app(2, 1), app(4.0005, 6), app(5, 0), app(7, 0.5)
        result = run(path(Flow(kind="rate", rate_mbps=2), changes=changes, duration_s=11))
        total_mbit = 2 * 2 + 1 * 2 + 6 * 1 + 0.5 * 4
        # The application writes a packet at once at each of the four starts.
        delivered = result.completions["delivered_bytes"][0]
        assert delivered == pytest.approx(total_mbit * 1e6 / 8, abs=5 * MSS[4])

    def test_conservation(self) -> None:
        """After a pause, all that was sent has arrived, retransmissions apart."""
        result = run(path(Flow(cca="cubic"), changes=(app(6, 0),)))
        done = result.completions.iloc[0]
        again = sent(result)["bytes"].sum() - 52 * len(sent(result)) - done["delivered_bytes"]
        assert done["retransmits"] > 0
        assert done["sent_bytes"] - done["delivered_bytes"] == MSS[4] * done["retransmits"]
        # The packets that were dropped at the queue are those that arrived at it again.
        assert again == MSS[4] * done["retransmits"]

    def test_every(self) -> None:
        """Periodic changes alternate two rates."""
        changes = tuple(
            Change(at_s=at_s, every_s=2, flow=0, app_rate_mbps=mbps)
            for at_s, mbps in ((1, 2), (2, 8))
        )
        result = run(path(Flow(kind="rate", rate_mbps=8), changes=changes))
        for second in range(1, 10):
            arrived = delivered_bytes(result, second + 0.1, second + 1)
            assert arrived * 8e-6 / 0.9 == pytest.approx(2 if second % 2 else 8, rel=0.02)

    def test_no_effect_before(self) -> None:
        """A change affects nothing before its time, nor packets under way."""
        plain, changed = (
            run(path(Flow(cca="bbr"), Flow(), changes=changes)).queue
            for changes in ((), (app(6, 1),))
        )
        before = [queue[queue["time_ns"] < 6e9] for queue in (plain, changed)]
        pd.testing.assert_frame_equal(before[0], before[1])
        assert len(plain) > len(changed)

    def test_one_of_a_group(self) -> None:
        """The change concerns the single flow with this number."""
        result = run(path(Flow(kind="rate", rate_mbps=5, count=3), changes=(app(3, 1, flow=1),)))
        rates = [delivered_bytes(result, 4, 9, flow) * 8e-6 / 5 for flow in range(3)]
        assert rates == pytest.approx([5, 1, 5], abs=0.01)

    @pytest.mark.parametrize("kind", ["bulk", "rate"])
    def test_before_the_start(self, kind: str) -> None:
        """A flow that starts after the change starts at its time, with the new rate."""
        rate: dict[str, Any] = {"rate_mbps": 8} if kind == "rate" else {}
        flow = Flow(kind=kind, start_s=4, **rate)
        result = run(path(flow, changes=(app(2, 3),)))
        assert sent(result)["time_s"].min() == pytest.approx(4.04, abs=0.002)
        assert delivered_bytes(result, 5, 9) == pytest.approx(3e6 / 8 * 4, abs=2 * MSS[4])

    def test_after_the_end(self) -> None:
        """A change after the end of a flow has no effect."""
        ended = path(Flow(stop_s=4), Flow(cca="reno"))
        changed = replace(ended, path=replace(ended.path, changes=(app(5, 1),)))
        pd.testing.assert_frame_equal(run(ended).queue, run(changed).queue)

    def test_estimate(self) -> None:
        """The estimate of packets remains an upper bound."""
        often = Change(at_s=1, every_s=0.002, flow=0, app_rate_mbps=6)
        for changes in ((app(2, 15),), (often,)):
            for kind in ("rate", "cbr"):
                scenario = path(Flow(kind=kind, rate_mbps=1), changes=changes)
                assert packets(scenario)[0] >= len(sent(run(scenario)))


class TestPause:
    def test_silence(self) -> None:
        """In a pause the flow sends what its socket holds, and then nothing is in flight."""
        result = run(path(Flow(), changes=(app(4, 0), app(7, UNLIMITED_MBPS))))
        inflight = result.samples("inflight_packets")[0]
        assert inflight.loc[2:4].min() > 40
        assert set(inflight.loc[5:6.99]) == {0}
        assert sent(result)["time_s"].between(5, 7, inclusive="left").sum() == 0
        assert sent(result)["time_s"].between(7, 7.001).any()
        assert delivered_bytes(result, 8.5, 10) * 8e-6 / 1.5 == pytest.approx(19.3, rel=0.05)

    def test_unlimited(self) -> None:
        """At 100,000 Mbit/s, a flow is the same as a bulk flow."""
        result = run(path(Flow(kind="rate", rate_mbps=2), changes=(app(2, UNLIMITED_MBPS),)))
        assert delivered_bytes(result, 5, 10) * 8e-6 / 5 == pytest.approx(19.3, rel=0.05)

    @pytest.mark.parametrize("limit_bytes", [16_384, 131_072])
    def test_unsent(self, limit_bytes: int) -> None:
        """tcp_notsent_lowat bounds the unsent data of the socket, but for one buffer of 64 KB."""
        limited, usual = (
            run(path(Flow(), changes=(app(5, 0),), sysctls=sysctls))
            for sysctls in ({"net.ipv4.tcp_notsent_lowat": limit_bytes}, {})
        )
        unsent = []
        for result in (limited, usual):
            late = sent(result).query("time_s > 5")
            unsent.append(late["bytes"].sum() - 52 * len(late))
            assert result.utilisation(0) > 0.49
        assert 0 < unsent[0] <= limit_bytes + 65_536
        assert unsent[1] > unsent[0]


class TestEvents:
    def test_recovery(self) -> None:
        """The application falls silent in the moment in which its flow enters recovery."""
        recovery = When(flow=0, info="state", equals="recovery")
        result = run(path(Flow(), changes=(Change(when=recovery, flow=0, app_rate_mbps=0),)))
        at_s = result.changes["time_ns"][0] / 1e9
        states = result.samples("state")[0]
        assert states.index[states == "recovery"][0] == pytest.approx(at_s, abs=0.0101)
        inflight = result.samples("inflight_packets")[0]
        assert inflight.loc[: at_s - 0.01].max() > 60
        assert set(inflight.loc[at_s + 2 :]) == {0}

    def test_state_of_bbr(self) -> None:
        """An application that is slower than the link leaves BBR's probe for bandwidth empty."""
        probes = When(flow=0, info="pacing_gain", equals=320)
        result = run(path(Flow(cca="bbr"), changes=(Change(when=probes, flow=0, app_rate_mbps=5),)))
        at_s = result.changes["time_ns"][0] / 1e9
        assert 0.3 < at_s < 5
        rate = delivered_bytes(result, at_s + 1, 10) * 8e-6 / (9 - at_s)
        assert rate == pytest.approx(5, rel=0.01)

    @pytest.mark.parametrize("packet", [1, 2, 500])
    def test_packet(self, packet: int) -> None:
        """A pause after a packet, also the SYN, ends the data that the application writes."""
        event = When(flow=0, packet=packet)
        scenario = path(Flow(), changes=(Change(when=event, flow=0, app_rate_mbps=0),))
        result = run(scenario)
        done = result.completions.iloc[0]
        # Data that the socket accepted before the event, and up to one write during it.
        assert (done["delivered_bytes"] > 0) == (packet == 500)
        assert done["sent_bytes"] < 500 * MSS[4] + 500_000
        assert set(result.samples("inflight_packets")[0].loc[2:]) == {0}

    def test_other_flow(self) -> None:
        """An event of one flow changes the application of another one."""
        event = When(flow=1, packet=50)
        flows = Flow(kind="rate", rate_mbps=6), Flow(start_s=4)
        result = run(path(*flows, changes=(Change(when=event, flow=0, app_rate_mbps=0),)))
        at_s = result.changes["time_ns"][0] / 1e9
        assert sent(result)["time_s"].max() == pytest.approx(at_s, abs=0.1)

    def test_same_as_at_its_time(self) -> None:
        """A change some time after an event is the same as one at that time."""
        flows = Flow(cca="bbr"), Flow(cca="cubic")
        after: dict[str, Any] = {"flow": 1, "app_rate_mbps": 3, "rtt_ms": 60}
        change = Change(when=When(flow=0, packet=900), after_s=0.05, **after)
        result = run(path(*flows, changes=(change,)))
        (at_s,) = result.changes["time_ns"] / 1e9
        same = run(path(*flows, changes=(Change(at_s=at_s, **after),)))
        for name in RUN_TABLES.keys() - {"changes"}:
            pd.testing.assert_frame_equal(getattr(result, name), getattr(same, name))
        assert result.actual_scenario == same.scenario


class TestUdp:
    @pytest.mark.parametrize("direction", ["forward", "reverse"])
    def test_gaps(self, direction: str) -> None:
        """Packets of a constant rate have the gaps of the new rate, from the change on."""
        changes = app(2, 1.2), app(5, 0), app(7, 12)
        flow = Flow(kind="cbr", rate_mbps=6, direction=direction)
        times_s = sent(run(path(flow, changes=changes)))["time_s"].to_numpy()
        for start_s, end_s, mbps in ((0, 2, 6), (2, 5, 1.2), (7, 10, 12)):
            own = times_s[(times_s >= start_s) & (times_s < end_s)]
            assert own[0] == pytest.approx(start_s, abs=1e-6)
            assert np.diff(own) == pytest.approx(np.full(len(own) - 1, 12e-3 / mbps), abs=1e-6)
        assert not ((times_s >= 5) & (times_s < 7)).any()


def test_same_bytes(tmp_path: Path) -> None:
    """The same seed gives the same bytes."""
    probes = When(flow=0, info="pacing_gain", equals=320)
    changes = Change(when=probes, every_s=2, flow=0, app_rate_mbps=0), app(3, 4, flow=1), app(6, 9)
    scenario = path(Flow(cca="bbr"), Flow(kind="rate", rate_mbps=2), changes=changes)
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        KernelEngine().run(scenario).save(folder)
    first, second = ({f.name: f.read_bytes() for f in folder.iterdir()} for folder in folders)
    assert first == second
