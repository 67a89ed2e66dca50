# SPDX-License-Identifier: Apache-2.0
"""Two switches in a closed loop: the network of ``p4/loop``."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from ccbench.base.errors import InputError
from ccbench.cli._status import ExitStatus
from ccbench.cli.main import program as cli
from ccbench.datacenter.p4.driven import Held
from ccbench.datacenter.p4.loop import (
    LoopResult,
    LoopTopology,
    QueueResult,
    faults,
    load_topology,
    run_interpreted,
    run_on_bmv2,
)
from ccbench.datacenter.p4.loop.interpreted import InterpretedNetwork
from ccbench.datacenter.p4.loop.run import run
from ccbench.datacenter.p4.loop.traffic_manager import TrafficManager
from ccbench.datacenter.p4.sources import load_compiled, source_folder
from ccbench.datacenter.switch import Bitmap, Signal
from tests.unit.datacenter.conftest import NEEDS_BMV2

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = source_folder() / "loop"
SECONDS = 2.0
#: Port 2 of s2, the slow link, and port 2 of s1, before it.
SLOW, BEFORE = ("s2", 2), ("s1", 2)
SENDER_MBPS = 2


@pytest.fixture(scope="module", name="topology")
def _topology() -> LoopTopology:
    return load_topology(FOLDER)


@pytest.fixture(scope="module", name="interpreted")
def _interpreted(topology: LoopTopology) -> LoopResult:
    return run_interpreted(load_compiled(), topology, SECONDS)


@pytest.fixture(scope="module", name="on_bmv2")
def _on_bmv2() -> LoopResult:
    return run_on_bmv2(FOLDER, 2 * SECONDS)


@pytest.fixture(params=["interpreted", pytest.param("on_bmv2", marks=NEEDS_BMV2)])
def result(request: pytest.FixtureRequest) -> LoopResult:
    """Return the result of the network in the interpreter, and then on BMv2."""
    made: LoopResult = request.getfixturevalue(request.param)
    return made


def queues(result: LoopResult, place: tuple[str, int]) -> list[QueueResult]:
    """Return the queues of a port that had packets."""
    return [
        queue
        for queue in result.queues
        if (queue.switch, queue.port) == place and queue.longest_bytes
    ]


class TestClosedLoop:
    def test_no_faults(self, result: LoopResult) -> None:
        """No packet is lost or reordered, each flow has its rate, and all pauses end."""
        assert faults(result) == []

    def test_a_paused_queue_stops(self, result: LoopResult) -> None:
        """The queue of the slow flow is paused repeatedly, and no packet leaves it meanwhile."""
        (stopped,) = (queue for queue in queues(result, BEFORE) if queue.pauses)
        assert stopped.pauses > 1
        assert stopped.paused_s > 0
        assert stopped.left_while_paused == 0

    def test_the_queue_before_the_slow_link_stays_short(self, result: LoopResult) -> None:
        """The excess over the threshold is at most the arrivals of one HRTT before the pause."""
        (slow,) = queues(result, SLOW)
        overshoot = load_topology(FOLDER).switches["s2"].settings.hrtt_ns * SENDER_MBPS / 8000
        assert slow.threshold_bytes < slow.longest_bytes <= slow.threshold_bytes + overshoot

    def test_backpressure_reaches_the_sender(self, result: LoopResult) -> None:
        """The first switch pauses the host in turn: the slow flow sends less than it could."""
        fast, slow = result.flows
        assert fast.sent == pytest.approx(SENDER_MBPS * 125 * result.seconds, rel=0.1)
        assert slow.sent < fast.sent / 1.5

    def test_other_queues_run_on(self, result: LoopResult) -> None:
        """The queue of the other flow on the same link is never paused."""
        assert sorted(queue.pauses > 0 for queue in queues(result, BEFORE)) == [False, True]
        assert result.flows[0].rate_mbps > 0.9 * SENDER_MBPS

    def test_queue_grows_without_pauses(
        self, topology: LoopTopology, interpreted: LoopResult
    ) -> None:
        """If pauses stop no queue, all excess packets wait before the slow link."""
        ignored = run_interpreted(load_compiled(), topology, SECONDS, stops=False)
        (slow,), (short,) = queues(ignored, SLOW), queues(interpreted, SLOW)
        assert slow.longest_bytes > 10 * short.longest_bytes
        assert any("while it was paused" in fault for fault in faults(ignored))

    def test_registers_end_at_zero(self, topology: LoopTopology) -> None:
        """When all packets have arrived, all counts of both switches are 0."""
        network = InterpretedNetwork(load_compiled(), topology)
        run(network, topology, 0.5)
        for machine in network.machines.values():
            for name in ("queue_bytes", "busy_queues", "flow_size", "pausing", "congesting"):
                assert not any(machine.read_all(name))


class TestTrafficManager:
    def test_queues_take_turns(self) -> None:
        """A port serves its queues round robin, by packets."""
        manager = _manager([0, 0, 0, 1, 1, 2])
        assert _left(manager) == [0, 1, 2, 0, 1, 0]
        assert manager.is_empty()

    def test_a_paused_queue_is_passed_over(self) -> None:
        """Packets in a paused queue leave once it is resumed, and not before."""
        manager = _manager([0, 0, 1])
        manager.hear(Signal("pause", 1, 0), 1.0)
        assert _left(manager) == [1]
        assert not manager.is_empty()
        manager.hear(Signal("resume", 1, 0), 3.0)
        assert _left(manager) == [0, 0]
        ((_, _, queue), _) = manager.queues()
        assert (queue.pauses, queue.paused_s, queue.left_while_paused) == (1, 2.0, 0)

    def test_bitmap(self) -> None:
        """A bitmap pauses the queues that it names and resumes the others of the port."""
        manager = _manager([0, 1, 2])
        manager.hear(Signal("pause", 1, 0), 0.0)
        manager.hear(Bitmap(1, frozenset({1, 2})), 0.0)
        assert _left(manager) == [0]

    def test_pauses_can_be_ignored(self) -> None:
        """A manager that ignores pauses counts the packets that leave paused queues."""
        manager = _manager([0, 0], stops=False)
        manager.hear(Signal("pause", 1, 0), 0.0)
        assert _left(manager) == [0, 0]
        ((_, _, queue),) = manager.queues()
        assert queue.left_while_paused == 2


class TestFaults:
    def test_each_is_named(self, interpreted: LoopResult) -> None:
        """Loss, reordering, slow flows and queues that stay paused have a line each."""
        fast, slow = interpreted.flows
        broken = dataclasses.replace(
            interpreted,
            flows=(
                dataclasses.replace(fast, delivered=fast.sent - 3, reordered=1),
                dataclasses.replace(slow, rate_mbps=0.1),
            ),
            queues=(),
            paused_at_end=("queue 1 of h2",),
        )
        assert faults(broken) == [
            f"h1 to h3: 3 of {fast.sent} packets did not arrive, 1 arrived late",
            "h2 to h4: 0.10 of 0.5 Mbit/s",
            "queue 1 of h2 is still paused",
            "no queue was ever paused",
        ]


class TestTopology:
    @pytest.mark.parametrize("name", ["topology.json", "s2.json"])
    @pytest.mark.parametrize("text", ["", "[]", '{"switches": ["s2"]}', '{"settings": {}}'])
    def test_other_files(self, tmp_path: Path, name: str, text: str) -> None:
        """A file that is no topology, or does not describe a switch, is named."""
        for path in FOLDER.glob("*.json"):
            (tmp_path / path.name).write_text(path.read_text())
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=r"\.json"):
            load_topology(tmp_path)


class TestCommand:
    def test_loop(self) -> None:
        """``ccbench bfc p4 loop`` shows flows and queues, and succeeds."""
        result = CliRunner().invoke(cli, ["bfc", "p4", "loop", "--seconds", "1"])
        assert result.exit_code == ExitStatus.OK
        assert "h2 to h4" in result.output
        assert "s1 port 2 queue 1" in result.output

    def test_faults_fail(self) -> None:
        """With pauses ignored the command names the faults, and fails."""
        words = ["bfc", "p4", "loop", "--seconds", "0.5", "--ignore-pauses", "--json"]
        result = CliRunner().invoke(cli, words)
        assert result.exit_code == ExitStatus.FAILED
        assert any("while it was paused" in fault for fault in json.loads(result.output)["faults"])


def _manager(numbers: list[int], *, stops: bool = True) -> TrafficManager:
    """Return a traffic manager with packets in these queues of port 1."""
    manager = TrafficManager(stops=stops)
    for number in numbers:
        manager.hold(
            Held(
                port=1, queue=number, upstream_queue=0, ingress_port=0, length=1000, entry=0,
                sampled=True, counted=False, data=b"",
            )
        )  # fmt: skip
    return manager


def _left(manager: TrafficManager) -> list[int]:
    """Return the queues of the packets that leave port 1, until none may."""
    left = []
    while held := manager.next(1):
        left.append(held.queue)
    return left
