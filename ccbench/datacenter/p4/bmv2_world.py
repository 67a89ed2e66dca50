# SPDX-License-Identifier: Apache-2.0
"""What happens in the namespaces of a run on BMv2: a program of its own, started by ``bmv2``.

Stepped scenarios go packet by packet, with the driver for traffic manager, side by side with the
interpreter: answers, bytes and at the end all registers must agree.

Paced scenarios are replayed in real time, with BMv2's own queues and clock. There what the switch
sends is compared as a whole: each packet's queue, as the packet names it; pauses and bitmaps of a
port in their order, for ports have none among each other; resumes whatever their order, for queues
that drain at the same time have none either.

The checks of :mod:`ccbench.datacenter.p4.load` come last.
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
from ccbench.datacenter.p4.form import (
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
from ccbench.datacenter.vectors import Departure, Refresh, Scenario, check, loads
from ccbench.emulate.realtime.namespaces import call, set_sysctls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ccbench.datacenter.p4.interpreter import Sent

_DRIVERS = (DRIVER_PORT, HOLDING_PORT)
_NUMBER = 4  # the last bytes of a packet say which one it is
_LATE_S = 0.1  # what paced scenarios can bear
_SILENCE_S = 0.05  # after a scenario, to hear what should not come


def main() -> None:
    """Put the scenarios of two files to the switch, then loads; print what is wrong as JSON."""
    compiled, stepped, paced, scratch = (Path(word) for word in sys.argv[1:5])
    loads_per_s = [int(word) for word in sys.argv[5:]]
    call("ip", "link", "set", "lo", "up")
    set_sysctls({"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"})
    program = Program.load(compiled)
    scenarios = {
        put: loads(path.read_text(encoding="utf-8"))
        for path, put in ((stepped, _step), (paced, _replay))
    }
    checks: deque[tuple[str, Callable[[Live], str | None]]] = deque(
        (scenario.name, partial(put, program, scenario))
        for put, some in scenarios.items()
        for scenario in some
    )
    for packets_per_s in loads_per_s:
        checks.append((f"{packets_per_s} packets/s", partial(_keep, packets_per_s)))
    if loads_per_s:
        checks.append(("lost headers", recovers_lost_headers))
    ports = {0, 1, *_DRIVERS}.union(
        *(range(_ports(scenario)) for some in scenarios.values() for scenario in some)
    )
    wrong: dict[str, str | None] = {}
    while checks:
        log = scratch / "simple_switch.log"
        with live(compiled, program, dict.fromkeys(sorted(ports)), log) as switch:
            fault = None
            while checks and fault is None:  # a switch that errs is not used again
                name, check_it = checks.popleft()
                switch.reset()
                fault = wrong[name] = check_it(switch)
    sys.stdout.write(json.dumps(wrong))


def _keep(packets_per_s: int, switch: Live) -> str | None:
    return keeps_queues(switch, packets_per_s)


def _ports(scenario: Scenario) -> int:
    return len(scenario.settings.speeds_mbps)


def _step(program: Program, scenario: Scenario, switch: Live) -> str | None:
    """Put a scenario to switch and interpreter step by step; return what is wrong, or None."""
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
        return f"when all was over the switch sent {late}"
    for register in program.registers:
        found, right = switch.read_all(register), interpreted.machine.read_all(register)
        if found != right:
            different = [
                i for i, pair in enumerate(zip(found, right, strict=True)) if len({*pair}) > 1
            ]
            return f"register {register} differs from the interpreter's in cells {different}"
    return None


def _replay(_: Program, scenario: Scenario, switch: Live) -> str | None:
    """Let everything happen at its time but departures; return what is wrong, or None."""
    configure(switch, scenario.settings)
    for port in range(_ports(scenario)):
        switch.command(f"set_queue_depth 1000 {port}")
        for queue in range(scenario.settings.data_queues):
            switch.command(f"set_queue_rate {PACKETS_PER_S} {port} {queue}")
    sent: list[Sent] = []
    # To BMv2 a queue whose rate has just been set has just sent a packet.
    start = time.monotonic() + 2 * INTERVAL_NS / 1e9
    late = 0.0
    number = 0
    for step in scenario.steps:
        happens = step.happens
        _listen(switch, sent, until=start + step.at_ns / 1e9)
        late = max(late, time.monotonic() - start - step.at_ns / 1e9)
        if isinstance(happens, Departure):
            continue
        if isinstance(happens, Packet):
            data = data_packet(happens)[:-_NUMBER] + number.to_bytes(_NUMBER, "big")
            switch.send(happens.ingress, data)
            number += 1
        elif isinstance(happens, Refresh):
            switch.send(DRIVER_PORT, refresh_packet(happens.port))
        else:
            switch.send(happens.port, message_packet(happens))
    _listen(switch, sent, until=time.monotonic() + 2 * INTERVAL_NS / 1e9)
    fault = _compare(scenario, sent)
    if fault is not None and late > _LATE_S:
        return f"{fault}; but packets were sent up to {late:.2g} s late: the machine is too busy"
    return fault


def _listen(switch: Live, sent: list[Sent], *, until: float) -> None:
    while (left := until - time.monotonic()) > 0:
        sent += switch.listen(left)


def _compare(scenario: Scenario, sent: list[Sent]) -> str | None:
    """Return what is wrong with what was sent, or None."""
    steps = scenario.steps
    answers = [step.answer for step in steps if isinstance(step.happens, Packet)]
    wanted = dict(enumerate(answer.queue for answer in answers))
    signals = [signal for step in steps for signal in step.answer.signals]
    bitmaps = [
        Bitmap(step.happens.port, step.answer.bitmap)
        for step in steps
        if isinstance(step.happens, Refresh) and step.answer.bitmap is not None
    ]
    told = sum(isinstance(step.happens, Signal | Bitmap) for step in steps)

    out = [packet for packet in sent if packet.port != DRIVER_PORT]
    messages = [message for message in map(read_message, out) if message is not None]
    queues = {
        int.from_bytes(packet.data[-_NUMBER:], "big"): queue_named(packet)
        for packet in out
        if read_message(packet) is None
    }
    for number, queue in wanted.items():
        if queues.get(number) != queue:
            return f"packet {number} left queue {queues.get(number)}, not {queue}"
    for kind in ("pause", "resume"):
        right = [signal for signal in signals if signal.kind == kind]
        found = [each for each in messages if isinstance(each, Signal) and each.kind == kind]
        is_ordered = kind == "pause"
        same = (
            _by_port(right) == _by_port(found) if is_ordered else Counter(right) == Counter(found)
        )
        if not same:
            return f"{kind}s are {found}, not {right}"
    found_bitmaps = [message for message in messages if isinstance(message, Bitmap)]
    if _by_port(found_bitmaps) != _by_port(bitmaps):
        return f"bitmaps are {found_bitmaps}, not {bitmaps}"
    heard = len(sent) - len(out)
    if heard != told:
        return f"the driver heard {heard} messages, not {told}"
    return None


def _by_port(messages: Iterable[Signal | Bitmap]) -> list[Signal | Bitmap]:
    """Return them port by port, those of a port in the order that they have."""
    return sorted(messages, key=attrgetter("port"))


if __name__ == "__main__":
    main()
