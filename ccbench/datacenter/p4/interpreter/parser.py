# SPDX-License-Identifier: Apache-2.0
"""Conversion between bytes and the state of a packet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccbench.datacenter.p4.interpreter.expressions import unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.datacenter.p4.interpreter.primitives import Primitives
    from ccbench.datacenter.p4.interpreter.state import PacketState
    from ccbench.datacenter.p4.program import Program

__all__ = ["deparse", "parse"]


def parse(program: Program, primitives: Primitives, state: PacketState, data: bytes) -> None:
    """Run the program's parser on a packet; the remaining bytes are its payload.

    Raises
    ------
    InputError
        If the interpreter does not support an operation of the parser.
    """
    name: str | None = program.start
    while name is not None:
        described = program.states[name]
        for operation in described["parser_ops"]:
            (parameter, *_) = operation["parameters"]
            if operation["op"] == "primitive":
                primitives.execute(state, parameter)
            elif operation["op"] != "extract" or parameter["type"] != "regular":
                raise unknown("parser operation", operation)
            else:
                rest = _extract(program, state, parameter["value"], data)
                if rest is None:  # like BMv2: the parser stops, the rest is payload
                    state.payload = data
                    return
                data = rest
        name = _transition(program, state, described)
    state.payload = data


def _extract(program: Program, state: PacketState, header: str, data: bytes) -> bytes | None:
    """Read a header and return the bytes after it; None if it is truncated."""
    widths = program.widths[header]
    left = sum(widths.values())
    size = left // 8
    if len(data) < size:
        return None
    bits = int.from_bytes(data[:size], "big")
    for each, width in widths.items():
        left -= width
        state.fields[header, each] = bits >> left & (1 << width) - 1
    state.valid.add(header)
    return data[size:]


def _transition(program: Program, state: PacketState, described: Mapping[str, Any]) -> str | None:
    key = 0
    for part in described["transition_key"]:
        if part["type"] != "field":
            raise unknown("transition key", part)
        header, name = part["value"]
        width = -(-program.widths[header][name] // 8) * 8  # each padded to bytes
        key = key << width | state.read(part["value"])
    for transition in described["transitions"]:
        if transition["type"] == "hexstr":
            mask = int(transition["mask"], 16) if transition["mask"] else -1
            if key & mask != int(transition["value"], 16) & mask:
                continue
        elif transition["type"] != "default":
            raise unknown("transition", transition)
        following: str | None = transition["next_state"]
        return following
    return None


def deparse(program: Program, state: PacketState) -> bytes:
    """Return the bytes of a packet: its valid headers, then its payload."""
    data = b""
    for name in program.emitted:
        if name in state.valid:
            bits = size = 0
            for each, width in program.widths[name].items():
                bits = bits << width | state.fields[name, each]
                size += width
            data += bits.to_bytes(size // 8, "big")
    return data + state.payload
