# SPDX-License-Identifier: Apache-2.0
"""A summary of queues agrees with all their events."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Run, Scenario
from ccbench.base.errors import InputError
from ccbench.experiment.qdiscs import QDISCS, Drops
from ccbench.run.packets import delivered, waits_ns
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
    path=NetworkPath(
        bottlenecks=(
            Bottleneck(bandwidth_mbps=20, queue_packets=25, loss=1e-3),
            Bottleneck(
                bandwidth_mbps=18, queue_packets=100, qdisc="codel", qdisc_options=(("ecn", True),)
            ),
        ),
        rtt_ms=40,
        ecn=True,
    ),
    duration_s=5.03,
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
MBPS = 2
TBF_MBPS = 1.5


@cache
def overloaded(qdisc: str, queue_log: object) -> Run:
    """Run links that get twice their rate for a second, and then empty their queues."""
    flows = tuple(
        Flow(
            kind="poisson",
            rate_mbps=2 * MBPS,
            packet_bytes=size,
            direction=direction,
            first_bottleneck=i,
            last_bottleneck=i,
            stop_s=1,
        )
        for direction in DIRECTIONS
        for i, size in enumerate(SIZES)
    )
    options = {"tbf": (("rate_mbps", TBF_MBPS),)}.get(qdisc, ())
    link = Bottleneck(bandwidth_mbps=MBPS, queue_packets=10, qdisc=qdisc, qdisc_options=options)
    return run(
        Scenario(
            flows=flows,
            path=NetworkPath(
                bottlenecks=(link,) * len(SIZES),
                reverse_bottlenecks=(link,) * len(SIZES),
                rtt_ms=40,
            ),
            duration_s=2,
            queue_log=queue_log,  # type: ignore[arg-type]
        )
    )


def check_littles_law(result: Run, bottleneck: int, queue: str | None = None) -> None:
    """Check that the integral of a queue's length is the sum of its packets' waits, to the ns."""
    recorded = result.queue_summary
    assert recorded is not None
    came, left, dropped = (
        recorded.packets(event, bottleneck, queue) for event in ("enqueue", "dequeue", "drop")
    )
    assert came == left + dropped
    lengths = recorded.rows("occupancy", bottleneck, queue)
    integral = int((lengths["time_ns"] * lengths["packets"].astype("int64")).sum())
    waited = recorded.rows("counts", bottleneck, queue).groupby("event", observed=False)
    waited_ns = waited["waited_ns"].sum()
    assert integral == waited_ns["dequeue"] + waited_ns["drop"]
    assert result.queueing_delay_ms(bottleneck, queue) == waited_ns["dequeue"] / left / 1e6


def same_delays(runs: tuple[Run, ...], bottleneck: int, queue: str | None = None) -> bool:
    """Return whether runs have the same mean delay of a queue, to the last bit."""
    return len({each.queueing_delay_ms(bottleneck, queue) for each in runs}) == 1


@pytest.mark.parametrize("qdisc", QDISC_NAMES)
class TestEveryQdisc:
    """Queues of packets of three sizes, in both directions."""

    def test_summary(self, qdisc: str) -> None:
        """Lengths, waits and bytes of the summary are those of the log, beyond any limit."""
        short, whole, bare = (overloaded(qdisc, log) for log in ("summary", True, False))
        longest = 0
        for number in range(2 * len(SIZES)):
            lengths = short.occupancy_distribution(number)
            longest = max(longest, lengths.index.max())
            pd.testing.assert_series_equal(
                lengths, whole.occupancy_distribution(number), check_index_type=False
            )
            assert short.carried_bytes(number) == whole.carried_bytes(number)
            assert same_delays((short, whole, bare), number)
            if qdisc in QDISCS and QDISCS[qdisc].drops is Drops.ANY:
                with pytest.raises(InputError, match="drops packets from the middle"):
                    whole.queueing_delay_percentiles_ms(bottleneck=number)
                continue
            waited_ns = waits_ns(whole, number)
            assert waited_ns.sum() / waited_ns.size / 1e6 == whole.queueing_delay_ms(number)
            shares = (1, 50, 99, 100)
            exact = whole.queueing_delay_percentiles_ms(shares, number)
            rounded = short.queueing_delay_percentiles_ms(shares, number)
            assert (exact <= rounded).all()
            assert (rounded <= exact * (1 + 1 / 64) + 1e-6).all()
        if qdisc in {"bfifo", "cake", "red", "tbf"}:  # a limit in bytes
            assert longest > 20
        columns = ["mean_queue_packets", "utilisation", "queueing_delay_ms", "losses"]
        pd.testing.assert_frame_equal(
            short.bottleneck_summary()[columns], whole.bottleneck_summary()[columns]
        )

    def test_littles_law(self, qdisc: str) -> None:
        """The integral of a queue's length is the sum of the waits of all packets, to the ns."""
        result = overloaded(qdisc, "summary")
        assert result.queue_summary is not None
        for number in range(2 * len(SIZES)):
            check_littles_law(result, number)
            for event in ("dequeue", "drop"):
                assert result.queue_summary.packets(event, number) > 50
            longest_ms = result.queueing_delay_percentiles_ms([100], number).item()
            assert 0 < result.queueing_delay_ms(number) <= longest_ms

    def test_utilisation(self, qdisc: str) -> None:
        """A link with twice its rate for half of the time is in use for that time and little more.

        Its queue is never empty, so that all of its rate is in use, or of that of the token bucket;
        the last packets wait for less than half of a second. RED alone stops early: it takes all
        packets until its average length is above `max_packets`, here a fifth of its limit. With a
        weight of 1/512 that takes at least 512 ln(1 / 0.8) = 114 arrivals, of which half pass. Then
        it drops all packets, and while the link is idle the average falls by 1/512 in the time of a
        full packet only: by a fifth in 0.7 s.
        """
        used = overloaded(qdisc, "summary").bottleneck_summary()["utilisation"].to_numpy()
        least = np.full(used.size, 0.95 * TBF_MBPS / MBPS / 2)
        if qdisc == "red":
            capacity_bytes = MBPS * 1e6 / 8 * 2
            least = np.tile(50 * np.array(SIZES) / capacity_bytes, len(DIRECTIONS))
        assert (used > least).all()
        assert (used < 0.75).all()


class TestQueuesWithin:
    """Packets that leave from the middle of a queue, and qdiscs with two queues."""

    @pytest.mark.parametrize("ack_filter", [1, 2])
    def test_ack_filter(self, ack_filter: int) -> None:
        """Delays of ACKs are exact if CAKE drops those that later ones replace."""
        link = Bottleneck(
            bandwidth_mbps=0.1,
            queue_packets=100,
            qdisc="cake",
            qdisc_options=(("ack_filter", ack_filter),),
        )
        scenario = Scenario(
            flows=(Flow(cca="cubic"), Flow(cca="reno")),
            path=NetworkPath(
                bottlenecks=(Bottleneck(bandwidth_mbps=20, queue_packets=100),),
                reverse_bottlenecks=(link,),
                rtt_ms=40,
            ),
            duration_s=3,
        )
        whole = run(scenario)
        short, bare = (run(replace(scenario, queue_log=log)) for log in ("summary", False))
        assert same_delays((whole, short, bare), 0)
        assert same_delays((whole, short, bare), 1)
        assert short.queue_summary is not None
        assert short.queue_summary.packets("drop", 1) > 100
        with pytest.raises(InputError, match="drops acknowledgements from the middle"):
            whole.queueing_delay_percentiles_ms(bottleneck=1)
        assert 0 < delivered(whole)["queueing_ms"].mean()

    def test_two_queues(self) -> None:
        """Both queues of DualPI2 obey Little's law, and are the same in all records."""
        link = Bottleneck(bandwidth_mbps=MBPS, queue_packets=60, qdisc="dualpi2")
        flows = [
            Flow(kind="poisson", rate_mbps=MBPS, packet_bytes=size, ecn=ecn, stop_s=1)
            for size, ecn in ((500, "ect1"), (700, ""))
        ]
        scenario = Scenario(
            flows=tuple(flows), path=NetworkPath(bottlenecks=(link,), rtt_ms=40), duration_s=3
        )
        whole = run(scenario)
        short, bare = (run(replace(scenario, queue_log=log)) for log in ("summary", False))
        for queue in (None, "classic", "l4s"):
            assert same_delays((whole, short, bare), 0, queue)
            check_littles_law(short, 0, queue)
        assert bare.queueing_delay_ms(queue="l4s") < bare.queueing_delay_ms(queue="classic")
        both = bare.links.iloc[0]
        assert 0 < both["l4s_left_packets"] < both["left_packets"]
