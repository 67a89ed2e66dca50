# SPDX-License-Identifier: Apache-2.0
"""Results of `ccbench classify HOST -o FOLDER`, read again."""

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
from ccbench.emulate.realtime.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = ["read_groups", "read_servers", "server_folders", "thresholds"]

#: Groups of servers that no group is known of: where others have one, and where none has.
_OTHERS, _ALL = "none", "all"
#: Why invalid traces may be like valid ones all the same; of many connections, none is.
_LIKE_OTHERS = {None, "slow"}
_GROUP_COLUMNS = ["target", "group"]


def server_folders(folders: Sequence[Path]) -> list[Path]:
    """Return the folders of servers: those that are named, or that are in one that is named.

    Raises
    ------
    InputError
        If one has no results.
    """
    found: list[Path] = []
    for folder in folders:
        inside = sorted(path.parent for path in folder.glob(f"*/{RESULT}"))
        some = [folder] if (folder / RESULT).is_file() else inside
        if not some:
            step = "name what `ccbench classify HOST -o FOLDER` has written"
            raise validation.bad("folder", str(folder), "one with results of servers", step)
        found += some
    return found


def read_groups(path: Path) -> dict[str, str]:
    """Read which server belongs to what, from a CSV file with the columns target and group.

    Raises
    ------
    InputError
        If it is none, or a server is in two groups.
    """
    text = validation.text_file(path, "group file")
    try:
        table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)[_GROUP_COLUMNS]
    except (ValueError, KeyError) as error:
        allowed = f"a CSV file with the columns {' and '.join(_GROUP_COLUMNS)}"
        raise validation.bad("group file", str(path), allowed, f"mend it ({error})") from error
    table = table.drop_duplicates()
    twice = table.loc[table["target"].duplicated(), "target"]
    if len(twice):
        step = f"leave one of its lines out of {path}"
        raise validation.bad("group of a target", twice.iloc[0], "named once", step)
    return dict(zip(table["target"], table["group"], strict=True))


def read_servers(folders: Iterable[Path], groups: Mapping[str, str] | None = None) -> list[Server]:
    """Read what is known about servers, and their traces.

    Parameters
    ----------
    folders : iterable of Path
        Theirs: ``result.json``, and a recording for each setting in a folder of its name.
    groups : mapping of str to str, optional
        What servers belong to, which counts more than what the results say. Servers that belong to
        nothing are the group ``"none"``, and ``"all"`` if no server belongs to anything.

    Raises
    ------
    InputError
        If results cannot be read, or a trace that has a label is missing.
    """
    servers = [_server(folder, groups or {}) for folder in folders]
    if any(server.group for server in servers):
        return [replace(server, group=server.group or _OTHERS) for server in servers]
    return [replace(server, group=_ALL) for server in servers]


def thresholds(folders: Iterable[Path]) -> dict[Setting, float]:
    """Return how far apart traces of one unknown CCA may be: the means of the known ones' limits.

    Raises
    ------
    InputError
        If they differ, as training sets do.
    """
    found: dict[Setting, float] = {}
    for folder in folders:
        document = _document(folder)
        try:
            limits = document["limits"]
            known = {Setting.named(name): float(limit) for name, limit in limits.items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _no_result(folder, error) from error
        for setting, limit in known.items():
            other = found.setdefault(setting, limit)
            if not math.isclose(other, limit, rel_tol=1e-6):
                field = f"limit of {setting.name} in {folder / RESULT}"
                step = "results of different training sets need --cut DISTANCE"
                raise validation.bad(field, limit, f"{other:g} as elsewhere", step)
    return found


def _document(folder: Path) -> dict[str, Any]:
    try:
        return unsealed((folder / RESULT).read_bytes())
    except (OSError, ValueError) as error:
        raise _no_result(folder, error) from error


def _server(folder: Path, groups: Mapping[str, str]) -> Server:
    document = _document(folder)
    try:
        target = str(document["target"])
        group = groups.get(target) or document.get("group") or ""
        filters = Filters(**document.get("filters", {}))
        traces = [_trace(folder, one, filters) for one in document["traces"]]
        label = _label(document)
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _no_result(folder, error) from error
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


def _no_result(folder: Path, error: Exception) -> InputError:
    step = f"observe the server again ({error!r})"
    return validation.bad("result", str(folder / RESULT), "one of `ccbench classify`", step)


def _trace(folder: Path, document: Mapping[str, Any], filters: Filters) -> ObservedTrace | None:
    """Return a trace; None if it is invalid in a way that makes it no CCA's.

    One that has used too little of the link is invalid too, but may be like others (section 2.5.1).
    """
    label, distance = _label(document), document.get("distance")
    if label is None and document.get("kind") not in _LIKE_OTHERS:
        return None
    setting = Setting.named(document["setting"])
    place = folder / setting.name
    try:
        if not place.is_dir():
            raise validation.bad("trace", str(place), "there", "observe the server again")
        with validation.within(f"{place}: "):
            points = filters.trace(Recording.load(place).queue)
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
