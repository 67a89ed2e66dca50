# SPDX-License-Identifier: Apache-2.0
"""The path of every packet through the queues, from a run's queue log.

The log says what happened when; which departure belongs to which arrival follows from two facts:
the packets of one flow leave a queue in the order in which they came, and links keep the order of
what they carry. Which packet is dropped at an arrival is a property of the qdisc
(:class:`~ccbench.experiment.qdiscs.Drops`). If it may be any, as CHOKe drops packets from the
middle of its queue, the delay of a packet cannot be known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ccbench.base.errors import InputError
from ccbench.experiment.qdiscs import QDISCS, Drops
from ccbench.run.tables import EVENTS, NO_FLOW

if TYPE_CHECKING:
    from ccbench.experiment.bottleneck import Bottleneck
    from ccbench.run.run import Run

__all__ = ["delivered", "fates"]

_ENQUEUE, _DEQUEUE, _DROP, _MARK, _LOSS = range(len(EVENTS))

IntArray = npt.NDArray[np.int64]


def delivered(run: Run) -> pd.DataFrame:
    """Return every packet that left the queue of its flow's last bottleneck, with its delays.

    Parameters
    ----------
    run : Run
        A run with a queue log.

    Returns
    -------
    DataFrame
        A row per packet in the order of departure. Columns: ``flow``; ``bytes`` of IP;
        ``arrival_s``, when it came to its first bottleneck; ``queueing_ms``, what it waited in all
        queues together; ``one_way_ms``, the same with its time on the links and half of the flow's
        base round-trip time (on a link that follows a trace the packet's own time on it is not
        known, and counts as 0).

    Raises
    ------
    InputError
        If the run has no queue log, or a qdisc drops any packets, as CHOKe does.

    Examples
    --------
    >>> delivered(run).groupby("flow")["queueing_ms"].quantile(0.95)  # doctest: +SKIP
    """
    links = run.scenario.bottlenecks
    for link in links:
        if _drops(run, link) is Drops.ANY:
            message = f"qdisc = {link.qdisc!r} drops packets from the middle, so that delays of"
            step = "choose another qdisc, or no metric of delay"
            raise InputError(f"{message} single packets are not known: {step}")
    flows = run.scenario.flow_table()
    joins, leaves = (flows[f"{end}_bottleneck"].to_numpy() for end in ("first", "last"))
    log = _Log(run, 0, links[0])
    # Of the packets that a link has taken: when they came to the first queue, and what they waited.
    arrival_ns = log.enqueued_ns[log.enqueue_of]
    waited_ns = log.dequeued_ns - arrival_ns
    base_ms = (run.scenario.rtt_ms + flows["extra_rtt_ms"].to_numpy()) / 2
    parts = []
    for number, link in enumerate(links[1:], start=1):
        goes_on = leaves[log.dequeued_flow] >= number
        if not goes_on.all():
            times_ns = arrival_ns[~goes_on], waited_ns[~goes_on]
            parts.append(_delays(log, links[number - 1], ~goes_on, times_ns, base_ms))
            arrival_ns, waited_ns = arrival_ns[goes_on], waited_ns[goes_on]
        log = _Log(run, number, link)
        arrives = log.is_enqueue | log.is_loss
        # A link keeps the order: the k-th that it took is the k-th to come out or to be lost.
        crossed = joins[log.flow[arrives]] < number
        before_ns = np.array([log.time_ns[arrives], np.zeros(crossed.size)], dtype=np.int64)
        out = np.count_nonzero(crossed)  # what is still on the link never comes
        before_ns[:, crossed] = arrival_ns[:out], waited_ns[:out]
        arrival_ns, waited_ns = before_ns[:, log.is_enqueue[arrives]][:, log.enqueue_of]
        waited_ns += log.dequeued_ns - log.enqueued_ns[log.enqueue_of]
    everything = np.ones(log.dequeued_ns.size, dtype=bool)
    last = _delays(log, links[-1], everything, (arrival_ns, waited_ns), base_ms)
    if not parts:
        return last.reset_index(drop=True)
    return pd.concat([*parts, last]).sort_index(kind="stable").reset_index(drop=True)


def _delays(
    log: _Log,
    link: Bottleneck,
    leaves: npt.NDArray[np.bool_],
    times_ns: tuple[IntArray, IntArray],
    base_ms: npt.NDArray[np.float64],
) -> pd.DataFrame:
    """Return the rows of those packets of a log that leave the path there; index: when they do.

    `times_ns` are when they came to their first queue, and what they have waited.
    """
    arrival_ns, waited_ns = times_ns
    flow, size, left_ns = (
        x[leaves] for x in (log.dequeued_flow, log.dequeued_bytes, log.dequeued_ns)
    )
    on_link_ns = np.zeros(left_ns.size)
    if link.bandwidth_mbps is not None:
        on_link_ns = size * 8e3 / link.bandwidth_mbps
    passed_ms = (left_ns - arrival_ns + on_link_ns) / 1e6
    return pd.DataFrame(
        {
            "flow": flow,
            "bytes": size,
            "arrival_s": arrival_ns / 1e9,
            "queueing_ms": waited_ns / 1e6,
            "one_way_ms": passed_ms + base_ms[flow],
        },
        index=left_ns,
    )


def fates(run: Run, from_s: float = 0.0, to_s: float | None = None) -> pd.DataFrame:
    """Count what became of the packets of each flow between two times.

    Parameters
    ----------
    run : Run
        A run with a queue log.
    from_s, to_s : float
        The times in seconds; `to_s` left out: the end.

    Returns
    -------
    DataFrame
        Index ``flow``; columns ``sent``, packets that came to their first bottleneck, and ``lost``,
        packets that a queue dropped or that were lost at random, at any bottleneck.

    Raises
    ------
    InputError
        If the run has no queue log.

    Examples
    --------
    >>> counts = fates(run)  # doctest: +SKIP
    >>> counts["lost"] / counts["sent"]  # doctest: +SKIP
    """
    end_s = run.scenario.duration_s if to_s is None else to_s
    index = pd.RangeIndex(run.scenario.flow_count, name="flow")
    counts = pd.DataFrame(0, index=index, columns=["sent", "lost"])
    joins = run.scenario.flow_table()["first_bottleneck"].to_numpy()
    for number in range(len(run.scenario.bottlenecks)):
        log = _events_of_flows(run, number)
        log = log[log["time_ns"].between(from_s * 1e9, end_s * 1e9)]
        event, flow = log["event"].cat.codes, log["flow"]
        came = flow[event.isin((_ENQUEUE, _LOSS))].to_numpy()
        counts["sent"] += np.bincount(came[joins[came] == number], minlength=len(index))
        counts["lost"] += np.bincount(flow[event.isin((_DROP, _LOSS))], minlength=len(index))
    return counts


def _events_of_flows(run: Run, number: int) -> pd.DataFrame:
    """Return the log of a bottleneck without background traffic."""
    log = run.queue_events(number)
    return log[log["flow"] != NO_FLOW] if run.scenario.noise.background_share else log


class _Log:
    """The log of one bottleneck, with each departure matched to its arrival.

    Attributes
    ----------
    time_ns, flow : ndarray, one per event
    is_enqueue, is_loss : ndarray of bool, likewise
    enqueued_ns : ndarray, one per arrival at the queue
    dequeued_ns, dequeued_flow, dequeued_bytes : ndarray, one per packet that left for the link
    enqueue_of : ndarray
        Of each that left for the link, its position among the arrivals.
    """

    def __init__(self, run: Run, number: int, link: Bottleneck) -> None:
        rows = _events_of_flows(run, number)
        self.time_ns: IntArray = rows["time_ns"].to_numpy()
        event = rows["event"].cat.codes.to_numpy()
        self.flow: npt.NDArray[Any] = rows["flow"].to_numpy()
        time_ns, flow = self.time_ns, self.flow
        self.is_enqueue = event == _ENQUEUE
        self.is_loss = event == _LOSS
        is_dequeue = event == _DEQUEUE
        self.enqueued_ns = time_ns[self.is_enqueue]
        self.dequeued_ns = time_ns[is_dequeue]
        self.dequeued_flow = flow[is_dequeue]
        self.dequeued_bytes = rows["bytes"].to_numpy()[is_dequeue]

        is_drop = event == _DROP
        arrivals, drops = _dropped_before_older(self, is_drop, _drops(run, link))
        came, left = self.is_enqueue.copy(), is_dequeue | is_drop
        came[arrivals] = left[drops] = False
        # Of what is left of each flow the k-th to leave is the k-th that came.
        came_at = np.flatnonzero(came)
        by_flow = came_at[np.argsort(flow[came_at], kind="stable")]
        first = np.searchsorted(flow[by_flow], np.arange(run.scenario.flow_count))
        arrival = by_flow[first[flow[left]] + _rank_in_flow(flow[left])]
        position = np.cumsum(self.is_enqueue) - 1
        self.enqueue_of: IntArray = position[arrival[is_dequeue[left]]]


def _drops(run: Run, link: Bottleneck) -> Drops:
    """Return the packet that a link's qdisc drops at an arrival: that one, if nothing says more."""
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
    # What is dropped for another's packet is the flow's last that is still there.
    others = np.flatnonzero(is_drop & ~refused)
    taken = set(arrivals.tolist())
    flows = np.unique(log.flow[others])
    came_at = {flow: np.flatnonzero(log.is_enqueue & (log.flow == flow)) for flow in flows}
    newest = []
    for at in others:
        mine = came_at[log.flow[at]]
        k = np.searchsorted(mine, at) - 1
        while int(mine[k]) in taken:
            k -= 1
        newest.append(int(mine[k]))
        taken.add(newest[-1])
    return np.r_[arrivals, np.array(newest, dtype=np.int64)], np.r_[dropped_at, others]


def _rank_in_flow(flow: npt.NDArray[Any]) -> IntArray:
    """Return of each packet how many of its flow are before it."""
    order = np.argsort(flow, kind="stable")
    in_order = flow[order]
    starts = np.flatnonzero(np.r_[True, in_order[1:] != in_order[:-1]])
    lengths = np.diff(np.r_[starts, flow.size])
    rank = np.empty(flow.size, dtype=np.int64)
    rank[order] = np.arange(flow.size) - np.repeat(starts, lengths)
    return rank
