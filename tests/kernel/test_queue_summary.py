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
from ccbench.experiment.qdiscs import QDISCS, Drops
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
        summarised = summary().counts.set_index(by).drop(columns="waited_ns")
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


#: Packets of each size cross a bottleneck of their own in each direction.
SIZES = (64, 576, 1500)
DIRECTIONS = ("forward", "reverse")
QDISC_NAMES = sorted([*QDISCS, "abc"])


@cache
def overloaded(qdisc: str, queue_log: object) -> Run:
    """Run links that get twice their rate for a second, and then empty their queues."""
    flows = tuple(
        Flow(
            kind="poisson",
            rate_mbps=4,
            packet_bytes=size,
            direction=direction,
            first_bottleneck=i,
            last_bottleneck=i,
            stop_s=1,
        )
        for direction in DIRECTIONS
        for i, size in enumerate(SIZES)
    )
    options = {"tbf": (("rate_mbps", 1.5),)}.get(qdisc, ())
    link = Bottleneck(bandwidth_mbps=2, queue_packets=10, qdisc=qdisc, qdisc_options=options)
    return run(
        Scenario(
            flows=flows,
            bottlenecks=(link,) * len(SIZES),
            reverse_bottlenecks=(link,) * len(SIZES),
            rtt_ms=40,
            duration_s=2,
            queue_log=queue_log,  # type: ignore[arg-type]
        )
    )


@pytest.mark.parametrize("qdisc", QDISC_NAMES)
class TestEveryQdisc:
    """Queues of packets of three sizes, in both directions."""

    def test_summary(self, qdisc: str) -> None:
        """Lengths, waits and bytes of the summary are those of the log, beyond any limit."""
        short, whole = (overloaded(qdisc, log) for log in ("summary", True))
        longest = 0
        for number in range(2 * len(SIZES)):
            lengths = short.occupancy_distribution(number)
            longest = max(longest, lengths.index.max())
            pd.testing.assert_series_equal(
                lengths, whole.occupancy_distribution(number), check_index_type=False
            )
            assert short.carried_bytes(number) == whole.carried_bytes(number)
            if QDISCS.get(qdisc) is not None and QDISCS[qdisc].drops is Drops.ANY:
                with pytest.raises(InputError, match="drops packets from the middle"):
                    whole.queueing_delay_ms(number)
                continue
            assert short.queueing_delay_ms(number) == whole.queueing_delay_ms(number)
            shares = (1, 50, 99, 100)
            exact = whole.queueing_delay_percentiles_ms(shares, number)
            rounded = short.queueing_delay_percentiles_ms(shares, number)
            assert (exact <= rounded).all()
            assert (rounded <= exact * (1 + 1 / 64) + 1e-6).all()
        if qdisc in {"bfifo", "cake", "red", "tbf"}:  # a limit in bytes
            assert longest > 20
        columns = ["mean_queue_packets", "utilisation", "losses"]
        pd.testing.assert_frame_equal(
            short.bottleneck_summary()[columns], whole.bottleneck_summary()[columns]
        )

    def test_littles_law(self, qdisc: str) -> None:
        """The integral of a queue's length is the sum of the waits of all packets, to the ns."""
        result = overloaded(qdisc, "summary")
        recorded = result.queue_summary
        assert recorded is not None
        for number in range(2 * len(SIZES)):
            came, left, dropped = (
                recorded.packets(event, number) for event in ("enqueue", "dequeue", "drop")
            )
            assert came == left + dropped
            assert min(left, dropped) > 50
            lengths = recorded.rows("occupancy", number)
            integral = int((lengths["time_ns"] * lengths["packets"].astype("int64")).sum())
            waited_ns = recorded.waited_ns("dequeue", number)
            assert integral == waited_ns + recorded.waited_ns("drop", number)
            longest_ms = result.queueing_delay_percentiles_ms([100], number).item()
            assert 0 < result.queueing_delay_ms(number) <= longest_ms

    def test_utilisation(self, qdisc: str) -> None:
        """A link with twice its rate for half of the time is in use for a little more at most."""
        used = overloaded(qdisc, "summary").bottleneck_summary()["utilisation"]
        assert (used > 0).all()
        assert (used < 0.8).all()
