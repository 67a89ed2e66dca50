# SPDX-License-Identifier: Apache-2.0
"""Claims of chapter 3 of the thesis about a BFC switch, tested on the P4 program.

Each test is one claim and runs its test vectors in the interpreter and, where it is installed, on
BMv2.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from ccbench.datacenter.p4.bmv2 import check_all
from ccbench.datacenter.p4.implementation import Interpreted, data_packet
from ccbench.datacenter.p4.sources import load_compiled
from ccbench.datacenter.switch import Flow, Packet, Settings
from ccbench.datacenter.vectors import check, rules
from tests.unit.datacenter.conftest import NEEDS_BMV2

if TYPE_CHECKING:
    from ccbench.datacenter.p4.program import Program

RULES = {scenario.name: scenario for scenario in rules()}


class Faults(Protocol):
    """The program on a switch."""

    def __call__(self, *names: str) -> list[str]:
        """Return the faults in its answers to these scenarios."""


@pytest.fixture(scope="module", name="program")
def _program() -> Program:
    return load_compiled()


@pytest.fixture(scope="module", name="on_bmv2")
def _on_bmv2() -> dict[str, str | None]:
    return check_all(RULES.values())


@pytest.fixture(params=["interpreter", pytest.param("BMv2", marks=NEEDS_BMV2)])
def faults(request: pytest.FixtureRequest) -> Faults:
    """Give each of the two switches in turn."""

    def in_interpreter(*names: str) -> list[str]:
        program: Program = request.getfixturevalue("program")
        some = [RULES[name] for name in names]
        answers = [check(scenario, Interpreted(program, scenario.settings)) for scenario in some]
        return [fault for fault in answers if fault is not None]

    def on_bmv2(*names: str) -> list[str]:
        wrong: dict[str, str | None] = request.getfixturevalue("on_bmv2")
        answers = [wrong[name] for name in names]
        return [fault for fault in answers if fault is not None]

    return in_interpreter if request.param == "interpreter" else on_bmv2


class TestAssignment:
    """Section 3.3.3.1: assignment of packets to queues."""

    def test_a_new_flow_gets_an_empty_queue(self, faults: Faults) -> None:
        """A new flow gets an empty queue while there is one."""
        assert faults("own-queue", "empty-before-random") == []

    def test_an_active_flow_keeps_its_queue(self, faults: Faults) -> None:
        """Packets of a flow with packets in the switch join its queue."""
        assert faults("same-queue", "sticky-enqueue") == []

    def test_a_flow_is_its_five_tuple(self, faults: Faults) -> None:
        """Flows that differ in an address, a port or the protocol get different queues."""
        assert faults("five-tuple") == []

    def test_packets_without_ports_are_flows_too(self, faults: Faults) -> None:
        """ICMP, GRE, fragments and packets with IP options have one queue for each flow."""
        assert faults("icmp", "gre", "fragments", "options") == []

    def test_packets_that_are_not_ip_are_one_flow(self, faults: Faults) -> None:
        """Packets other than IPv4 have one queue at their egress port."""
        assert faults("not-ip") == []

    def test_egress_ports_have_queues_of_their_own(self, faults: Faults) -> None:
        """A flow at one egress port takes no queue from a flow at another."""
        assert faults("ports-apart") == []

    def test_without_an_empty_queue(self, faults: Faults) -> None:
        """Without an empty queue a new flow shares a random one."""
        assert faults("random-queue") == []

    def test_flows_on_one_entry_share_a_queue(self, faults: Faults) -> None:
        """Flows with the same index in the flow table share a queue, even if others are empty."""
        assert faults("shared-entry") == []

    def test_the_search_for_an_empty_queue_rotates(self, faults: Faults) -> None:
        """The search starts after the last assigned queue (section 3.4)."""
        assert faults("in-turn") == []

    def test_labelled_incast_flows_share_a_queue(self, faults: Faults) -> None:
        """Flows labelled as incast by their senders share a queue (appendix F.3)."""
        assert faults("incast") == []


class TestPauseThreshold:
    """Section 3.3.3.2: the pause threshold, Th = HRTT * rate / N_active."""

    def test_a_queue_beyond_the_threshold_pauses(self, faults: Faults) -> None:
        """The packet that makes a queue longer than HRTT * rate pauses its upstream queue."""
        assert faults("threshold") == []

    def test_active_queues_divide_it(self, faults: Faults) -> None:
        """Two active queues halve the threshold."""
        assert faults("threshold-shared") == []

    def test_paused_queues_are_not_active(self, faults: Faults) -> None:
        """Queues paused by the downstream switch do not count in N_active."""
        assert faults("threshold-paused", "threshold-none-active") == []

    def test_each_egress_port_has_its_own(self, faults: Faults) -> None:
        """A port of twice the speed has twice the threshold."""
        assert faults("threshold-speed") == []

    def test_the_length_of_the_queue_counts(self, faults: Faults) -> None:
        """A flow with one packet in a long queue is paused: the queue counts, not the flow."""
        assert faults("queue-not-flow") == []


class TestPauseAndResume:
    """Section 3.3.3.2: the pause counter and its messages."""

    def test_one_pause_and_one_resume(self, faults: Faults) -> None:
        """A pause is sent when the counter leaves 0, a resume when it returns to 0."""
        assert faults("threshold", "threshold-once-more") == []

    def test_any_congested_queue_pauses_and_all_resume(self, faults: Faults) -> None:
        """An upstream queue is paused for any of its flows, and resumed when none is congested."""
        assert faults("any-and-none") == []

    def test_counters_belong_to_an_ingress_port(self, faults: Faults) -> None:
        """Upstream queues of one number at two ingress ports are counted separately."""
        assert faults("ingress-apart") == []

    def test_messages_are_idempotent(self, faults: Faults) -> None:
        """A repeated pause or resume has no further effect."""
        assert faults("idempotent") == []

    def test_the_refresh_names_the_paused_queues(self, faults: Faults) -> None:
        """The periodic bitmap names the upstream queues whose counter is not 0."""
        assert faults("refresh") == []

    def test_a_bitmap_replaces_lost_messages(self, faults: Faults) -> None:
        """A bitmap pauses the queues that it names and resumes all others."""
        assert faults("bitmap") == []

    def test_pairs_of_ports_can_be_exempt(self, faults: Faults) -> None:
        """Packets between ports that could close a cycle cause no pauses (appendix D)."""
        assert faults("no-backpressure") == []

    def test_only_sampled_packets_count(self, faults: Faults) -> None:
        """Packets that are not sampled for recirculation are in no counter (appendix E)."""
        assert faults("sampling-none", "sampling-half") == []

    def test_invalid_queues(self, faults: Faults) -> None:
        """Packets and messages with an invalid queue pause nothing."""
        assert faults("unnamed", "garbled") == []


class TestRelease:
    """Sections 3.3.3.1 and 3.3.3.2: release of queues, and their reuse."""

    def test_a_flow_keeps_its_queue_for_the_sticky_time(self, faults: Faults) -> None:
        """A flow without packets keeps its queue for 2 HRTT, and no longer."""
        assert faults("sticky") == []

    def test_long_silence(self, faults: Faults) -> None:
        """A flow that returns after an hour is a new flow."""
        assert faults("silent-for-an-hour") == []

    def test_the_sticky_time_never_runs_backwards(self, faults: Faults) -> None:
        """A packet stamped before its flow's last packet left joins the flow's queue."""
        assert faults("stamped-before") == []

    def test_an_empty_queue_is_free(self, faults: Faults) -> None:
        """A queue is free for other flows once its last packet has left, even while paused."""
        assert faults("empty-before-random", "paused-empty") == []

    def test_paused_queues_can_be_skipped(self, faults: Faults) -> None:
        """With skip_paused no flow gets a paused queue."""
        assert faults("paused-skipped") == []


def test_every_scenario_is_a_claim() -> None:
    """Every test vector is used in this file."""
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in RULES if f'"{name}"' not in text] == []


def test_pauses_go_before_data(program: Program) -> None:
    """Pauses and resumes have the queue of highest priority, which no flow is assigned to."""
    settings = Settings(speeds_mbps=(1, 1), queues=8, hrtt_ns=1000)
    form = Interpreted(program, settings)
    packet = data_packet(Packet(flow=Flow(1, 2, 3, 4), ingress=0, egress=1, upstream_queue=5))
    clone, data = form.machine.ingress(packet, 0, 0)
    _, (pause,) = form.machine.egress(clone, 0)
    assert (pause.port, pause.priority) == (0, 7)
    assert data.priority < settings.data_queues == 7
