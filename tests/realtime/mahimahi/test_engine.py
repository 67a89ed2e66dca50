# SPDX-License-Identifier: Apache-2.0
"""Scenarios on real Mahimahi: results and leftovers."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench import Bottleneck, Flow, Run, Scenario, Trace
from ccbench.base.errors import EngineError, InputError
from ccbench.emulate import run_many
from ccbench.emulate.mahimahi import records
from ccbench.emulate.mahimahi.engine import MahimahiEngine
from ccbench.emulate.realtime.records import lateness
from ccbench.experiment.noise import Noise
from ccbench.experiment.scenario import MSS_BYTES, MTU_BYTES, NetworkPath
from tests.realtime.disturbance import in_time
from tests.scenarios import flat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

_MISSING = [check.name for check in MahimahiEngine().doctor() if not check.ok]
pytestmark = pytest.mark.skipif(
    bool(_MISSING), reason=f"`ccbench doctor --engine mahimahi` misses {', '.join(_MISSING)}"
)


def dumbbell(*flows: Flow, **changes: Any) -> Scenario:
    """Return a scenario of a few seconds with one bottleneck."""
    link: dict[str, Any] = {"bandwidth_mbps": 12, "queue_packets": 40}
    for name in ("bandwidth_mbps", "trace", "loss", "qdisc", "queue_packets"):
        if name in changes:
            link[name] = changes.pop(name)
    if "trace" in link:
        del link["bandwidth_mbps"]
    settings: dict[str, Any] = {"rtt_ms": 20, "duration_s": 3.0, **changes}
    return flat(
        flows=flows or (Flow(cca="reno"),),
        bottlenecks=(Bottleneck(**link),),
        **settings,
    )


#: Occupies a processor for 30 ms in 200, together with others of its kind.
_URGENT = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
while True:
    phase = time.monotonic() % 0.2
    if phase > 0.03:
        time.sleep(0.2 - phase)
"""


@contextmanager
def more_urgent_work() -> Iterator[None]:
    """Run programs of a higher priority than a run's on all processors."""
    hogs = [
        subprocess.Popen([sys.executable, "-c", _URGENT, str(core)])
        for core in os.sched_getaffinity(0)
    ]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


@cache
def run_once(scenario: Scenario) -> Run:
    """Run a scenario once for all tests of a process."""
    return MahimahiEngine().run(scenario)


def run(scenario: Scenario) -> Run:
    """Return the run of :func:`run_once`, if it was in time."""
    return in_time(run_once(scenario))


TWO = dumbbell(Flow(cca="reno"), Flow(cca="cubic", start_s=0.5, stop_s=2.5))
BUSY = dumbbell(duration_s=60.0)


class TestQueue:
    def test_conservation(self) -> None:
        """Packets of each flow that arrive at the queue leave it, are dropped, or wait."""
        result = run(TWO)
        for flow, rows in result.queue.groupby("flow"):
            count = rows["event"].value_counts()
            left = count["enqueue"] - count["dequeue"] - count["drop"]
            assert 0 <= left <= 40, flow
        assert {0, 1} == set(result.queue["flow"])

    def test_limit(self) -> None:
        """The queue fills exactly to its limit."""
        events = run(TWO).queue
        assert events.loc[events["event"] != "enqueue", "backlog_packets"].max() == 40

    def test_drops_are_sent_again(self) -> None:
        """Every dropped packet is retransmitted, and nothing is lost elsewhere."""
        done = run(TWO)
        drops = done.summary()["drops"]
        assert drops.sum() > 0
        # The last ones may not be detected yet.
        assert list(done.completions["retransmits"]) == pytest.approx(list(drops), abs=40)

    def test_first_event(self) -> None:
        """The first event is the arrival of the first flow's first packet, at an empty queue."""
        first = run(TWO).queue.iloc[0]
        assert (first["event"], first["flow"], first["backlog_packets"]) == ("enqueue", 0, 1)
        assert 0 <= first["time_ns"] < 10_000_000


class TestFlows:
    def test_throughput(self) -> None:
        """A backlogged flow fills the link, and a packet's payload is 1448 of 1500 bytes."""
        done = run(TWO)
        assert done.utilisation() > 0.9
        summary = done.summary()
        ratio = summary["goodput_mbps"] / summary["throughput_mbps"]
        assert list(ratio) == pytest.approx([MSS_BYTES / MTU_BYTES] * 2, rel=0.05)

    def test_round_trip(self) -> None:
        """No sample has an RTT below the path's, and the minimum is hardly above it."""
        samples = run(TWO).flows
        least_ms = samples.loc[samples["min_rtt_us"] > 0, "min_rtt_us"].min() / 1e3
        assert 20 <= least_ms < 25

    def test_times(self) -> None:
        """A flow starts and stops sending as the scenario specifies; then it only resets."""
        events = run(TWO).queue
        own = events[(events["flow"] == 1) & (events["event"] == "enqueue")]
        assert 0.5 <= own["time_ns"].min() / 1e9 < 0.52
        assert own.loc[own["bytes"] == MTU_BYTES, "time_ns"].max() / 1e9 <= 2.51
        assert [500_000_000, 2_500_000_000] == pytest.approx(
            run(TWO).flows.query("flow == 1")["time_ns"].iloc[[0, -1]].tolist(), abs=2e8
        )

    def test_kinds(self) -> None:
        """Flows of a size end when all has arrived; others send at their rates, or not at all."""
        done = run(
            dumbbell(
                Flow(kind="bytes", size_bytes=200_000, start_s=0.5),
                Flow(kind="cbr", rate_mbps=1),
                Flow(kind="poisson", rate_mbps=1),
                Flow(kind="rate", rate_mbps=1),
                Flow(kind="onoff", on_s=0.5, off_s=3),
            )
        )
        ended_s = done.completions["end_ns"] / 1e9
        # 200 KB in slow start from 10 packets: 4 round trips; at 12 Mbit/s at least 0.13 s. A loss
        # of the last packets, beside the on-off flow, takes timeouts of 0.2 s and more.
        assert 0.63 < ended_s[0] < 2.5
        assert done.completions["delivered_bytes"][0] == 200_000
        rates = done.summary()["throughput_mbps"]
        assert rates[1] == pytest.approx(1, rel=0.05)
        assert rates[2] == pytest.approx(1, abs=5 * np.sqrt(250) / 250)  # 250 packets
        assert done.summary()["goodput_mbps"][3] == pytest.approx(1, rel=0.05)
        data = done.queue[(done.queue["flow"] == 4) & (done.queue["bytes"] == MTU_BYTES)]
        assert data["time_ns"].max() / 1e9 < 1  # what is in the socket by then is still sent

    def test_random_loss(self) -> None:
        """Packets are lost before the queue with the given probability, and recorded."""
        scenario = dumbbell(Flow(kind="cbr", rate_mbps=10, packet_bytes=500), loss=0.05)
        count = run(scenario).queue["event"].value_counts()
        sent = count["loss"] + count["enqueue"]
        sd = np.sqrt(sent * 0.05 * 0.95)
        assert 0.05 * sent == pytest.approx(count["loss"], abs=4 * sd)


def test_many_flows() -> None:
    """The limit of open files does not limit the number of flows."""
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, usual[1]))
    try:
        done = run(dumbbell(Flow(cca="reno", count=120), bandwidth_mbps=96, queue_packets=1500))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
    assert (done.completions["delivered_bytes"] > 0).all()


def test_trace_begins_with_the_scenario() -> None:
    """Packets leave only at opportunities of the trace, whose time is the scenario's."""
    trace = Trace(name="", opportunities_ms=(100, 110, 300))
    events = run(dumbbell(trace=trace)).queue
    left_ms = events.loc[events["event"] == "dequeue", "time_ns"] / 1e6
    assert {100, 110, 0} == set(left_ms % 300)


def test_bytes() -> None:
    """A queue in bytes holds more small packets than full ones, by their bytes."""
    flow = Flow(cca="", kind="cbr", rate_mbps=24, packet_bytes=500)
    events = run(dumbbell(flow, qdisc="bfifo", queue_packets=10, duration_s=1.0)).queue
    waiting = events[events["event"] != "enqueue"]
    assert (events["event"] == "drop").any()
    assert 14_000 < waiting["backlog_bytes"].max() <= 15_000
    assert 28 <= waiting["backlog_packets"].max() <= 30


@pytest.mark.parametrize("qdisc", ["codel", "pie"])
def test_active_queue(qdisc: str) -> None:
    """CoDel and PIE drop packets before the queue is full, and keep the delay low."""
    done = run(dumbbell(Flow(cca="reno", count=2), qdisc=qdisc, queue_packets=400, duration_s=6.0))
    count = done.queue["event"].value_counts()
    assert count["drop"] > 0
    assert 0 <= count["enqueue"] - count["dequeue"] - count["drop"] <= 400
    assert done.queue["backlog_packets"].max() < 400
    tail = dumbbell(Flow(cca="reno", count=2), queue_packets=400, duration_s=6.0)
    assert done.queueing_delay_ms() < run(tail).queueing_delay_ms() / 3
    assert list(done.completions["retransmits"]) == pytest.approx(
        list(done.summary()["drops"]), abs=10
    )


class TestWayBack:
    SLOW = Bottleneck(bandwidth_mbps=0.1, queue_packets=60)

    def test_conservation(self) -> None:
        """ACKs arrive at their queue and leave it or are dropped, each with its flow."""
        scenario = dumbbell(Flow(cca="reno"), Flow(cca="cubic"), reverse_bottlenecks=(self.SLOW,))
        log = run(scenario).queue_events(1)
        waits = log.loc[log["event"] != "enqueue", "backlog_packets"]
        assert waits.max() == self.SLOW.queue_packets
        counts = log.groupby(["flow", "event"], observed=False).size().unstack()
        waiting = counts["enqueue"] - counts["dequeue"] - counts["drop"]
        assert waiting.sum() == log["backlog_packets"].iloc[-1]
        assert (waiting >= 0).all()
        assert (counts["dequeue"] > 10).all()

    def test_rate(self) -> None:
        """An opportunity that leaves ACKs waiting has sent a full packet of them."""
        scenario = dumbbell(duration_s=5, reverse_bottlenecks=(self.SLOW,))
        log = run(scenario).queue_events(1)
        left = log[log["event"] == "dequeue"]
        sent = left.groupby("time_ns").agg(
            {"bytes": "sum", "event": "size", "backlog_packets": "last"}
        )
        used_up = sent[sent["backlog_packets"] > 0]
        assert len(used_up) > 3
        # mm-link adds a header of 4 bytes to each packet, and to an opportunity. An ACK at its end
        # is sent in parts.
        on_link_bytes = used_up["bytes"] + 4 * used_up["event"]
        assert on_link_bytes.between(1504 - 80, 1504 + 80).all()

    @pytest.mark.parametrize(
        ("link", "message"),
        [
            ({"qdisc": "codel"}, r"reverse_bottlenecks\[0\].qdisc is 'codel'"),
            ({"loss": 0.1}, r"reverse_bottlenecks\[0\].loss is 0.1"),
            (
                {"qdisc": "bfifo", "qdisc_options": (("x", 1),)},
                r"reverse_bottlenecks\[0\].qdisc_options.x is 1; .*left out",
            ),
        ],
    )
    def test_refused(self, link: dict[str, Any], message: str) -> None:
        """Other bottlenecks of ACKs are refused."""
        reverse = replace(self.SLOW, **link)
        with pytest.raises(InputError, match=message):
            run(dumbbell(reverse_bottlenecks=(reverse,)))


def test_side_by_side() -> None:
    """Two concurrent runs have separate paths, and each its link's full rate."""
    scenarios = [dumbbell(seed=seed) for seed in (11, 12)]
    results = dict(run_many(scenarios, engine=MahimahiEngine(), store=None, jobs=2))
    assert {0, 1} == set(results)
    assert all(in_time(result).utilisation() > 0.9 for result in results.values())


class TestLateness:
    def test_in_time(self) -> None:
        """A run states the lateness of its packets."""
        made_by = run_once(TWO).provenance
        assert 0 <= made_by["late_ms_median"] < made_by["late_ms_p99"] < made_by["late_ms_max"]
        assert made_by["is_late"] == (made_by["late_ms_p99"] > 5)

    def test_both_links(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The lateness of a run includes the ACKs that leave their link."""
        packets: list[int] = []

        def counted(*late_ns: npt.NDArray[np.float64]) -> dict[str, Any]:
            packets.extend(map(len, late_ns))
            return lateness(*late_ns)

        monkeypatch.setattr(records, "lateness", counted)
        reverse = Bottleneck(bandwidth_mbps=1, queue_packets=60)
        done = MahimahiEngine().run(dumbbell(duration_s=2, reverse_bottlenecks=(reverse,)))
        left = done.queue[done.queue["event"] == "dequeue"].groupby("bottleneck").size()
        assert len(packets) == 2
        assert all(here >= there > 100 for here, there in zip(packets, left, strict=True))

    def test_late(self) -> None:
        """A run whose link lacked a processor at times is marked."""
        with more_urgent_work():
            made_by = MahimahiEngine().run(dumbbell(seed=2)).provenance
        assert made_by["is_late"]
        assert made_by["late_ms_max"] > 10


class TestEnd:
    def test_success(self, alone: Any) -> None:
        """After a run no process and no file is left."""
        own: set[str] = set()
        MahimahiEngine().run(
            dumbbell(duration_s=0.5), on_progress=lambda _: own.update(alone.namespaces())
        )
        assert alone.has_ended(own)

    def test_interrupted(self, alone: Any) -> None:
        """After Ctrl-C nothing is left."""
        own: set[str] = set()

        def interrupt(done_s: float) -> None:
            if done_s > 0.2:
                own.update(alone.namespaces())
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            MahimahiEngine().run(BUSY, on_progress=interrupt)
        assert alone.has_ended(own)

    def test_killed(self, alone: Any, tmp_path: Path) -> None:
        """After kill -9 only a folder is left, which the next run removes."""
        BUSY.save(tmp_path / "busy.toml")
        words = ["run", str(tmp_path / "busy.toml"), "--engine", "mahimahi", "--fresh"]
        program = "from ccbench.cli.main import main; main()"
        ccbench = subprocess.Popen([sys.executable, "-c", program, *words])
        own = alone.wait_for("mm-link")
        ccbench.kill()
        ccbench.wait()
        assert alone.has_ended(own)
        assert len(alone.workspaces()) == 1
        MahimahiEngine().run(dumbbell(duration_s=0.5))

    def test_failed(self, alone: Any) -> None:
        """After a failure nothing is left, and the reason is named."""
        own: set[str] = set()
        scenario = dumbbell(sysctls=(("net.ipv4.no_such_thing", "1"),))
        with pytest.raises(EngineError, match="no_such_thing"):
            MahimahiEngine().run(scenario, on_progress=lambda _: own.update(alone.namespaces()))
        assert alone.has_ended(own)


class TestBadInput:
    @pytest.mark.parametrize(
        ("scenario", "message"),
        [
            (dumbbell(rtt_ms=35), "rtt_ms is 35.0; it must be an even number"),
            (dumbbell(qdisc="cake"), r"bottlenecks\[0\]\.qdisc is 'cake'; it must be 'droptail'"),
            (dumbbell(Flow(extra_rtt_ms=10)), r"flows\[0\]\.extra_rtt_ms is 10.0"),
            (
                dumbbell(noise=Noise(reverse_jitter_ms=3)),
                "noise.reverse_jitter_ms is 3.0; it must be at most 1",
            ),
            (dumbbell(noise=Noise(background_share=0.1)), "noise.background_share is 0.1"),
            (dumbbell(Flow(cca="cubiq")), r"flows\[0\]\.cca is 'cubiq'"),
            (dumbbell(Flow(count=1001)), "flows is 1001; it must be at most 1000"),
        ],
    )
    def test_unsupported(self, scenario: Scenario, message: str) -> None:
        """A scenario that Mahimahi cannot run is refused with the setting and the valid values."""
        with pytest.raises(InputError, match=message):
            MahimahiEngine().check(scenario)

    def test_bottlenecks(self) -> None:
        """Two bottlenecks are refused."""
        link = Bottleneck(bandwidth_mbps=12, queue_packets=10)
        scenario = Scenario(
            flows=(Flow(),), path=NetworkPath(bottlenecks=(link, link), rtt_ms=20), duration_s=1
        )
        with pytest.raises(InputError, match="bottlenecks is 2; it must be one"):
            MahimahiEngine().check(scenario)
