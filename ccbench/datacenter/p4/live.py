# SPDX-License-Identifier: Apache-2.0
"""BMv2's ``simple_switch`` as a :class:`~.driven.Board`: interfaces and its CLI."""

from __future__ import annotations

import contextlib
import select
import socket
import subprocess
import time
from typing import TYPE_CHECKING

from ccbench.datacenter.p4.form import (
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
_OUTGOING = 4  # a socket's copy of what it has sent itself
_RECEIVE_BYTES = 8_000_000  # what may wait in a socket
_SO_RCVBUFFORCE = 33  # beyond what this machine allows to programs that are not root
_THRIFT_PORT = 9090  # of the first switch
_DEPTH = 64  # of a queue, in packets
_PATIENCE_S = 20.0
_MOMENT_S = 0.02
_PROMPT = "RuntimeCmd: "
_FAULTS = ("error", "invalid", "unknown")
#: Room for a full packet with what the driver gets in front of it.
_MTU = "9000"


class Live:
    """A running switch.

    Parameters
    ----------
    program : Program
        What it runs.
    cli : subprocess.Popen
        ``simple_switch_CLI``, just started, with pipes.
    sockets : dict
        Of each port the socket at the other end of its wire.

    Attributes
    ----------
    sockets : dict
        As above.
    """

    def __init__(
        self, program: Program, cli: subprocess.Popen[str], sockets: dict[int, socket.socket]
    ) -> None:
        self._program = program
        self._cli = cli
        self.sockets = sockets
        self._read_answer()

    def command(self, line: str) -> str:
        """Have the CLI do something and return what it says.

        Raises
        ------
        RuntimeError
            If it refuses, with its first word about that.
        """
        if self._cli.stdin is None:
            raise RuntimeError("simple_switch_CLI has no input")
        self._cli.stdin.write(line + "\n")
        self._cli.stdin.flush()
        said = self._read_answer()
        for answer in said.splitlines():
            if answer.lower().startswith(_FAULTS):
                raise RuntimeError(f"simple_switch_CLI: {line}: {answer}")
        return said

    def reset(self) -> None:
        """Forget all that has been configured or counted."""
        for pipeline in self._program.pipelines.values():
            for name, table in pipeline.tables.items():
                if table["key"] and not table.get("entries"):
                    self.command(f"table_clear {name}")
        for register in self._program.registers:
            self.command(f"register_reset {register}")
        self.set_default("clock", "running")
        self.reset_queues()

    def reset_queues(self) -> None:
        """Give all queues BMv2's rate and depth, but for the ports that lead nowhere else.

        Those are of headers that are recirculated and of the driver: what is lost there nobody
        sends again.
        """
        self.command("set_queue_rate 0")  # no limit
        self.command(f"set_queue_depth {_DEPTH}")
        for port in (RECIRCULATION_PORT, DRIVER_PORT, HOLDING_PORT):
            self.command(f"set_queue_depth {RECIRCULATION_DEPTH} {port}")

    def insert(self, table: str, key: Sequence[int], action: str, data: Sequence[int] = ()) -> None:
        """Put an entry into a table."""
        name, full = self._names(table, action)
        self.command(f"table_add {name} {full} {_words(key)} => {_words(data)}")

    def set_default(self, table: str, action: str, data: Sequence[int] = ()) -> None:
        """Set what a table does with packets that match no entry."""
        name, full = self._names(table, action)
        self.command(f"table_set_default {name} {full} {_words(data)}")

    def read(self, register: str, index: int) -> int:
        """Return a cell of a register."""
        said = self.command(f"register_read {self._program.register(register)} {index}")
        return int(said.rpartition("=")[2])

    def read_all(self, register: str) -> list[int]:
        """Return all cells of a register."""
        said = self.command(f"register_read {self._program.register(register)}")
        return [int(number) for number in said.rpartition("=")[2].split(",")]

    def write(self, register: str, index: int, value: int) -> None:
        """Set a cell of a register."""
        self.command(f"register_write {self._program.register(register)} {index} {value}")

    def send(self, port: int, data: bytes) -> None:
        """Let a packet arrive at a port."""
        self.sockets[port].send(data)

    def listen(self, seconds: float = _MOMENT_S) -> list[Sent]:
        """Return what the switch has sent; wait for the first of it for so long at most."""
        return [sent for _, sent in listen({"": self}, seconds)]

    def _names(self, table: str, action: str) -> tuple[str, str]:
        found = self._program.table(table)
        return found["name"], self._program.actions[self._program.action(found, action)]["name"]

    def _read_answer(self) -> str:
        """Read until the CLI asks for the next command."""
        said = ""
        while not said.endswith(_PROMPT):
            read = self._cli.stdout.read(1) if self._cli.stdout else ""
            if not read:
                raise RuntimeError(f"simple_switch_CLI ends: {said.strip() or 'it says nothing'}")
            said += read
        return said.removesuffix(_PROMPT)


def listen(switches: Mapping[str, Live], seconds: float) -> list[tuple[str, Sent]]:
    """Return what some switches have sent; wait for the first of it for so long at most."""
    ends = {
        end: (name, port)
        for name, switch in switches.items()
        for port, end in switch.sockets.items()
    }
    ready, _, _ = select.select(list(ends), [], [], max(0.0, seconds))
    heard = []
    for end in ready:
        data, address = end.recvfrom(65_536)
        if address[2] != _OUTGOING:
            name, port = ends[end]
            heard.append((name, Sent(port, data)))
    return heard


@contextlib.contextmanager
def live(
    compiled: Path,
    program: Program,
    ports: Mapping[int, str | None],
    log: Path,
    number: int = 0,
) -> Iterator[Live]:
    """Have a switch run, with an interface for each port, until the end of the block.

    Parameters
    ----------
    compiled : Path
        The file of the program.
    program : Program
        The same, read.
    ports : mapping
        Of each port its interface; None for one that is to be made, with a socket at the other end.
    log : Path
        Where BMv2 writes what it has to say.
    number : int
        Tells the switches of a network from each other.

    Raises
    ------
    RuntimeError
        If the switch or its CLI does not start.
    """
    thrift_port = _THRIFT_PORT + number
    made = {port: f"{number}-{port}" for port, interface in ports.items() if interface is None}
    interfaces = {port: interface or f"s{made[port]}" for port, interface in ports.items()}
    with (
        _ends(made) as sockets,
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


def cable(one: str, other: str) -> None:
    """Make two interfaces that are the ends of one cable.

    Raises
    ------
    RuntimeError
        If they cannot be made.
    """
    call("ip", "link", "add", one, "type", "veth", "peer", "name", other)
    for end in (one, other):
        call("ip", "link", "set", end, "mtu", _MTU, "up")


@contextlib.contextmanager
def _ends(names: Mapping[int, str]) -> Iterator[dict[int, socket.socket]]:
    """Make a cable for each port, and a socket at the end that is not the switch's."""
    sockets: dict[int, socket.socket] = {}
    try:
        for port, name in names.items():
            cable(f"s{name}", f"h{name}")
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS))
            sockets[port] = made
            made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BYTES)
            made.bind((f"h{name}", 0))
        yield sockets
    finally:
        for port, made in sockets.items():
            made.close()
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
                    raise RuntimeError(f"simple_switch does not start (status {process.poll()})")
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
