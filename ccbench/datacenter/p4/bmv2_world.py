# SPDX-License-Identifier: Apache-2.0
"""The program inside the namespaces of a run on BMv2, started by ``bmv2``.

Stepped scenarios run packet by packet, with the driver as the traffic manager, in parallel with the
interpreter: answers, bytes and, at the end, all registers must agree.

Paced scenarios are replayed in real time, with BMv2's own queues and clock. The comparison covers
the complete output: the queue of each packet, as named in the packet; pauses and bitmaps of each
port in order, as their order across ports is undefined; resumes in any order, because queues that
drain simultaneously have none.

The checks of :mod:`ccbench.datacenter.p4.load` follow.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, deque
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base.errors import CcbenchError
from ccbench.datacenter.p4.driven import Driven, Twins
from ccbench.datacenter.p4.implementation import (
    DRIVER_PORT,
    HOLDING_PORT,
    Interpreted,
    configure,
    data_packet,
    message_packet,
    queue_named,
    read_message,
    refresh_packet,
)
from ccbench.datacenter.p4.live import Live, live
from ccbench.datacenter.p4.load import keeps_queues, recovers_lost_headers
from ccbench.datacenter.p4.paced import INTERVAL_NS, PACKETS_PER_S
from ccbench.datacenter.p4.program import Program
from ccbench.datacenter.switch import Bitmap, Packet, Signal
from ccbench.datacenter.vectors import Departure, Refresh, SwitchScenario, check, loads
from ccbench.emulate.realtime.namespaces import call, set_sysctls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ccbench.datacenter.p4.interpreter import Sent

_DRIVERS = (DRIVER_PORT, HOLDING_PORT)
_NUMBER = 4  # bytes of the packet's number, at its end
_LATE_S = 0.1  # tolerance of paced scenarios
_SILENCE_S = 0.05  # listening for unexpected packets after a scenario


def main() -> None:
    """Run the scenarios of two files through the switch, then loads; print faults as JSON."""
    compiled, stepped, paced, scratch = (Path(word) for word in sys.argv[1:5])
    loads_per_s = [int(word) for word in sys.argv[5:]]
    call("ip", "link", "set", "lo", "up")
    set_sysctls({"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"})
    program = Program.load(compiled)
    scenarios = {
        run: loads(path.read_text(encoding="utf-8"))
        for path, run in ((stepped, _step), (paced, _replay))
    }
    checks: deque[tuple[str, Callable[[Live], str | None]]] = deque(
        (scenario.name, partial(run, program, scenario))
        for run, group in scenarios.items()
        for scenario in group
    )
    for packets_per_s in loads_per_s:
        checks.append((f"{packets_per_s} packets/s", partial(_keep, packets_per_s)))
    if loads_per_s:
        checks.append(("lost headers", recovers_lost_headers))
    ports = {0, 1, *_DRIVERS}.union(
        *(range(_ports(scenario)) for group in scenarios.values() for scenario in group)
    )
    faults: dict[str, str | None] = {}
    while checks:
        log = scratch / "simple_switch.log"
        with live(compiled, program, dict.fromkeys(sorted(ports)), log) as switch:
            fault = None
            while checks and fault is None:  # a switch with a fault is not reused
                name, check_switch = checks.popleft()
                switch.reset()
                fault = faults[name] = check_switch(switch)
    sys.stdout.write(json.dumps(faults))


def _keep(packets_per_s: int, switch: Live) -> str | None:
    return keeps_queues(switch, packets_per_s)


def _ports(scenario: SwitchScenario) -> int:
    return len(scenario.settings.speeds_mbps)


def _step(program: Program, scenario: SwitchScenario, switch: Live) -> str | None:
    """Run a scenario step by step on switch and interpreter; return the fault, or None."""
    driven = Driven(switch, scenario.settings)
    interpreted = Interpreted(program, scenario.settings)
    try:
        fault = check(scenario, Twins(driven, interpreted))
    except CcbenchError as error:
        fault = str(error)
    if fault is not None:
        return fault
    late = switch.listen(_SILENCE_S)
    if late:
        return f"after the last step the switch sent {late}"
    for register in program.registers:
        actual, expected = switch.read_all(register), interpreted.machine.read_all(register)
        if actual != expected:
            different = [i for i, (x, y) in enumerate(zip(actual, expected, strict=True)) if x != y]
            return f"register {register} differs from the interpreter's in cells {different}"
    return None


def _replay(_: Program, scenario: SwitchScenario, switch: Live) -> str | None:
    """Replay all events but departures at their times; return the fault, or None."""
    configure(switch, scenario.settings)
    for port in range(_ports(scenario)):
        switch.command(f"set_queue_depth 1000 {port}")
        for queue in range(scenario.settings.data_queues):
            switch.command(f"set_queue_rate {PACKETS_PER_S} {port} {queue}")
    sent: list[Sent] = []
    # BMv2 treats a queue whose rate was just set as if it had just sent a packet.
    start = time.monotonic() + 2 * INTERVAL_NS / 1e9
    late = 0.0
    number = 0
    for step in scenario.steps:
        event = step.event
        _listen(switch, sent, until=start + step.at_ns / 1e9)
        late = max(late, time.monotonic() - start - step.at_ns / 1e9)
        if isinstance(event, Departure):
            continue
        if isinstance(event, Packet):
            data = data_packet(event)[:-_NUMBER] + number.to_bytes(_NUMBER, "big")
            switch.send(event.ingress, data)
            number += 1
        elif isinstance(event, Refresh):
            switch.send(DRIVER_PORT, refresh_packet(event.port))
        else:
            switch.send(event.port, message_packet(event))
    _listen(switch, sent, until=time.monotonic() + 2 * INTERVAL_NS / 1e9)
    fault = _compare(scenario, sent)
    if fault is not None and late > _LATE_S:
        return f"{fault}; but packets were sent up to {late:.2g} s late: the machine is too busy"
    return fault


def _listen(switch: Live, sent: list[Sent], *, until: float) -> None:
    while (left := until - time.monotonic()) > 0:
        sent += switch.listen(left)


def _compare(scenario: SwitchScenario, sent: list[Sent]) -> str | None:
    """Compare the output with the scenario; return the fault, or None."""
    steps = scenario.steps
    answers = [step.answer for step in steps if isinstance(step.event, Packet)]
    queues_expected = dict(enumerate(answer.queue for answer in answers))
    signals = [signal for step in steps for signal in step.answer.signals]
    bitmaps = [
        Bitmap(step.event.port, step.answer.bitmap)
        for step in steps
        if isinstance(step.event, Refresh) and step.answer.bitmap is not None
    ]
    driver_expected = sum(isinstance(step.event, Signal | Bitmap) for step in steps)

    out = [packet for packet in sent if packet.port != DRIVER_PORT]
    messages = [message for message in map(read_message, out) if message is not None]
    queues = {
        int.from_bytes(packet.data[-_NUMBER:], "big"): queue_named(packet)
        for packet in out
        if read_message(packet) is None
    }
    for number, queue in queues_expected.items():
        if queues.get(number) != queue:
            return f"packet {number} left queue {queues.get(number)}, not {queue}"
    for kind in ("pause", "resume"):
        expected = [signal for signal in signals if signal.kind == kind]
        actual = [each for each in messages if isinstance(each, Signal) and each.kind == kind]
        is_ordered = kind == "pause"
        same = (
            _by_port(expected) == _by_port(actual)
            if is_ordered
            else Counter(expected) == Counter(actual)
        )
        if not same:
            return f"{kind}s are {actual}, not {expected}"
    actual_bitmaps = [message for message in messages if isinstance(message, Bitmap)]
    if _by_port(actual_bitmaps) != _by_port(bitmaps):
        return f"bitmaps are {actual_bitmaps}, not {bitmaps}"
    driver_messages = len(sent) - len(out)
    if driver_messages != driver_expected:
        return f"the driver received {driver_messages} messages, not {driver_expected}"
    return None


def _by_port(messages: Iterable[Signal | Bitmap]) -> list[Signal | Bitmap]:
    """Return messages by port, preserving the order within each port."""
    return sorted(messages, key=attrgetter("port"))


if __name__ == "__main__":
    main()
