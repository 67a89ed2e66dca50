# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import math
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccbench.base.errors import InputError
from ccbench.datacenter.switch import (
    Bitmap,
    Flow,
    Packet,
    Queued,
    Settings,
    Signal,
    Switch,
    pause_threshold_bytes,
)
from ccbench.datacenter.vectors import (
    Departure,
    Reference,
    check,
    dumps,
    loads,
    random_scenarios,
    rules,
)

# Th = 3000 bytes for one active queue.
SETTINGS = Settings(
    speeds_mbps=(8000,) * 3, queues=5, upstream_queues=8, hrtt_ns=3000, sticky_ns=6000
)


def flow(number: int) -> Flow:
    """Return one of many flows."""
    return Flow(number, 99, 1000, 80)


def packet(number: int = 1, **changed: object) -> Packet:
    """Return a packet of flow `number`, from port 0 to port 1."""
    made = Packet(flow=flow(number), ingress=0, egress=1, upstream_queue=number % 8)
    return dataclasses.replace(made, **changed)  # type: ignore[arg-type]


class TestThreshold:
    @given(
        st.integers(100, 10_000), st.sampled_from([10_000, 40_000, 100_000]), st.integers(1, 128)
    )
    def test_threshold(self, hrtt_ns: int, speed_mbps: int, active: int) -> None:
        """Th = HRTT μ / N_active (3.3.3.2), rounded down to a byte."""
        bits = hrtt_ns * 1e-9 * speed_mbps * 1e6 / active
        assert bits / 8 - 1 <= pause_threshold_bytes(hrtt_ns, speed_mbps, active) <= bits / 8 + 1e-6

    def test_threshold_of_the_thesis(self) -> None:
        """100 Gbit/s and 2 μs hold 25 KB, a quarter of the end-to-end BDP of 8 μs."""
        assert pause_threshold_bytes(2000, 100_000, 1) == 25_000
        assert 4 * 25_000 == 100e9 * 8e-6 / 8

    def test_threshold_of_active_queues(self) -> None:
        """Each further flow of a port lowers the threshold of all its queues."""
        switch = Switch(SETTINGS)
        thresholds = []
        for number in range(4):
            switch.enqueue(packet(number), 0)
            thresholds.append(switch.threshold_bytes(1))
        assert thresholds == [3000, 1500, 1000, 750]


class TestAssignment:
    @given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(1, 2**32 - 1))
    def test_no_new_flow_shares_while_a_queue_is_empty(self, numbers: list[int], seed: int) -> None:
        """A new flow joins an occupied queue only if all are occupied."""
        switch = Switch(dataclasses.replace(SETTINGS, flow_entries=1 << 20, seed=seed))
        owners: dict[int, set[int]] = {}
        for number in numbers:
            has_queue = any(number in flows for flows in owners.values())
            queue = switch.enqueue(packet(number), 0).queue
            if not has_queue and len(owners) < SETTINGS.data_queues:
                assert queue not in owners
            owners.setdefault(queue, set()).add(number)

    @given(st.lists(st.integers(0, 6), min_size=2, max_size=80))
    def test_packets_of_a_flow_within_the_switch_are_all_in_one_queue(
        self, numbers: list[int]
    ) -> None:
        """All packets of an active flow are in one FIFO queue, so none overtakes."""
        switch = Switch(SETTINGS)
        within: deque[Queued] = deque()
        for time, number in enumerate(numbers):
            within.append(switch.enqueue(packet(number), 10_000 * time))
            for queued in within:
                same = {other.queue for other in within if other.entry == queued.entry}
                assert len(same) == 1
            if time % 3 == 2:
                switch.dequeue(within.popleft(), 10_000 * time)

    def test_chance_spreads_new_flows_over_full_queues(self) -> None:
        """Without an empty queue each is chosen equally often, by a chi-square of 3 degrees."""
        switch = Switch(dataclasses.replace(SETTINGS, flow_entries=1 << 20, seed=7))
        for number in range(4):
            switch.enqueue(packet(number), 0)
        counts = [0] * 4
        for number in range(100, 4100):
            counts[switch.enqueue(packet(number), 0).queue] += 1
        assert sum((count - 1000) ** 2 / 1000 for count in counts) < 16.3  # 99.9 %

    @pytest.mark.parametrize(("pause_ns", "stays"), [(5999, True), (6000, True), (6001, False)])
    def test_a_flow_without_packets_keeps_its_queue_for_the_sticky_time(
        self,
        pause_ns: int,
        stays: bool,  # noqa: FBT001
    ) -> None:
        """A queue is reassigned only if its entry is older than the threshold (3.3.3.2)."""
        switch = Switch(SETTINGS)
        switch.dequeue(switch.enqueue(packet(1), 0), 1000)
        assert (switch.enqueue(packet(1), 1000 + pause_ns).queue == 0) is stays

    def test_control_queue(self) -> None:
        """Pause and resume packets have their own queue, so flows have one fewer."""
        switch = Switch(dataclasses.replace(SETTINGS, flow_entries=1 << 20))
        queues = {switch.enqueue(packet(number), 0).queue for number in range(200)}
        assert queues == set(range(SETTINGS.queues - 1))

    def test_collisions_in_the_flow_table(self) -> None:
        """With 100 entries per queue a flow collides with a probability below 1 % (3.3.3.1)."""
        entries, trials, meetings = 100 * 32, 1000, 0
        for trial in range(trials):
            places = [Flow(trial * 1000 + i, 7, i, 80).entry(entries) for i in range(32)]
            meetings += places.count(places[0]) > 1
        assert meetings / trials < 0.01 + 3 * math.sqrt(0.01 * 0.99 / trials)

    def test_incast_flows_share_one_queue_and_leave_the_others(self) -> None:
        """Labelled flows of an egress port share one queue, which leaves empty ones to others."""
        switch = Switch(SETTINGS)
        incast = {switch.enqueue(packet(n, incast=True), 0).queue for n in range(50)}
        others = {switch.enqueue(packet(100 + n), 0).queue for n in range(3)}
        assert len(incast) == 1
        assert len(others) == 3
        assert not incast & others


class TestBackpressure:
    @given(st.data())
    def test_signals_follow_counters(self, data: st.DataObject) -> None:
        """Signals follow the counters, which are never negative, and every pause is resumed."""
        switch = Switch(dataclasses.replace(SETTINGS, flow_entries=7, upstream_queues=4))
        signalled: set[tuple[int, int]] = set()
        within: list[Queued] = []
        for time in range(data.draw(st.integers(1, 80))):
            leaves: bool = data.draw(st.booleans())
            if within and leaves:
                index = data.draw(st.integers(0, len(within) - 1))
                place = (within[index].packet.egress, within[index].queue)
                first = next(q for q in within if (q.packet.egress, q.queue) == place)
                within.remove(first)
                signals = switch.dequeue(first, time * 1000)
            else:
                made = Packet(
                    flow=flow(data.draw(st.integers(0, 9))),
                    ingress=data.draw(st.integers(0, 2)),
                    egress=data.draw(st.integers(0, 2)),
                    length_bytes=data.draw(st.sampled_from([64, 1000, 1500])),
                    upstream_queue=data.draw(st.sampled_from([None, 0, 1, 2, 3, 4])),
                )
                within.append(switch.enqueue(made, time * 1000))
                signals = within[-1].signals
            for signal in signals:
                key = (signal.port, signal.queue)
                assert (signal.kind == "pause") == (key not in signalled)
                signalled ^= {key}
            counted = [q.packet for q in within if q.counted]
            for port in range(3):
                for queue in range(4):
                    counter = switch.pause_count(port, queue)
                    assert counter == sum(
                        (p.ingress, p.upstream_queue) == (port, queue) for p in counted
                    )
                    assert ((port, queue) in signalled) == (counter > 0)
                assert switch.refresh(port).queues == {q for p, q in signalled if p == port}
        for queued in within:
            for signal in switch.dequeue(queued, 100_000):
                assert signal.kind == "resume"
                signalled.remove((signal.port, signal.queue))
        assert not signalled
        assert switch.packets() == 0

    @given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9000)), max_size=50))
    def test_queue_lengths_conserve_bytes(self, arrivals: list[tuple[int, int]]) -> None:
        """The queues hold the bytes that arrived and have not left, and none at the end."""
        switch = Switch(SETTINGS)
        within = [switch.enqueue(packet(n, length_bytes=size), 0) for n, size in arrivals]
        while True:
            held = sum(switch.queue_bytes(1, queue) for queue in range(SETTINGS.data_queues))
            assert held == sum(q.packet.length_bytes for q in within)
            if not within:
                break
            switch.dequeue(within.pop(0), 1)

    def test_a_packet_leaves_once(self) -> None:
        """A packet that is not in the switch cannot be dequeued."""
        switch = Switch(SETTINGS)
        queued = switch.enqueue(packet(), 0)
        switch.dequeue(queued, 1)
        with pytest.raises(InputError, match="packet 0 is not in the switch"):
            switch.dequeue(queued, 2)

    def test_pairs_without_backpressure_are_skipped(self) -> None:
        """Packets from a disallowed ingress cause no pauses in a queue of any length (D)."""
        switch = Switch(dataclasses.replace(SETTINGS, no_backpressure=frozenset({(0, 1)})))
        assert not any(switch.enqueue(packet(), 0).signals for _ in range(50))
        assert switch.enqueue(packet(ingress=2), 0).signals == (Signal("pause", 2, 1),)

    def test_flow_within_its_share(self) -> None:
        """A flow whose packets leave as fast as they arrive never reaches the threshold."""
        switch = Switch(SETTINGS)
        for time in range(100):
            queued = switch.enqueue(packet(), time * 1000)
            assert not queued.counted
            assert switch.dequeue(queued, time * 1000 + 900) == ()

    def test_half_the_packets_are_sampled_at_one_half(self) -> None:
        """Sampling recirculates the requested part, and counts no other packets (E)."""
        switch = Switch(dataclasses.replace(SETTINGS, sampled=1 << 15))
        made = [switch.enqueue(packet(), 0) for _ in range(4000)]
        sampled = sum(queued.sampled for queued in made)
        assert sampled == pytest.approx(2000, abs=4 * math.sqrt(1000))
        assert switch.pause_count(0, 1) == sum(queued.counted for queued in made) <= sampled

    def test_bitmap_repairs_a_lost_resume(self) -> None:
        """State is idempotent: after a refresh the neighbour's view equals the counters."""
        downstream, upstream = Switch(SETTINGS), Switch(SETTINGS)
        made = [downstream.enqueue(packet(number=2), 0) for _ in range(6)]
        for queued in made:
            for signal in queued.signals:
                upstream.receive(Signal(signal.kind, 1, signal.queue))
        assert upstream.paused(1) == {2}
        for queued in made:
            downstream.dequeue(queued, 10)  # the resume is lost
        upstream.receive(Bitmap(1, downstream.refresh(0).queues))
        assert upstream.paused(1) == set()


class TestVectors:
    def test_reference_follows_rules(self) -> None:
        """The reference follows the thesis's rules in every scenario."""
        assert [check(scenario, Reference(scenario.settings)) for scenario in rules()] == [
            None
        ] * len(rules())

    def test_rules_detect_wrong_switches(self) -> None:
        """A switch that never pauses, or gives every flow one queue, fails some scenario."""

        class Silent(Reference):
            def answer(self, at_ns, event):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
                return dataclasses.replace(super().answer(at_ns, event), signals=())

        class Single(Reference):
            def answer(self, at_ns, event):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
                answer = super().answer(at_ns, event)
                return answer if answer.queue is None else dataclasses.replace(answer, queue=0)

        for wrong in (Silent, Single):
            assert any(check(scenario, wrong(scenario.settings)) for scenario in rules())

    def test_round_trip(self) -> None:
        """The format preserves a whole scenario."""
        scenarios = (*rules(), *random_scenarios(2, packets=60))
        assert loads(dumps(scenarios)) == scenarios

    def test_random_scenarios_end_with_an_empty_switch(self) -> None:
        """All packets that arrived leave, and every pause is resumed."""
        pauses = 0
        for scenario in random_scenarios(3, packets=100):
            events = [step.event for step in scenario.steps]
            came = sum(isinstance(event, Packet) for event in events)
            assert came == sum(isinstance(event, Departure) for event in events) == 100
            signals = [signal for step in scenario.steps for signal in step.answer.signals]
            kinds = [signal.kind for signal in signals]
            assert kinds.count("pause") == kinds.count("resume")
            pauses += kinds.count("pause")
        assert pauses > 0

    @pytest.mark.parametrize("line", ["{}", "[]", "no JSON", '{"scenario": "x"}', '{"at_ns": 0}'])
    def test_a_damaged_line_is_named(self, line: str) -> None:
        """An error names the line that is no test vector."""
        with pytest.raises(InputError, match="line 2: "):
            loads(dumps(()) + line)


class TestSettings:
    @pytest.mark.parametrize(
        ("changed", "named"),
        [
            ({"queues": 1}, "queues"),
            ({"hrtt_ns": 0}, "hrtt_ns"),
            ({"sampled": 65_537}, "sampled"),
            ({"seed": 0}, "seed"),
            ({"speeds_mbps": ()}, "speeds_mbps"),
            ({"speeds_mbps": (0.0,)}, "speeds_mbps"),
            ({"no_backpressure": frozenset({(0, 9)})}, "no_backpressure egress"),
        ],
    )
    def test_a_setting_out_of_range_is_named(self, changed: dict[str, object], named: str) -> None:
        """The error starts with the setting."""
        with pytest.raises(InputError, match=named):
            dataclasses.replace(SETTINGS, **changed)  # type: ignore[arg-type]

    def test_unknown_port(self) -> None:
        """A packet for a nonexistent port is an error."""
        with pytest.raises(InputError, match="egress is 3"):
            Switch(SETTINGS).enqueue(packet(egress=3), 0)
