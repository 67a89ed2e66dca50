# SPDX-License-Identifier: Apache-2.0
"""Conservation laws that every run obeys, whatever its engine and its qdiscs.

Per queue and flow, the packets and bytes that arrived are those that left, were dropped or remain;
no queue is shorter than 0 or longer than its limit, no packet waits for longer than the run, no
link carries more than its queue has sent, and no open connection has a window of 0. A run that
breaks one of them is an error of its qdisc, congestion control or engine, never a result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.counts import counted
from ccbench.base.errors import EngineError
from ccbench.run import intervals, queue_events
from ccbench.run.tables import BACKLOG_STEPS, EVENTS, NO_FLOW

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.record import RunRecord

__all__ = ["check"]

#: Unsigned backlogs from this number on are negative.
_NEGATIVE = 2**31


def check(run: RunRecord) -> None:
    """Check that a run obeys all conservation laws.

    Raises
    ------
    EngineError
        If it does not. The message names the qdisc and the first packet, or else the flow.

    Examples
    --------
    >>> check(run)  # doctest: +SKIP
    """
    for bottleneck, link in enumerate(run.scenario.path.links):
        try:
            if run.queue_summary is not None:
                _check_summary(run, bottleneck)
            elif run.scenario.queue_log is True:
                _check_log(run, bottleneck)
            _check_link(run, bottleneck)
        except _ViolationError as violation:
            raise EngineError(
                f"the record of bottleneck {bottleneck} breaks a conservation law, {violation}: "
                f"correct the qdisc {link.qdisc} if it is one of yours, else report it"
            ) from None
    _check_windows(run)


class _ViolationError(Exception):
    """A conservation law that a queue breaks."""


def _check_log(run: RunRecord, bottleneck: int) -> None:
    limit_bytes, count = _limit_bytes(run, bottleneck), run.scenario.flow_count
    packets, size = np.zeros(count + 1, dtype=np.int64), np.zeros(count + 1)
    dequeued, rows = 0, 0
    parts = queue_events.parts(
        run, bottleneck, None, "event", "flow", "bytes", "backlog_packets", "backlog_bytes"
    )
    for event, of_flow, ip_bytes, *backlogs in parts:
        for name, backlog in zip(("backlog_packets", "backlog_bytes"), backlogs, strict=True):
            if len(backlog) and backlog.max() >= _NEGATIVE:
                packet = _packet(run, bottleneck, rows + int((backlog >= _NEGATIVE).argmax()))
                raise _ViolationError(f"as {name} is negative after the {packet}")
        if len(event) and backlogs[1].max() > limit_bytes:
            packet = _packet(run, bottleneck, rows + int((backlogs[1] > limit_bytes).argmax()))
            raise _ViolationError(f"as {_overrun(run, bottleneck)} with the {packet}")
        # One count for each flow and event; traffic of no flow is the last flow.
        kinds = len(EVENTS)
        cell = np.minimum(of_flow, count).astype(np.int64) * kinds + event
        shape = count + 1, kinds
        packets += np.bincount(cell, minlength=(count + 1) * kinds).reshape(shape) @ BACKLOG_STEPS
        sizes = np.bincount(cell, ip_bytes, minlength=(count + 1) * kinds).reshape(shape)
        size += sizes @ BACKLOG_STEPS
        dequeued += int((event == EVENTS.index("dequeue")).sum())
        rows += len(event)
    faulty = (packets < 0) | (size < 0) | ((packets == 0) & (size != 0))
    if faulty.any():
        flow = int(faulty.argmax())
        number = NO_FLOW if flow == count else flow
        raise _ViolationError(f"as {_excess(queue_events.events(run, bottleneck), number)}")
    if len(run.stored("links")) and rows:
        (of_links,) = run.columns("links", "left_packets")
        left = int(of_links[bottleneck])
        if left != dequeued:
            raise _ViolationError(
                f"as {counted(left, 'packet')} left the queue and {dequeued} are logged"
            )


def _limit_bytes(run: RunRecord, bottleneck: int) -> float:
    """Return the size of the longest queue that a bottleneck may have, with an arriving packet."""
    if run.scenario.path.links[bottleneck].qdisc in run.provenance.get("unlimited_qdiscs", ()):
        return float("inf")
    return (run.scenario.path.longest_queue(bottleneck) + 1) * run.scenario.path.mtu_bytes


def _overrun(run: RunRecord, bottleneck: int) -> str:
    limit = run.scenario.path.longest_queue(bottleneck)
    return f"it is longer than its limit of {counted(limit, 'packet')}"


def _excess(rows: pd.DataFrame, flow: int) -> str:
    """Return what is wrong with the packets of a flow, from the first of them."""
    own = rows[rows["flow"] == flow]
    step = BACKLOG_STEPS[own["event"].cat.codes]
    waiting = np.cumsum(step)
    if (waiting < 0).any():
        return f"more packets left than had arrived with the {_described(own, waiting.argmin())}"
    size = np.cumsum(step * own["bytes"].to_numpy(np.int64))
    changed = (size < 0) | ((waiting == 0) & (size != 0))
    return f"bytes have been added or removed until the {_described(own, changed.argmax())}"


def _packet(run: RunRecord, bottleneck: int, position: int) -> str:
    """Return the packet of an event at a bottleneck in words."""
    return _described(queue_events.events(run, bottleneck), position)


def _described(rows: pd.DataFrame, position: int | np.intp) -> str:
    row = rows.iloc[position]
    flow = "no flow" if row["flow"] == NO_FLOW else f"flow {row['flow']}"
    time_ms = row["time_ns"] / 1e6
    return f"{row['event']} of a packet of {row['bytes']} bytes of {flow} at {time_ms:.6f} ms"


def _check_summary(run: RunRecord, bottleneck: int) -> None:
    summary = run.queue_summary
    assert summary is not None
    names = "time_ns", "backlog_packets", "backlog_bytes"
    times_ns, *backlogs = summary.columns_of("samples", bottleneck, None, *names)
    for name, backlog in zip(names[1:], backlogs, strict=True):
        negative = backlog >= _NEGATIVE
        if negative.any():
            time_s = times_ns[negative.argmax()] / 1e9
            raise _ViolationError(f"as {name} is negative at {time_s:g} s")
    longest = backlogs[1] > _limit_bytes(run, bottleneck)
    if longest.any():
        time_s = times_ns[longest.argmax()] / 1e9
        raise _ViolationError(f"as {_overrun(run, bottleneck)} at {time_s:g} s")
    (lengths,) = summary.columns_of("occupancy", bottleneck, None, "packets")
    if (lengths >= _NEGATIVE).any():
        raise _ViolationError("as the queue was shorter than 0 packets")
    flows, event, packets, ip_bytes, waited_ns = summary.columns_of(
        "counts", bottleneck, None, "flow", "event", "packets", "bytes", "waited_ns"
    )
    numbers, positions = np.unique(flows, return_inverse=True)
    for unit, values in (("packets", packets), ("bytes", ip_bytes)):
        sums = np.zeros((len(EVENTS), len(numbers)), np.uint64)
        np.add.at(sums, (event, positions), values)
        arrived, left, dropped = sums[:3]
        wrong = arrived < left + dropped
        if wrong.any():
            i = wrong.argmax()
            raise _ViolationError(
                f"as of the {unit} of flow {numbers[i]}, {arrived[i]} arrived, {left[i]} left and "
                f"{dropped[i]} were dropped"
            )
    if (waited_ns > packets * np.uint64(intervals.duration_ns(run.scenario))).any():
        raise _ViolationError("as packets waited for longer than the run")


def _check_link(run: RunRecord, bottleneck: int) -> None:
    if not len(run.stored("links")):
        return
    names = "waited_ns", "left_packets", "carried_packets"
    waited_ns, left, carried = (int(column[bottleneck]) for column in run.columns("links", *names))
    if waited_ns > left * intervals.duration_ns(run.scenario):
        raise _ViolationError("as packets waited for longer than the run")
    if carried > left:
        raise _ViolationError(
            f"as {counted(left, 'packet')} left the queue and the link carried {carried}"
        )


def _check_windows(run: RunRecord) -> None:
    """Raise an EngineError for a window of 0, which makes Linux send nothing or crash."""
    names = "time_ns", "flow", "cwnd_packets", "srtt_us"
    times_ns, flows, cwnd_packets, srtt_us = run.columns("flows", *names)
    # The samples of closed connections have no RTT.
    closed = (cwnd_packets == 0) & (srtt_us > 0)
    if closed.any():
        row = int(closed.argmax())
        flow = int(flows[row])
        cca = run.scenario.split_flows[run.scenario.split_numbers()[flow]].cca
        raise EngineError(
            f"flow {flow} has a window of 0 packets at {times_ns[row] / 1e9:g} s: correct "
            f"the congestion control {cca} if it is one of yours, else report it"
        )
