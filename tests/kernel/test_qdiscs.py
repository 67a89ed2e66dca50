# SPDX-License-Identifier: Apache-2.0
"""Options of qdiscs reach the kernel, and do what they are for."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench import Bottleneck, Flow
from ccbench.emulate.kernel import qdiscs
from ccbench.errors import EngineError, InputError
from tests.kernel.conftest import dumbbell, events, qdisc_options, read_back, run

if TYPE_CHECKING:
    from ccbench.emulate.kernel.engine import KernelEngine

pytestmark = pytest.mark.kernel

#: Every option of every qdisc whose options are attributes, each with a value of its own.
OPTIONS: dict[str, dict[str, float]] = {
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
    "cake": {
        "rtt_ms": 50,
        "target_ms": 3,
        "flow_mode": 1,
        "diffserv_mode": 1,
        "memory": 2**22,
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

#: The same for those that take one structure.
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


class TestQdiscs:
    @pytest.mark.parametrize("qdisc", OPTIONS)
    def test_every_option(
        self, engine: KernelEngine, monkeypatch: pytest.MonkeyPatch, qdisc: str
    ) -> None:
        """Each option of a qdisc, asked back from the kernel, has the value that was given."""
        table = qdiscs.QDISCS[qdisc].options
        assert set(OPTIONS[qdisc]) == set(table)
        actual = read_back(engine, monkeypatch, qdisc, OPTIONS[qdisc])
        for name, value in OPTIONS[qdisc].items():
            (got,) = struct.unpack("=I", actual[table[name].attribute])
            # The kernel keeps times in units of its own.
            assert got == pytest.approx(table[name].scaled(name, value), rel=0.01, abs=1), name

    @pytest.mark.parametrize("qdisc", STRUCTURES)
    def test_structure(
        self, engine: KernelEngine, monkeypatch: pytest.MonkeyPatch, qdisc: str
    ) -> None:
        """So has the structure of a qdisc that takes its options as one."""
        options = STRUCTURES[qdisc]
        assert set(options) == set(qdiscs.QDISCS[qdisc].options)
        sent = qdisc_options(qdiscs.set_qdisc(2, qdisc, 123, options, 10))
        assert read_back(engine, monkeypatch, qdisc, options)[1] == sent[1]

    def test_red_average(self) -> None:
        """RED keeps the average queue between its thresholds where drop-tail fills the buffer."""
        options = (("max_packets", 90), ("min_packets", 30))
        bottleneck = Bottleneck(
            bandwidth_mbps=10, queue_packets=400, qdisc="red", qdisc_options=options
        )
        flows = (Flow(cca="reno", count=4),)
        scenario = replace(dumbbell(*flows, duration_s=40), bottlenecks=(bottleneck,))
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
            engine.run(replace(dumbbell(), bottlenecks=(bottleneck,)))

    def test_token_bucket(self, engine: KernelEngine) -> None:
        """A token bucket lets a burst through at the link's rate, and then its own rate."""
        bottleneck = Bottleneck(
            bandwidth_mbps=100,
            queue_packets=100,
            qdisc="tbf",
            qdisc_options=(("burst_packets", 40), ("rate_mbps", 5)),
        )
        flow = Flow(kind="cbr", rate_mbps=50)
        scenario = replace(dumbbell(flow, duration_s=5), bottlenecks=(bottleneck,))
        times_s = events(engine.run(scenario), "dequeue")["time_ns"].to_numpy() / 1e9
        # Tokens for 40 packets at first, and those that come meanwhile: 40 / (1 - 5 / 50).
        spacing_s = np.diff(times_s)
        assert np.argmax(spacing_s > 0.002) == pytest.approx(40 / 0.9, abs=2)
        assert spacing_s[100:] == pytest.approx(1500 * 8 / 5e6, rel=1e-3)

    @pytest.mark.parametrize(
        ("qdisc", "option"), [("fq_codel", ("flows", 0)), ("hhf", ("non_hh_weight", 0))]
    )
    def test_refused_by_the_kernel(
        self, engine: KernelEngine, qdisc: str, option: tuple[str, int]
    ) -> None:
        """What only the kernel knows to be wrong with a qdisc is said in words, not in bytes."""
        link = Bottleneck(
            bandwidth_mbps=10, queue_packets=100, qdisc=qdisc, qdisc_options=(option,)
        )
        message = rf"^bottlenecks\[0\]\.qdisc_options has what Linux's {qdisc} refuses \(Inv.*\)"
        with pytest.raises(EngineError, match=message):
            engine.run(replace(dumbbell(), bottlenecks=(link,)))

    def test_missing_option(self, engine: KernelEngine) -> None:
        """A token bucket without a rate, and a qdisc that is no queue, are bad input."""
        with pytest.raises(InputError, match=r"rate_mbps is missing"):
            engine.run(dumbbell(qdisc="tbf"))
        with pytest.raises(InputError, match=r"qdisc = 'netem': allowed are"):
            engine.run(dumbbell(qdisc="netem"))
