# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Run, Scenario
from ccbench.base.errors import InputError
from ccbench.base.l4s import QUEUES
from ccbench.run.packets import delivered, fates, waits_ns
from ccbench.run.tables import COMPLETION_COLUMNS, FLOW_COLUMNS, LINK_COLUMNS, QUEUE_COLUMNS, dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

MS = 1_000_000

#: Events at a queue: milliseconds, event, flow; and the bottleneck, if it is not the first.
Events = list[tuple[Any, ...]]


def run_of(
    events: Sequence[tuple[Any, ...]], *, flows: int = 2, bottlenecks: int = 1, qdisc: str = "pie"
) -> Run:
    """Return a run of 12 Mbit/s links, which take 1 ms for a packet, and 20 ms, with this log."""
    links = (
        Bottleneck(bandwidth_mbps=12, queue_packets=3, qdisc=qdisc),
        Bottleneck(bandwidth_mbps=12, queue_packets=3),
    )
    scenario = Scenario(
        flows=(Flow(), Flow(extra_rtt_ms=10))[:flows],
        path=NetworkPath(bottlenecks=links[:bottlenecks], rtt_ms=20),
        duration_s=1,
    )
    rows = [(*event, 0)[:4] for event in events]
    queue = pd.DataFrame(
        {
            "time_ns": [round(time_ms * MS) for time_ms, *_ in rows],
            "bottleneck": [bottleneck for *_, bottleneck in rows],
            "event": [event for _, event, *_ in rows],
            "flow": [flow for _, _, flow, _ in rows],
            "bytes": 1500,
            "backlog_packets": 0,
            "backlog_bytes": 0,
        }
    )
    return Run(
        scenario=scenario,
        queue=queue.astype(dtypes(QUEUE_COLUMNS)),
        flows=pd.DataFrame({name: [] for name in FLOW_COLUMNS}).astype(dtypes(FLOW_COLUMNS)),
        completions=pd.DataFrame({name: [0] * flows for name in COMPLETION_COLUMNS}),
        provenance={"engine": "test", "engine_version": "1"},
    )


class TestDelivered:
    def test_one_packet(self) -> None:
        """A packet's one-way delay is its wait, its time on the link and half the base RTT."""
        (packet,) = delivered(run_of([(1, "enqueue", 0), (3, "dequeue", 0)])).to_dict("records")
        assert 0 == packet["flow"]
        assert 0.001 == packet["arrival_s"]
        assert 2 == packet["queueing_ms"]
        assert 2 + 1 + 10 == packet["one_way_ms"]

    def test_extra_rtt(self) -> None:
        """Half of a flow's additional RTT is added to its one-way delay."""
        (packet,) = delivered(run_of([(1, "enqueue", 1), (1, "dequeue", 1)])).to_dict("records")
        assert 1 + 15 == packet["one_way_ms"]

    def test_flows_overtake_each_other(self) -> None:
        """A fair queue may reorder flows: each packet keeps its own wait."""
        events: Events = [
            (0, "enqueue", 0),
            (1, "enqueue", 0),
            (2, "enqueue", 1),
            (3, "dequeue", 1),
            (4, "dequeue", 0),
            (5, "dequeue", 0),
        ]
        table = delivered(run_of(events))
        assert [(1, 1), (0, 4), (0, 4)] == list(
            zip(table["flow"], table["queueing_ms"], strict=True)
        )

    def test_refused(self) -> None:
        """A refused arrival has no wait, and does not affect other packets."""
        events: Events = [
            (0, "enqueue", 0),
            (1, "enqueue", 0),
            (1, "drop", 0),
            (2, "enqueue", 0),
            (5, "dequeue", 0),
            (6, "dequeue", 0),
        ]
        assert [5, 4] == delivered(run_of(events))["queueing_ms"].tolist()

    def test_oldest_dropped(self) -> None:
        """CoDel drops the oldest packet of the flow when it dequeues."""
        events: Events = [
            (0, "enqueue", 0),
            (1, "enqueue", 0),
            (7, "drop", 0),
            (7, "dequeue", 0),
        ]
        assert [6] == delivered(run_of(events, qdisc="codel"))["queueing_ms"].tolist()

    def test_room_made_for_an_arrival(self) -> None:
        """A full head-drop queue drops its oldest packet for an arrival."""
        events: Events = [
            (0, "enqueue", 0),
            (1, "enqueue", 0),
            (1, "drop", 0),
            (4, "dequeue", 0),
        ]
        run = run_of(events, qdisc="pfifo_head_drop")
        assert [3] == delivered(run)["queueing_ms"].tolist()

    def test_newest_dropped(self) -> None:
        """A full SFQ drops the newest packet of the longest flow, whichever flow arrives."""
        events: Events = [
            (0, "enqueue", 0),
            (1, "enqueue", 0),
            (2, "enqueue", 0),
            (3, "enqueue", 1),
            (3, "drop", 0),
            (4, "enqueue", 0),
            (4, "drop", 0),
            (5, "enqueue", 1),
            (5, "drop", 0),
            (9, "dequeue", 0),
            (10, "dequeue", 1),
            (11, "enqueue", 0),
            (12, "dequeue", 1),
            (13, "dequeue", 0),
        ]
        waited = delivered(run_of(events, qdisc="sfq"))["queueing_ms"]
        assert [9, 7, 7, 2] == waited.tolist()

    def test_two_bottlenecks(self) -> None:
        """Waits add up over bottlenecks, and a packet lost between them delays no other."""
        events: Events = [
            (0, "enqueue", 0, 0),
            (0, "enqueue", 1, 0),
            (0, "enqueue", 0, 0),
            (0, "dequeue", 0, 0),
            (1, "dequeue", 1, 0),
            (1, "enqueue", 0, 1),
            (2, "dequeue", 0, 0),
            (2, "loss", 1, 1),
            (3, "enqueue", 0, 1),
            (4, "dequeue", 0, 1),
            (9, "dequeue", 0, 1),
        ]
        table = delivered(run_of(events, bottlenecks=2))
        assert [0, 0] == table["flow"].tolist()
        assert [0 + 3, 2 + 6] == table["queueing_ms"].tolist()
        # Both links take a millisecond for each packet.
        assert [3 + 2 + 10, 8 + 2 + 10] == table["one_way_ms"].tolist()

    def test_two_queues(self) -> None:
        """At a qdisc for L4S, departures match arrivals of their own queue, not of the other."""
        events = [
            (1, "enqueue", 0),
            (2, "enqueue", 0),
            (3, "dequeue", 0),
            (4, "enqueue", 0),
            (5, "dequeue", 0),
            (9, "dequeue", 0),
        ]
        run = run_of(events, qdisc="dualpi2")
        queues = ["classic", "l4s", "l4s", "l4s", "l4s", "classic"]
        left = {"left_packets": 3, "waited_ns": 10 * MS, "l4s_left_packets": 2}
        links = {**dict.fromkeys(LINK_COLUMNS, 0), **left, "l4s_waited_ns": 2 * MS}
        run = replace(
            run,
            queue=run.queue.assign(queue=pd.Categorical(queues, QUEUES)),
            links=pd.DataFrame([links]),
        )
        assert delivered(run)["queueing_ms"].tolist() == [1, 1, 8]
        assert [waits_ns(run, 0, queue).tolist() for queue in QUEUES] == [[8 * MS], [MS, MS]]
        assert run.occupancy(0.001, queue="l4s").loc[0:0.006].tolist() == [0, 0, 1, 0, 1, 0, 0]
        assert run.queueing_delay_percentiles_ms([100], queue="classic").item() == 8
        assert run.l4s_summary()["queueing_delay_ms"].tolist() == [8, 1]
        assert run.l4s_summary()["queueing_delay_p99_ms"].tolist() == [8, 1]

    def test_joins_later(self) -> None:
        """A flow that joins at the second bottleneck has no earlier wait, and is not confused."""
        events: Events = [
            (0, "enqueue", 0, 0),
            (3, "dequeue", 0, 0),
            (3, "enqueue", 1, 1),
            (4, "enqueue", 0, 1),
            (4, "enqueue", 0, 0),
            (5, "dequeue", 1, 1),
            (5, "dequeue", 0, 0),
            (6, "loss", 1, 1),
            (6, "enqueue", 0, 1),
            (7, "dequeue", 0, 1),
            (9, "dequeue", 0, 1),
        ]
        run = run_of(events, bottlenecks=2)
        flows = (Flow(), Flow(extra_rtt_ms=10, first_bottleneck=1))
        run = replace(run, scenario=replace(run.scenario, flows=flows))
        table = delivered(run)
        assert [1, 0, 0] == table["flow"].tolist()
        assert [0.003, 0, 0.004] == table["arrival_s"].tolist()
        assert [2, 3 + 3, 1 + 3] == table["queueing_ms"].tolist()
        assert [2, 2] == fates(run)["sent"].tolist()
        assert [0, 1] == fates(run)["lost"].tolist()

    def test_leaving_early(self) -> None:
        """A packet that leaves after the first link waited only there; rows follow departures."""
        events: Events = [
            (0, "enqueue", 0, 0),
            (0, "enqueue", 1, 0),
            (2, "dequeue", 0, 0),
            (2, "enqueue", 0, 1),
            (5, "dequeue", 1, 0),
            (9, "dequeue", 0, 1),
        ]
        run = run_of(events, bottlenecks=2)
        flows = (Flow(), Flow(last_bottleneck=0))
        run = replace(run, scenario=replace(run.scenario, flows=flows))
        table = delivered(run)
        assert [1, 0] == table["flow"].tolist()
        assert [5, 2 + 7] == table["queueing_ms"].tolist()
        assert [1, 1] == fates(run)["sent"].tolist()

    def test_empty(self) -> None:
        """No events, no packets."""
        assert delivered(run_of([])).empty


FATES: Events = [
    (0, "enqueue", 0),
    (0, "loss", 0),
    (1, "dequeue", 0),
    (2, "enqueue", 0),
    (2, "drop", 0),
    (3, "enqueue", 1),
]


class TestFates:
    def test_counts(self) -> None:
        """Sent counts arrivals at the path; lost counts drops of the queue and random losses."""
        counts = fates(run_of(FATES))
        assert [3, 1] == counts["sent"].tolist()
        assert [2, 0] == counts["lost"].tolist()

    def test_window(self) -> None:
        """Only events between the two times count."""
        counts = fates(run_of(FATES), from_s=0.0015, to_s=0.0025)
        assert [1, 0] == counts["sent"].tolist()
        assert [1, 0] == counts["lost"].tolist()


@pytest.mark.parametrize("function", [delivered, fates])
def test_without_log(function: Any) -> None:
    """Without a queue log packets are unknown, and the message says how to record them."""
    run = run_of([])
    run = replace(run, scenario=replace(run.scenario, queue_log=False))
    with pytest.raises(InputError, match="run with queue_log = true"):
        function(run)
