# SPDX-License-Identifier: Apache-2.0
"""Parquet files of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ccbench.base.arrow import to_arrow, words
from ccbench.run.tables import CATEGORIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

__all__ = ["Writer", "content", "opened"]

#: Columns with few distinct values.
_REPETITIVE = {
    *("bottleneck", "event", "flow", "bytes", "queue", "state"),
    *("sender", "receiver", "side", "end"),
}


class Writer:
    """A Parquet file in memory, written in parts.

    Parameters
    ----------
    columns : mapping of str to ndarray
        Columns of the types of all parts; of categories, the codes, -1 where they are missing.
    """

    def __init__(self, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        self._schema = _table(columns).schema
        self._sink = pa.BufferOutputStream()
        # Seconds of one core to write / to read, and size, for a log of 3 million queue events (72
        # MB in memory): pyarrow's defaults (dictionaries, snappy) 0.15 / 0.12 / 20.6 MB; delta
        # encoding of times and counters without a codec 0.09 / 0.05 / 14.3; with snappy 0.10 / 0.06
        # / 9.3; with lz4 0.10 / 0.05 / 9.9; with zstd-1 0.12 / 0.07 / 7.7; byte-stream split with
        # zstd-1 0.11 / 0.07 / 10.3. All are far below the cost of the run. A search stores
        # thousands of runs, so the smallest is best.
        others = [
            field.name
            for field in self._schema
            if field.name not in _REPETITIVE and not pa.types.is_floating(field.type)
        ]
        self._writer = pq.ParquetWriter(
            self._sink,
            self._schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=[name for name in self._schema.names if name in _REPETITIVE],
            column_encoding=dict.fromkeys(others, "DELTA_BINARY_PACKED"),
            write_statistics=False,
        )

    def write(self, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        """Append a part."""
        self._writer.write_table(_table(columns))

    def content(self) -> bytes:
        """Return the content of the file, after the last part."""
        self._writer.close()
        data: bytes = self._sink.getvalue().to_pybytes()
        return data


def content(columns: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return a table as the content of a Parquet file; see :class:`Writer`."""
    writer = Writer(columns)
    writer.write(columns)
    return writer.content()


def opened(data: bytes) -> pq.ParquetFile:
    """Open the content of a Parquet file.

    Only the calling thread should read it: Arrow hangs if threads cannot be started, as with
    limited memory (``ulimit -v``). Processes read runs in parallel anyway.
    """
    return pq.ParquetFile(pa.BufferReader(data), pre_buffer=False)


def _table(columns: Mapping[str, npt.NDArray[Any]]) -> pa.Table:
    arrays = [_array(name, values) for name, values in columns.items()]
    return pa.Table.from_arrays(arrays, names=[*columns])


def _array(name: str, values: npt.NDArray[Any]) -> pa.Array:
    """Return a column of Arrow, in which values are missing instead of NaN or negative codes."""
    if name in CATEGORIES:
        codes = to_arrow(values, missing=values < 0)
        return pa.DictionaryArray.from_arrays(codes, words(CATEGORIES[name]))
    return to_arrow(values, missing=np.isnan(values) if values.dtype.kind == "f" else None)
