# SPDX-License-Identifier: Apache-2.0
"""Settings of a scenario's document by path, such as ``bottlenecks.0.queue_bdp``.

A sweep modifies the document before it becomes a :class:`~ccbench.experiment.scenario.Scenario`, so
that a `queue_bdp` refers to the rate and the round-trip time of each combination.
"""

from __future__ import annotations

import copy
import dataclasses
import difflib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ccbench.base.errors import InputError
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import Flow
from ccbench.experiment.noise import Noise
from ccbench.experiment.scenario import Scenario
from ccbench.experiment.traffic import FlowMix
from ccbench.experiment.wifi import Wifi

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import DataclassInstance

__all__ = ["Value", "changed", "check_path", "paths"]

Value: TypeAlias = float | str | bool

#: Settings that do not affect results, or that the metrics determine.
_FIXED = frozenset({"name", "label", "queue_log"})
#: Lists of tables and the classes of their elements.
_LISTS: Mapping[str, type[DataclassInstance]] = {"flows": Flow, "bottlenecks": Bottleneck}
#: Nested tables with fixed settings and their classes.
_TABLES: Mapping[str, type[DataclassInstance]] = {"noise": Noise, "wifi": Wifi, "arrivals": FlowMix}
#: Tables with arbitrary names of settings, which may contain dots.
_OPEN_TABLES = ("sysctls", "module_parameters", "qdisc_options")
#: A setting of an open table; for a qdisc option, with the path of the qdisc.
_IN_OPEN_TABLE = re.compile(r"(sysctls|module_parameters|(bottlenecks\.\d+\.qdisc)_options)\..+")


def paths(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths of all settings of a scenario's document that a sweep may vary.

    For tables with arbitrary names (``sysctls``), these are the settings that are present.

    Examples
    --------
    >>> document = {"flows": [{}], "bottlenecks": [{"bandwidth_mbps": 10}], "rtt_ms": 40}
    >>> [path for path in paths(document) if "rtt" in path]
    ['flows.0.extra_rtt_ms', 'rtt_ms', 'rtt_trace']
    """
    return tuple(_paths(Scenario, document, ""))


def check_path(document: Mapping[str, Any], path: str) -> None:
    """Check that a path is that of a setting.

    Raises
    ------
    InputError
        If it is not. The message suggests the closest path.
    """
    settings = paths(document)
    open_table = _IN_OPEN_TABLE.fullmatch(path)
    if path in settings or (open_table and (open_table[2] is None or open_table[2] in settings)):
        return
    if path.rpartition(".")[2] in _FIXED:
        message = "names do not affect results, and the metrics determine queue_log: leave it out"
        raise InputError(f"vary: {path!r} cannot vary; {message}")
    close = difflib.get_close_matches(path, settings, n=1, cutoff=0.5)
    step = f"did you mean {close[0]}?" if close else "try rtt_ms or bottlenecks.0.queue_bdp"
    raise InputError(f"vary: {path!r} is not a setting of this scenario; {step}")


def changed(document: Mapping[str, Any], values: Mapping[str, Value]) -> dict[str, Any]:
    """Return a copy of a document with other values of some settings."""
    result = copy.deepcopy(dict(document))
    for path, value in values.items():
        table: Any = result
        *parents, name = _keys(path)
        for key in parents:
            table = table[int(key)] if isinstance(table, list) else table.setdefault(key, {})
        table[name] = value
    return result


def _keys(path: str) -> list[str]:
    """Return the keys of a path; names of sysctls and module parameters contain dots."""
    table, _, name = path.partition(".")
    return [table, name] if table in _OPEN_TABLES else path.split(".")


def _paths(cls: type[DataclassInstance], table: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for field in dataclasses.fields(cls):
        name, value = field.name, table.get(field.name)
        if name in _FIXED:
            continue
        if name in _LISTS:
            for i, part in enumerate(value or ()):
                yield from _paths(_LISTS[name], part, f"{prefix}{name}.{i}.")
        elif name in _OPEN_TABLES:
            yield from (f"{prefix}{name}.{key}" for key in value or {})
        elif name == "noise" or (name in _TABLES and isinstance(value, Mapping)):
            yield from _paths(_TABLES[name], value or {}, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"
