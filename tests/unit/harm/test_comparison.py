# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.base.errors import InputError
from ccbench.harm import (
    compare,
    compare_flows,
    metrics_named,
    recovery_s,
)
from ccbench.metrics import jain_index
from tests.unit.conftest import steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccbench.run.run import Run

    MakeRun = Callable[..., Run]

SOLO = Scenario(
    flows=(Flow(cca="cubic", count=2),),
    path=NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=10, queue_packets=50),), rtt_ms=40),
    duration_s=30,
    queue_log=False,
)
COMPETING = replace(SOLO, flows=(*SOLO.flows, Flow(cca="bbr", count=2)))
THROUGHPUT = metrics_named(["throughput"])


class TestCompare:
    def test_throughput(self, make_run: MakeRun) -> None:
        """Throughput is summed, and endless flows are expected to share equally."""
        solo, competing = make_run(SOLO, (5, 5)), make_run(COMPETING, (1, 2, 4, 3))
        (harm,) = compare(solo, competing, THROUGHPUT)
        assert (10, 3) == pytest.approx((harm.solo, harm.competing))
        assert 0.7 == pytest.approx(harm.absolute)
        assert 0.5 == harm.expected
        assert 0.2 == pytest.approx(harm.relative)

    def test_harm_versus_jains_index(self, make_run: MakeRun) -> None:
        """Three BBR flows and one CUBIC: equal Jain's index, opposite harm (Figure 5.1)."""
        one = replace(SOLO, flows=(Flow(cca="cubic"),))
        four = replace(SOLO, flows=(Flow(cca="cubic"), Flow(cca="bbr", count=3)))
        greedy, meek = np.array([4.3, 1.9, 1.9, 1.9]), np.array([0.7, 3.1, 3.1, 3.1])
        assert jain_index(greedy) == pytest.approx(jain_index(meek))
        solo = make_run(one, (10,))
        (left,) = compare(solo, make_run(four, greedy), THROUGHPUT)
        (taken,) = compare(solo, make_run(four, meek), THROUGHPUT)
        assert taken.relative > 0 > left.relative
        assert taken.relative == pytest.approx(-left.relative)

    def test_limited_flows_have_no_fair_share(self, make_run: MakeRun) -> None:
        """Application-limited flows have no fair share of the link."""
        limited = replace(SOLO, flows=(Flow(kind="rate", rate_mbps=1),))
        beside = replace(limited, flows=(*limited.flows, Flow(cca="bbr")))
        (harm,) = compare(make_run(limited, (1,)), make_run(beside, (1, 9)), THROUGHPUT)
        assert 0 == harm.absolute  # although it has a tenth of the link
        assert math.isnan(harm.expected)
        assert math.isnan(harm.relative)

    def test_unfinished_flow(self, make_run: MakeRun) -> None:
        """An incomplete flow is a missing value, not a harm of 1."""
        sized = replace(SOLO, flows=(Flow(cca="cubic", kind="bytes", size_bytes=1000, count=2),))
        beside = replace(sized, flows=(*sized.flows, Flow(cca="bbr", count=2)))
        solo, competing = (
            replace(run, completions=run.completions.assign(end_ns=ends_ns))
            for run, ends_ns in (
                (make_run(sized, (5, 5)), [1_000_000_000] * 2),
                (make_run(beside, (1, 2, 4, 3)), [1_000_000_000, -1, -1, -1]),
            )
        )
        (harm,) = compare(solo, competing, metrics_named(["fct"]))
        assert 1 == harm.solo
        assert math.isnan(harm.absolute)
        per_flow = compare_flows(solo, competing, metrics_named(["fct"]))["harm"]["fct"]
        assert 0 == per_flow[0]
        assert math.isnan(per_flow[1])

    def test_nothing_alone(self, make_run: MakeRun) -> None:
        """If the flows achieved nothing alone, harm is undefined."""
        with pytest.raises(InputError, match="throughput of the beta flows: solo is 0"):
            compare(make_run(SOLO, (0, 0)), make_run(COMPETING, (0, 0, 5, 5)), THROUGHPUT)

    def test_another_network(self, make_run: MakeRun) -> None:
        """Runs of different networks are not compared."""
        other = replace(COMPETING, path=replace(COMPETING.path, rtt_ms=50))
        with pytest.raises(InputError, match="network and beta flows is 'rtt_ms'"):
            compare(make_run(SOLO, (5, 5)), make_run(other, (1, 2, 4, 3)))

    def test_no_samples(self, make_run: MakeRun) -> None:
        """A flow without samples is a failed measurement, for each flow too."""
        solo, competing = make_run(SOLO, (5, 5)), make_run(COMPETING, (1, 2, 4, 3))
        lost = replace(competing, flows=competing.flows[competing.flows["flow"] != 0])
        for function in (compare, compare_flows):
            with pytest.raises(InputError, match="competing run: samples of flow 0 is 0"):
                function(solo, lost, THROUGHPUT)

    def test_metrics_left_out(self, make_run: MakeRun) -> None:
        """By default, metrics of which the runs have no record are left out."""
        parts = compare(make_run(SOLO, (5, 5)), make_run(COMPETING, (1, 2, 4, 3)))
        usual = ["throughput", "goodput", "fct", "downloaded"]
        assert usual == [part.metric for part in parts]


class TestRecovery:
    def test_known_time(self, make_run: MakeRun) -> None:
        """Recovery ends when an interval has most of the solo rate."""
        rates = steps(COMPETING, (10, (5, 5, 0, 0)), (8, (1, 1, 4, 4)), (12, (4.6, 4.6, 0.4, 0.4)))
        solo, competing = make_run(SOLO, (5, 5)), make_run(COMPETING, rates)
        assert 9 == recovery_s(solo, competing, since_s=10)
        assert 1 == recovery_s(solo, competing, since_s=10, share=0.2)
        assert math.inf == recovery_s(solo, competing, since_s=10, share=0.95)

    @pytest.mark.parametrize("since_s", [-1, 30, math.nan])
    def test_bad_time(self, make_run: MakeRun, since_s: float) -> None:
        """The disturbance begins within the run."""
        with pytest.raises(InputError, match="since_s is"):
            recovery_s(make_run(SOLO, (5, 5)), make_run(COMPETING, (1, 1, 4, 4)), since_s=since_s)

    def test_nothing_alone(self, make_run: MakeRun) -> None:
        """Flows with a solo rate of 0 have no recovery."""
        rates = steps(SOLO, (10, (5, 5)), (20, (0, 0)))
        with pytest.raises(InputError, match="since_s is 15"):
            recovery_s(make_run(SOLO, rates), make_run(COMPETING, (1, 1, 4, 4)), since_s=15)
