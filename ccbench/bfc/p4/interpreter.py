# SPDX-License-Identifier: Apache-2.0
"""A small interpreter of BMv2's JSON: parser, match-action, registers, clone, recirculate.

It executes a program compiled for v1model as BMv2's ``simple_switch`` does, with one difference:
the traffic manager is the caller. :meth:`Machine.ingress` returns packets that wait, and
:meth:`Machine.egress` is called when one of them may leave. Nothing happens by itself, so that what
a program does can be repeated and looked at.

It knows what the programs here need: no header stacks, unions or variable lengths, no meters or
counters, no checksums, no multicast. What it does not know is an error, never passed over.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ccbench.errors import CcbenchError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ccbench.bfc.p4.program import Program

__all__ = ["DROP_PORT", "Machine", "Sent", "Waiting"]

#: The egress port that drops.
DROP_PORT = 511

_NORMAL, _INGRESS_CLONE, _EGRESS_CLONE, _RECIRCULATED = 0, 1, 2, 4
_STANDARD = "standard_metadata"


@dataclass
class _State:
    """A packet within a pipeline: its headers, its metadata, and what has been asked for."""

    fields: dict[tuple[str, str], int]
    valid: set[str]
    payload: bytes = b""
    clone: tuple[int, int] | None = None  # session, field list
    recirculate: int | None = None  # field list
    truncate: int | None = None


@dataclass(frozen=True)
class Waiting:
    """A packet after ingress, in a queue.

    Attributes
    ----------
    port : int
        The egress port.
    priority : int
        The queue.
    is_copy : bool
        Whether it is a clone, bound for egress and what that makes of it.
    """

    port: int
    priority: int
    is_copy: bool
    state: _State = field(repr=False, compare=False)


@dataclass(frozen=True)
class Sent:
    """A packet that has left."""

    port: int
    data: bytes


class Machine:
    """A switch that runs a program.

    Parameters
    ----------
    program : Program
        What to run. All registers start at 0, tables as the program has them.
    sessions : mapping
        The egress port of each mirroring session.
    """

    def __init__(self, program: Program, sessions: Mapping[int, int]) -> None:
        self.program = program
        self._sessions = dict(sessions)
        self._registers = {name: [0] * size for name, (size, _) in program.registers.items()}
        self._entries: dict[str, dict[tuple[int, ...], tuple[int, list[int]]]] = {}
        self._defaults: dict[str, tuple[int, list[int]]] = {}
        for pipeline in program.pipelines.values():
            for name, table in pipeline.tables.items():
                if any(key["match_type"] != "exact" for key in table["key"]):
                    raise InputError(
                        f"table {name} does not match exactly; only that is known here"
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
        self._operations: dict[str, Callable[[_State, Sequence[Any], Sequence[int]], None]] = {
            "assign": self._assign,
            "add_header": lambda state, parameters, _: state.valid.add(parameters[0]["value"]),
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

    def insert(self, table: str, key: Sequence[int], action: str, data: Sequence[int] = ()) -> None:
        """Put an entry into a table; names may be the last parts of the full ones."""
        found = self.program.table(table)
        self._entries[found["name"]][tuple(key)] = (
            self.program.action(found, action),
            list(data),
        )

    def set_default(self, table: str, action: str, data: Sequence[int] = ()) -> None:
        """Set what a table does with packets that match no entry."""
        found = self.program.table(table)
        self._defaults[found["name"]] = (self.program.action(found, action), list(data))

    def read(self, register: str, index: int) -> int:
        """Return a cell of a register."""
        return self._registers[self.program.register(register)][index]

    def read_all(self, register: str) -> list[int]:
        """Return all cells of a register."""
        return list(self._registers[self.program.register(register)])

    def write(self, register: str, index: int, value: int) -> None:
        """Set a cell of a register."""
        self._registers[self.program.register(register)][index] = value

    def ingress(self, data: bytes, port: int, time_us: int) -> list[Waiting]:
        """Take in a packet.

        Parameters
        ----------
        data : bytes
            From Ethernet on.
        port : int
            Where it arrives.
        time_us : int
            When, in microseconds.

        Returns
        -------
        list of Waiting
            Itself and its clone, unless dropped.
        """
        return self._ingress(data, port, time_us, _NORMAL, {})

    def egress(self, waiting: Waiting, time_us: int) -> tuple[list[Sent], list[Waiting]]:
        """Let a packet leave its queue.

        Returns
        -------
        sent : list of Sent
            What has left the switch: one packet or none.
        waiting : list of Waiting
            Its clone, or what has become of it in ingress if it was recirculated.
        """
        state = waiting.state
        for name, value in (
            ("egress_port", waiting.port),
            ("egress_spec", 0),  # 512, which does not fit
            ("egress_global_timestamp", time_us),
        ):
            state.fields[_STANDARD, name] = value
        self._run("egress", state)
        following = []
        if state.clone is not None:
            session, fields = state.clone
            copy = _State(
                {**self._blank(), **self._kept(state, fields)}, set(state.valid), state.payload
            )
            for name in state.valid - self.program.metadata:
                for header_field in self.program.widths[name]:
                    copy.fields[name, header_field] = state.fields[name, header_field]
            copy.fields[_STANDARD, "instance_type"] = _EGRESS_CLONE
            copy.fields[_STANDARD, "packet_length"] = state.fields[_STANDARD, "packet_length"]
            following.append(Waiting(self._session(session), 0, True, copy))  # noqa: FBT003
        if state.fields[_STANDARD, "egress_spec"] == DROP_PORT:
            return [], following
        data = self._deparse(state)
        if state.recirculate is not None:
            # BMv2 forgets where and when the packet came, and to truncate it.
            kept = self._kept(state, state.recirculate)
            return [], following + self._ingress(data, 0, 0, _RECIRCULATED, kept)
        return [Sent(waiting.port, data[: state.truncate])], following

    def value(self, waiting: Waiting, name: str) -> int:
        """Return a field of a waiting packet's metadata, without what p4c puts around its name.

        Raises
        ------
        InputError
            If there is no such field, or more than one.
        """
        fields = waiting.state.fields
        found = [
            key
            for key in fields
            if key[0] in self.program.metadata
            and key[1].rstrip("0123456789").rpartition("metadata_t._")[2] == name
        ]
        if len(found) != 1:
            raise InputError(f"field {name!r} is in the program {len(found)} times: name another")
        return fields[found[0]]

    def _ingress(
        self, data: bytes, port: int, time_us: int, kind: int, kept: Mapping[tuple[str, str], int]
    ) -> list[Waiting]:
        def arrive(instance: int, at_us: int, kept: Mapping[tuple[str, str], int]) -> _State:
            state = _State({**self._blank(), **kept}, set(self.program.metadata))
            for name, value in (
                ("ingress_port", port),
                ("packet_length", len(data)),
                ("instance_type", instance),
                ("ingress_global_timestamp", at_us),
            ):
                state.fields[_STANDARD, name] = value
            self._parse(state, data)
            return state

        state = arrive(kind, time_us, kept)
        self._run("ingress", state)
        waiting = []
        if state.clone is not None:  # of the packet as it arrived
            session, fields = state.clone
            copy = arrive(_INGRESS_CLONE, 0, self._kept(state, fields))
            waiting.append(Waiting(self._session(session), 0, True, copy))  # noqa: FBT003
        out = state.fields[_STANDARD, "egress_spec"]
        if out != DROP_PORT:
            state.clone = None
            state.fields[_STANDARD, "instance_type"] = _NORMAL
            queue = state.fields[_STANDARD, "priority"]
            waiting.append(Waiting(out, queue, False, state))  # noqa: FBT003
        return waiting

    def _blank(self) -> dict[tuple[str, str], int]:
        return {(name, each): 0 for name, fields in self.program.widths.items() for each in fields}

    def _kept(self, state: _State, fields: int) -> dict[tuple[str, str], int]:
        return {key: state.fields[key] for key in self.program.field_lists.get(fields, ())}

    def _session(self, number: int) -> int:
        if number not in self._sessions:
            raise InputError(f"mirroring session {number} has no port: give it one in sessions")
        return self._sessions[number]

    def _parse(self, state: _State, data: bytes) -> None:
        name: str | None = self.program.start
        while name is not None:
            described = self.program.states[name]
            for operation in described["parser_ops"]:
                (parameter, *_) = operation["parameters"]
                if operation["op"] == "primitive":
                    self._execute(state, parameter, ())
                elif operation["op"] != "extract" or parameter["type"] != "regular":
                    raise _unknown("parser operation", operation)
                else:
                    rest = self._extract(state, parameter["value"], data)
                    if rest is None:  # what BMv2 does: the parser stops, the rest is payload
                        state.payload = data
                        return
                    data = rest
            name = self._transition(state, described)
        state.payload = data

    def _extract(self, state: _State, header: str, data: bytes) -> bytes | None:
        """Read a header and return what comes after it; None if it is cut off."""
        widths = self.program.widths[header]
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

    def _transition(self, state: _State, described: Mapping[str, Any]) -> str | None:
        key = 0
        for part in described["transition_key"]:
            if part["type"] != "field":
                raise _unknown("transition key", part)
            header, name = part["value"]
            width = -(-self.program.widths[header][name] // 8) * 8  # each padded to bytes
            key = key << width | state.fields[header, name]
        for transition in described["transitions"]:
            if transition["type"] == "hexstr":
                mask = int(transition["mask"], 16) if transition["mask"] else -1
                if key & mask != int(transition["value"], 16) & mask:
                    continue
            elif transition["type"] != "default":
                raise _unknown("transition", transition)
            following: str | None = transition["next_state"]
            return following
        return None

    def _deparse(self, state: _State) -> bytes:
        data = b""
        for name in self.program.emitted:
            if name in state.valid:
                bits = size = 0
                for each, width in self.program.widths[name].items():
                    bits = bits << width | state.fields[name, each]
                    size += width
                data += bits.to_bytes(size // 8, "big")
        return data + state.payload

    def _run(self, name: str, state: _State) -> None:
        pipeline = self.program.pipelines[name]
        node = pipeline.first
        while node is not None:
            if node in pipeline.conditions:
                condition = pipeline.conditions[node]
                holds = self._evaluate(state, condition["expression"], ())
                node = condition["true_next" if holds else "false_next"]
            else:
                node = self._apply(state, pipeline.tables[node])

    def _apply(self, state: _State, table: Mapping[str, Any]) -> str | None:
        name = table["name"]
        key = tuple(self._field(state, part["target"]) for part in table["key"])
        hit = bool(table["key"]) and key in self._entries[name]
        found = self._entries[name][key] if hit else self._defaults.get(name)
        following: Mapping[str, str | None] = table["next_tables"]
        if found is None:
            return following.get("__MISS__", table["base_default_next"])
        number, data = found
        action = self.program.actions[number]
        for primitive in action["primitives"]:
            self._execute(state, primitive, data)
        outcome = "__HIT__" if hit else "__MISS__"
        return following[outcome] if outcome in following else following[action["name"]]

    def _execute(self, state: _State, primitive: Mapping[str, Any], data: Sequence[int]) -> None:
        operation = self._operations.get(primitive["op"])
        if operation is None:
            raise _unknown("primitive", primitive)
        operation(state, primitive["parameters"], data)

    def _field(self, state: _State, place: Sequence[str]) -> int:
        header, name = place
        if name == "$valid$":
            return int(header in state.valid)
        return state.fields[header, name]

    def _set(self, state: _State, parameter: Mapping[str, Any], value: int) -> None:
        if parameter["type"] != "field":
            raise _unknown("destination", parameter)
        header, name = parameter["value"]
        width = self.program.widths[header][name]
        state.fields[header, name] = value & (1 << width) - 1

    def _evaluate(self, state: _State, what: Any, data: Sequence[int]) -> int:  # noqa: PLR0911
        kind, value = what["type"], what["value"]
        if kind == "field":
            return self._field(state, value)
        if kind == "hexstr":
            return int(value, 16)
        if kind == "bool":
            return int(value)
        if kind in ("runtime_data", "local"):
            return int(data[value])
        if kind == "header":
            return int(value in state.valid)
        if kind == "expression":
            if "op" not in value:  # one within another
                return self._evaluate(state, value, data)
            if value["op"] == "?":
                chosen = "left" if self._evaluate(state, value["cond"], data) else "right"
                return self._evaluate(state, value[chosen], data)
            right = self._evaluate(state, value["right"], data)
            if value["left"] is None:
                return _UNARY[value["op"]](right)
            left = self._evaluate(state, value["left"], data)
            return _BINARY[value["op"]](left, right)
        raise _unknown("value", what)

    def _assign(self, state: _State, parameters: Sequence[Any], data: Sequence[int]) -> None:
        self._set(state, parameters[0], self._evaluate(state, parameters[1], data))

    def _remove_header(self, state: _State, parameters: Sequence[Any], _: Sequence[int]) -> None:
        state.valid.discard(parameters[0]["value"])

    def _register_read(self, state: _State, parameters: Sequence[Any], data: Sequence[int]) -> None:
        into, register, index = parameters
        cells, at = self._cell(state, register, index, data)
        self._set(state, into, cells[at])

    def _register_write(
        self, state: _State, parameters: Sequence[Any], data: Sequence[int]
    ) -> None:
        register, index, value = parameters
        cells, at = self._cell(state, register, index, data)
        _, width = self.program.registers[register["value"]]
        cells[at] = self._evaluate(state, value, data) & (1 << width) - 1

    def _cell(
        self, state: _State, register: Mapping[str, Any], index: Any, data: Sequence[int]
    ) -> tuple[list[int], int]:
        cells = self._registers[register["value"]]
        at = self._evaluate(state, index, data)
        if at >= len(cells):  # BMv2's release builds do not look
            raise CcbenchError(
                f"the program reaches for cell {at} of register {register['value']}, which has "
                f"{len(cells)}: a fault of the program"
            )
        return cells, at

    def _hash(self, state: _State, parameters: Sequence[Any], data: Sequence[int]) -> None:
        into, base, calculation, bound = parameters
        described = self.program.calculations[calculation["value"]]
        if described["algo"] != "crc32":
            raise _unknown("hash", described["algo"])
        bits = size = 0
        for part in described["input"]:
            header, name = part["value"]
            width = self.program.widths[header][name]
            bits, size = bits << width | state.fields[header, name], size + width
        number = zlib.crc32(bits.to_bytes(-(-size // 8), "big"))
        limit = self._evaluate(state, bound, data)
        self._set(state, into, self._evaluate(state, base, data) + (number % limit if limit else 0))

    def _drop(self, state: _State, _: Sequence[Any], __: Sequence[int]) -> None:
        state.fields[_STANDARD, "egress_spec"] = DROP_PORT

    def _clone(self, state: _State, parameters: Sequence[Any], data: Sequence[int]) -> None:
        session, fields = (self._evaluate(state, each, data) for each in parameters)
        state.clone = (session, fields)

    def _recirculate(self, state: _State, parameters: Sequence[Any], data: Sequence[int]) -> None:
        state.recirculate = self._evaluate(state, parameters[0], data)

    def _truncate(self, state: _State, parameters: Sequence[Any], data: Sequence[int]) -> None:
        state.truncate = self._evaluate(state, parameters[0], data)

    def _nothing(self, _: _State, __: Sequence[Any], ___: Sequence[int]) -> None:
        pass


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


def _numbers(data: Sequence[str]) -> list[int]:
    return [int(each, 16) for each in data]


def _unknown(what: str, found: object) -> InputError:
    return InputError(f"{what} {found!r} is not known here: run the program on BMv2 instead")
