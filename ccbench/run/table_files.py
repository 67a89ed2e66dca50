# SPDX-License-Identifier: Apache-2.0
"""The tables of a run: their columns, and Parquet files of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ccbench.run import cca_info

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

__all__ = [
    "BACKLOG_COLUMNS",
    "BATCH_COLUMNS",
    "CCA_COLUMNS",
    "COMPLETION_COLUMNS",
    "COUNT_COLUMNS",
    "EVENTS",
    "EVENT_DTYPE",
    "FLOW_COLUMNS",
    "MESSAGE_COLUMNS",
    "NO_FLOW",
    "OCCUPANCY_COLUMNS",
    "QUEUE_COLUMNS",
    "STATES",
    "STATE_DTYPE",
    "WAIT_COLUMNS",
    "backlog_at",
    "empty",
    "normal",
    "read",
    "write",
]

#: Number of the flow of packets that belong to none: background traffic.
NO_FLOW = 2**32 - 1

#: What happens to a packet at a bottleneck; the position is the category's code.
EVENTS = ("enqueue", "dequeue", "drop", "mark", "loss")
#: Congestion states of a TCP sender; the position is Linux's number for it and the category's code.
STATES = ("open", "disorder", "cwr", "recovery", "loss")

EVENT_DTYPE = pd.CategoricalDtype(list(EVENTS))
STATE_DTYPE = pd.CategoricalDtype(list(STATES))

Columns: TypeAlias = "Mapping[str, str | pd.CategoricalDtype]"

QUEUE_COLUMNS: Columns = {
    "time_ns": "int64",
    "bottleneck": "uint8",
    "event": EVENT_DTYPE,
    "flow": "uint32",
    "bytes": "uint16",
    "backlog_packets": "uint32",
    "backlog_bytes": "uint32",
}
FLOW_COLUMNS: Columns = {
    "time_ns": "int64",
    "flow": "uint32",
    "delivered_bytes": "uint64",
    "throughput_bytes": "uint64",
    "cwnd_packets": "uint32",
    "ssthresh_packets": "uint32",
    "srtt_us": "uint32",
    "min_rtt_us": "uint32",
    "pacing_rate_bps": "uint64",
    "retransmits": "uint32",
    "lost": "uint32",
    "drops": "uint32",
    "state": STATE_DTYPE,
    "inflight_packets": "uint32",
}
#: Of those, what engines may leave out; it is NaN then.
CCA_COLUMNS: Columns = dict.fromkeys(cca_info.COLUMNS, "float64")
BATCH_COLUMNS: Columns = {
    "start_ns": "int64",
    "acked_ns": "int64",
    "bottleneck": "uint8",
    "station": "uint8",
    "frames": "uint16",
    "bytes": "uint32",
    "bitrate_bps": "uint64",
    "estimate_bps": "uint64",
}
MESSAGE_COLUMNS: Columns = {
    "flow": "uint32",
    "start_ns": "int64",
    "end_ns": "int64",
    "size_bytes": "uint64",
}
OCCUPANCY_COLUMNS: Columns = {
    "bottleneck": "uint8",
    "packets": "uint32",
    "time_ns": "int64",
    "arrivals": "uint64",
}
WAIT_COLUMNS: Columns = {
    "bottleneck": "uint8",
    "from_ns": "int64",
    "to_ns": "int64",
    "packets": "uint64",
}
COUNT_COLUMNS: Columns = {
    "bottleneck": "uint8",
    "flow": "uint32",
    "event": EVENT_DTYPE,
    "packets": "uint64",
    "bytes": "uint64",
}
BACKLOG_COLUMNS: Columns = {
    "time_ns": "int64",
    "bottleneck": "uint8",
    "backlog_packets": "uint32",
    "backlog_bytes": "uint32",
}
COMPLETION_COLUMNS: Columns = {
    "start_ns": "int64",
    "end_ns": "int64",
    "delivered_bytes": "uint64",
    "sent_bytes": "uint64",
    "retransmits": "uint32",
}

#: Columns with few different values.
_REPETITIVE = {"bottleneck", "event", "flow", "bytes", "state"}


def empty(columns: Columns) -> pd.DataFrame:
    """Return a table with these columns and no rows."""
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in columns.items()})


def normal(
    name: str, frame: pd.DataFrame, columns: Columns, optional: Columns | None = None
) -> pd.DataFrame:
    """Return `frame` with exactly `columns` and then `optional`, in their order and of their types.

    Of `optional`, what is missing is NaN.

    Raises
    ------
    ValueError
        If a column is missing, there is one too many, or a value does not fit: an engine's mistake.
    """
    if optional:
        missing = {column: np.nan for column in optional if column not in frame.columns}
        frame = frame.assign(**missing)
        columns = {**columns, **optional}
    if set(frame.columns) != set(columns):
        message = f"{name} has the columns {sorted(frame.columns)}, not {sorted(columns)}"
        raise ValueError(message)
    wrong = {column: kind for column, kind in columns.items() if frame[column].dtype != kind}
    return frame[list(columns)].astype(wrong) if wrong else frame[list(columns)]


def backlog_at(events: pd.DataFrame, at_ns: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return how many packets wait in a queue at some instants, from its events in order.

    That is after the last event at or before each; before the first the queue is empty.
    """
    latest = np.searchsorted(events["time_ns"].to_numpy(), at_ns, side="right")
    backlog = np.concatenate([[0], events["backlog_packets"].to_numpy()])
    return np.asarray(backlog[latest])


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
