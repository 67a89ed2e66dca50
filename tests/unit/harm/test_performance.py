# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from ccbench import Bottleneck, Flow, Scenario
from ccbench.base.errors import InputError
from ccbench.harm import (
    METRICS,
    achieved,
    compare,
    compare_flows,
    jain_index,
    metrics_named,
    recovery_s,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccbench.run.run import Run

    MakeRun = Callable[..., Run]

SOLO = Scenario(
    flows=(Flow(cca="cubic", count=2),),
    bottlenecks=(Bottleneck(bandwidth_mbps=10, queue_packets=50),),
    rtt_ms=40,
    duration_s=30,
    queue_log=False,
)
COMPETING = replace(SOLO, flows=(*SOLO.flows, Flow(cca="bbr", count=2)))
THROUGHPUT = metrics_named(["throughput"])


def steps(scenario: Scenario, *phases: tuple[int, Any]) -> np.ndarray[Any, Any]:
    """Return rates of shape (seconds, flows) from phases of a duration and rates."""
    rows = [np.tile(np.asarray(rates, dtype=float), (seconds, 1)) for seconds, rates in phases]
    rates: np.ndarray[Any, Any] = np.concatenate(rows)
    assert (scenario.duration_s, scenario.flow_count) == rates.shape
    return rates


class TestAchieved:
    def test_throughput(self, make_run: MakeRun) -> None:
        """Throughput is the data carried in the window, divided by its length."""
        run = make_run(SOLO, steps(SOLO, (10, (2, 4)), (20, (8, 1))))
        assert [6.0, 2.0] == achieved(run, THROUGHPUT)["throughput"].tolist()
        assert [8.0, 1.0] == achieved(run, THROUGHPUT, (10, 30))["throughput"].tolist()

    def test_active_time(self, make_run: MakeRun) -> None:
        """A flow counts while it is active: from its start to its stop."""
        late = replace(SOLO, flows=(Flow(start_s=10, stop_s=20), Flow()))
        run = make_run(late, steps(late, (10, (0, 4)), (10, (6, 4)), (10, (0, 4))))
        assert [6.0, 4.0] == achieved(run, THROUGHPUT)["throughput"].tolist()
        before = achieved(run, THROUGHPUT, (0, 10))["throughput"]
        assert math.isnan(before[0])
        assert 4.0 == before[1]

    def test_downloaded(self, make_run: MakeRun) -> None:
        """Downloaded data are those of the ten seconds after a flow's start."""
        late = replace(SOLO, flows=(Flow(start_s=10), Flow(start_s=25)))
        run = make_run(late, steps(late, (10, (0, 0)), (10, (4, 0)), (10, (8, 8))))
        run.completions["start_ns"] = [10_000_000_000, 25_000_000_000]
        values = achieved(run, metrics_named(["downloaded"]))["downloaded"]
        assert 4e6 * 10 / 8 / 1e6 == values[0]
        assert math.isnan(values[1])  # unknown: the run ends after five

    def test_fct(self, make_run: MakeRun) -> None:
        """The completion time runs from the flow's start; an incomplete flow has none."""
        run = make_run(SOLO, (1, 1))
        run.completions["start_ns"] = [1_000_000_000, 0]
        run.completions["end_ns"] = [3_500_000_000, -1]
        values = achieved(run, metrics_named(["fct"]))["fct"]
        assert 2.5 == values[0]
        assert math.isnan(values[1])

    def test_log_needed(self, make_run: MakeRun) -> None:
        """Delays require a queue log."""
        with pytest.raises(InputError, match="queue_log"):
            achieved(make_run(SOLO, (1, 1)), metrics_named(["delay_p95"]))

    @pytest.mark.parametrize("window", [(-1, 5), (5, 5), (6, 5), (0, 31), (0, math.nan)])
    def test_bad_window(self, make_run: MakeRun, window: tuple[float, float]) -> None:
        """A window is a part of the run."""
        with pytest.raises(InputError, match=r"^window is .*; it must be two times from 0 to 30"):
            achieved(make_run(SOLO, (1, 1)), THROUGHPUT, window)

    def test_window_between_samples(self, make_run: MakeRun) -> None:
        """A window begins and ends at samples, as rates between samples are unknown."""
        with pytest.raises(InputError, match=r"window is .* multiples of the scenario's"):
            achieved(make_run(SOLO, (1, 1)), THROUGHPUT, (5.05, 6))

    def test_flows_that_come_and_go(self) -> None:
        """Rates of flows of a given size do not add up: they are active at different times."""
        (throughput,) = THROUGHPUT
        rates = pd.Series([9.0, 9.0])
        assert 18 == throughput.of_group(Flow(count=2), rates)
        assert 9 == throughput.of_group(Flow(kind="bytes", size_bytes=1, count=2), rates)

    def test_unknown_metric(self) -> None:
        """An unknown metric is refused with the list of metrics and the nearest."""
        with pytest.raises(InputError, match=r"'troughput': there are .*did you mean 'throughput'"):
            metrics_named(["troughput"])


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
        solo, competing = make_run(SOLO, (5, 5)), make_run(COMPETING, (1, 2, 4, 3))
        solo.completions["end_ns"] = [1_000_000_000] * 2
        competing.completions["end_ns"] = [1_000_000_000, -1, -1, -1]
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
        other = replace(COMPETING, rtt_ms=50)
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
        """By default the metrics are all that the runs have records for."""
        parts = compare(make_run(SOLO, (5, 5)), make_run(COMPETING, (1, 2, 4, 3)))
        unlogged = [metric.name for metric in METRICS.values() if not metric.needs_queue_log]
        assert unlogged == [part.metric for part in parts]


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
