# SPDX-License-Identifier: Apache-2.0
"""Persistence of runs: a folder of Parquet files with a JSON description.

Tables are read when they are used (:mod:`.stored_tables`): a summary needs few of their columns.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, TypeVar

from ccbench.base import durable, program_files, result_folders, validation
from ccbench.base.errors import DamagedRun
from ccbench.base.sealed import ChangedError, file_digest, sealed, unsealed
from ccbench.experiment.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import pandas as pd

    from ccbench.run.record import RunRecord
    from ccbench.run.stored_tables import Encoded, TableHolder

__all__ = ["FORMAT", "check_folder", "digest", "load", "save", "scenario"]

_Record = TypeVar("_Record", bound="RunRecord")

#: Version of the folder's format.
FORMAT = 2

#: Tables with a file for every run.
_ALWAYS = ("queue", "flows", "completions")
#: Tables with a file only if they have rows.
_IF_ANY = ("links", "batches", "messages", "connections", "qdiscs", "ecn", "changes", "programs")
#: Tables of a queue summary, each in a file ``queue_NAME``.
_SUMMARY = ("occupancy", "waits", "counts", "samples")
_TABLES = (*_ALWAYS, *_IF_ANY, *(f"queue_{name}" for name in _SUMMARY))

_DESCRIPTION = "run.json"
#: The scenario as the user's own file, to run it again or change it.
_SCENARIO = "scenario.toml"
_FILES = {_DESCRIPTION, _SCENARIO, program_files.FOLDER, *(f"{table}.parquet" for table in _TABLES)}


def save(run: RunRecord, folder: Path, *, replace: bool, with_scenario: bool = False) -> None:
    """Write a run's folder; see :meth:`ccbench.run.run.Run.save`.

    With `with_scenario`, the scenario is also written as TOML, for the user.
    """
    check_folder(folder)
    with durable.new_folder(folder, replace=replace) as temporary:
        files = {}
        for holder, name, file in _tables(run):
            data = holder.stored(name).encoded()
            (temporary / file).write_bytes(data)
            files[file] = _stated(data)
        for name, content in run.files.items():
            path = temporary / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            files[name] = _stated(content)
        description = {"scenario": run.scenario.to_dict(), "provenance": dict(run.provenance)}
        document = sealed({"format": FORMAT, **description, "files": files})
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        (temporary / _DESCRIPTION).write_text(text, encoding="utf-8")
        if with_scenario:
            run.scenario.save(temporary / _SCENARIO)


def load(folder: Path, make: Callable[..., _Record]) -> _Record:
    """Read a run that :func:`save` wrote.

    Parameters
    ----------
    folder : Path
        The run's folder.
    make : callable
        Constructor of a run, such as :class:`ccbench.run.run.Run`.

    Raises
    ------
    DamagedRun
        If a file is missing, was changed, or has another format.
    """
    from ccbench.run.queue_summary import QueueSummary  # noqa: PLC0415 - NumPy

    document = _description(folder)
    files = document["files"]
    present = [table for table in _TABLES if f"{table}.parquet" in files]
    tables: dict[str, Any] = {table: _table(folder, table, files) for table in present}
    try:
        scenario = Scenario.from_dict(document["scenario"])
        if scenario.queue_log == "summary":
            parts = {name: tables.pop(f"queue_{name}") for name in _SUMMARY}
            tables["queue_summary"] = QueueSummary(**parts)
        own = {name: _content(folder, name, files) for name in files if _is_of_program(name)}
        return make(scenario=scenario, provenance=document["provenance"], files=own, **tables)
    except (KeyError, ValueError) as error:
        message = f"{folder} does not hold a run ({error}): run the scenario again"
        raise DamagedRun(message) from error


def scenario(folder: Path) -> dict[str, Any]:
    """Return the scenario's document from the folder of a run.

    Raises
    ------
    InputError
        If it is not the folder of a run.
    DamagedRun
        If its description was changed, or has another format.
    """
    if not (folder / _DESCRIPTION).exists():
        allowed = f"a scenario file, or the folder of a saved run, which has a {_DESCRIPTION}"
        step = "name a file in it, or a run of `ccbench run -o FOLDER`"
        raise validation.bad("scenario", str(folder), allowed, step)
    document: dict[str, Any] = _description(folder)["scenario"]
    return document


def digest(run: RunRecord) -> str:
    """Return the SHA-256 of all tables; see :meth:`ccbench.run.run.Run.digest`."""
    total = hashlib.sha256()
    for holder, name, file in _tables(run):
        table: pd.DataFrame = getattr(holder, name)
        total.update(f"{file.removesuffix('.parquet')}, {len(table)} rows\n".encode())
        for column in table:
            values = table[column]
            numbers = values.cat.codes if values.dtype == "category" else values
            total.update(numbers.to_numpy().tobytes())
    for name, content in sorted(run.files.items()):
        total.update(f"{name}, {len(content)} bytes\n".encode())
        total.update(content)
    return total.hexdigest()


def check_folder(folder: Path) -> None:
    """Check that a run can be saved as `folder`: to be called before a long run.

    Raises
    ------
    InputError
        As :func:`ccbench.base.result_folders.check_replaceable`.
    """
    # Without a run, a scenario is the user's own.
    is_run = (folder / _DESCRIPTION).exists()
    result_folders.check_replaceable(folder, "run", _FILES if is_run else _FILES - {_SCENARIO})


def _tables(run: RunRecord) -> Iterator[tuple[TableHolder, str, str]]:
    """Yield what holds each table of a run, the table's name there, and that of its file."""
    for name in _ALWAYS:
        yield run, name, f"{name}.parquet"
    for name in _IF_ANY:
        if len(run.stored(name)):
            yield run, name, f"{name}.parquet"
    if run.queue_summary is not None:
        for name in _SUMMARY:
            yield run.queue_summary, name, f"queue_{name}.parquet"


def _description(folder: Path) -> dict[str, Any]:
    """Read the JSON description of a run."""
    document: dict[str, Any] = {}
    try:
        document = unsealed((folder / _DESCRIPTION).read_bytes())
        kind = document["format"]
    except ChangedError as error:
        kind = error.document.get("format")  # another format may use another digest
        if kind == FORMAT:
            message = f"{folder / _DESCRIPTION} was changed: run the scenario again"
            raise DamagedRun(message) from error
    except (OSError, ValueError, KeyError) as error:
        message = f"{folder / _DESCRIPTION} cannot be read ({error!r}): run the scenario again"
        raise DamagedRun(message) from error
    if kind != FORMAT:
        message = f"{folder} has format {kind}; this ccbench reads {FORMAT}: run the scenario again"
        raise DamagedRun(message)
    return document


def _table(folder: Path, table: str, files: Mapping[str, Any]) -> Encoded:
    from ccbench.run.stored_tables import Encoded  # noqa: PLC0415 - NumPy

    return Encoded(_content(folder, f"{table}.parquet", files))


def _stated(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "sha256": file_digest(content)}


def _is_of_program(name: str) -> bool:
    return name.startswith(f"{program_files.FOLDER}/") and ".." not in name.split("/")


def _content(folder: Path, name: str, files: Mapping[str, Any]) -> bytes:
    path = folder / name
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read ({error}): run the scenario again"
        raise DamagedRun(message) from error
    if file_digest(data) != files[name]["sha256"]:
        stated = files[name]["bytes"]
        message = f"{path} was changed ({len(data)} bytes, {stated} were written)"
        raise DamagedRun(f"{message}: run the scenario again")
    return data
