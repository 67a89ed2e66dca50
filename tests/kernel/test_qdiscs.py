# SPDX-License-Identifier: Apache-2.0
"""Options of qdiscs reach the kernel, and have their effect."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench import Bottleneck, Flow
from ccbench.base.errors import EngineError, InputError
from ccbench.base.validation import Range
from ccbench.emulate.kernel.boot import rtnetlink
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source.lookup import of_release
from ccbench.experiment import qdiscs
from ccbench.experiment.path import MAX_BOTTLENECKS
from ccbench.run.packets import delivered
from tests.kernel.conftest import dumbbell, events, kernel_with, qdisc_options, read_back, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccbench import Run

pytestmark = pytest.mark.kernel

#: Every option of every qdisc whose options are attributes, each with a distinct value.
OPTIONS: dict[str, dict[str, float | str]] = {
    "codel": {"target_ms": 7, "interval_ms": 60, "ecn": 1, "ce_threshold_ms": 3},
    "pie": {
        "target_ms": 21,
        "tupdate_ms": 16,
        "alpha": 3,
        "beta": 17,
        "ecn": 1,
        "bytemode": 1,
        "dq_rate_estimator": 1,
    },
    "fq": {
        "flow_limit": 55,
        "quantum": 4_000,
        "initial_quantum": 9_000,
        "pacing": 0,
        "flow_max_rate_mbps": 6,
        "horizon_ms": 5_000,
        "ce_threshold_ms": 4,
    },
    "fq_codel": {
        "target_ms": 8,
        "interval_ms": 70,
        "ecn": 0,
        "flows": 64,
        "quantum": 300,
        "ce_threshold_ms": 2,
        "drop_batch": 16,
        "memory_limit": 2**20,
    },
    "fq_pie": {
        "flows": 64,
        "target_ms": 22,
        "tupdate_ms": 18,
        "alpha": 4,
        "beta": 18,
        "quantum": 301,
        "memory_limit": 2**21,
        "ecn_prob": 20,
        "ecn": 1,
        "bytemode": 1,
    },
    "dualpi2": {
        "memory_limit": 2**20,
        "target_ms": 23,
        "tupdate_ms": 19,
        "alpha": 0.5,
        "beta": 5,
        "step_ms": 2,
        "min_qlen_step": 6,
        "coupling": 3,
        "drop_overload": 0,
        "drop_early": 1,
        "c_protection": 20,
        "ecn_mask": "any",
        "split_gso": 0,
    },
    "cake": {
        "rtt_ms": 50,
        "target_ms": 3,
        "flow_mode": 1,
        "diffserv_mode": 1,
        "ack_filter": 1,
    },
    "hhf": {
        "quantum": 3_000,
        "hh_limit": 100,
        "reset_timeout_ms": 20,
        "admit_bytes": 9_000,
        "evict_timeout_ms": 500,
        "non_hh_weight": 3,
    },
}

#: The same for qdiscs whose options are one structure.
STRUCTURES: dict[str, dict[str, float]] = {
    "red": {"min_packets": 11, "max_packets": 33, "probability": 0.1, "ecn": 1, "adaptive": 1},
    "choke": {"min_packets": 12, "max_packets": 34, "probability": 0.2, "ecn": 1},
    "sfb": {
        "max_packets": 26,
        "bin_packets": 21,
        "increment": 0.002,
        "decrement": 0.0003,
        "rehash_ms": 500_000,
        "warmup_ms": 50_000,
        "penalty_rate": 11,
        "penalty_burst": 22,
    },
}

#: Options without which a qdisc does not work.
NEEDED = {"tbf": {"rate_mbps": 9}}

#: Qdiscs whose options do not come back as they were set, and which have tests of their effect.
TRANSFORMED = {"tbf"}


def ends(qdisc: str) -> Iterator[dict[str, float]]:
    """Yield options with the smallest and the largest value of each number."""
    for name, option in qdiscs.QDISCS[qdisc].options.items():
        if not option.choices:
            low, high = option.range.low, option.range.high
            beside = {"max_packets": high} if name == "min_packets" else NEEDED.get(qdisc, {})
            yield {**beside, name: low}
            yield {**beside, name: high - (name == "min_packets")}  # it is below max_packets


class TestQdiscs:
    def test_all(self) -> None:
        """Every qdisc with options is in one of the tables above."""
        with_options = [name for name, qdisc in qdiscs.QDISCS.items() if qdisc.options]
        assert with_options == sorted([*OPTIONS, *STRUCTURES, *TRANSFORMED])

    def test_complete(self, engine: KernelEngine) -> None:
        """Every qdisc of the kernel can be a bottleneck's queue, or is excluded with a reason."""
        usable = {engine.kernel.queue(name).kernel_name for name in engine.kernel.queues}
        assert set(engine.kernel.qdiscs) - usable <= set(qdiscs.EXCLUDED)

    @pytest.mark.parametrize("qdisc", OPTIONS)
    def test_every_option(self, monkeypatch: pytest.MonkeyPatch, qdisc: str) -> None:
        """Each option of a qdisc, read back from the kernel, has the value that was set."""
        table = qdiscs.QDISCS[qdisc].options
        absent = set(table) - set(OPTIONS[qdisc])
        assert absent == {name for name in table if table[name].excludes in OPTIONS[qdisc]}
        engine = KernelEngine(kernel_with(qdisc))
        others: list[dict[str, float | str]] = [{name: 7} for name in absent]
        for options in (OPTIONS[qdisc], *others):
            actual = read_back(engine, monkeypatch, qdisc, options)
            for name, value in options.items():
                got = actual[table[name].attribute]
                assert len(got) == table[name].size, name
                # The kernel stores times in its own units.
                expected = pytest.approx(table[name].scaled(name, value), rel=0.01, abs=1)
                assert int.from_bytes(got, sys.byteorder) == expected, name

    @pytest.mark.parametrize("qdisc", OPTIONS)
    def test_defaults(self, monkeypatch: pytest.MonkeyPatch, qdisc: str) -> None:
        """An omitted option has the default of its description, if there is one."""
        actual = read_back(KernelEngine(kernel_with(qdisc)), monkeypatch, qdisc, {})
        for name, option in qdiscs.QDISCS[qdisc].options.items():
            if option.default is not None:
                got = int.from_bytes(actual[option.attribute], sys.byteorder)
                expected = option.scaled(name, option.default)
                assert got == pytest.approx(expected, rel=0.01, abs=1), name

    @pytest.mark.parametrize("qdisc", STRUCTURES)
    def test_structure(
        self, engine: KernelEngine, monkeypatch: pytest.MonkeyPatch, qdisc: str
    ) -> None:
        """The structure of a qdisc's options is read back as it was set."""
        options = STRUCTURES[qdisc]
        assert set(options) == set(qdiscs.QDISCS[qdisc].options)
        sent = qdisc_options(
            rtnetlink.set_qdisc(2, qdiscs.QDISCS[qdisc], qdiscs.QueuedLink(123, 10), options)
        )
        assert read_back(engine, monkeypatch, qdisc, options)[1] == sent[1]

    def test_red_average(self) -> None:
        """RED keeps the average queue between its thresholds, while drop-tail fills the buffer."""
        options = (("max_packets", 90), ("min_packets", 30))
        bottleneck = Bottleneck(
            bandwidth_mbps=10, queue_packets=400, qdisc="red", qdisc_options=options
        )
        flows = (Flow(cca="reno", count=4),)
        scenario = replace(
            dumbbell(*flows, duration_s=40),
            path=replace(dumbbell(*flows, duration_s=40).path, bottlenecks=(bottleneck,)),
        )
        assert 30 < run(scenario).occupancy().loc[10:].mean() < 90

    def test_red_thresholds(self, engine: KernelEngine) -> None:
        """A lower threshold that is not below the upper one is bad input."""
        bottleneck = Bottleneck(
            bandwidth_mbps=10,
            queue_packets=400,
            qdisc="red",
            qdisc_options=(("max_packets", 20), ("min_packets", 30)),
        )
        with pytest.raises(InputError, match=r"min_packets = 30: must be below max_packets"):
            engine.run(
                replace(dumbbell(), path=replace(dumbbell().path, bottlenecks=(bottleneck,)))
            )

    def test_token_bucket(self, engine: KernelEngine) -> None:
        """A token bucket passes a burst at the link's rate, and then limits to its own rate."""
        bottleneck = Bottleneck(
            bandwidth_mbps=100,
            queue_packets=100,
            qdisc="tbf",
            qdisc_options=(("burst_packets", 40), ("rate_mbps", 5)),
        )
        flow = Flow(kind="cbr", rate_mbps=50)
        scenario = replace(
            dumbbell(flow, duration_s=5),
            path=replace(dumbbell(flow, duration_s=5).path, bottlenecks=(bottleneck,)),
        )
        times_s = events(engine.run(scenario), "dequeue")["time_ns"].to_numpy() / 1e9
        # Tokens for 40 packets at first, plus those added meanwhile: 40 / (1 - 5 / 50).
        spacing_s = np.diff(times_s)
        assert np.argmax(spacing_s > 0.002) == pytest.approx(40 / 0.9, abs=2)
        assert spacing_s[100:] == pytest.approx(1500 * 8 / 5e6, rel=1e-3)

    @pytest.mark.parametrize("release", ["6.1", "6.12", "7.3"])
    def test_bounds(self, release: str) -> None:
        """Each Linux takes the smallest and the largest value of every number."""
        kernel = of_release(release)
        if kernel is None:
            pytest.skip(f"Linux {release} is not built: ccbench kernel build {release}")
        links = [
            Bottleneck(
                bandwidth_mbps=10,
                queue_packets=100,
                qdisc=qdisc,
                qdisc_options=tuple(given.items()),
            )
            for qdisc in sorted({*kernel.queues} & {*qdiscs.QDISCS})
            for given in ends(qdisc)
        ]
        for first in range(0, len(links), MAX_BOTTLENECKS):
            row = tuple(links[first : first + MAX_BOTTLENECKS])
            scenario = dumbbell(Flow(kind="cbr", rate_mbps=0.1), duration_s=0.1)
            KernelEngine(kernel).run(
                replace(scenario, path=replace(scenario.path, bottlenecks=row))
            )

    def test_refused_by_the_kernel(
        self, engine: KernelEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Options that only the kernel refuses are reported in words, not in bytes."""
        flows = qdiscs.QDISCS["fq_codel"].options["flows"]
        monkeypatch.setattr(type(flows), "range", Range(0, 1024))
        link = Bottleneck(
            bandwidth_mbps=10, queue_packets=100, qdisc="fq_codel", qdisc_options=(("flows", 0),)
        )
        message = r"^the qdisc fq_codel refuses bottlenecks\[0\]\.qdisc_options \(Inv.*\)"
        with pytest.raises(EngineError, match=message):
            engine.run(replace(dumbbell(), path=replace(dumbbell().path, bottlenecks=(link,))))

    def test_missing_option(self, engine: KernelEngine) -> None:
        """A token bucket without a rate, and a qdisc without a queue, are bad input."""
        with pytest.raises(InputError, match=r"rate_mbps is missing"):
            engine.run(dumbbell(qdisc="tbf"))
        with pytest.raises(InputError, match=r"qdisc = 'netem': cannot be the queue of a link"):
            engine.run(dumbbell(qdisc="netem"))


@cache
def overloaded(qdisc: str) -> Run:
    """Run a qdisc that has to drop: bulk, Poisson traffic and short flows of all sizes."""
    short = tuple((0.1 * i, 20_000 + 1111 * (i % 29)) for i in range(80))
    flows = (
        Flow(cca="cubic", count=2),
        Flow(cca="reno", kind="bytes", arrivals=short),
        Flow(kind="poisson", rate_mbps=2, packet_bytes=700),
    )
    link = Bottleneck(
        bandwidth_mbps=10,
        queue_packets=40,
        qdisc=qdisc,
        qdisc_options=tuple(NEEDED.get(qdisc, {}).items()),
    )
    return run(replace(dumbbell(*flows), path=replace(dumbbell(*flows).path, bottlenecks=(link,))))


@pytest.mark.parametrize("qdisc", qdiscs.QDISCS)
class TestDelays:
    def test_little(self, qdisc: str) -> None:
        """The mean queue is the rate of packets that wait, times their mean wait (Little's law)."""
        result = overloaded(qdisc)
        queue, kind = result.queue, qdiscs.QDISCS[qdisc]
        assert (queue["event"] == "drop").sum() > 50
        if kind.drops is qdiscs.Drops.ANY:
            with pytest.raises(InputError, match=f"'{qdisc}' drops packets from the middle"):
                delivered(result)
            return
        time_ns, backlog = queue["time_ns"].to_numpy(), queue["backlog_packets"].to_numpy()
        lasted_s = np.diff(np.append(time_ns, 10e9)) / 1e9
        mean_queue = (lasted_s * backlog).sum() / 10
        waited_s = delivered(result)["queueing_ms"] / 1e3
        # Packets dropped after a wait, and packets left at the end, are in the queue but not
        # delivered: none has waited longer than the longest.
        follows = queue["event"].shift().eq("enqueue") & queue["time_ns"].diff().eq(0)
        at_arrival = follows & (kind.drops is not qdiscs.Drops.OLDEST)
        other = ((queue["event"] == "drop") & ~at_arrival).sum() + backlog[-1]
        if kind.drops is qdiscs.Drops.NEWEST:  # of another flow than that of the arriving packet
            other += (follows & (queue["event"] == "drop") & queue["flow"].diff().ne(0)).sum()
        missing = mean_queue - len(waited_s) / 10 * waited_s.mean()
        assert 0 <= missing + 1e-9
        assert missing <= other * waited_s.max() / 10

    def test_identity(self, qdisc: str) -> None:
        """Each departing packet has the size of the packet whose wait it ends."""
        result = overloaded(qdisc)
        if qdiscs.QDISCS[qdisc].drops is qdiscs.Drops.ANY:
            return
        came = events(result, "enqueue")
        assert (came.groupby("flow")["bytes"].nunique() > 2).sum() > 80  # sizes tell packets apart
        packets = delivered(result)
        arrival_ns = (packets["arrival_s"] * 1e9).round().astype("int64")
        left = zip(packets["flow"], arrival_ns, packets["bytes"], strict=True)
        assert set(left) <= set(zip(came["flow"], came["time_ns"], came["bytes"], strict=True))


@pytest.mark.parametrize(
    ("qdisc", "packet_ms"),
    [("droptail", 1.2), ("sfq", 1.2), ("fq", 1.2), ("pfifo_head_drop", 0.6), ("hhf", 0.6)],
)
def test_wait_in_a_full_queue(qdisc: str, packet_ms: float) -> None:
    """A full queue moves at the link's rate, or at the arrivals' if the oldest is dropped."""
    sender = Flow(kind="poisson", rate_mbps=20)  # twice the link's rate: a packet each 0.6 ms
    packets = delivered(run(dumbbell(sender, qdisc=qdisc, queue_packets=40, duration_s=3)))
    waited_ms = packets.loc[packets["arrival_s"] > 1, "queueing_ms"].mean()
    assert waited_ms == pytest.approx(40 * packet_ms, rel=0.05)
