# SPDX-License-Identifier: Apache-2.0
"""A summary of queues agrees with all their events."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from ccbench import Bottleneck, Flow, Run, Scenario
from ccbench.base.errors import InputError
from ccbench.run.tables import SUMMARY_TABLES
from tests.kernel.conftest import run

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.run.queue_summary import QueueSummary

pytestmark = pytest.mark.kernel

#: Drops on arrival, marks, random loss, packets of two sizes, and two queues.
SCENARIO = Scenario(
    flows=(
        Flow(cca="cubic", count=3),
        Flow(kind="poisson", rate_mbps=3, packet_bytes=500, start_s=1, stop_s=4),
    ),
    bottlenecks=(
        Bottleneck(bandwidth_mbps=20, queue_packets=25, loss=1e-3),
        Bottleneck(
            bandwidth_mbps=18, queue_packets=100, qdisc="codel", qdisc_options=(("ecn", True),)
        ),
    ),
    rtt_ms=40,
    duration_s=5.03,
    ecn=True,
    sample_interval_ms=10,
)
BOTTLENECKS = (0, 1)


@cache
def whole() -> Run:
    """Return a run with every event."""
    return run(SCENARIO)


@cache
def short() -> Run:
    """Return a run with a summary."""
    return run(replace(SCENARIO, queue_log="summary"))


def summary() -> QueueSummary:
    """Return the summary."""
    result = short().queue_summary
    assert result is not None
    return result


class TestSummary:
    def test_changes_nothing(self) -> None:
        """The kind of record changes nothing in the run."""
        pd.testing.assert_frame_equal(short().flows, whole().flows)
        assert short().queue.empty
        assert whole().queue_summary is None

    def test_counts(self) -> None:
        """Packets and bytes of every event, flow and bottleneck are those of the events."""
        by = ["bottleneck", "flow", "event"]
        events = whole().queue.astype({"bytes": "uint64"}).groupby(by, observed=True)["bytes"]
        expected = pd.DataFrame({"packets": events.count(), "bytes": events.sum()})
        summarised = summary().counts.set_index(by)
        assert set(summarised.index.get_level_values("event")) >= {"drop", "mark", "loss"}
        pd.testing.assert_frame_equal(
            summarised.sort_index(), expected.sort_index(), check_dtype=False
        )

    @pytest.mark.parametrize("bottleneck", BOTTLENECKS)
    def test_conservation(self, bottleneck: int) -> None:
        """Every arrival finds a backlog, every departure has a wait, and times are the run's."""
        rows, waits = (
            table[table["bottleneck"] == bottleneck]
            for table in (summary().occupancy, summary().waits)
        )
        assert rows["arrivals"].sum() == summary().packets("enqueue", bottleneck)
        assert rows["time_ns"].sum() == round(SCENARIO.duration_s * 1e9)
        assert waits["packets"].sum() == summary().packets("dequeue", bottleneck)
        left_over = summary().samples.query("bottleneck == @bottleneck")["backlog_packets"].iloc[-1]
        gone = sum(summary().packets(event, bottleneck) for event in ("dequeue", "drop"))
        arrived = summary().packets("enqueue", bottleneck)
        assert arrived - gone - left_over in range(-60, 61)  # the last sample is before the end

    @pytest.mark.parametrize("bottleneck", BOTTLENECKS)
    def test_occupancy(self, bottleneck: int) -> None:
        """Backlog over time, backlog at arrivals and the mean delay are those of the events."""
        distribution = short().occupancy_distribution(bottleneck)
        pd.testing.assert_series_equal(
            distribution, whole().occupancy_distribution(bottleneck), check_index_type=False
        )
        assert distribution.sum() == pytest.approx(1, abs=1e-12)
        events = whole().queue_events(bottleneck)
        at_arrivals = events.loc[events["event"] == "enqueue", "backlog_packets"] - 1
        rows = summary().occupancy.query("bottleneck == @bottleneck and arrivals > 0")
        expected = at_arrivals.value_counts().sort_index()
        assert rows["packets"].tolist() == expected.index.tolist()
        assert rows["arrivals"].tolist() == expected.tolist()
        assert short().queueing_delay_ms(bottleneck) == whole().queueing_delay_ms(bottleneck)
        assert short().utilisation(bottleneck) == whole().utilisation(bottleneck)

    def test_waits(self) -> None:
        """Waits in a FIFO queue are those between its arrivals and departures."""
        events = whole().queue_events(0)
        refused = (events["event"].shift(-1) == "drop").to_numpy()
        arrived = events.loc[(events["event"] == "enqueue") & ~refused, "time_ns"].to_numpy()
        left = events.loc[events["event"] == "dequeue", "time_ns"].to_numpy()
        waited = np.sort(left - arrived[: len(left)])
        rows = summary().waits.query("bottleneck == 0")
        edges = np.searchsorted(waited, rows[["from_ns", "to_ns"]].to_numpy())
        assert (edges[:, 1] - edges[:, 0]).tolist() == rows["packets"].tolist()
        width = rows["to_ns"] - rows["from_ns"]
        assert (width <= np.maximum(rows["from_ns"] / 64, 1)).all()

    @pytest.mark.parametrize("bottleneck", BOTTLENECKS)
    def test_samples(self, bottleneck: int) -> None:
        """The backlog at regular times is the one after all events so far."""
        summarised, expected = (each.occupancy(0.03, bottleneck) for each in (short(), whole()))
        pd.testing.assert_series_equal(summarised, expected, check_dtype=False)
        rows = summary().samples.query("bottleneck == @bottleneck")
        events = whole().queue_events(bottleneck)
        at = np.searchsorted(events["time_ns"], rows["time_ns"], side="right") - 1
        expected_bytes = events["backlog_bytes"].to_numpy()[at] * (at >= 0)
        assert (rows["backlog_bytes"] == expected_bytes).all()
        with pytest.raises(InputError, match="multiple of the scenario's sample_interval_ms"):
            short().occupancy(0.015, bottleneck)

    def test_saved(self, tmp_path: Path) -> None:
        """A summary is part of a saved run, and of the scenario's identity."""
        short().save(tmp_path / "run")
        loaded = Run.load(tmp_path / "run")
        assert loaded.queue_summary is not None
        for name in SUMMARY_TABLES:
            expected = getattr(summary(), name)
            pd.testing.assert_frame_equal(getattr(loaded.queue_summary, name), expected)
        assert (
            len({replace(SCENARIO, queue_log=log).key() for log in (True, False, "summary")}) == 3
        )

    def test_long_queue(self) -> None:
        """A backlog beyond the length of the queue counts in the last row."""
        scenario = Scenario(
            flows=(Flow(kind="cbr", rate_mbps=12, packet_bytes=100),),
            bottlenecks=(Bottleneck(bandwidth_mbps=1, queue_packets=10, qdisc="bfifo"),),
            rtt_ms=10,
            duration_s=1,
            queue_log="summary",
        )
        result = run(scenario)
        assert result.occupancy_distribution().index.max() == 11
        assert result.occupancy(0.1).max() > 100
        assert result.occupancy_distribution().sum() == pytest.approx(1)
