# SPDX-License-Identifier: Apache-2.0
"""The output of p4c for BMv2: the JSON of its behavioural model, as far as needed.

This module only looks up names; :mod:`ccbench.datacenter.p4.interpreter` implements their meaning.
The format, version 2, is described in BMv2's ``docs/JSON_format.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ccbench.base import safe_json, validation
from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Pipeline", "Program"]

_MAJOR = 2


@dataclass(frozen=True)
class Pipeline:
    """Ingress or egress: a graph of tables and conditions."""

    first: str | None
    tables: Mapping[str, Mapping[str, Any]]
    conditions: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Program:
    """A compiled P4 program.

    Attributes
    ----------
    widths : mapping
        For each header and metadata instance, the widths of its fields in bits, in order.
    metadata : frozenset of str
        Metadata instances, which are always valid.
    states : mapping
        Parser states by name.
    start : str
        Initial parser state.
    emitted : tuple of str
        Headers in the deparser's order.
    actions : mapping
        Actions by number.
    pipelines : mapping
        "ingress" and "egress".
    registers : mapping
        For each register, its number of cells and their width in bits.
    calculations : mapping
        Hash functions by name.
    field_lists : mapping
        Metadata that packet copies preserve, by number.
    """

    widths: Mapping[str, Mapping[str, int]]
    metadata: frozenset[str]
    states: Mapping[str, Mapping[str, Any]]
    start: str
    emitted: tuple[str, ...]
    actions: Mapping[int, Mapping[str, Any]]
    pipelines: Mapping[str, Pipeline]
    registers: Mapping[str, tuple[int, int]]
    calculations: Mapping[str, Mapping[str, Any]]
    field_lists: Mapping[int, tuple[tuple[str, str], ...]]

    @classmethod
    def load(cls, path: Path) -> Program:
        """Read a file written by p4c.

        Raises
        ------
        InputError
            If it cannot be read, or is not such a file of version 2.
        """
        text = validation.text_file(path, "compiled P4 program")
        try:
            read = safe_json.loads(text)
            if read["__meta__"]["version"][0] != _MAJOR:
                raise InputError(f"{path} is not BMv2's JSON of version {_MAJOR}: compile it again")
            return cls._from_json(read)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{path} is not p4c's output for BMv2 ({error!r}): compile it again"
            ) from error

    @classmethod
    def _from_json(cls, read: Mapping[str, Any]) -> Program:
        types = {
            kind["name"]: {name: width for name, width, *_ in kind["fields"]}
            for kind in read["header_types"]
        }
        (parser,) = read["parsers"]
        (deparser,) = read["deparsers"]
        return cls(
            widths={header["name"]: types[header["header_type"]] for header in read["headers"]},
            metadata=frozenset(h["name"] for h in read["headers"] if h["metadata"]),
            states={state["name"]: state for state in parser["parse_states"]},
            start=parser["init_state"],
            emitted=tuple(deparser["order"]),
            actions={action["id"]: action for action in read["actions"]},
            pipelines={
                pipeline["name"]: Pipeline(
                    pipeline["init_table"],
                    {table["name"]: table for table in pipeline["tables"]},
                    {condition["name"]: condition for condition in pipeline["conditionals"]},
                )
                for pipeline in read["pipelines"]
            },
            registers={
                register["name"]: (register["size"], register["bitwidth"])
                for register in read["register_arrays"]
            },
            calculations={hash_["name"]: hash_ for hash_ in read["calculations"]},
            field_lists={
                fields["id"]: tuple(tuple(element["value"]) for element in fields["elements"])
                for fields in read["field_lists"]
            },
        )

    def table(self, name: str) -> Mapping[str, Any]:
        """Return a table by its name or the last part of its name.

        Raises
        ------
        InputError
            If there is no such table, or several.
        """
        matching = [
            table
            for pipeline in self.pipelines.values()
            for full, table in pipeline.tables.items()
            if full == name or full.endswith(f".{name}")
        ]
        if len(matching) != 1:
            raise InputError(f"the program has {len(matching)} tables named {name!r}: name another")
        return matching[0]

    def action(self, table: Mapping[str, Any], name: str) -> int:
        """Return the number of a table's action by the last part of its name.

        Raises
        ------
        InputError
            If the table has no such action.
        """
        for number, full in zip(table["action_ids"], table["actions"], strict=True):
            if full.rpartition(".")[2] == name:
                return int(number)
        raise InputError(f"table {table['name']} has no action {name!r}: it has {table['actions']}")

    def register(self, name: str) -> str:
        """Return the full name of a register by its name or the last part of its name.

        Raises
        ------
        InputError
            If there is no such register, or several.
        """
        matching = [full for full in self.registers if name in (full, full.rpartition(".")[2])]
        if len(matching) != 1:
            raise InputError(
                f"the program has {len(matching)} registers named {name!r}: name another"
            )
        return matching[0]
