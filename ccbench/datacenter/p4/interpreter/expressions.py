# SPDX-License-Identifier: Apache-2.0
"""Evaluation of expressions in BMv2's JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ccbench.datacenter.p4.interpreter.state import PacketState

__all__ = ["evaluate", "unknown"]

_UNARY: dict[str, Callable[[int], int]] = {
    "not": lambda x: int(not x),
    "~": lambda x: ~x,
    "-": lambda x: -x,
    "valid": lambda x: x,
    "d2b": lambda x: int(x != 0),
    "b2d": lambda x: x,
}

_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "<<": lambda x, y: x << y,
    ">>": lambda x, y: x >> y,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
    "==": lambda x, y: int(x == y),
    "!=": lambda x, y: int(x != y),
    "<": lambda x, y: int(x < y),
    "<=": lambda x, y: int(x <= y),
    ">": lambda x, y: int(x > y),
    ">=": lambda x, y: int(x >= y),
    "and": lambda x, y: int(bool(x) and bool(y)),
    "or": lambda x, y: int(bool(x) or bool(y)),
}


def evaluate(state: PacketState, expression: Any, data: Sequence[int]) -> int:
    """Return the value of an expression.

    Parameters
    ----------
    state : PacketState
        The packet whose fields the expression may name.
    expression : mapping
        The expression in BMv2's JSON.
    data : sequence of int
        The parameters of the enclosing action.

    Raises
    ------
    InputError
        If the interpreter does not support a part of it.
    """
    kind, value = expression["type"], expression["value"]
    if kind == "field":
        return state.read(value)
    if kind == "hexstr":
        return int(value, 16)
    if kind == "bool":
        return int(value)
    if kind in ("runtime_data", "local"):
        return int(data[value])
    if kind == "header":
        return int(value in state.valid)
    if kind == "expression":
        nested = "op" not in value
        return evaluate(state, value, data) if nested else _operation(state, value, data)
    raise unknown("value", expression)


def _operation(state: PacketState, operation: Mapping[str, Any], data: Sequence[int]) -> int:
    op = operation["op"]
    if op == "?":
        chosen = "left" if evaluate(state, operation["cond"], data) else "right"
        return evaluate(state, operation[chosen], data)
    right = evaluate(state, operation["right"], data)
    if operation["left"] is None and op in _UNARY:
        return _UNARY[op](right)
    if operation["left"] is not None and op in _BINARY:
        return _BINARY[op](evaluate(state, operation["left"], data), right)
    raise unknown("operation", op)


def unknown(kind: str, value: object) -> InputError:
    """Return the error for an unsupported feature."""
    return InputError(f"{kind} {value!r} is not supported: run the program on BMv2 instead")
