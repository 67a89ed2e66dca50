# SPDX-License-Identifier: Apache-2.0
"""Hosts that remember their connections with each other (RFC 9040)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench import Bottleneck, Flow
from tests.kernel.conftest import dumbbell, run

if TYPE_CHECKING:
    from ccbench import Run, Scenario

pytestmark = pytest.mark.kernel

VERSIONS = pytest.mark.parametrize("version", [4, 6])
BACK = (Bottleneck(bandwidth_mbps=10, queue_packets=64),)


def transfers(*hosts: str, version: int = 4, **settings: Any) -> tuple[Flow, ...]:
    """Return transfers of 4 MB, one after the other, with these hosts."""
    return tuple(
        Flow(
            cca="reno",
            kind="bytes",
            size_bytes=4_000_000,
            start_s=1 + 10 * i,
            host=host,
            ip_version=version,
            **settings,
        )
        for i, host in enumerate(hosts)
    )


def path(*flows: Flow, **settings: Any) -> Scenario:
    """Return a path whose queue loses packets when slow start ends."""
    defaults: dict[str, Any] = {"sample_interval_ms": 10, "duration_s": 10 * len(flows)}
    return dumbbell(*flows, reverse_bottlenecks=BACK, **defaults | settings)


def first_ssthresh(result: Run) -> list[float]:
    """Return the slow-start threshold of each flow after its handshake, in packets; NaN: none."""
    samples = result.flows[result.flows["srtt_us"] > 0]
    return samples.groupby("flow").head(1).sort_values("flow")["ssthresh_packets"].to_list()


def last_ssthresh(result: Run, flow: int) -> float:
    """Return the value that RFC 9040 and Linux remember: at least half of the final window."""
    samples = result.flows[result.flows["cwnd_packets"] > 0]
    last = samples[samples["flow"] == flow].iloc[-1]
    return max(float(last["ssthresh_packets"]), float(last["cwnd_packets"]) // 2)


class TestMemory:
    @pytest.mark.parametrize("direction", ["forward", "reverse"])
    @VERSIONS
    def test_ssthresh(self, version: int, direction: str) -> None:
        """A flow starts with the slow-start threshold of the host's last flow, no other does."""
        names = ("a", "a", "b", "b", "a")
        result = run(path(*transfers(*names, version=version, direction=direction)))
        first = first_ssthresh(result)
        assert np.isnan([first[0], first[2]]).all()
        for flow, before in ((1, 0), (3, 2), (4, 1)):
            assert first[flow] == last_ssthresh(result, before) < 200

    def test_leaves_slow_start(self) -> None:
        """Slow start ends at the remembered threshold: it does not overflow the queue again."""
        result = run(path(*transfers("a", "a", "b")))
        starts = result.queue_events(0)
        dropped = starts[starts["event"] == "drop"]
        counts = [((dropped["time_ns"] // 1e9) == 1 + 10 * i).sum() for i in range(3)]
        assert counts[0] > 10
        assert counts[1] == 0
        assert counts[2] > 10

    def test_none(self) -> None:
        """Flows without a host remember nothing, also beside hosts that do."""
        flows = transfers("", "", "a", "a", "")
        first = first_ssthresh(run(path(*flows)))
        assert np.isnan([first[i] for i in (0, 1, 2, 4)]).all()
        assert first[3] < 200

    def test_exact(self) -> None:
        """Flows without a host behave as in a scenario without hosts, to the byte."""
        flows = transfers("", "", "")
        alone = run(path(*flows))
        later = replace(flows[0], start_s=29.5, host="a", size_bytes=1000)
        beside = run(path(*flows, later, duration_s=30))
        columns = ["time_ns", "flow", "event", "bytes", "backlog_packets"]
        logs = [r.queue_events(0)[columns] for r in (alone, beside)]
        before = [log[log["time_ns"] < 29.5e9].reset_index(drop=True) for log in logs]
        assert len(before[0]) > 10_000
        assert before[0].equals(before[1])

    def test_reset(self) -> None:
        """A flow that stops leaves no memory, as its connection ends with a reset."""
        first, second = transfers("a", "a")
        stopped = replace(first, kind="bulk", size_bytes=None, stop_s=8)
        assert np.isnan(first_ssthresh(run(path(stopped, second)))[1])

    def test_group(self) -> None:
        """Short flows of one group share their memory."""
        arrivals = tuple((1 + 10 * i, 4_000_000) for i in range(3))
        flow = Flow(cca="reno", kind="bytes", arrivals=arrivals, host="a")
        result = run(path(flow, duration_s=30))
        first = first_ssthresh(result)
        assert np.isnan(first[0])
        assert max(first[1:]) < 200

    def test_sysctl(self) -> None:
        """Sysctls of the scenario have priority: current Linux does not remember ssthresh."""
        sysctls = {"net.ipv4.tcp_no_ssthresh_metrics_save": "1"}
        first = first_ssthresh(run(path(*transfers("a", "a"), sysctls=tuple(sysctls.items()))))
        assert np.isnan(first).all()


class TestInitialWindow:
    @pytest.mark.parametrize("initcwnd", [1, 4, 32])
    @pytest.mark.parametrize("cca", ["cubic", "bbr"])
    @VERSIONS
    def test_first_round(self, initcwnd: int, cca: str, version: int) -> None:
        """The first round trip of data has exactly the initial window, for every CCA."""
        own = Flow(cca=cca, initcwnd=initcwnd, ip_version=version)
        result = run(dumbbell(own, bandwidth_mbps=1000, queue_packets=1000, duration_s=1))
        sent = result.queue[result.queue["event"] == "enqueue"]
        full = sent[sent["bytes"] == 1500]
        first_ns = full["time_ns"].iloc[0]
        # BBR paces its window over the first round trip.
        assert (full["time_ns"] < first_ns + 39e6).sum() == initcwnd

    def test_mixed(self) -> None:
        """Flows of one path have windows of their own, those without one have Linux's ten."""
        flows = (Flow(initcwnd=3), Flow(), Flow(initcwnd=3, start_s=1), Flow(initcwnd=25))
        result = run(dumbbell(*flows, bandwidth_mbps=1000, queue_packets=1000, duration_s=2))
        sent = result.queue[(result.queue["event"] == "enqueue") & (result.queue["bytes"] == 1500)]
        for number, expected in enumerate((3, 10, 3, 25)):
            times_ns = sent.loc[sent["flow"] == number, "time_ns"]
            assert (times_ns < times_ns.iloc[0] + 39e6).sum() == expected

    def test_reverse(self) -> None:
        """The initial window of a flow in the other direction is that of the receiving host."""
        flow = Flow(initcwnd=20, direction="reverse")
        fast = Bottleneck(bandwidth_mbps=1000, queue_packets=1000)
        result = run(dumbbell(flow, duration_s=1, rtt_ms=100, reverse_bottlenecks=(fast,)))
        sent = result.queue_events(1)
        full = sent[(sent["event"] == "enqueue") & (sent["bytes"] == 1500)]
        assert (full["time_ns"] < full["time_ns"].iloc[0] + 99e6).sum() == 20

    def test_alone(self) -> None:
        """Linux's own window, set for a flow, changes nothing."""
        flows = Flow(cca="bbr"), Flow(cca="cubic")
        same = tuple(replace(flow, initcwnd=10) for flow in flows)
        assert run(dumbbell(*flows)).queue.equals(run(dumbbell(*same)).queue)

    def test_memory(self) -> None:
        """Hosts that remember still do, and flows with only an initial window forget."""
        flows = transfers("a", "a"), transfers("", "", initcwnd=5)
        remembering = first_ssthresh(run(path(*flows[0])))
        both = tuple(replace(flow, initcwnd=5) for flow in flows[0])
        assert np.isfinite(remembering[1])
        assert np.isfinite(first_ssthresh(run(path(*both)))[1])
        assert np.isnan(first_ssthresh(run(path(*flows[1])))).all()
        mixed = run(path(*flows[0], *(replace(f, start_s=f.start_s + 20) for f in flows[1])))
        assert np.isnan(first_ssthresh(mixed)[2:]).all()
