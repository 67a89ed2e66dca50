# SPDX-License-Identifier: Apache-2.0
"""A switch that executes a program: ingress, clones, recirculation and egress."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ccbench.base.errors import InputError
from ccbench.datacenter.p4.interpreter.match_action import Tables
from ccbench.datacenter.p4.interpreter.parser import deparse, parse
from ccbench.datacenter.p4.interpreter.primitives import Primitives
from ccbench.datacenter.p4.interpreter.state import DROP_PORT, STANDARD, Leftovers, PacketState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ccbench.datacenter.p4.program import Program

__all__ = ["DROP_PORT", "Machine", "Sent", "Waiting"]

_NORMAL, _INGRESS_CLONE, _EGRESS_CLONE, _RECIRCULATED = 0, 1, 2, 4


@dataclass(frozen=True)
class Waiting:
    """A packet in a queue, after ingress.

    Attributes
    ----------
    port : int
        The egress port.
    priority : int
        The queue.
    is_copy : bool
        Whether it is a clone, which only egress processes.
    """

    port: int
    priority: int
    is_copy: bool
    state: PacketState = field(repr=False, compare=False)


@dataclass(frozen=True)
class Sent:
    """A packet that left the switch."""

    port: int
    data: bytes


class Machine:
    """A switch that executes a program.

    Parameters
    ----------
    program : Program
        The program. All registers start at 0; tables start with the program's entries.
    sessions : mapping
        The egress port of each mirroring session.
    """

    def __init__(self, program: Program, sessions: Mapping[int, int]) -> None:
        self.program = program
        self._sessions = dict(sessions)
        self._primitives = Primitives(program)
        self._tables = Tables(program, self._primitives)
        self._packets = 0

    def insert(self, table: str, key: Sequence[int], action: str, data: Sequence[int] = ()) -> None:
        """Insert an entry into a table; the last parts of names suffice."""
        self._tables.insert(table, key, action, data)

    def set_default(self, table: str, action: str, data: Sequence[int] = ()) -> None:
        """Set the action of a table for packets that match no entry."""
        self._tables.set_default(table, action, data)

    def read(self, register: str, index: int) -> int:
        """Return the value of a register cell."""
        return self._primitives.registers[self.program.register(register)][index]

    def read_all(self, register: str) -> list[int]:
        """Return the values of all cells of a register."""
        return list(self._primitives.registers[self.program.register(register)])

    def write(self, register: str, index: int, value: int) -> None:
        """Set the value of a register cell."""
        self._primitives.registers[self.program.register(register)][index] = value

    def ingress(self, data: bytes, port: int, time_us: int) -> list[Waiting]:
        """Process a packet that arrives.

        Parameters
        ----------
        data : bytes
            The packet including Ethernet.
        port : int
            Port of arrival.
        time_us : int
            Time in μs.

        Returns
        -------
        list of Waiting
            The packet, unless dropped, and its clone, if any.
        """
        return self._ingress(data, port, time_us, _NORMAL, {})

    def egress(self, waiting: Waiting, time_us: int) -> tuple[list[Sent], list[Waiting]]:
        """Process a packet that leaves its queue.

        Returns
        -------
        sent : list of Sent
            Packets that left the switch: one or none.
        waiting : list of Waiting
            Its clone, or the results of ingress if it was recirculated.
        """
        state = waiting.state
        for name, value in (
            ("egress_port", waiting.port),
            ("egress_spec", 0),  # 512, which does not fit
            ("egress_global_timestamp", time_us),
        ):
            state.fields[STANDARD, name] = value
        self._tables.run("egress", state)
        following = []
        if state.clone is not None:
            session, fields = state.clone
            copy = self._packet(self._preserved(state, fields))
            copy.valid |= state.valid
            copy.payload = state.payload
            for name in state.valid - self.program.metadata:
                for header_field in self.program.widths[name]:
                    copy.fields[name, header_field] = state.fields[name, header_field]
            copy.fields[STANDARD, "instance_type"] = _EGRESS_CLONE
            copy.fields[STANDARD, "packet_length"] = state.fields[STANDARD, "packet_length"]
            following.append(Waiting(self._session(session), 0, True, copy))  # noqa: FBT003
        if state.fields[STANDARD, "egress_spec"] == DROP_PORT:
            return [], following
        data = deparse(self.program, state)
        if state.recirculate is not None:
            # BMv2 discards the time and port of arrival, and does not truncate.
            preserved = self._preserved(state, state.recirculate)
            return [], following + self._ingress(data, 0, 0, _RECIRCULATED, preserved)
        return [Sent(waiting.port, data[: state.truncate])], following

    def value(self, waiting: Waiting, name: str) -> int:
        """Return a metadata field of a waiting packet, by its name without p4c's additions.

        Raises
        ------
        InputError
            If there is no such field, or several.
        """
        fields = waiting.state.fields
        matching = [
            key
            for key in fields
            if key[0] in self.program.metadata
            and key[1].rstrip("0123456789").rpartition("metadata_t._")[2] == name
        ]
        if len(matching) != 1:
            raise InputError(f"the program has {len(matching)} fields named {name!r}: name another")
        return fields[matching[0]]

    def _ingress(
        self,
        data: bytes,
        port: int,
        time_us: int,
        kind: int,
        preserved: Mapping[tuple[str, str], int],
    ) -> list[Waiting]:
        def arrive(
            instance: int, at_us: int, preserved: Mapping[tuple[str, str], int]
        ) -> PacketState:
            state = self._packet(preserved)
            for name, value in (
                ("ingress_port", port),
                ("packet_length", len(data)),
                ("instance_type", instance),
                ("ingress_global_timestamp", at_us),
            ):
                state.fields[STANDARD, name] = value
            parse(self.program, self._primitives, state, data)
            return state

        state = arrive(kind, time_us, preserved)
        self._tables.run("ingress", state)
        waiting = []
        if state.clone is not None:  # of the packet as it arrived
            session, fields = state.clone
            copy = arrive(_INGRESS_CLONE, 0, self._preserved(state, fields))
            waiting.append(Waiting(self._session(session), 0, True, copy))  # noqa: FBT003
        out = state.fields[STANDARD, "egress_spec"]
        if out != DROP_PORT:
            state.clone = None
            state.fields[STANDARD, "instance_type"] = _NORMAL
            queue = state.fields[STANDARD, "priority"]
            waiting.append(Waiting(out, queue, False, state))  # noqa: FBT003
        return waiting

    def _packet(self, preserved: Mapping[tuple[str, str], int]) -> PacketState:
        """Return a new packet without headers, with preserved metadata of another packet."""
        widths = self.program.widths
        blank = {(name, each): 0 for name, fields in widths.items() for each in fields}
        self._packets += 1
        leftovers = Leftovers(widths, self._packets)
        return PacketState({**blank, **preserved}, set(self.program.metadata), leftovers)

    def _preserved(self, state: PacketState, fields: int) -> dict[tuple[str, str], int]:
        return {key: state.fields[key] for key in self.program.field_lists.get(fields, ())}

    def _session(self, number: int) -> int:
        if number not in self._sessions:
            raise InputError(f"mirroring session {number} has no port: give it one in sessions")
        return self._sessions[number]
