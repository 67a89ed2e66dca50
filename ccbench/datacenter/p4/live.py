# SPDX-License-Identifier: Apache-2.0
"""BMv2's ``simple_switch`` as a :class:`~.driven.Board`, with interfaces and its CLI."""

from __future__ import annotations

import contextlib
import select
import socket
import subprocess
import time
from typing import TYPE_CHECKING

from ccbench.datacenter.p4.implementation import (
    DRIVER_PORT,
    HOLDING_PORT,
    RECIRCULATION_DEPTH,
    RECIRCULATION_PORT,
    RECIRCULATION_SESSION,
)
from ccbench.datacenter.p4.interpreter import Sent
from ccbench.emulate.realtime.namespaces import call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ccbench.datacenter.p4.program import Program

__all__ = ["Live", "cable", "listen", "live"]

_ALL_PROTOCOLS = 0x0003
_OUTGOING = 4  # a socket's copy of its own packets
_RECEIVE_BYTES = 8_000_000  # of a socket's receive buffer
_SO_RCVBUFFORCE = 33  # exceeds the limit of unprivileged programs
_THRIFT_PORT = 9090  # of the first switch
_DEPTH = 64  # of a queue, in packets
_PATIENCE_S = 20.0
_MOMENT_S = 0.02
_PROMPT = "RuntimeCmd: "
_FAULTS = ("error", "invalid", "unknown")
#: MTU that fits a full packet with the driver's header.
_MTU = "9000"


class Live:
    """A running switch.

    Parameters
    ----------
    program : Program
        The program that it runs.
    cli : subprocess.Popen
        ``simple_switch_CLI``, just started, with pipes.
    sockets : dict
        For each port, the socket at the other end of its wire.
    """

    def __init__(
        self, program: Program, cli: subprocess.Popen[str], sockets: dict[int, socket.socket]
    ) -> None:
        self._program = program
        self._cli = cli
        self.sockets = sockets
        self._read_answer()

    def command(self, line: str) -> str:
        """Execute a command of the CLI and return its output.

        Raises
        ------
        RuntimeError
            If the CLI refuses the command; the message is its first error.
        """
        if self._cli.stdin is None:
            raise RuntimeError("simple_switch_CLI has no input")
        self._cli.stdin.write(line + "\n")
        self._cli.stdin.flush()
        output = self._read_answer()
        for output_line in output.splitlines():
            if output_line.lower().startswith(_FAULTS):
                raise RuntimeError(f"simple_switch_CLI: {line}: {output_line}")
        return output

    def reset(self) -> None:
        """Clear all configuration and state."""
        for pipeline in self._program.pipelines.values():
            for name, table in pipeline.tables.items():
                if table["key"] and not table.get("entries"):
                    self.command(f"table_clear {name}")
        for register in self._program.registers:
            self.command(f"register_reset {register}")
        self.set_default("clock", "running")
        self.reset_queues()

    def reset_queues(self) -> None:
        """Restore BMv2's rate and depth of all queues, except at recirculation and driver ports.

        Those ports have deeper queues, as packets lost there are not retransmitted.
        """
        self.command("set_queue_rate 0")  # no limit
        self.command(f"set_queue_depth {_DEPTH}")
        for port in (RECIRCULATION_PORT, DRIVER_PORT, HOLDING_PORT):
            self.command(f"set_queue_depth {RECIRCULATION_DEPTH} {port}")

    def insert(self, table: str, key: Sequence[int], action: str, data: Sequence[int] = ()) -> None:
        """Insert an entry into a table."""
        name, full = self._names(table, action)
        self.command(f"table_add {name} {full} {_words(key)} => {_words(data)}")

    def set_default(self, table: str, action: str, data: Sequence[int] = ()) -> None:
        """Set the action of a table for packets that match no entry."""
        name, full = self._names(table, action)
        self.command(f"table_set_default {name} {full} {_words(data)}")

    def read(self, register: str, index: int) -> int:
        """Return the value of a register cell."""
        output = self.command(f"register_read {self._program.register(register)} {index}")
        return int(output.rpartition("=")[2])

    def read_all(self, register: str) -> list[int]:
        """Return the values of all cells of a register."""
        output = self.command(f"register_read {self._program.register(register)}")
        return [int(number) for number in output.rpartition("=")[2].split(",")]

    def write(self, register: str, index: int, value: int) -> None:
        """Set the value of a register cell."""
        self.command(f"register_write {self._program.register(register)} {index} {value}")

    def send(self, port: int, data: bytes) -> None:
        """Inject a packet at a port."""
        self.sockets[port].send(data)

    def listen(self, seconds: float = _MOMENT_S) -> list[Sent]:
        """Return the packets sent by the switch, waiting at most `seconds` for the first."""
        return [sent for _, sent in listen({"": self}, seconds)]

    def _names(self, table: str, action: str) -> tuple[str, str]:
        entry = self._program.table(table)
        return entry["name"], self._program.actions[self._program.action(entry, action)]["name"]

    def _read_answer(self) -> str:
        """Read the CLI's output up to its prompt."""
        output = ""
        while not output.endswith(_PROMPT):
            read = self._cli.stdout.read(1) if self._cli.stdout else ""
            if not read:
                raise RuntimeError(f"simple_switch_CLI ended: {output.strip() or 'no message'}")
            output += read
        return output.removesuffix(_PROMPT)


def listen(switches: Mapping[str, Live], seconds: float) -> list[tuple[str, Sent]]:
    """Return the packets sent by switches, waiting at most `seconds` for the first."""
    ends = {
        end: (name, port)
        for name, switch in switches.items()
        for port, end in switch.sockets.items()
    }
    ready, _, _ = select.select(list(ends), [], [], max(0.0, seconds))
    received = []
    for end in ready:
        data, address = end.recvfrom(65_536)
        if address[2] != _OUTGOING:
            name, port = ends[end]
            received.append((name, Sent(port, data)))
    return received


@contextlib.contextmanager
def live(
    compiled: Path,
    program: Program,
    ports: Mapping[int, str | None],
    log: Path,
    number: int = 0,
) -> Iterator[Live]:
    """Run a switch with an interface for each port until the end of the block.

    Parameters
    ----------
    compiled : Path
        File of the compiled program.
    program : Program
        The parsed program.
    ports : mapping
        The interface of each port; None to create one, with a socket at the other end.
    log : Path
        BMv2's log file.
    number : int
        Index of the switch in its network.

    Raises
    ------
    RuntimeError
        If the switch or its CLI does not start.
    """
    thrift_port = _THRIFT_PORT + number
    names = {port: f"{number}-{port}" for port, interface in ports.items() if interface is None}
    interfaces = {port: interface or f"s{names[port]}" for port, interface in ports.items()}
    with (
        _ends(names) as sockets,
        _simple_switch(compiled, interfaces, log, number),
        subprocess.Popen(  # noqa: S603
            ["simple_switch_CLI", "--thrift-port", str(thrift_port)],  # noqa: S607
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as cli,
    ):
        switch = Live(program, cli, sockets)
        switch.command(f"mirroring_add {RECIRCULATION_SESSION} {RECIRCULATION_PORT}")
        switch.reset_queues()
        yield switch


def cable(end_a: str, end_b: str) -> None:
    """Create two interfaces connected by a cable.

    Raises
    ------
    RuntimeError
        If they cannot be created.
    """
    call("ip", "link", "add", end_a, "type", "veth", "peer", "name", end_b)
    for end in (end_a, end_b):
        call("ip", "link", "set", end, "mtu", _MTU, "up")


@contextlib.contextmanager
def _ends(names: Mapping[int, str]) -> Iterator[dict[int, socket.socket]]:
    """Create a cable for each port, and a socket at the end opposite the switch."""
    sockets: dict[int, socket.socket] = {}
    try:
        for port, name in names.items():
            cable(f"s{name}", f"h{name}")
            end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS))
            sockets[port] = end
            end.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BYTES)
            end.bind((f"h{name}", 0))
        yield sockets
    finally:
        for port, end in sockets.items():
            end.close()
            call("ip", "link", "delete", f"s{names[port]}")


@contextlib.contextmanager
def _simple_switch(
    compiled: Path, interfaces: Mapping[int, str], log: Path, number: int
) -> Iterator[None]:
    wires = [word for port, name in interfaces.items() for word in ("-i", f"{port}@{name}")]
    thrift_port = _THRIFT_PORT + number
    command = ["simple_switch", "--thrift-port", str(thrift_port), "--device-id", str(number)]
    with log.open("ab") as written:
        process = subprocess.Popen(  # noqa: S603
            [*command, *wires, str(compiled), "--", "--priority-queues", "8"],
            stdout=written,
            stderr=written,
        )
        try:
            deadline = time.monotonic() + _PATIENCE_S
            while not _listening(thrift_port):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"simple_switch did not start (status {process.poll()})")
                time.sleep(0.05)
            yield
        finally:
            process.terminate()
            process.wait()


def _listening(thrift_port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", thrift_port), timeout=1).close()
    except OSError:
        return False
    return True


def _words(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))
