# SPDX-License-Identifier: Apache-2.0
"""Settings of a scenario's document by their paths, such as ``bottlenecks.0.queue_bdp``.

A sweep changes the document, in the file's own words, before it becomes a
:class:`~ccbench.experiment.scenario.Scenario`: a `queue_bdp` then goes by the rate and the
round-trip time of its combination.
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

#: Settings that change no result, and what the metrics decide.
_FIXED = frozenset({"name", "label", "queue_log"})
#: The lists of tables, and what each of their tables is.
_LISTS: Mapping[str, type[DataclassInstance]] = {"flows": Flow, "bottlenecks": Bottleneck}
#: The tables within tables whose settings are known.
_TABLES: Mapping[str, type[DataclassInstance]] = {"noise": Noise, "wifi": Wifi, "arrivals": FlowMix}
#: The tables whose settings have any name, with dots or without.
_OPEN_TABLES = ("sysctls", "module_parameters", "qdisc_options")
#: A setting of one of them; that of a qdisc with the path of its qdisc.
_IN_OPEN_TABLE = re.compile(r"(sysctls|module_parameters|(bottlenecks\.\d+\.qdisc)_options)\..+")


def paths(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths of all settings that a sweep may vary, of a document that is a scenario.

    Those of tables whose settings have any name (``sysctls``) only as far as they are given.

    Examples
    --------
    >>> document = {"flows": [{}], "bottlenecks": [{"bandwidth_mbps": 10}], "rtt_ms": 40}
    >>> [path for path in paths(document) if "rtt" in path]
    ['flows.0.extra_rtt_ms', 'rtt_ms']
    """
    return tuple(_paths(Scenario, document, ""))


def check_path(document: Mapping[str, Any], path: str) -> None:
    """Make sure that a path is one of a setting.

    Raises
    ------
    InputError
        If it is not; the message names the nearest one that is.
    """
    known = paths(document)
    open_table = _IN_OPEN_TABLE.fullmatch(path)
    if path in known or (open_table and (open_table[2] is None or open_table[2] in known)):
        return
    if path.rpartition(".")[2] in _FIXED:
        message = "names change no result, and the metrics choose queue_log: leave it out"
        raise InputError(f"vary: {path!r} cannot vary; {message}")
    close = difflib.get_close_matches(path, known, n=1, cutoff=0.5)
    step = f"did you mean {close[0]}?" if close else "such are rtt_ms and bottlenecks.0.queue_bdp"
    raise InputError(f"vary: {path!r} is not a setting of this scenario; {step}")


def changed(document: Mapping[str, Any], values: Mapping[str, Value]) -> dict[str, Any]:
    """Return a copy of a document with other values at some paths, which are settings of it."""
    result = copy.deepcopy(dict(document))
    for path, value in values.items():
        place: Any = result
        *above, name = _keys(path)
        for key in above:
            place = place[int(key)] if isinstance(place, list) else place.setdefault(key, {})
        place[name] = value
    return result


def _keys(path: str) -> list[str]:
    """Return the steps of a path: names of sysctls and module parameters have dots of their own."""
    table, _, name = path.partition(".")
    return [table, name] if table in _OPEN_TABLES else path.split(".")


def _paths(cls: type[DataclassInstance], table: Mapping[str, Any], above: str) -> Iterator[str]:
    for field in dataclasses.fields(cls):
        name, value = field.name, table.get(field.name)
        if name in _FIXED:
            continue
        if name in _LISTS:
            for i, part in enumerate(value or ()):
                yield from _paths(_LISTS[name], part, f"{above}{name}.{i}.")
        elif name in _OPEN_TABLES:
            yield from (f"{above}{name}.{key}" for key in value or {})
        elif name == "noise" or (name in _TABLES and isinstance(value, Mapping)):
            yield from _paths(_TABLES[name], value or {}, f"{above}{name}.")
        else:
            yield f"{above}{name}"
