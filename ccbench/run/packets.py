# SPDX-License-Identifier: Apache-2.0
"""Delays and losses of single packets, from a run's queue log.

The log does not identify packets. Departures are matched to arrivals by two facts: packets of one
flow leave a queue in the order of their arrival, and links preserve the order of all packets. (If a
qdisc has a queue for L4S in addition to its classic queue, this applies to each of them.) The
packet that is dropped at an arrival is a property of the qdisc
(:class:`~ccbench.experiment.qdiscs.Drops`). If a qdisc drops arbitrary packets, as CHOKe does, the
delays of single packets are unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ccbench.base.errors import InputError
from ccbench.experiment import dynamics
from ccbench.experiment.qdiscs import QDISCS, Drops
from ccbench.run import queue_events
from ccbench.run.tables import EVENTS, NO_FLOW

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.bottleneck import Bottleneck
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.record import RunRecord

__all__ = ["delivered", "fates", "waits_ns"]

_ENQUEUE, _DEQUEUE, _DROP, _MARK, _LOSS = range(len(EVENTS))

IntArray = npt.NDArray[np.int64]


def delivered(run: RunRecord) -> pd.DataFrame:
    """Return the delays of every data packet that left the last bottleneck of its flow.

    Parameters
    ----------
    run : Run
        A run with a queue log.

    Returns
    -------
    DataFrame
        A row per data packet in the order of departure. Columns: ``flow``; ``bytes`` of IP;
        ``arrival_s`` at the first bottleneck; ``queueing_ms``, the sum over all queues;
        ``one_way_ms``, the sum of queueing, transmission and the base delay in this direction. On a
        link that follows a trace, the transmission time of single packets is unknown and counts as
        0. Without `forward_delay_ms`, the base delay is half of the flow's base round-trip time, as
        on a symmetric path, although the emulated path then delays ACKs only. Jitter and other
        noise, and additional delays after a link, are not part of it: a capture has them.

    Raises
    ------
    InputError
        If the run has no queue log, a qdisc drops arbitrary packets, as CHOKe does, or packets are
        reordered or duplicated between two bottlenecks.

    Examples
    --------
    >>> delivered(run).groupby("flow")["queueing_ms"].quantile(0.95)  # doctest: +SKIP
    """
    import pandas as pd  # noqa: PLC0415 - not needed for a summary

    count, total = len(run.scenario.path.bottlenecks), len(run.scenario.path.links)
    for link in run.scenario.path.links:
        _check_order(run, link)
    parts = _delivered(run, range(count))
    if count < total:
        parts += _delivered(run, range(count, total))
    if len(parts) == 1:
        return parts[0].reset_index(drop=True)
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


def _delivered(run: RunRecord, numbers: range) -> list[pd.DataFrame]:
    """Return the data packets that left each bottleneck of a direction as their last one.

    Acknowledgements of the other direction's flows cross the same bottlenecks, all of them.
    """
    for before, after in pairwise(numbers):
        _check_between(run, before, after)
    flows = run.scenario.flow_table()
    joins, leaves = (flows[f"{end}_bottleneck"].to_numpy() for end in ("first", "last"))
    has_data = (numbers.start <= joins) & (joins < numbers.stop)
    joins, leaves = (
        np.where(has_data, joins, numbers.start),
        np.where(has_data, leaves, numbers[-1]),
    )
    base = _BaseDelay(run.actual_scenario, flows["extra_rtt_ms"].to_numpy(), numbers.start > 0)
    link = run.scenario.path.links[numbers.start]
    log = _Log(run, numbers.start, link)
    # Of the packets that left for a link: arrival at their first queue, and waiting time so far.
    arrival_ns = log.enqueued_ns[log.enqueue_of]
    waited_ns = log.dequeued_ns - arrival_ns
    parts = []
    for number in numbers[1:]:
        continues = leaves[log.dequeued_flow] >= number
        if not continues.all():
            times_ns = arrival_ns[~continues], waited_ns[~continues]
            parts.append(_delays(log, ~continues, times_ns, base))
            arrival_ns, waited_ns = arrival_ns[continues], waited_ns[continues]
        link = run.scenario.path.links[number]
        log = _Log(run, number, link)
        arrives = log.is_enqueue | log.is_loss
        # A link preserves the order: its k-th packet is the k-th to arrive or to be lost.
        crossed = joins[log.flow[arrives]] < number
        before_ns = np.array([log.time_ns[arrives], np.zeros(crossed.size)], dtype=np.int64)
        out = np.count_nonzero(crossed)  # packets still on the link at the end never arrive
        before_ns[:, crossed] = arrival_ns[:out], waited_ns[:out]
        arrival_ns, waited_ns = before_ns[:, log.is_enqueue[arrives]][:, log.enqueue_of]
        waited_ns += log.dequeued_ns - log.enqueued_ns[log.enqueue_of]
    all_packets = np.ones(log.dequeued_ns.size, dtype=bool)
    parts.append(_delays(log, all_packets, (arrival_ns, waited_ns), base))
    if has_data.all():  # avoids copies of millions of rows
        return parts
    return [part[has_data[part["flow"]]] for part in parts]


@dataclass(frozen=True)
class _BaseDelay:
    """Base delay in a direction, of which each flow has its own extra part."""

    scenario: Scenario
    extra_rtt_ms: npt.NDArray[np.float64]
    is_reverse: bool

    def of(
        self, flow: npt.NDArray[Any], left_ns: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return the delay in milliseconds of packets that leave a link at some times."""
        rtt_ms, forward_ms = dynamics.delays_ms(self.scenario, left_ns / 1e9)
        base_ms = rtt_ms - forward_ms if self.is_reverse else forward_ms
        share = self.is_reverse if dynamics.is_split(self.scenario) else 0.5
        total_ms: npt.NDArray[np.float64] = base_ms + share * self.extra_rtt_ms[flow]
        return total_ms


def waits_ns(run: RunRecord, bottleneck: int, queue: str | None = None) -> IntArray:
    """Return the waiting times of the packets that left a queue, in that order.

    Parameters
    ----------
    run : Run
        A run with a queue log.
    bottleneck : int
        Position of the bottleneck in the scenario.
    queue : str, optional
        One of the queues of its qdisc, ``"classic"`` or ``"l4s"``; by default, all packets.

    Raises
    ------
    InputError
        If the run has no queue log, or the qdisc drops arbitrary packets, as CHOKe does, or
        arbitrary acknowledgements, as CAKE's `ack_filter` does.

    Examples
    --------
    >>> waits_ns(l4s, 0, "l4s").max() / 1e6  # doctest: +SKIP
    """
    link = run.scenario.path.links[bottleneck]
    _check_order(run, link)
    if link.qdisc in QDISCS and QDISCS[link.qdisc].drops_acks(dict(link.qdisc_options)):
        raise _unknown(f"qdisc = {link.qdisc!r} drops acknowledgements")
    log = _Log(run, bottleneck, link, with_background=True)
    waited_ns: IntArray = log.dequeued_ns - log.enqueued_ns[log.enqueue_of]
    if queue is not None:
        waited_ns = waited_ns[log.dequeued_queue == link.queues.index(queue)]
    return waited_ns


def _check_order(run: RunRecord, link: Bottleneck) -> None:
    if _drops(run, link) is Drops.ANY:
        raise _unknown(f"qdisc = {link.qdisc!r} drops packets")


def _unknown(cause: str) -> InputError:
    return InputError(
        f"{cause} from the middle of its queue, so that delays of single packets are unknown: "
        "choose another qdisc, or no metric of single packets' delays"
    )


def _check_between(run: RunRecord, before: int, after: int) -> None:
    links = run.scenario.path.links
    if links[before].reordering or links[before].jitter or links[after].duplicates:
        raise InputError(
            f"packets are reordered or duplicated between bottlenecks {before} and {after}, so "
            "that delays of single packets are unknown: choose no metric of delay"
        )


def _delays(
    log: _Log,
    leaves: npt.NDArray[np.bool_],
    times_ns: tuple[IntArray, IntArray],
    base: _BaseDelay,
) -> pd.DataFrame:
    """Return the rows of the packets that leave the path at a bottleneck, indexed by that time.

    `times_ns` are the packets' arrivals at their first queue and their waiting times.
    """
    import pandas as pd  # noqa: PLC0415 - likewise

    arrival_ns, waited_ns = times_ns
    flow, size, left_ns = (
        x[leaves] for x in (log.dequeued_flow, log.dequeued_bytes, log.dequeued_ns)
    )
    ip_bytes = size.astype(np.int64)
    on_link_ns = dynamics.on_link_ns(base.scenario, log.number, ip_bytes, left_ns)
    passed_ms = (left_ns - arrival_ns + on_link_ns) / 1e6
    return pd.DataFrame(
        {
            "flow": flow,
            "bytes": size,
            "arrival_s": arrival_ns / 1e9,
            "queueing_ms": waited_ns / 1e6,
            "one_way_ms": passed_ms + base.of(flow, left_ns + on_link_ns),
        },
        index=left_ns,
    )


def fates(run: RunRecord, from_s: float = 0.0, to_s: float | None = None) -> pd.DataFrame:
    """Count the sent and lost packets of each flow between two times.

    Parameters
    ----------
    run : Run
        A run with a queue log.
    from_s, to_s : float
        The times in seconds. Default of `to_s`: the end of the run.

    Returns
    -------
    DataFrame
        Index ``flow``; columns ``sent``, data packets that arrived at their first bottleneck, and
        ``lost``, those dropped by a queue or lost before it at any bottleneck; ``marked``, those
        marked by a queue, at each bottleneck anew. A duplicate counts as a packet of its own.

    Raises
    ------
    InputError
        If the run has no queue log.

    Examples
    --------
    >>> counts = fates(run)  # doctest: +SKIP
    >>> counts["lost"] / counts["sent"]  # doctest: +SKIP
    """
    import pandas as pd  # noqa: PLC0415 - likewise

    end_s = run.scenario.duration_s if to_s is None else to_s
    index = pd.RangeIndex(run.scenario.flow_count, name="flow")
    counts = pd.DataFrame(0, index=index, columns=["sent", "lost", "marked"])
    joins = run.scenario.flow_table()["first_bottleneck"].to_numpy()
    count = len(run.scenario.path.bottlenecks)
    for number in range(len(run.scenario.path.links)):
        log = _events_of_flows(run, number)
        log = log[log["time_ns"].between(from_s * 1e9, end_s * 1e9)]
        if run.scenario.path.reverse_bottlenecks:  # without acknowledgements
            log = log[(joins[log["flow"]] >= count) == (number >= count)]
        event, flow = log["event"].cat.codes, log["flow"]
        came = flow[event.isin((_ENQUEUE, _LOSS))].to_numpy()
        counts["sent"] += np.bincount(came[joins[came] == number], minlength=len(index))
        counts["lost"] += np.bincount(flow[event.isin((_DROP, _LOSS))], minlength=len(index))
        counts["marked"] += np.bincount(flow[event == _MARK], minlength=len(index))
    return counts


def _events_of_flows(run: RunRecord, number: int) -> pd.DataFrame:
    """Return the log of a bottleneck without background traffic."""
    log = queue_events.events(run, number)
    return log[log["flow"] != NO_FLOW] if run.scenario.path.noise.background_share else log


class _Log:
    """The log of one bottleneck, with each departure matched to its arrival.

    Background traffic is one more flow, if it is not left out.

    Attributes
    ----------
    number : int
    time_ns, flow : ndarray, one entry per event
    is_enqueue, is_loss : ndarray of bool, one entry per event
    enqueued_ns : ndarray, one entry per arrival at the queue
    dequeued_ns, dequeued_flow, dequeued_bytes, dequeued_queue : ndarray
        One entry per departure for the link.
    enqueue_of : ndarray
        Position of each departing packet among the arrivals.
    """

    def __init__(
        self, run: RunRecord, number: int, link: Bottleneck, *, with_background: bool = False
    ) -> None:
        self.number = number
        rows = (queue_events.events if with_background else _events_of_flows)(run, number)
        self.time_ns: IntArray = rows["time_ns"].to_numpy()
        event = rows["event"].cat.codes.to_numpy()
        self.flow: npt.NDArray[Any] = np.minimum(rows["flow"].to_numpy(), run.scenario.flow_count)
        time_ns, flow = self.time_ns, self.flow
        self.is_enqueue = event == _ENQUEUE
        self.is_loss = event == _LOSS
        is_dequeue = event == _DEQUEUE
        self.enqueued_ns = time_ns[self.is_enqueue]
        self.dequeued_ns = time_ns[is_dequeue]
        self.dequeued_flow = flow[is_dequeue]
        self.dequeued_bytes = rows["bytes"].to_numpy()[is_dequeue]
        # Packets of one stream do not overtake each other.
        queue, queues = np.zeros_like(event), max(1, len(link.queues))
        if link.queues:
            queue = rows["queue"].cat.codes.to_numpy()
        self.dequeued_queue = queue[is_dequeue]
        stream = flow.astype(np.int64) * queues + queue

        is_drop = event == _DROP
        arrivals, drops = _dropped_before_older(self, is_drop, _drops(run, link))
        entered, left = self.is_enqueue.copy(), is_dequeue | is_drop
        entered[arrivals] = left[drops] = False
        # The k-th of the remaining packets of a stream to leave is the k-th that arrived.
        entered_at = np.flatnonzero(entered)
        by_stream = entered_at[np.argsort(stream[entered_at], kind="stable")]
        first = np.searchsorted(
            stream[by_stream], np.arange((run.scenario.flow_count + 1) * queues)
        )
        arrival = by_stream[first[stream[left]] + _rank(stream[left])]
        position = np.cumsum(self.is_enqueue) - 1
        self.enqueue_of: IntArray = position[arrival[is_dequeue[left]]]


def _drops(run: RunRecord, link: Bottleneck) -> Drops:
    """Return the packet that a link's qdisc drops at an arrival (default: the arriving packet)."""
    if link.qdisc in QDISCS:
        return QDISCS[link.qdisc].drops
    recorded = run.provenance.get("drops", {}).get(link.qdisc, Drops.ARRIVAL.name)
    return Drops[recorded.upper()]


def _dropped_before_older(
    log: _Log, is_drop: npt.NDArray[np.bool_], drops: Drops
) -> tuple[IntArray, IntArray]:
    """Return the arrivals that were dropped before older packets of their flow, and their drops."""
    if drops is Drops.OLDEST:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    refused = np.zeros(is_drop.size, dtype=bool)
    refused[1:] = is_drop[1:] & log.is_enqueue[:-1]
    refused[1:] &= (log.time_ns[1:] == log.time_ns[:-1]) & (log.flow[1:] == log.flow[:-1])
    dropped_at = np.flatnonzero(refused)
    arrivals = dropped_at - 1
    if drops is Drops.ARRIVAL:
        return arrivals, dropped_at
    # A drop for the packet of another flow takes the newest packet still in the queue.
    others = np.flatnonzero(is_drop & ~refused)
    removed = set(arrivals.tolist())
    flows = np.unique(log.flow[others])
    enqueued_at = {flow: np.flatnonzero(log.is_enqueue & (log.flow == flow)) for flow in flows}
    newest = []
    for at in others:
        candidates = enqueued_at[log.flow[at]]
        k = np.searchsorted(candidates, at) - 1
        while int(candidates[k]) in removed:
            k -= 1
        newest.append(int(candidates[k]))
        removed.add(newest[-1])
    return np.r_[arrivals, np.array(newest, dtype=np.int64)], np.r_[dropped_at, others]


def _rank(stream: npt.NDArray[Any]) -> IntArray:
    """Return the number of earlier packets of the same stream, for each packet."""
    order = np.argsort(stream, kind="stable")
    in_order = stream[order]
    starts = np.flatnonzero(np.r_[True, in_order[1:] != in_order[:-1]])
    lengths = np.diff(np.r_[starts, stream.size])
    rank = np.empty(stream.size, dtype=np.int64)
    rank[order] = np.arange(stream.size) - np.repeat(starts, lengths)
    return rank
