# SPDX-License-Identifier: Apache-2.0
"""Columns and types of the tables of a run."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ccbench.base.l4s import QUEUES
from ccbench.base.program_files import SIDES
from ccbench.base.tcp_states import STATES
from ccbench.run import cca_info

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt
    import pandas as pd

__all__ = [
    "BACKLOG_STEPS",
    "BATCH_COLUMNS",
    "CATEGORIES",
    "CCA_COLUMNS",
    "CHANGE_COLUMNS",
    "COMPLETION_COLUMNS",
    "CONNECTION_COLUMNS",
    "ECN_COLUMNS",
    "ECN_MODES",
    "EVENTS",
    "FLOW_COLUMNS",
    "LINK_COLUMNS",
    "MEASURED_COLUMNS",
    "MESSAGE_COLUMNS",
    "NO_FLOW",
    "PROGRAM_COLUMNS",
    "PROGRAM_ENDS",
    "QDISC_COLUMNS",
    "QUEUE_COLUMNS",
    "RUN_TABLES",
    "STATISTICS_COLUMNS",
    "SUMMARY_TABLES",
    "Columns",
    "category",
    "dtypes",
    "empty",
    "measured",
    "no_rows",
    "normalised",
    "with_queue",
]

#: `flow` of background traffic, which belongs to no flow.
NO_FLOW = 2**32 - 1

#: Events of a packet at a bottleneck; the position is the code of the category.
EVENTS = ("enqueue", "dequeue", "drop", "mark", "loss")

#: Columns of `flows` without a value before the first measurement or limit, with their units.
MEASURED_COLUMNS = {
    "ssthresh_packets": "packets",
    "srtt_us": "us",
    "min_rtt_us": "us",
    "pacing_rate_bps": "bps",
}

#: Change of the number of waiting packets by each event.
BACKLOG_STEPS = np.array([1, -1, -1, 0, 0], dtype=np.int32)

#: ECN of an end of a flow: no connection, no ECN, ECN of RFC 3168, accurate ECN (RFC 9768); the
#: position is the code of the category.
ECN_MODES = ("none", "off", "rfc3168", "accecn")

#: How a program ended; the position is the code of the category.
PROGRAM_ENDS = ("exit", "signal", "stopped")

#: Names of the codes in the columns of categories.
CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "event": EVENTS,
    "state": tuple(STATES),
    "queue": tuple(QUEUES),
    "sender": ECN_MODES,
    "receiver": ECN_MODES,
    "side": SIDES,
    "end": PROGRAM_ENDS,
}

#: The type of each column, by name; those of categories are ``category``.
Columns: TypeAlias = "Mapping[str, str]"

QUEUE_COLUMNS: Columns = {
    "time_ns": "int64",
    "bottleneck": "uint8",
    "event": "category",
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
    "ssthresh_packets": "float64",
    "srtt_us": "float64",
    "min_rtt_us": "float64",
    "pacing_rate_bps": "float64",
    "retransmits": "uint32",
    "lost": "uint32",
    "drops": "uint32",
    "state": "category",
    "inflight_packets": "uint32",
}
#: Further columns of `flows`, which engines may omit (NaN).
CCA_COLUMNS: Columns = dict.fromkeys(cca_info.COLUMNS, "float64")
COMPLETION_COLUMNS: Columns = {
    "start_ns": "int64",
    "end_ns": "int64",
    "delivered_bytes": "uint64",
    "sent_bytes": "uint64",
    "retransmits": "uint32",
}
LINK_COLUMNS: Columns = {
    "bottleneck": "uint8",
    "carried_packets": "uint64",
    "carried_bytes": "uint64",
    "left_packets": "uint64",
    "waited_ns": "uint64",
    "l4s_left_packets": "uint64",
    "l4s_waited_ns": "uint64",
}
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
CHANGE_COLUMNS: Columns = {
    "time_ns": "int64",
    "change": "uint32",
}
CONNECTION_COLUMNS: Columns = {
    "time_ns": "int64",
    "flow": "uint32",
    "subflows": "uint8",
    "delivered_bytes": "uint64",
}
#: Columns of the statistics of qdiscs, which :meth:`~ccbench.run.run.Run.qdisc_statistics` names.
STATISTICS_COLUMNS = tuple(f"statistic_{i}" for i in range(15))
QDISC_COLUMNS: Columns = {
    "time_ns": "int64",
    "bottleneck": "uint8",
    **dict.fromkeys(STATISTICS_COLUMNS, "float64"),
}
ECN_COLUMNS: Columns = {
    "flow": "uint32",
    "sender": "category",
    "receiver": "category",
    "delivered_ce_packets": "uint32",
    "received_ce_packets": "uint32",
    "delivered_ect1_bytes": "uint64",
    "delivered_ect0_bytes": "uint64",
    "delivered_ce_bytes": "uint64",
    "received_ect1_bytes": "uint64",
    "received_ect0_bytes": "uint64",
    "received_ce_bytes": "uint64",
    "sender_failures": "uint8",
    "receiver_failures": "uint8",
}
PROGRAM_COLUMNS: Columns = {
    "flow": "uint32",
    "side": "category",
    "end": "category",
    "status": "int32",
    "end_ns": "int64",
}
#: Columns of each table of a :class:`~ccbench.run.run.Run`.
RUN_TABLES: Mapping[str, Columns] = {
    "queue": QUEUE_COLUMNS,
    "flows": FLOW_COLUMNS,
    "completions": COMPLETION_COLUMNS,
    "links": LINK_COLUMNS,
    "batches": BATCH_COLUMNS,
    "messages": MESSAGE_COLUMNS,
    "changes": CHANGE_COLUMNS,
    "connections": CONNECTION_COLUMNS,
    "qdiscs": QDISC_COLUMNS,
    "ecn": ECN_COLUMNS,
    "programs": PROGRAM_COLUMNS,
}

#: Columns of each table of a :class:`~ccbench.run.queue_summary.QueueSummary`.
SUMMARY_TABLES: Mapping[str, Columns] = {
    "occupancy": {
        "bottleneck": "uint8",
        "packets": "uint32",
        "time_ns": "int64",
        "arrivals": "uint64",
    },
    "waits": {
        "bottleneck": "uint8",
        "from_ns": "int64",
        "to_ns": "int64",
        "packets": "uint64",
    },
    "counts": {
        "bottleneck": "uint8",
        "flow": "uint32",
        "event": "category",
        "packets": "uint64",
        "bytes": "uint64",
        "waited_ns": "uint64",
    },
    "samples": {
        "time_ns": "int64",
        "bottleneck": "uint8",
        "backlog_packets": "uint32",
        "backlog_bytes": "uint32",
    },
}


def with_queue(columns: Columns, names: Iterable[object]) -> Columns:
    """Return `columns`, with the packets' queue if it is one of `names`, as with an L4S queue."""
    return {**columns, "queue": "category"} if "queue" in names else columns


#: Linux's numbers from this one on stand for a time or a threshold that does not exist yet.
_NONE_YET = 2**31 - 1


def measured(values: npt.NDArray[Any], unit: str) -> npt.NDArray[np.float64]:
    """Return numbers of Linux as floats, NaN where there is no value yet.

    Parameters
    ----------
    values : ndarray
        Numbers in Linux's unit.
    unit : str
        ``us`` of a time or ``packets`` of a threshold, which have no value at 0 and from 2^31 - 1;
        or ``bps`` of a rate, which has none at 0.

    Examples
    --------
    >>> measured(np.array([40_000, 0, 2**32 - 1]), "us")
    array([40000.,    nan,    nan])
    """
    none = values == 0
    if unit != "bps":
        none |= values >= _NONE_YET
    return np.where(none, np.nan, values.astype(np.float64))


@cache
def category(column: str) -> pd.CategoricalDtype:
    """Return the type of a column of categories in a DataFrame.

    Examples
    --------
    >>> list(category("event").categories)
    ['enqueue', 'dequeue', 'drop', 'mark', 'loss']
    """
    import pandas as pd  # noqa: PLC0415 - takes longer than reading a summary

    return pd.CategoricalDtype(list(CATEGORIES[column]))


def dtypes(columns: Columns) -> dict[str, Any]:
    """Return the types of columns in a DataFrame."""
    return {name: category(name) if kind == "category" else kind for name, kind in columns.items()}


def empty(columns: Columns) -> pd.DataFrame:
    """Return a table without rows."""
    import pandas as pd  # noqa: PLC0415 - likewise

    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in dtypes(columns).items()})


def no_rows(columns: Columns) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of a table without rows, of categories as codes."""
    return {
        name: np.empty(0, dtype="int8" if kind == "category" else kind)
        for name, kind in columns.items()
    }


def normalised(
    name: str, frame: pd.DataFrame, columns: Columns, optional: Columns | None = None
) -> pd.DataFrame:
    """Return `frame` with exactly `columns`, then `optional`, in this order and of their types.

    Missing `optional` columns are NaN.

    Raises
    ------
    ValueError
        If a column is missing or unknown, or a value does not fit its type.
    """
    kinds = dtypes({**columns, **(optional or {})})
    if [*frame.columns] == [*kinds] and all(
        dtype == kind for dtype, kind in zip(frame.dtypes, kinds.values(), strict=True)
    ):
        return frame.copy(deep=False)
    missing = kinds.keys() - columns.keys() - {*frame.columns}
    frame = frame.assign(**dict.fromkeys(missing, np.nan))
    if set(frame.columns) != set(kinds):
        message = f"{name} has the columns {sorted(frame.columns)}, not {sorted(kinds)}"
        raise ValueError(message)
    wrong = {column: kind for column, kind in kinds.items() if frame[column].dtype != kind}
    return frame[list(kinds)].astype(wrong) if wrong else frame[list(kinds)]
