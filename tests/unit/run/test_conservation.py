# SPDX-License-Identifier: Apache-2.0
"""Conservation laws of runs, on records of a few packets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from ccbench.base.errors import EngineError
from ccbench.run import conservation
from ccbench.run.queue_summary import QueueSummary
from ccbench.run.tables import (
    BACKLOG_STEPS,
    EVENTS,
    FLOW_COLUMNS,
    LINK_COLUMNS,
    QUEUE_COLUMNS,
    SUMMARY_TABLES,
)
from tests.unit.run.test_run import SCENARIO, make_run, table

if TYPE_CHECKING:
    from ccbench.run.run import Run

#: Enqueue and dequeue of a packet of each flow, and the drop of a third packet.
EVENTS_OF_FLOWS = (("enqueue", 0), ("enqueue", 1), ("dequeue", 0), ("dequeue", 1))


def logged(*events: tuple[str, int], sizes: tuple[int, ...] = (), **links: int) -> Run:
    """Return a run whose first bottleneck has these events, one per millisecond."""
    names = [event for event, _ in events]
    steps = BACKLOG_STEPS[[EVENTS.index(name) for name in names]]
    lengths = list(sizes or [1500] * len(events))
    queue = table(
        QUEUE_COLUMNS,
        time_ns=range(0, len(events) * 1_000_000, 1_000_000),
        event=names,
        flow=[flow for _, flow in events],
        bytes=lengths,
    )
    queue["backlog_packets"] = pd.Series(steps.cumsum()).astype("uint32")
    queue["backlog_bytes"] = pd.Series((steps * lengths).cumsum()).astype("uint32")
    left = names.count("dequeue")
    rows: dict[str, Any] = {"bottleneck": [0, 1], "left_packets": [left, 0]}
    rows |= {name: [value, 0] for name, value in links.items()}
    return make_run(queue=queue, links=table(LINK_COLUMNS, **rows))


def refused(run: Run, reason: str) -> None:
    """Check that a run is an error for a reason."""
    with pytest.raises(EngineError, match=reason):
        conservation.check(run)


class TestLog:
    def test_right(self) -> None:
        """A run that conserves its packets is accepted, also with packets left at the end."""
        conservation.check(logged(*EVENTS_OF_FLOWS))
        conservation.check(logged(*EVENTS_OF_FLOWS, ("enqueue", 0), ("drop", 0), ("enqueue", 1)))
        conservation.check(logged())

    def test_copy(self) -> None:
        """A packet that leaves an empty queue is named with its time."""
        refused(
            logged(*EVENTS_OF_FLOWS, ("dequeue", 1)),
            r"bottleneck 0 .* backlog_packets is negative after the dequeue of a packet of 1500 "
            r"bytes of flow 1 at 4\.000000 ms: correct the qdisc droptail",
        )

    def test_other_flow(self) -> None:
        """A packet that leaves as one of another flow is named, even if the total agrees."""
        refused(
            logged(("enqueue", 0), ("enqueue", 0), ("dequeue", 0), ("dequeue", 1)),
            r"more packets left than had arrived with the dequeue .* of flow 1 at 3\.0",
        )

    def test_bytes(self) -> None:
        """A packet that leaves with fewer bytes than it had is named."""
        refused(
            logged(("enqueue", 0), ("dequeue", 0), sizes=(1500, 1480)),
            r"bytes have been added or removed until the dequeue of a packet of 1480 bytes",
        )

    def test_limit(self) -> None:
        """A queue beyond its limit is named with the first packet; a qdisc may have none."""
        arrivals = [("enqueue", 0)] * (SCENARIO.path.longest_queue(0) + 2)
        conservation.check(logged(*arrivals[1:]))
        refused(logged(*arrivals), "longer than its limit of .* with the enqueue of a packet")
        run = logged(*arrivals)
        conservation.check(replace(run, provenance={"unlimited_qdiscs": ["droptail"]}))

    def test_link(self) -> None:
        """Counters of the link must agree with the log and the run's length."""
        refused(logged(*EVENTS_OF_FLOWS, left_packets=3), "3 packets left the queue and 2 are")
        refused(logged(*EVENTS_OF_FLOWS, carried_packets=3), "2 packets .* the link carried 3")
        waited_ns = 2 * int(SCENARIO.duration_s * 1e9) + 1
        refused(logged(*EVENTS_OF_FLOWS, waited_ns=waited_ns), "longer than the run")


def summarised(
    *counts: tuple[str, int, int], backlog: int = 0, backlog_bytes: int = 0, waited_ns: int = 0
) -> Run:
    """Return a run with a summary of events: their name, flow and number."""
    events, flows, packets = zip(*counts, strict=True)
    summary = QueueSummary(
        occupancy=table(SUMMARY_TABLES["occupancy"], packets=[backlog]),
        waits=table(SUMMARY_TABLES["waits"]),
        counts=table(
            SUMMARY_TABLES["counts"],
            event=list(events),
            flow=list(flows),
            packets=list(packets),
            bytes=[1500 * number for number in packets],
            waited_ns=waited_ns,
        ),
        samples=table(
            SUMMARY_TABLES["samples"], backlog_packets=[backlog], backlog_bytes=[backlog_bytes]
        ),
    )
    return make_run(replace(SCENARIO, queue_log="summary"), queue_summary=summary)


class TestSummary:
    def test_right(self) -> None:
        """Packets that left, were dropped or remain are accepted."""
        conservation.check(summarised(("enqueue", 0, 9), ("dequeue", 0, 6), ("drop", 0, 2)))

    def test_copies(self) -> None:
        """A flow of which more packets left than arrived is named, although the total agrees."""
        refused(
            summarised(("enqueue", 0, 9), ("dequeue", 0, 4), ("dequeue", 1, 5)),
            "packets of flow 1, 0 arrived, 5 left and 0 were dropped",
        )

    def test_many_flows(self) -> None:
        """One of 100,000 flows that copies packets is named."""
        flows = range(100_000)
        arrived = [("enqueue", flow, 1) for flow in flows]
        left = [("dequeue", flow, 2 if flow == 77_777 else 1) for flow in flows]
        refused(summarised(*arrived, *left), "of the packets of flow 77777, 1 arrived, 2 left")

    def test_negative(self) -> None:
        """A negative backlog is an error at its time."""
        refused(
            summarised(("enqueue", 0, 1), backlog=2**32 - 1), "backlog_packets is negative at 0"
        )

    def test_limit(self) -> None:
        """A queue beyond its limit is an error at its time."""
        longest = (SCENARIO.path.longest_queue(0) + 1) * 1500
        conservation.check(summarised(("enqueue", 0, 1), backlog_bytes=longest))
        refused(summarised(("enqueue", 0, 1), backlog_bytes=longest + 1), "longer than its limit")

    def test_waits(self) -> None:
        """Packets cannot wait for longer than the run."""
        counts = ("enqueue", 0, 2), ("dequeue", 0, 2)
        refused(summarised(*counts, waited_ns=2_000_000_001), "waited for longer than the run")


def test_window() -> None:
    """An open connection with a window of 0 is an error of its CCA; a closed one has none."""
    samples = {"time_ns": [1, 2], "flow": [0, 1], "cwnd_packets": [4, 0]}
    conservation.check(make_run(flows=table(FLOW_COLUMNS, **samples, srtt_us=[9.0, float("nan")])))
    run = make_run(flows=table(FLOW_COLUMNS, **samples, srtt_us=9.0))
    refused(run, "flow 1 has a window of 0 packets at .* congestion control reno")
