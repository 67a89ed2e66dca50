# SPDX-License-Identifier: Apache-2.0
"""What happens in the namespaces of a run on BMv2: a program of its own, started by ``bmv2``.

It replays paced scenarios. What the switch sends is compared as a whole: each packet's queue, as
the packet names it; pauses in their order; resumes whatever their order, for queues that drain at
the same time have none; bitmaps in their order.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.bfc.p4.form import (
    DRIVER_PORT,
    RECIRCULATION_PORT,
    RECIRCULATION_SESSION,
    data_packet,
    message_packet,
    queue_named,
    read_message,
    refresh_packet,
    table_entries,
)
from ccbench.bfc.p4.interpreter import Sent
from ccbench.bfc.p4.paced import INTERVAL_NS, PACKETS_PER_S
from ccbench.bfc.p4.program import Program
from ccbench.bfc.switch import Bitmap, Packet, Signal
from ccbench.bfc.vectors import Departure, Refresh, Scenario, loads
from ccbench.emulate.realtime.namespaces import call, set_sysctls

if TYPE_CHECKING:
    from collections.abc import Iterator

_ALL_PROTOCOLS = 0x0003
_OUTGOING = 4  # a socket's copy of what others send
_THRIFT_PORT = 9090
_PATIENCE_S = 20.0
_NUMBER = 4  # the last bytes of a packet say which one it is


def main() -> None:
    """Replay the scenarios of a file; print what is wrong with each as JSON."""
    compiled, vectors, scratch = (Path(word) for word in sys.argv[1:4])
    call("ip", "link", "set", "lo", "up")
    set_sysctls({"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"})
    program = Program.load(compiled)
    wrong = {}
    for scenario in loads(vectors.read_text(encoding="utf-8")):
        with _interfaces(scenario) as sockets, _switch(compiled, scenario, scratch):
            _configure(program, scenario)
            wrong[scenario.name] = _compare(scenario, _replay(scenario, sockets))
    sys.stdout.write(json.dumps(wrong))


def _ports(scenario: Scenario) -> tuple[int, ...]:
    return (*range(len(scenario.settings.speeds_mbps)), DRIVER_PORT)


@contextlib.contextmanager
def _interfaces(scenario: Scenario) -> Iterator[dict[int, socket.socket]]:
    """Make an interface for each port of the switch, and a socket at its other end."""
    sockets = {}
    try:
        for port in _ports(scenario):
            call("ip", "link", "add", f"s{port}", "type", "veth", "peer", "name", f"h{port}")
            call("ip", "link", "set", f"s{port}", "up")
            call("ip", "link", "set", f"h{port}", "up")
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS))
            sockets[port] = made
            made.bind((f"h{port}", 0))
        yield sockets
    finally:
        for port, made in sockets.items():
            made.close()
            call("ip", "link", "delete", f"s{port}")


@contextlib.contextmanager
def _switch(compiled: Path, scenario: Scenario, scratch: Path) -> Iterator[None]:
    """Have ``simple_switch`` run."""
    wires = [word for port in _ports(scenario) for word in ("-i", f"{port}@s{port}")]
    command = ["simple_switch", "--thrift-port", str(_THRIFT_PORT), *wires, str(compiled)]
    with (scratch / "simple_switch.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603
            [*command, "--", "--priority-queues", "8"], stdout=log, stderr=log
        )
        try:
            deadline = time.monotonic() + _PATIENCE_S
            while not _listening():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"simple_switch does not start (status {process.poll()})")
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
            process.wait()


def _listening() -> bool:
    try:
        socket.create_connection(("127.0.0.1", _THRIFT_PORT), timeout=1).close()
    except OSError:
        return False
    return True


def _configure(program: Program, scenario: Scenario) -> None:
    """Write tables, the seed, the recirculation session and the queues' rates."""
    settings = scenario.settings
    lines = [
        f"mirroring_add {RECIRCULATION_SESSION} {RECIRCULATION_PORT}",
        f"register_write {program.register('random_state')} 0 {settings.seed}",
        "set_queue_depth 1000",
    ]
    for name, key, action, data in table_entries(settings):
        table = program.table(name)
        full = program.actions[program.action(table, action)]["name"]
        values = " ".join(map(str, data))
        if key is None:
            lines.append(f"table_set_default {table['name']} {full} {values}")
        else:
            keys = " ".join(map(str, key))
            lines.append(f"table_add {table['name']} {full} {keys} => {values}")
    lines += [
        f"set_queue_rate {PACKETS_PER_S} {port} {queue}"
        for port in range(len(settings.speeds_mbps))
        for queue in range(settings.data_queues)
    ]
    done = subprocess.run(  # noqa: S603
        ["simple_switch_CLI", "--thrift-port", str(_THRIFT_PORT)],  # noqa: S607
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    faults = [
        line
        for line in said.splitlines()
        if line.lower().startswith(("error", "invalid", "unknown"))
    ]
    if done.returncode or faults:
        raise RuntimeError(f"simple_switch_CLI: {(faults or said.splitlines() or ['nothing'])[0]}")


def _replay(scenario: Scenario, sockets: dict[int, socket.socket]) -> list[Sent]:
    """Let everything happen at its time but departures; return what the switch has sent."""
    sent: list[Sent] = []
    start = time.monotonic() + 0.2
    number = 0
    for step in scenario.steps:
        happens = step.happens
        _listen(sockets, sent, until=start + step.at_ns / 1e9)
        if isinstance(happens, Departure):
            continue
        if isinstance(happens, Packet):
            data = data_packet(happens)[:-_NUMBER] + number.to_bytes(_NUMBER, "big")
            sockets[happens.ingress].send(data)
            number += 1
        elif isinstance(happens, Refresh):
            sockets[DRIVER_PORT].send(refresh_packet(happens.port))
        else:
            sockets[happens.port].send(message_packet(happens))
    _listen(sockets, sent, until=time.monotonic() + 2 * INTERVAL_NS / 1e9)
    return sent


def _listen(sockets: dict[int, socket.socket], sent: list[Sent], *, until: float) -> None:
    ports = {made: port for port, made in sockets.items()}
    while (left := until - time.monotonic()) > 0:
        ready, _, _ = select.select(list(ports), [], [], left)
        for made in ready:
            data, address = made.recvfrom(65_536)
            if address[2] != _OUTGOING:
                sent.append(Sent(ports[made], data))


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
        same = right == found if kind == "pause" else Counter(right) == Counter(found)
        if not same:
            return f"{kind}s are {found}, not {right}"
    found_bitmaps = [message for message in messages if isinstance(message, Bitmap)]
    if found_bitmaps != bitmaps:
        return f"bitmaps are {found_bitmaps}, not {bitmaps}"
    heard = len(sent) - len(out)
    if heard != told:
        return f"the driver heard {heard} messages, not {told}"
    return None


if __name__ == "__main__":
    main()
