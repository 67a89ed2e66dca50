# SPDX-License-Identifier: Apache-2.0
"""Settings of a scenario's document by path, such as ``bottlenecks.0.queue_bdp``.

Sweeps and searches modify the document before it becomes a scenario, so that a `queue_bdp` refers
to the rate and the round-trip time of each combination. In place of the number of a list's item,
``*`` stands for all of them: ``flows.*.cca``.
"""

from __future__ import annotations

import copy
import dataclasses
import difflib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ccbench.base.dataclass_dicts import plain as plain_part
from ccbench.base.dataclass_dicts import settings
from ccbench.base.errors import InputError
from ccbench.experiment import kernel_settings
from ccbench.experiment.loss_trace import LossTrace
from ccbench.experiment.rtt_trace import RttTrace
from ccbench.experiment.scenario import Scenario
from ccbench.experiment.traffic import FlowMix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from _typeshed import DataclassInstance

__all__ = [
    "Value",
    "changed",
    "check_path",
    "expanded",
    "field_of",
    "is_value",
    "paths",
    "plain",
]

#: A number, a word or a boolean; from Python also a whole part of a scenario, such as a
#: :class:`~ccbench.experiment.impairments.BurstLoss`, or a tuple in place of a list.
Value: TypeAlias = "float | str | bool | tuple[Any, ...] | DataclassInstance"

#: Settings that do not affect results, or that the metrics determine.
_FIXED = frozenset({"name", "label", "queue_log"})
#: Tables in place of another kind of value, and their classes.
_OR_TABLES: Mapping[str, type[DataclassInstance]] = {"arrivals": FlowMix}


def _lists(cls: type[DataclassInstance]) -> Iterator[str]:
    for name, field in settings(cls).items():
        if part := field.metadata.get("tables"):
            yield name
            yield from _lists(part)


#: Lists of tables.
_LISTS = tuple(dict.fromkeys(_lists(Scenario)))
#: Tables of the scenario with names of settings that contain dots.
_DOTTED_TABLES = tuple(
    name for name, field in settings(Scenario).items() if field.metadata.get("has_dots")
)
#: A setting of an open table; for a qdisc option, with the path of the table.
_IN_OPEN_TABLE = re.compile(r"(?:sysctls|module_parameters|(\w+\.\d+\.qdisc_options))\.(?:[^.].*)")


def paths(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths of all settings of a scenario's document that may vary.

    For tables with arbitrary names (``sysctls``), these are the settings that are present.

    Examples
    --------
    >>> document = {"flows": [{}], "bottlenecks": [{"bandwidth_mbps": 10}], "rtt_ms": 40}
    >>> [path for path in paths(document) if "rtt" in path]
    ['flows.0.extra_rtt_ms', 'rtt_ms', 'rtt_trace']
    """
    return tuple(dict.fromkeys(_paths(Scenario, document, "")))


def expanded(document: Mapping[str, Any], path: str) -> tuple[str, ...]:
    """Return the paths for which a path stands: one for each item of a list in the place of ``*``.

    Raises
    ------
    InputError
        If there is no list with items.

    Examples
    --------
    >>> expanded({"flows": [{}, {}]}, "flows.*.cca"), expanded({}, "rtt_ms")
    (('flows.0.cca', 'flows.1.cca'), ('rtt_ms',))
    """
    keys = _keys(path)
    if "*" not in keys:
        return (path,)
    at = keys.index("*")
    items: Any = document
    for key in keys[:at]:
        items = _item(items, key)
    if not isinstance(items, list) or not items:
        lists = [f"{name}.*" for name in _LISTS if document.get(name)]
        step = f"the scenario has {' and '.join(lists)}"
        raise InputError(f"{path!r} stands for no items of a list; {step}")
    numbered = (".".join([*keys[:at], str(i), *keys[at + 1 :]]) for i in range(len(items)))
    return tuple(one for path in numbered for one in expanded(document, path))


def check_path(document: Mapping[str, Any], path: str) -> None:
    """Check that a path is that of a setting, or of any value in the document, or of several.

    Raises
    ------
    InputError
        If it is not. The message suggests the closest path.
    """
    for one in expanded(document, path):
        _check_one(document, one)


def _check_one(document: Mapping[str, Any], path: str) -> None:
    known = paths(document)
    open_table = _IN_OPEN_TABLE.fullmatch(path)
    if path in known or (open_table and (open_table[1] is None or open_table[1] in known)):
        return
    if path.rpartition(".")[2] in _FIXED:
        message = "names and queue_log do not affect the metrics: leave it out"
        raise InputError(f"{path!r} cannot vary; {message}")
    if not _is_present(document, path):
        step = _step(document, path, known)
        raise InputError(f"{path!r} is not a setting of this scenario; {step}")


def field_of(path: str) -> dataclasses.Field[Any] | None:
    """Return the field of a scenario's dataclasses that a path names; None for other settings.

    Examples
    --------
    >>> field_of("bottlenecks.0.policer.rate_mbps").name, field_of("sysctls.net.ipv4.tcp_sack")
    ('rate_mbps', None)
    """
    cls: Any = Scenario
    field = None
    for key in _keys(path):
        if key.isdecimal() or key == "*":
            continue
        field = settings(cls).get(key) if cls is not None else None
        if field is None:
            return None
        cls = field.metadata.get("tables") or field.metadata.get("table")
    return field


def is_value(value: object) -> bool:
    """Return whether a setting can have a value in a sweep: whether it is a `Value`."""
    is_part = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return is_part or isinstance(value, float | int | str | tuple)


def plain(value: Value) -> Any:
    """Return a value as in a document.

    Examples
    --------
    >>> from ccbench import Policer
    >>> plain(Policer(rate_mbps=10, burst_bytes=50_000))
    {'rate_mbps': 10.0, 'burst_bytes': 50000}
    """
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, RttTrace | LossTrace):
        return [list(point) for point in value.points]
    if isinstance(value, float | int | str | dict):
        return value
    to_dict = getattr(value, "to_dict", None)
    return to_dict() if to_dict else plain_part(value)


def changed(document: Mapping[str, Any], values: Mapping[str, Value]) -> dict[str, Any]:
    """Return a copy of a document with other values of some settings."""
    result = copy.deepcopy(dict(document))
    for name in result.keys() & {*_DOTTED_TABLES}:
        result[name] = kernel_settings.flattened(name, result[name])
    single = [(one, value) for path, value in values.items() for one in expanded(result, path)]
    for path, value in single:
        table: Any = result
        *parents, name = _keys(path)
        for key in parents:
            table = table[int(key)] if isinstance(table, list) else table.setdefault(key, {})
        table[int(name) if isinstance(table, list) else name] = plain(value)
    return result


def _keys(path: str) -> list[str]:
    """Return the keys of a path; names of sysctls and module parameters contain dots."""
    table, _, name = path.partition(".")
    return [table, name] if table in _DOTTED_TABLES else path.split(".")


def _is_present(document: Mapping[str, Any], path: str) -> bool:
    value: Any = document
    for key in _keys(path):
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return False
    return True


def _step(document: Mapping[str, Any], path: str, known: Iterable[str]) -> str:
    """Return the next step for a path that is not that of a setting."""
    keys = path.replace("[", ".").replace("]", "").split(".")
    value: Any = document
    for i, key in enumerate(keys):
        if isinstance(value, list) and key.isdecimal() and int(key) >= len(value):
            place = ".".join(keys[:i])
            if not value:
                return f"{place} is empty: add an item to the file"
            return f"the last of {place} is {place}.{len(value) - 1}: numbers start from 0"
        value = _item(value, key)
    words = ".".join(keys)
    # Of the settings in the same table, as others would be those of another flow or bottleneck.
    for depth in range(len(keys) - 1, -1, -1):
        prefix = "".join(f"{key}." for key in keys[:depth])
        if near := [setting for setting in known if setting.startswith(prefix)]:
            close = difflib.get_close_matches(words, near, n=1, cutoff=0.5)
            return f"did you mean {close[0]}?" if close else f"try for example {near[0]}"
    return "try rtt_ms or bottlenecks.0.queue_bdp"


def _item(value: Any, key: str) -> Any:
    """Return an item of a table or list; of anything else, None."""
    if isinstance(value, Mapping):
        return value.get(key, [] if key in _LISTS else None)
    return value[int(key)] if isinstance(value, list) and key.isdecimal() else None


def _paths(cls: type[DataclassInstance], table: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name, field in settings(cls).items():
        about, value = field.metadata, table.get(name)
        if name in _FIXED:
            continue
        if part := about.get("tables"):
            for i, item in enumerate(value or ()):
                yield from _paths(part, item, f"{prefix}{name}.{i}.")
            continue
        if not about.get("has_dots"):
            yield f"{prefix}{name}"
        own = value if isinstance(value, Mapping) else {}
        nested = about.get("table") or (_OR_TABLES.get(name) if own else None)
        if about.get("is_open"):
            yield from (f"{prefix}{name}.{key}" for key in own)
        elif nested is not None:
            yield from _paths(nested, own, f"{prefix}{name}.")
