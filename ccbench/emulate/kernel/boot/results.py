# SPDX-License-Identifier: Apache-2.0
"""Conversion of a guest's record files to the tables of a :class:`~ccbench.run.run.Run`."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.base import structures
from ccbench.base.errors import EngineError
from ccbench.emulate.kernel.boot import shared
from ccbench.run import cca_info
from ccbench.run.queue_summary import QueueSummary
from ccbench.run.tables import (
    BACKLOG_STEPS,
    ECN_DTYPE,
    EVENT_DTYPE,
    LINK_COLUMNS,
    MEASURED_COLUMNS,
    MESSAGE_COLUMNS,
    QUEUE_DTYPE,
    STATE_DTYPE,
    STATISTICS_COLUMNS,
    empty,
    measured,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from ccbench.base.structures import Field
    from ccbench.emulate.kernel.boot.inputs import GuestInput

__all__ = ["read_tables"]

#: Bits of a record's event; the others are those of the queue.
_EVENT_BITS = 4

#: The structures in the files of a queue's summary, by the table.
_SUMMARY_RECORDS = {
    "occupancy": "occupancy_record",
    "waits": "wait_record",
    "counts": "count_record",
    "samples": "backlog_record",
}


def read_tables(
    directory: Path,
    given: GuestInput,
    info: Mapping[str, Sequence[Field]],
    statistics: Sequence[Sequence[Field]],
) -> dict[str, Any]:
    """Return the tables of a :class:`~ccbench.run.run.Run` by name.

    They depend only on the records, the arguments, this module and its imports, which form the
    identity of a run (:meth:`ccbench.emulate.kernel.engine.KernelEngine.identity`).

    Parameters
    ----------
    directory : Path
        Folder of the record files.
    given : GuestInput
        The guest's input.
    info : mapping of str to sequence of Field
        The state that congestion controls report, by their names.
    statistics : sequence of sequence of Field
        The statistics that the qdisc of each bottleneck reports.

    Raises
    ------
    EngineError
        If a flow failed for a reason other than the network, or records are missing.
    """
    ccas = given.ccas
    completions = np.fromfile(directory / "completions.bin", shared.structure("completion_record"))
    if len(completions) != len(ccas):
        message = f"the virtual kernel reported {len(completions)} of {len(ccas)} flows"
        raise EngineError(message)
    _check_errors(completions["error"])
    return {
        "queue": _queue(given, directory),
        "flows": _flows(
            ccas, np.fromfile(directory / "samples.bin", shared.structure("flow_record")), info
        ),
        "completions": pd.DataFrame(
            {name: completions[name] for name in completions.dtype.names or () if name != "error"}
        ),
        "links": _links(directory),
        "queue_summary": _summary(given, directory) if given.queue_log == "summary" else None,
        **_statistics(directory, statistics),
        **_batches(given, directory),
        "messages": pd.concat([_messages(given, directory), _segments(directory)]).sort_values(
            "flow", kind="stable", ignore_index=True
        ),
        **_changes(given, directory),
        **_connections(directory),
        **_ecn(directory),
    }


def _check_errors(errors: npt.NDArray[np.int32]) -> None:
    """Raise an EngineError for errors of flows other than timeouts, which are results."""
    failed = np.flatnonzero((errors != 0) & (errors != -errno.ETIMEDOUT))
    if len(failed):
        flow = int(failed[0])
        message = f"flow {flow} failed in the virtual kernel: {os.strerror(-int(errors[flow]))}"
        raise EngineError(message)


def _queue(given: GuestInput, directory: Path) -> pd.DataFrame:
    events = np.empty(0, shared.structure("queue_record"))
    if given.queue_log is True:
        events = np.fromfile(directory / "queue.bin", shared.structure("queue_record"))
        # The guest records events for a short time after the end.
        events = events[: np.searchsorted(events["time_ns"], given.duration_ns, side="right")]
    event, queue = events["event"], None
    if given.has_l4s_queue:
        event, queue = event & (1 << _EVENT_BITS) - 1, event >> _EVENT_BITS
    packets = np.empty(len(events), dtype=np.uint32)
    size = np.empty(len(events), dtype=np.uint32)
    for bottleneck in range(given.bottlenecks):
        here = _rows_of(bottleneck, events, given.bottlenecks)
        step = BACKLOG_STEPS[event[here]]
        packets[here] = np.cumsum(step, dtype=np.int32)
        size[here] = np.cumsum(step * events["bytes"][here], dtype=np.int64)
    columns = {
        "time_ns": events["time_ns"].view(np.int64),
        "bottleneck": events["bottleneck"],
        "event": _categories(event.view(np.int8), EVENT_DTYPE),
        "flow": events["flow"],
        "bytes": events["bytes"],
        "backlog_packets": packets,
        "backlog_bytes": size,
    }
    return _frame(columns if queue is None else {**columns, "queue": _queues(queue)})


def _queues(numbers: npt.NDArray[Any]) -> pd.Categorical:
    """Return the queues of packets; 0 is none of several."""
    return _categories(numbers.astype(np.int8) - 1, QUEUE_DTYPE)


def _summary(given: GuestInput, directory: Path) -> QueueSummary:
    tables = {}
    for name, record in _SUMMARY_RECORDS.items():
        rows = np.fromfile(directory / f"queue_{name}.bin", shared.structure(record))
        columns: dict[str, Any] = {column: rows[column] for column in rows.dtype.names or ()}
        if "event" in columns:
            columns["event"] = _categories(rows["event"].astype(np.int8), EVENT_DTYPE)
        queue = columns.pop("queue")
        tables[name] = _frame(
            {**columns, "queue": _queues(queue)} if given.has_l4s_queue else columns
        )
    tables["samples"] = tables["samples"].sort_values(["time_ns", "bottleneck"], ignore_index=True)
    return QueueSummary(**tables)


def _links(directory: Path) -> pd.DataFrame:
    links = np.fromfile(directory / "links.bin", shared.structure("link_record"))
    columns = {
        "bottleneck": np.arange(len(links), dtype=np.uint8),
        "carried_packets": links["carried_packets"],
        "carried_bytes": links["carried_bytes"],
    }
    for i, queue in enumerate(("", "classic_", "l4s_")):
        columns[f"{queue}left_packets"] = links["left"]["packets"][:, i]
        columns[f"{queue}waited_ns"] = links["left"]["waited_ns"][:, i]
    return _frame({name: columns[name] for name in LINK_COLUMNS})


def _batches(given: GuestInput, directory: Path) -> dict[str, pd.DataFrame]:
    path = directory / "batches.bin"
    if not path.exists():
        return {}
    batches = np.fromfile(path, shared.structure("batch_record"))
    batches = batches[batches["acked_ns"] <= given.duration_ns]
    return {"batches": _frame({name: batches[name] for name in batches.dtype.names or ()})}


def _messages(given: GuestInput, directory: Path) -> pd.DataFrame:
    path = directory / "messages.bin"
    if not path.exists():
        return empty(MESSAGE_COLUMNS)
    arrived = np.fromfile(path, shared.structure("message_record"))
    carried, of_flow = given.carried, given.messages
    first = np.cumsum(of_flow) - of_flow
    end_ns = np.full(len(carried), -1, dtype=np.int64)
    end_ns[first[arrived["flow"]] + arrived["message"]] = arrived["end_ns"]
    columns = {
        "flow": np.repeat(np.arange(len(of_flow), dtype=np.uint32), of_flow),
        "start_ns": carried["time_ns"].astype(np.int64),
        "end_ns": end_ns,
        "size_bytes": carried["bytes"],
    }
    return _frame(columns)


def _segments(directory: Path) -> pd.DataFrame:
    path = directory / "segments.bin"
    if not path.exists():
        return empty(MESSAGE_COLUMNS)
    segments = np.fromfile(path, shared.structure("segment_record"))
    columns = {
        "flow": segments["flow"].astype(np.uint32),
        "start_ns": segments["start_ns"].astype(np.int64),
        "end_ns": segments["end_ns"].astype(np.int64),
        "size_bytes": segments["bytes"],
    }
    return _frame(columns)


def _changes(given: GuestInput, directory: Path) -> dict[str, pd.DataFrame]:
    path = directory / "changes.bin"
    if not path.exists():
        return {}
    changes = np.fromfile(path, shared.structure("change_record"))
    changes = changes[changes["time_ns"] < given.duration_ns]
    columns = {
        "time_ns": changes["time_ns"].astype(np.int64),
        "change": changes["change"].astype(np.uint32),
    }
    return {"changes": _frame(columns)}


def _connections(directory: Path) -> dict[str, pd.DataFrame]:
    path = directory / "connections.bin"
    if not path.exists():
        return {}
    samples = np.fromfile(path, shared.structure("connection_record"))
    columns: dict[str, Any] = {name: samples[name] for name in samples.dtype.names or ()}
    columns["time_ns"] = samples["time_ns"].view(np.int64)
    columns["subflows"] = samples["subflows"].astype(np.uint8)
    return {"connections": _frame(columns)}


def _statistics(directory: Path, statistics: Sequence[Sequence[Field]]) -> dict[str, pd.DataFrame]:
    path = directory / "qdiscs.bin"
    if not path.exists():
        return {}
    samples = np.fromfile(path, shared.structure("qdisc_record"))
    columns: dict[str, Any] = {
        "time_ns": samples["time_ns"].astype(np.int64),
        "bottleneck": samples["bottleneck"].astype(np.uint8),
        **{name: np.full(len(samples), np.nan) for name in STATISTICS_COLUMNS},
    }
    for bottleneck, fields in enumerate(statistics):
        rows = samples["bottleneck"] == bottleneck
        decoded = structures.decode(fields, samples["statistics"][rows]) if fields else ()
        for name, values in zip(STATISTICS_COLUMNS, decoded, strict=False):
            columns[name][rows] = values
    return {"qdiscs": _frame(columns)}


def _ecn(directory: Path) -> dict[str, pd.DataFrame]:
    path = directory / "ecn.bin"
    if not path.exists():
        return {}
    ends = np.fromfile(path, shared.structure("ecn_record"))
    columns: dict[str, Any] = {"flow": np.arange(len(ends), dtype=np.uint32)}
    for end in ("sender", "receiver"):
        columns[end] = _categories(ends[f"{end}_mode"].astype(np.int8), ECN_DTYPE)
        columns[f"{end}_failures"] = ends[f"{end}_failures"].astype(np.uint8)
    for verb in ("delivered", "received"):
        columns[f"{verb}_ce_packets"] = ends[f"{verb}_ce"]
        for i, codepoint in enumerate(("ect1", "ect0", "ce")):
            columns[f"{verb}_{codepoint}_bytes"] = ends[f"{verb}_bytes"][:, i]
    return {"ecn": _frame(columns)}


def _frame(columns: dict[str, Any]) -> pd.DataFrame:
    # Make each column contiguous; `copy=False` avoids a second copy into blocks of one type.
    contiguous = {
        name: np.ascontiguousarray(column) if isinstance(column, np.ndarray) else column
        for name, column in columns.items()
    }
    return pd.DataFrame(contiguous, copy=False)


def _rows_of(bottleneck: int, events: npt.NDArray[Any], count: int) -> Any:
    # The slice avoids a copy of millions of rows in the usual case.
    return slice(None) if count == 1 else events["bottleneck"] == bottleneck


def _flows(
    ccas: npt.NDArray[np.str_],
    samples: npt.NDArray[Any],
    info: Mapping[str, Sequence[Field]],
) -> pd.DataFrame:
    columns: dict[str, Any] = {name: samples[name] for name in samples.dtype.names or ()}
    words, attribute = columns.pop("cca_info"), columns.pop("cca_attribute")
    for cca, fields in info.items():
        rows = np.flatnonzero((ccas[samples["flow"]] == cca) & (attribute != 0))
        decoded = structures.decode(fields, words[rows])
        for column, field, values in zip(cca_info.COLUMNS, fields, decoded, strict=False):
            whole = columns.setdefault(column, np.full(len(samples), np.nan))
            whole[rows] = measured(values, "us") if field.name.endswith("_us") else values
    for name, unit in MEASURED_COLUMNS.items():
        columns[name] = measured(columns[name], unit)
    columns["time_ns"] = samples["time_ns"].view(np.int64)
    columns["state"] = _categories(samples["state"].astype(np.int8), STATE_DTYPE)
    return _frame(columns)


def _categories(codes: Any, dtype: pd.CategoricalDtype) -> pd.Categorical:
    # Any: some versions of pandas' type stubs do not allow an array of codes.
    return pd.Categorical.from_codes(codes, dtype=dtype)
