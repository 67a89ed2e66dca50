# SPDX-License-Identifier: Apache-2.0
"""Primitives, the steps of actions, and the registers that they access."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from ccbench.base.errors import CcbenchError
from ccbench.datacenter.p4.interpreter.expressions import evaluate, unknown
from ccbench.datacenter.p4.interpreter.state import DROP_PORT, STANDARD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ccbench.datacenter.p4.interpreter.state import PacketState
    from ccbench.datacenter.p4.program import Program

__all__ = ["Primitives"]


class Primitives:
    """Implementation of a program's actions and parser operations.

    Parameters
    ----------
    program : Program
        The program.

    Attributes
    ----------
    registers : dict
        The cells of each register by its full name; initially 0.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self.registers = {name: [0] * size for name, (size, _) in program.registers.items()}
        self._operations: dict[str, Callable[[PacketState, Sequence[Any], Sequence[int]], None]] = {
            "assign": self._assign,
            "add_header": self._add_header,
            "remove_header": self._remove_header,
            "register_read": self._register_read,
            "register_write": self._register_write,
            "modify_field_with_hash_based_offset": self._hash,
            "mark_to_drop": self._drop,
            "clone_ingress_pkt_to_egress": self._clone,
            "clone_egress_pkt_to_egress": self._clone,
            "recirculate": self._recirculate,
            "truncate": self._truncate,
            "exit": self._nothing,
            "no_op": self._nothing,
        }

    def execute(
        self, state: PacketState, primitive: Mapping[str, Any], data: Sequence[int] = ()
    ) -> None:
        """Apply a primitive to a packet, with the parameters of the action."""
        operation = self._operations.get(primitive["op"])
        if operation is None:
            raise unknown("primitive", primitive)
        operation(state, primitive["parameters"], data)

    def _set(self, state: PacketState, parameter: Mapping[str, Any], value: int) -> None:
        if parameter["type"] != "field":
            raise unknown("destination", parameter)
        header, name = parameter["value"]
        width = self._program.widths[header][name]
        state.fields[header, name] = value & (1 << width) - 1

    def _assign(self, state: PacketState, parameters: Sequence[Any], data: Sequence[int]) -> None:
        self._set(state, parameters[0], evaluate(state, parameters[1], data))

    def _add_header(self, state: PacketState, parameters: Sequence[Any], _: Sequence[int]) -> None:
        state.add_header(parameters[0]["value"])

    def _remove_header(
        self, state: PacketState, parameters: Sequence[Any], _: Sequence[int]
    ) -> None:
        state.valid.discard(parameters[0]["value"])

    def _register_read(
        self, state: PacketState, parameters: Sequence[Any], data: Sequence[int]
    ) -> None:
        into, register, index = parameters
        cells, at = self._cell(state, register, index, data)
        self._set(state, into, cells[at])

    def _register_write(
        self, state: PacketState, parameters: Sequence[Any], data: Sequence[int]
    ) -> None:
        register, index, value = parameters
        cells, at = self._cell(state, register, index, data)
        _, width = self._program.registers[register["value"]]
        cells[at] = evaluate(state, value, data) & (1 << width) - 1

    def _cell(
        self, state: PacketState, register: Mapping[str, Any], index: Any, data: Sequence[int]
    ) -> tuple[list[int], int]:
        cells = self.registers[register["value"]]
        at = evaluate(state, index, data)
        if at >= len(cells):  # BMv2's release builds do not check
            raise CcbenchError(
                f"the program accesses cell {at} of register {register['value']}, which has "
                f"{len(cells)}: a bug in the program"
            )
        return cells, at

    def _hash(self, state: PacketState, parameters: Sequence[Any], data: Sequence[int]) -> None:
        into, base, calculation, bound = parameters
        described = self._program.calculations[calculation["value"]]
        if described["algo"] != "crc32":
            raise unknown("hash", described["algo"])
        bits = size = 0
        for part in described["input"]:
            header, name = part["value"]
            width = self._program.widths[header][name]
            bits, size = bits << width | state.read(part["value"]), size + width
        number = zlib.crc32(bits.to_bytes(-(-size // 8), "big"))
        limit = evaluate(state, bound, data)
        self._set(state, into, evaluate(state, base, data) + (number % limit if limit else 0))

    def _drop(self, state: PacketState, _: Sequence[Any], __: Sequence[int]) -> None:
        state.fields[STANDARD, "egress_spec"] = DROP_PORT

    def _clone(self, state: PacketState, parameters: Sequence[Any], data: Sequence[int]) -> None:
        session, fields = (evaluate(state, each, data) for each in parameters)
        state.clone = (session, fields)

    def _recirculate(
        self, state: PacketState, parameters: Sequence[Any], data: Sequence[int]
    ) -> None:
        state.recirculate = evaluate(state, parameters[0], data)

    def _truncate(self, state: PacketState, parameters: Sequence[Any], data: Sequence[int]) -> None:
        state.truncate = evaluate(state, parameters[0], data)

    def _nothing(self, _: PacketState, __: Sequence[Any], ___: Sequence[int]) -> None:
        pass
