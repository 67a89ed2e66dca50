# SPDX-License-Identifier: Apache-2.0
"""Files of the table of a sweep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from ccbench.base import durable
from ccbench.base.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TABLE_FORMATS", "check_table_path", "save_table"]

#: Suffixes of supported file formats.
TABLE_FORMATS = (".csv", ".parquet")


def check_table_path(path: str | Path) -> Path:
    """Return `path` after checking its suffix, to be called before a long sweep.

    Raises
    ------
    InputError
        If the format is not one of `TABLE_FORMATS`.

    Examples
    --------
    >>> check_table_path("sweep.csv").suffix
    '.csv'
    """
    path = Path(path)
    if path.suffix.lower() not in TABLE_FORMATS:
        allowed, step = " or ".join(TABLE_FORMATS), f"name for example {path.stem or 'sweep'}.csv"
        raise InputError(f"table file is {path}; its name must end with {allowed}: {step}")
    return path


def save_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write a sweep's table to a file atomically, in the format of its suffix.

    A Parquet file contains ``table.attrs`` as JSON in its metadata, under ``ccbench``.

    Raises
    ------
    InputError
        As :func:`check_table_path`.

    Examples
    --------
    >>> save_table(table, "sweep.parquet")  # doctest: +SKIP
    """
    path = check_table_path(path)
    with durable.new_file(path) as temporary:
        if path.suffix.lower() == ".csv":
            table.to_csv(temporary, index=False)
            return
        arrow = pa.Table.from_pandas(table, preserve_index=False)
        metadata = {**(arrow.schema.metadata or {}), b"ccbench": json.dumps(table.attrs).encode()}
        pq.write_table(arrow.replace_schema_metadata(metadata), temporary)
