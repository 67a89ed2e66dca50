# SPDX-License-Identifier: Apache-2.0
"""The match-action tables of ingress and egress, and their entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccbench.base.errors import InputError
from ccbench.datacenter.p4.interpreter.expressions import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ccbench.datacenter.p4.interpreter.primitives import Primitives
    from ccbench.datacenter.p4.interpreter.state import PacketState
    from ccbench.datacenter.p4.program import Program

__all__ = ["Tables"]


class Tables:
    """The tables of a program.

    Parameters
    ----------
    program : Program
        The program, which may define entries.
    primitives : Primitives
        Implementation of its actions.

    Raises
    ------
    InputError
        If a table's match is not exact.
    """

    def __init__(self, program: Program, primitives: Primitives) -> None:
        self._program = program
        self._primitives = primitives
        self._entries: dict[str, dict[tuple[int, ...], tuple[int, list[int]]]] = {}
        self._defaults: dict[str, tuple[int, list[int]]] = {}
        for pipeline in program.pipelines.values():
            for name, table in pipeline.tables.items():
                if any(key["match_type"] != "exact" for key in table["key"]):
                    raise InputError(
                        f"table {name} does not match exactly: only exact matches are supported"
                    )
                default = table.get("default_entry")
                if default is not None:
                    self._defaults[name] = (default["action_id"], _numbers(default["action_data"]))
                self._entries[name] = {
                    tuple(int(key["key"], 16) for key in entry["match_key"]): (
                        entry["action_entry"]["action_id"],
                        _numbers(entry["action_entry"]["action_data"]),
                    )
                    for entry in table.get("entries", ())
                }

    def insert(self, table: str, key: Sequence[int], action: str, data: Sequence[int] = ()) -> None:
        """Insert an entry into a table; the last parts of names suffice."""
        described = self._program.table(table)
        entry = self._program.action(described, action), list(data)
        self._entries[described["name"]][tuple(key)] = entry

    def set_default(self, table: str, action: str, data: Sequence[int] = ()) -> None:
        """Set the action of a table for packets that match no entry."""
        described = self._program.table(table)
        self._defaults[described["name"]] = self._program.action(described, action), list(data)

    def run(self, name: str, state: PacketState) -> None:
        """Process a packet in "ingress" or "egress"."""
        pipeline = self._program.pipelines[name]
        node = pipeline.first
        while node is not None:
            if node in pipeline.conditions:
                condition = pipeline.conditions[node]
                holds = evaluate(state, condition["expression"], ())
                node = condition["true_next" if holds else "false_next"]
            else:
                node = self._apply(state, pipeline.tables[node])

    def _apply(self, state: PacketState, table: Mapping[str, Any]) -> str | None:
        name = table["name"]
        key = tuple(state.read(part["target"]) for part in table["key"])
        hit = bool(table["key"]) and key in self._entries[name]
        entry = self._entries[name][key] if hit else self._defaults.get(name)
        following: Mapping[str, str | None] = table["next_tables"]
        if entry is None:
            return following.get("__MISS__", table["base_default_next"])
        number, data = entry
        action = self._program.actions[number]
        for primitive in action["primitives"]:
            self._primitives.execute(state, primitive, data)
        outcome = "__HIT__" if hit else "__MISS__"
        return following[outcome] if outcome in following else following[action["name"]]


def _numbers(data: Sequence[str]) -> list[int]:
    return [int(each, 16) for each in data]
