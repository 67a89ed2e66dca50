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

#: Columns with few distinct values.
_REPETITIVE = {
    "bottleneck",
    "event",
    "flow",
    "bytes",
    "queue",
    "state",
    "sender",
    "receiver",
}


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as Parquet."""
    table = pa.Table.from_pandas(frame, preserve_index=False, nthreads=1)
    # Seconds of one core to write / to read, and size, for a log of 3 million queue events (72 MB
    # in memory): pyarrow's defaults (dictionaries, snappy) 0.15 / 0.12 / 20.6 MB; delta encoding of
    # times and counters without a codec 0.09 / 0.05 / 14.3; with snappy 0.10 / 0.06 / 9.3; with lz4
    # 0.10 / 0.05 / 9.9; with zstd-1 0.12 / 0.07 / 7.7; byte-stream split with zstd-1 0.11 / 0.07 /
    # 10.3. All are far below the cost of the run. A search stores thousands of runs, so the
    # smallest is best.
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

    Only the calling thread is used: Arrow hangs if threads cannot be started, as with limited
    memory (``ulimit -v``). Processes read runs in parallel anyway.
    """
    file = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False)
    frame: pd.DataFrame = file.read(use_threads=False).to_pandas(use_threads=False)
    return frame
