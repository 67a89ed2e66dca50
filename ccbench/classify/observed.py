# SPDX-License-Identifier: Apache-2.0
"""Readers of the results of `ccbench classify HOST -o FOLDER`."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.base.sealed import unsealed
from ccbench.classify.filters import Filters
from ccbench.classify.relabel import ObservedTrace, Server
from ccbench.classify.setting import Setting
from ccbench.classify.web.folder import RESULT
from ccbench.emulate.recording import CommandRecording

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = ["read_groups", "read_servers", "server_folders", "thresholds"]

#: Group of servers without a group if other servers have one, and if no server has one.
_OTHERS, _ALL = "none", "all"
#: Reasons for which a trace is invalid but can still be clustered.
_CLUSTERED_KINDS = {None, "slow"}
_GROUP_COLUMNS = ["target", "group"]


def server_folders(folders: Sequence[Path]) -> list[Path]:
    """Return the folders of servers: the given ones, or those in the given ones.

    Raises
    ------
    InputError
        If a folder has no results.
    """
    result: list[Path] = []
    for folder in folders:
        inside = sorted(path.parent for path in folder.glob(f"*/{RESULT}"))
        some = [folder] if (folder / RESULT).is_file() else inside
        if not some:
            step = "name a folder written by `ccbench classify HOST -o FOLDER`"
            raise validation.bad("folder", str(folder), "a folder with results of servers", step)
        result += some
    return result


def read_groups(path: Path) -> dict[str, str]:
    """Read the group of each server from a CSV file with the columns target and group.

    Raises
    ------
    InputError
        If the file is invalid, or a server is in two groups.
    """
    text = validation.text_file(path, "group file")
    try:
        table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)[_GROUP_COLUMNS]
    except (ValueError, KeyError) as error:
        allowed = f"a CSV file with the columns {' and '.join(_GROUP_COLUMNS)}"
        raise validation.bad("group file", str(path), allowed, f"correct it ({error})") from error
    table = table.drop_duplicates()
    twice = table.loc[table["target"].duplicated(), "target"]
    if len(twice):
        step = f"remove one of its lines from {path}"
        raise validation.bad("group of a target", twice.iloc[0], "listed once", step)
    return dict(zip(table["target"], table["group"], strict=True))


def read_servers(folders: Iterable[Path], groups: Mapping[str, str] | None = None) -> list[Server]:
    """Read the results and traces of servers.

    Parameters
    ----------
    folders : iterable of Path
        Folders of servers, with ``result.json`` and a recording for each setting in a folder of its
        name.
    groups : mapping of str to str, optional
        The group of each server, which overrides that of the result. Servers without a group form
        the group ``"none"``, or ``"all"`` if no server has a group.

    Raises
    ------
    InputError
        If results cannot be read, or a labelled trace is missing.
    """
    servers = [_server(folder, groups or {}) for folder in folders]
    if any(server.group for server in servers):
        return [replace(server, group=server.group or _OTHERS) for server in servers]
    return [replace(server, group=_ALL) for server in servers]


def thresholds(folders: Iterable[Path]) -> dict[Setting, float]:
    """Return the mean of the CCAs' limits in each setting, the expected limit of an unknown CCA.

    Raises
    ------
    InputError
        If the limits of servers differ because of different training sets.
    """
    result: dict[Setting, float] = {}
    for folder in folders:
        document = _document(folder)
        try:
            own = {Setting.named(name): float(limit) for name, limit in document["limits"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _bad_result(folder, error) from error
        for setting, limit in own.items():
            other = result.setdefault(setting, limit)
            if not math.isclose(other, limit, rel_tol=1e-6):
                field = f"limit of {setting.name} in {folder / RESULT}"
                step = "results of different training sets need --cut DISTANCE"
                raise validation.bad(field, limit, f"{other:g} as in other results", step)
    return result


def _document(folder: Path) -> dict[str, Any]:
    try:
        return unsealed((folder / RESULT).read_bytes())
    except (OSError, ValueError) as error:
        raise _bad_result(folder, error) from error


def _server(folder: Path, groups: Mapping[str, str]) -> Server:
    document = _document(folder)
    try:
        target = str(document["target"])
        group = groups.get(target) or document.get("group") or ""
        filters = Filters(**document.get("filters", {}))
        traces = [_trace(folder, trace, filters) for trace in document["traces"]]
        label = _label(document)
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _bad_result(folder, error) from error
    return Server(
        target=target,
        group=str(group),
        label=label,
        traces=tuple(trace for trace in traces if trace is not None),
    )


def _label(document: Mapping[str, Any]) -> str | None:
    label = document["label"]
    if label is None or isinstance(label, str):
        return label
    raise TypeError(f"the label is {label!r}")


def _bad_result(folder: Path, error: Exception) -> InputError:
    step = f"observe the server again ({error!r})"
    return validation.bad("result", str(folder / RESULT), "a result of `ccbench classify`", step)


def _trace(folder: Path, document: Mapping[str, Any], filters: Filters) -> ObservedTrace | None:
    """Return a trace, or None if it cannot be clustered.

    A trace that uses too little of the link is invalid but clustered (section 2.5.1).
    """
    label, distance = _label(document), document.get("distance")
    if label is None and document.get("kind") not in _CLUSTERED_KINDS:
        return None
    setting = Setting.named(document["setting"])
    path = folder / setting.name
    try:
        if not path.is_dir():
            step = "observe the server again"
            raise validation.bad("trace", str(path), "an existing folder", step)
        with validation.within(f"{path}: "):
            points = filters.occupancy(CommandRecording.load(path).queue)
    except InputError:
        if label is None:
            return None
        raise
    return ObservedTrace(
        setting=setting,
        points=points,
        label=label,
        distance=math.inf if distance is None else float(distance),
    )
