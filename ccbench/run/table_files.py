# SPDX-License-Identifier: Apache-2.0
"""Parquet files of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

__all__ = ["read", "write"]

#: Columns with few different values.
_REPETITIVE = {"bottleneck", "event", "flow", "bytes", "state"}


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as Parquet."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    # Measured on one core with the log of 3 million queue events (72 MB in memory), CPU seconds to
    # write / to read / size: pyarrow's defaults (dictionaries, snappy) 0.15 / 0.12 / 20.6 MB; with
    # differences for times and counters and no codec 0.09 / 0.05 / 14.3; with snappy 0.10 / 0.06 /
    # 9.3; with lz4 0.10 / 0.05 / 9.9; with zstd-1 0.12 / 0.07 / 7.7; bytes split by significance
    # and zstd-1 0.11 / 0.07 / 10.3. All are far below the cost of the run; a search keeps
    # thousands of runs, so the smallest wins.
    repetitive = [column for column in table.column_names if column in _REPETITIVE]
    others = [
        field.name
        for field in table.schema
        if field.name not in _REPETITIVE and not pa.types.is_floating(field.type)
    ]
    pq.write_table(
        table,
        path,
        compression="zstd",
        compression_level=1,
        use_dictionary=repetitive,
        column_encoding=dict.fromkeys(others, "DELTA_BINARY_PACKED"),
        write_statistics=False,
    )


def read(data: bytes) -> pd.DataFrame:
    """Read a table from the content of a Parquet file.

    By this thread alone: Arrow waits for ever for threads that cannot be started, as where memory
    is limited (``ulimit -v``). Runs are read by many processes side by side anyway.
    """
    table = pq.read_table(pa.BufferReader(data), use_threads=False, pre_buffer=False)
    frame: pd.DataFrame = table.to_pandas(use_threads=False)
    return frame
