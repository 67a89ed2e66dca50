# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from ccbench import Bottleneck, Change, Flow, NetworkPath, Scenario
from ccbench.base.errors import InputError
from ccbench.metrics import METRICS, Part, achieved, measured, named
from tests.unit.conftest import steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccbench.run.run import Run

    MakeRun = Callable[..., Run]

SOLO = Scenario(
    flows=(Flow(cca="cubic", count=2),),
    path=NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=10, queue_packets=50),), rtt_ms=40),
    duration_s=30,
    sample_interval_ms=1000,
    queue_log=False,
)
THROUGHPUT = named(["throughput"])


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
        starts_ns = [10_000_000_000, 25_000_000_000]
        run = replace(run, completions=run.completions.assign(start_ns=starts_ns))
        values = achieved(run, named(["downloaded"]))["downloaded"]
        assert 4e6 * 10 / 8 / 1e6 == values[0]
        assert math.isnan(values[1])  # unknown: the run ends after five

    def test_log_needed(self, make_run: MakeRun) -> None:
        """Delays require a queue log."""
        with pytest.raises(InputError, match="queue_log"):
            achieved(make_run(SOLO, (1, 1)), named(["one_way_delay_p95"]))

    @pytest.mark.parametrize("window", [(-1, 5), (5, 5), (6, 5), (0, 31), (0, math.nan)])
    def test_bad_window(self, make_run: MakeRun, window: tuple[float, float]) -> None:
        """A window is a part of the run."""
        with pytest.raises(InputError, match=r"^window is .*; it must be two times from 0 to 30"):
            achieved(make_run(SOLO, (1, 1)), THROUGHPUT, window)

    def test_window_between_samples(self, make_run: MakeRun) -> None:
        """A window begins and ends at samples, as rates between samples are unknown."""
        with pytest.raises(InputError, match=r"window is .* multiples of the scenario's"):
            achieved(make_run(SOLO, (1, 1)), THROUGHPUT, (5.5, 7))

    def test_unknown_metric(self) -> None:
        """An unknown metric is refused with the nearest, and where all are listed."""
        with pytest.raises(InputError, match=r"'troughput'; .*`ccbench metrics`.* 'throughput'"):
            named(["troughput"])


class TestTransfers:
    SIZED = replace(SOLO, flows=(Flow(kind="bytes", size_bytes=1_000_000, count=4),))

    def run(self, make_run: MakeRun, ends_s: list[float]) -> Run:
        """Return a run whose transfers end at some times; a negative time stands for never."""
        run = make_run(self.SIZED, (1, 1, 1, 1))
        ends_ns = [round(time_s * 1e9) for time_s in ends_s]
        return replace(run, completions=run.completions.assign(end_ns=ends_ns))

    def test_percentiles(self, make_run: MakeRun) -> None:
        """Percentiles are over all transfers of a group, the mean needs all of them."""
        done = measured(self.run(make_run, [1, 2, 3, 4]), named(["fct", "fct_p50", "fct_max"]))
        assert [2.5, 2.5, 4.0] == done["value"].tolist()

    def test_unfinished(self, make_run: MakeRun) -> None:
        """A transfer that does not finish has no time; it is longer than all that finish."""
        run = self.run(make_run, [1, -1, 2, 3])
        assert [True, False] == np.isfinite(achieved(run, named(["fct"]))["fct"]).tolist()[:2]
        mean, median, longest = measured(run, named(["fct", "fct_p50", "fct_max"]))["value"]
        assert math.isnan(mean)
        assert 2.5 == median
        assert math.isnan(longest)

    def test_flows_that_come_and_go(self, make_run: MakeRun) -> None:
        """Rates of concurrent flows add up, those of flows of a given size do not."""
        (throughput,) = THROUGHPUT
        concurrent = make_run(replace(SOLO, flows=(Flow(count=4),)), (1, 1, 1, 1))
        assert 4 == pytest.approx(throughput.over(Part(concurrent), range(4)))
        sized = make_run(self.SIZED, (1, 1, 1, 1))
        assert 1 == pytest.approx(throughput.over(Part(sized), range(4)))


class TestRates:
    def test_starvation(self, make_run: MakeRun) -> None:
        """The lowest throughput is that of the worst 5 s within the flow's active time."""
        late = replace(SOLO, flows=(Flow(count=2), Flow(start_s=20)))
        rates = steps(late, (10, (6, 4, 0)), (5, (10, 0, 0)), (5, (6, 4, 0)), (10, (3, 3, 4)))
        run = make_run(late, rates)
        starts_ns = [0, 0, 20_000_000_000]
        run = replace(run, completions=run.completions.assign(start_ns=starts_ns))
        assert [3.0, 0.0, 4.0] == achieved(run, named(["lowest_throughput"])).iloc[:, 0].tolist()
        assert [0.0, 4.0] == measured(run, named(["lowest_throughput"]))["value"].tolist()

    def test_stall(self, make_run: MakeRun) -> None:
        """A stall is the longest idle time while a flow is active, of several flows the worst."""
        late = replace(SOLO, flows=(Flow(count=2), Flow(start_s=20)))
        rates = steps(late, (10, (6, 4, 0)), (3, (0, 10, 0)), (2, (6, 0, 0)), (15, (6, 0, 4)))
        run = make_run(late, rates)
        starts_ns = [0, 0, 20_000_000_000]
        run = replace(run, completions=run.completions.assign(start_ns=starts_ns))
        assert [3.0, 17.0, 0.0] == pytest.approx(
            achieved(run, named(["stall"])).iloc[:, 0].tolist(), abs=0.2
        )

    def test_variation(self, make_run: MakeRun) -> None:
        """A rate of 0 and twice its mean in turn has a variation of 1, a steady rate 0."""
        rates = steps(SOLO, *[(1, (4 * (i % 2), 2)) for i in range(30)])
        variation = achieved(make_run(SOLO, rates), named(["throughput_variation"])).iloc[:, 0]
        assert [1.0, 0.0] == pytest.approx(variation.tolist())

    def test_shares(self, make_run: MakeRun) -> None:
        """The shares of all groups add up to 1, and do not depend on the number of their flows."""
        both = replace(SOLO, flows=(Flow(cca="cubic", count=2), Flow(cca="bbr")))
        shares = measured(make_run(both, (1, 2, 5)), named(["share"]))
        assert ["cubic", "bbr"] == shares["of"].tolist()
        assert [3 / 8, 5 / 8] == pytest.approx(shares["value"].tolist())


class TestResponses:
    def test_recovery(self, make_run: MakeRun) -> None:
        """Recovery ends at 90 % of the former throughput in proportion to the capacity."""
        halved = replace(
            SOLO, path=replace(SOLO.path, changes=(Change(at_s=10, bandwidth_mbps=5),))
        )
        rates = steps(halved, (10, (5, 5)), (4, (1, 1)), (16, (3, 1.9)))
        (time_s,) = measured(make_run(halved, rates), named(["recovery_time"]))["value"]
        assert 5 == pytest.approx(time_s)  # the end of the first second that has recovered

    def test_outage(self, make_run: MakeRun) -> None:
        """After an outage, the time counts from its end."""
        cut = replace(SOLO, path=replace(SOLO.path, changes=(Change(at_s=10, outage_s=5),)))
        rates = steps(cut, (10, (5, 5)), (5, (0, 0)), (3, (1, 1)), (12, (5, 5)))
        (time_s,) = measured(make_run(cut, rates), named(["recovery_time"]))["value"]
        assert 4 == pytest.approx(time_s)

    def test_never(self, make_run: MakeRun) -> None:
        """Without a change, or without a recovery, there is no time."""
        unchanged = measured(make_run(SOLO, (5, 5)), named(["recovery_time"]))
        assert unchanged["value"].isna().all()
        cut = replace(SOLO, path=replace(SOLO.path, changes=(Change(at_s=10, outage_s=1),)))
        rates = steps(cut, (10, (5, 5)), (20, (1, 1)))
        assert measured(make_run(cut, rates), named(["recovery_time"]))["value"].isna().all()


class TestTable:
    def test_columns(self) -> None:
        """No two metrics share a column of a table."""
        columns = [metric.column for metric in METRICS.values()]
        assert len(columns) == len(set(columns))

    def test_window_of_queues(self, make_run: MakeRun) -> None:
        """Metrics of bottlenecks cover the whole run, and refuse a window."""
        with pytest.raises(InputError, match="utilisation, which covers the whole run"):
            measured(make_run(SOLO, (1, 1)), named(["utilisation"]), (0, 10))
        assert 1 == len(measured(make_run(SOLO, (1, 1)), named(["utilisation"])))

    def test_several_bottlenecks(self, make_run: MakeRun) -> None:
        """Each bottleneck has a value with its number."""
        two = replace(SOLO, path=replace(SOLO.path, bottlenecks=SOLO.path.bottlenecks * 2))
        values = measured(make_run(two, (5, 5)), named(["utilisation"]))
        assert ["0", "1"] == values["of"].tolist()
        pd.testing.assert_series_equal(
            values["value"], pd.Series([1.0, 1.0], name="value"), check_exact=False
        )
