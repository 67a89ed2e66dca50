# SPDX-License-Identifier: Apache-2.0
"""The folder of a saved run: Parquet files, and a JSON file that says how they were made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ccbench.base import durable, result_folders
from ccbench.base.errors import DamagedRun
from ccbench.base.sealed import ChangedError, file_digest, sealed, unsealed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

__all__ = ["FORMAT", "TABLES", "check_folder", "load", "save"]

#: Version of the folder's format.
FORMAT = 1
#: The tables of a run; each is a file of its own. Not every run has all of them.
TABLES = (
    "queue",
    "flows",
    "completions",
    "batches",
    "messages",
    "queue_occupancy",
    "queue_waits",
    "queue_counts",
    "queue_samples",
)

_DESCRIPTION = "run.json"
_FILES = {_DESCRIPTION, *(f"{table}.parquet" for table in TABLES)}


def save(
    folder: Path,
    tables: Mapping[str, pd.DataFrame],
    description: Mapping[str, Any],
    *,
    replace: bool,
) -> None:
    """Write a run's folder; see :meth:`ccbench.run.run.Run.save`."""
    from ccbench.run import table_files  # noqa: PLC0415 - pandas, for those who only look into the store

    check_folder(folder)
    with durable.new_folder(folder, replace=replace) as temporary:
        files = {}
        for table, frame in tables.items():
            path = temporary / f"{table}.parquet"
            table_files.write(frame, path)
            files[path.name] = {
                "bytes": path.stat().st_size,
                "sha256": file_digest(path.read_bytes()),
            }
        document = sealed({"format": FORMAT, **description, "files": files})
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        (temporary / _DESCRIPTION).write_text(text, encoding="utf-8")


def load(folder: Path) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """Read what :func:`save` wrote: the description and the tables.

    Raises
    ------
    DamagedRun
        If a file is missing, differs from what was written, or has another format.
    """
    document: dict[str, Any] = {}
    try:
        document = unsealed((folder / _DESCRIPTION).read_bytes())
        kind = document["format"]
    except ChangedError as error:
        kind = error.document.get("format")  # another one may have another digest
        if kind == FORMAT:
            message = f"{folder / _DESCRIPTION} was changed: run the scenario again"
            raise DamagedRun(message) from error
    except (OSError, ValueError, KeyError) as error:
        message = f"{folder / _DESCRIPTION} cannot be read ({error!r}): run the scenario again"
        raise DamagedRun(message) from error
    if kind != FORMAT:
        message = f"{folder} has format {kind}; this ccbench reads {FORMAT}: run the scenario again"
        raise DamagedRun(message)
    files = document["files"]
    written = [table for table in TABLES if f"{table}.parquet" in files]
    return document, {table: _load_table(folder, table, files) for table in written}


def _load_table(folder: Path, table: str, files: Mapping[str, Any]) -> pd.DataFrame:
    from ccbench.run import table_files  # noqa: PLC0415 - likewise

    path = folder / f"{table}.parquet"
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read ({error}): run the scenario again"
        raise DamagedRun(message) from error
    if file_digest(data) != files[path.name]["sha256"]:
        stated = files[path.name]["bytes"]
        message = f"{path} was changed ({len(data)} bytes, {stated} were written)"
        raise DamagedRun(f"{message}: run the scenario again")
    return table_files.read(data)


def check_folder(folder: Path) -> None:
    """Make sure that a run can be saved as `folder`: to be called before a long run.

    Raises
    ------
    InputError
        As :func:`ccbench.base.result_folders.check_replaceable`.
    """
    result_folders.check_replaceable(folder, "run", _FILES)
