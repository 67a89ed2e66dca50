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
from ccbench.run import intervals
from ccbench.run.tables import BACKLOG_STEPS, EVENTS, NO_FLOW

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from ccbench.run.record import RunRecord

__all__ = ["check"]

#: Unsigned backlogs from this number on are negative.
_NEGATIVE = 2**31

#: Rows of a log that are added up at once, which bounds the memory.
_ROWS_AT_ONCE = 1 << 20


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
    rows = run.queue
    if len(run.scenario.path.links) > 1:
        rows = rows[rows["bottleneck"] == bottleneck]
    for backlog in ("backlog_packets", "backlog_bytes"):
        negative = rows[backlog].to_numpy() >= _NEGATIVE
        if negative.any():
            packet = _packet(rows, negative.argmax())
            raise _ViolationError(f"as {backlog} is negative after the {packet}")
    longest = rows["backlog_bytes"].to_numpy() > _limit_bytes(run, bottleneck)
    if longest.any():
        raise _ViolationError(
            f"as {_overrun(run, bottleneck)} with the {_packet(rows, longest.argmax())}"
        )
    packets, size = _balance(rows, run.scenario.flow_count)
    faulty = (packets < 0) | (size < 0) | ((packets == 0) & (size != 0))
    if faulty.any():
        flow = int(faulty.argmax())
        number = NO_FLOW if flow == run.scenario.flow_count else flow
        raise _ViolationError(f"as {_excess(rows, number)}")
    if len(run.links) and len(rows):
        left = int(run.links["left_packets"].iloc[bottleneck])
        dequeued = int((rows["event"].cat.codes == EVENTS.index("dequeue")).sum())
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


def _balance(
    rows: pd.DataFrame, flows: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the packets and the bytes of each flow in the queue at the end, shape (flows + 1,).

    The last is traffic of no flow.
    """
    totals = np.zeros((2, flows + 1))
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows.iloc[begin : begin + _ROWS_AT_ONCE]
        flow = np.minimum(part["flow"].to_numpy(), flows)
        step = BACKLOG_STEPS[part["event"].cat.codes]
        totals[0] += np.bincount(flow, step, flows + 1)
        totals[1] += np.bincount(flow, step * part["bytes"].to_numpy(), flows + 1)
    return totals[0], totals[1]


def _excess(rows: pd.DataFrame, flow: int) -> str:
    """Return what is wrong with the packets of a flow, from the first of them."""
    own = rows[rows["flow"] == flow]
    step = BACKLOG_STEPS[own["event"].cat.codes]
    waiting = np.cumsum(step)
    if (waiting < 0).any():
        return f"more packets left than had arrived with the {_packet(own, waiting.argmin())}"
    size = np.cumsum(step * own["bytes"].to_numpy(np.int64))
    changed = (size < 0) | ((waiting == 0) & (size != 0))
    return f"bytes have been added or removed until the {_packet(own, changed.argmax())}"


def _packet(rows: pd.DataFrame, position: int | np.intp) -> str:
    row = rows.iloc[position]
    flow = "no flow" if row["flow"] == NO_FLOW else f"flow {row['flow']}"
    time_ms = row["time_ns"] / 1e6
    return f"{row['event']} of a packet of {row['bytes']} bytes of {flow} at {time_ms:.6f} ms"


def _check_summary(run: RunRecord, bottleneck: int) -> None:
    assert run.queue_summary is not None
    duration_ns = intervals.duration_ns(run.scenario)
    samples = run.queue_summary.rows("samples", bottleneck)
    for backlog in ("backlog_packets", "backlog_bytes"):
        negative = samples[backlog].to_numpy() >= _NEGATIVE
        if negative.any():
            time_s = samples["time_ns"].iloc[int(negative.argmax())] / 1e9
            raise _ViolationError(f"as {backlog} is negative at {time_s:g} s")
    longest = samples["backlog_bytes"].to_numpy() > _limit_bytes(run, bottleneck)
    if longest.any():
        time_s = samples["time_ns"].iloc[int(longest.argmax())] / 1e9
        raise _ViolationError(f"as {_overrun(run, bottleneck)} at {time_s:g} s")
    occupancy = run.queue_summary.rows("occupancy", bottleneck)
    if (occupancy["packets"] >= _NEGATIVE).any():
        raise _ViolationError("as the queue was shorter than 0 packets")
    counts = run.queue_summary.rows("counts", bottleneck)
    for flow, own in counts.groupby("flow"):
        events = own.set_index("event")
        for unit in ("packets", "bytes"):
            arrived, left, dropped = (int(events[unit].get(event, 0)) for event in EVENTS[:3])
            if arrived < left + dropped:
                raise _ViolationError(
                    f"as of the {unit} of flow {flow}, {arrived} arrived, {left} left and "
                    f"{dropped} were dropped"
                )
    longest_ns = counts["packets"] * duration_ns
    if (counts["waited_ns"] > longest_ns).any():
        raise _ViolationError("as packets waited for longer than the run")


def _check_link(run: RunRecord, bottleneck: int) -> None:
    if not len(run.links):
        return
    link = run.links.iloc[bottleneck]
    if link["waited_ns"] > link["left_packets"] * intervals.duration_ns(run.scenario):
        raise _ViolationError("as packets waited for longer than the run")
    if link["carried_packets"] > link["left_packets"]:
        raise _ViolationError(
            f"as {counted(link['left_packets'], 'packet')} left the queue and the link carried "
            f"{link['carried_packets']}"
        )


def _check_windows(run: RunRecord) -> None:
    """Raise an EngineError for a window of 0, which makes Linux send nothing or crash."""
    flows = run.flows
    # The samples of closed connections have no RTT.
    closed = (flows["cwnd_packets"].to_numpy() == 0) & (flows["srtt_us"].to_numpy() > 0)
    if closed.any():
        row = flows.iloc[int(closed.argmax())]
        cca = run.scenario.split_flows[run.scenario.split_numbers()[int(row["flow"])]].cca
        raise EngineError(
            f"flow {row['flow']} has a window of 0 packets at {row['time_ns'] / 1e9:g} s: correct "
            f"the congestion control {cca} if it is one of yours, else report it"
        )
