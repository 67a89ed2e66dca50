# SPDX-License-Identifier: Apache-2.0
"""Conversion of a guest's record files to the tables of a :class:`~ccbench.run.run.Run`."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base import structures
from ccbench.base.errors import EngineError
from ccbench.base.program_files import FOLDER, KEPT, SIDES, subject
from ccbench.emulate.kernel.boot import shared
from ccbench.run import cca_info, qlog
from ccbench.run.queue_summary import QueueSummary
from ccbench.run.stored_tables import Arrays, Encoded
from ccbench.run.tables import (
    BACKLOG_STEPS,
    CCA_COLUMNS,
    LINK_COLUMNS,
    MEASURED_COLUMNS,
    PROGRAM_ENDS,
    QUEUE_COLUMNS,
    RUN_TABLES,
    STATISTICS_COLUMNS,
    SUMMARY_TABLES,
    measured,
    no_rows,
    with_queue,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from ccbench.base.structures import Field
    from ccbench.emulate.kernel.boot.inputs import GuestInput
    from ccbench.emulate.kernel.boot.programs import Qlog
    from ccbench.run.stored_tables import StoredTable
    from ccbench.run.table_files import Writer
    from ccbench.run.tables import Columns

__all__ = ["EVENTS_AT_ONCE", "QueueLog", "Reports", "read_tables"]

#: Events of a log that are read at once: their columns fit into the processor's cache.
EVENTS_AT_ONCE = 1 << 18

#: Columns of qlogs without a value that stands for none.
_COUNTS = ("cwnd_packets", "inflight_packets")

#: Errors of connections that end because of their network, which are results: a sender gives up, or
#: its receiver has given up.
_OF_NETWORK = (-errno.ETIMEDOUT, -errno.ECONNRESET)

#: Bits of a record's event; the others are those of the queue.
_EVENT_BITS = 4

#: The structures in the files of a queue's summary, by the table.
_SUMMARY_RECORDS = {
    "occupancy": "occupancy_record",
    "waits": "wait_record",
    "counts": "count_record",
    "samples": "backlog_record",
}


@dataclass(frozen=True, kw_only=True)
class Reports:
    """What parts of a run report about themselves.

    Parameters
    ----------
    cca_info : mapping of str to sequence of Field
        The state that congestion controls report, by their names.
    statistics : sequence of sequence of Field
        The statistics that the qdisc of each bottleneck reports.
    qlogs : mapping of int to Qlog
        The qlogs of programs, by the numbers of their flows.
    """

    cca_info: Mapping[str, Sequence[Field]]
    statistics: Sequence[Sequence[Field]]
    qlogs: Mapping[int, Qlog]


def read_tables(
    directory: Path, given: GuestInput, reports: Reports, log: QueueLog
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
    reports : Reports
        What congestion controls, qdiscs and programs report.
    log : QueueLog
        The log of the queues.

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
    samples = np.fromfile(directory / "samples.bin", shared.structure("flow_record"))
    of_qlogs = _of_qlogs(directory, samples, reports.qlogs)
    return {
        "queue": log.table(),
        "flows": _flows(ccas, samples, reports.cca_info, of_qlogs),
        "completions": _table(
            {name: completions[name] for name in completions.dtype.names or () if name != "error"},
            RUN_TABLES["completions"],
        ),
        "links": _links(directory),
        "queue_summary": _summary(given, directory) if given.queue_log == "summary" else None,
        **_statistics(directory, reports.statistics),
        **_batches(given, directory),
        "messages": _messages(given, directory),
        **_changes(given, directory),
        **_connections(directory),
        **_ecn(directory),
        **_programs(given, directory, reports.qlogs),
    }


def _check_errors(errors: npt.NDArray[np.int32]) -> None:
    """Raise an EngineError for errors of flows that their networks do not explain."""
    failed = np.flatnonzero(~np.isin(errors, (0, *_OF_NETWORK)))
    if len(failed):
        flow = int(failed[0])
        message = f"flow {flow} failed in the virtual kernel: {os.strerror(-int(errors[flow]))}"
        raise EngineError(message)


class QueueLog:
    """The log of the queues, which may be read while the guest writes it.

    A long log is encoded in parts: its columns are never in memory as a whole.

    Parameters
    ----------
    directory : Path
        Folder of the record files.
    given : GuestInput
        The guest's input.
    """

    def __init__(self, directory: Path, given: GuestInput) -> None:
        self._file = directory / "queue.bin"
        self._record = shared.structure("queue_record")
        self._given = given
        self._columns = with_queue(QUEUE_COLUMNS, ["queue"] if given.has_l4s_queue else [])
        self._done = 0
        # Packets and bytes in each queue after the events so far.
        self._backlog = np.zeros((given.bottlenecks, 2), dtype=np.int64)
        self._writer: Writer | None = None

    def advance(self) -> None:
        """Read the complete parts that the guest has written since the last call."""
        # Arrow is needed to store any run, and imported meanwhile.
        from ccbench.run.table_files import Writer  # noqa: PLC0415

        if self._given.queue_log is not True or not self._file.exists():
            return
        while self._file.stat().st_size // self._record.itemsize - self._done >= EVENTS_AT_ONCE:
            part = self._read(EVENTS_AT_ONCE)
            self._writer = self._writer or Writer(part)
            self._writer.write(part)

    def table(self) -> StoredTable:
        """Return the table of all events, after the end of the guest."""
        if self._given.queue_log is not True:
            return Arrays(no_rows(self._columns))
        self.advance()
        rest = self._read(EVENTS_AT_ONCE)
        if self._writer is None:
            return Arrays(rest)
        self._writer.write(rest)
        return Encoded(self._writer.content())

    def _read(self, count: int) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of the next events."""
        given = self._given
        offset = self._done * self._record.itemsize
        events = np.fromfile(self._file, self._record, count, offset=offset)
        self._done += len(events)
        # The guest records events for a short time after the end.
        events = events[: np.searchsorted(events["time_ns"], given.duration_ns, side="right")]
        event, queue = events["event"], None
        if given.has_l4s_queue:
            event, queue = event & (1 << _EVENT_BITS) - 1, event >> _EVENT_BITS
        step = BACKLOG_STEPS[event].astype(np.int64)
        change = np.stack([step, step * events["bytes"]])
        backlog = np.empty(change.shape, dtype=np.uint32)
        for bottleneck in range(given.bottlenecks):
            here = _rows_of(bottleneck, events, given.bottlenecks)
            own = change[:, here]
            own[:, :1] += self._backlog[bottleneck][:, None]
            own = np.cumsum(own, axis=1, out=own)
            backlog[:, here] = own
            if own.size:
                self._backlog[bottleneck] = own[:, -1]
        columns = {
            "time_ns": events["time_ns"].view(np.int64),
            "bottleneck": events["bottleneck"],
            "event": event.view(np.int8),
            "flow": events["flow"],
            "bytes": events["bytes"],
            "backlog_packets": backlog[0],
            "backlog_bytes": backlog[1],
        }
        if queue is not None:
            columns["queue"] = _queues(queue)
        return _contiguous(columns, self._columns)


def _queues(numbers: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
    """Return the codes of the queues of packets; 0 is none of several."""
    return numbers.astype(np.int8) - np.int8(1)


def _summary(given: GuestInput, directory: Path) -> QueueSummary:
    tables: dict[str, Any] = {}
    for name, record in _SUMMARY_RECORDS.items():
        rows = np.fromfile(directory / f"queue_{name}.bin", shared.structure(record))
        columns: dict[str, Any] = {column: rows[column] for column in rows.dtype.names or ()}
        if name == "samples":
            order = np.lexsort((columns["bottleneck"], columns["time_ns"]))
            columns = {column: values[order] for column, values in columns.items()}
        queue = columns.pop("queue")
        if given.has_l4s_queue:
            columns["queue"] = _queues(queue)
        tables[name] = _table(columns, with_queue(SUMMARY_TABLES[name], columns))
    return QueueSummary(**tables)


def _links(directory: Path) -> Arrays:
    links = np.fromfile(directory / "links.bin", shared.structure("link_record"))
    columns = {
        "bottleneck": np.arange(len(links), dtype=np.uint8),
        "carried_packets": links["carried_packets"],
        "carried_bytes": links["carried_bytes"],
    }
    for i, queue in enumerate(("", "classic_", "l4s_")):
        columns[f"{queue}left_packets"] = links["left"]["packets"][:, i]
        columns[f"{queue}waited_ns"] = links["left"]["waited_ns"][:, i]
    return _table({name: columns[name] for name in LINK_COLUMNS}, LINK_COLUMNS)


def _batches(given: GuestInput, directory: Path) -> dict[str, Arrays]:
    path = directory / "batches.bin"
    if not path.exists():
        return {}
    batches = np.fromfile(path, shared.structure("batch_record"))
    batches = batches[batches["acked_ns"] <= given.duration_ns]
    columns = {name: batches[name] for name in batches.dtype.names or ()}
    return {"batches": _table(columns, RUN_TABLES["batches"])}


def _messages(given: GuestInput, directory: Path) -> Arrays:
    """Return the messages and the segments of videos, connection by connection."""
    parts = [_sent_messages(given, directory), _segments(directory)]
    flow = np.concatenate([part["flow"] for part in parts])
    order = np.argsort(flow, kind="stable")
    columns = {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}
    return _table(columns, RUN_TABLES["messages"])


def _sent_messages(given: GuestInput, directory: Path) -> dict[str, npt.NDArray[Any]]:
    path = directory / "messages.bin"
    if not path.exists():
        return no_rows(RUN_TABLES["messages"])
    arrived = np.fromfile(path, shared.structure("message_record"))
    carried, of_flow = given.carried, given.messages
    first = np.cumsum(of_flow) - of_flow
    end_ns = np.full(len(carried), -1, dtype=np.int64)
    end_ns[first[arrived["flow"]] + arrived["message"]] = arrived["end_ns"]
    return {
        "flow": np.repeat(np.arange(len(of_flow), dtype=np.uint32), of_flow),
        "start_ns": carried["time_ns"].astype(np.int64),
        "end_ns": end_ns,
        "size_bytes": carried["bytes"],
    }


def _segments(directory: Path) -> dict[str, npt.NDArray[Any]]:
    path = directory / "segments.bin"
    if not path.exists():
        return no_rows(RUN_TABLES["messages"])
    segments = np.fromfile(path, shared.structure("segment_record"))
    return {
        "flow": segments["flow"].astype(np.uint32),
        "start_ns": segments["start_ns"].astype(np.int64),
        "end_ns": segments["end_ns"].astype(np.int64),
        "size_bytes": segments["bytes"],
    }


def _changes(given: GuestInput, directory: Path) -> dict[str, Arrays]:
    path = directory / "changes.bin"
    if not path.exists():
        return {}
    changes = np.fromfile(path, shared.structure("change_record"))
    changes = changes[changes["time_ns"] < given.duration_ns]
    columns = {
        "time_ns": changes["time_ns"].astype(np.int64),
        "change": changes["change"].astype(np.uint32),
    }
    return {"changes": _table(columns, RUN_TABLES["changes"])}


def _connections(directory: Path) -> dict[str, Arrays]:
    path = directory / "connections.bin"
    if not path.exists():
        return {}
    samples = np.fromfile(path, shared.structure("connection_record"))
    columns: dict[str, Any] = {name: samples[name] for name in samples.dtype.names or ()}
    columns["time_ns"] = samples["time_ns"].view(np.int64)
    columns["subflows"] = samples["subflows"].astype(np.uint8)
    return {"connections": _table(columns, RUN_TABLES["connections"])}


def _statistics(directory: Path, statistics: Sequence[Sequence[Field]]) -> dict[str, Arrays]:
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
    return {"qdiscs": _table(columns, RUN_TABLES["qdiscs"])}


def _ecn(directory: Path) -> dict[str, Arrays]:
    path = directory / "ecn.bin"
    if not path.exists():
        return {}
    ends = np.fromfile(path, shared.structure("ecn_record"))
    columns: dict[str, Any] = {"flow": np.arange(len(ends), dtype=np.uint32)}
    for end in ("sender", "receiver"):
        columns[end] = ends[f"{end}_mode"]
        columns[f"{end}_failures"] = ends[f"{end}_failures"].astype(np.uint8)
    for verb in ("delivered", "received"):
        columns[f"{verb}_ce_packets"] = ends[f"{verb}_ce"]
        for i, codepoint in enumerate(("ect1", "ect0", "ce")):
            columns[f"{verb}_{codepoint}_bytes"] = ends[f"{verb}_bytes"][:, i]
    return {"ecn": _table(columns, RUN_TABLES["ecn"])}


def _of_qlogs(
    directory: Path, samples: npt.NDArray[Any], qlogs: Mapping[int, Qlog]
) -> Iterator[tuple[npt.NDArray[Any], dict[str, npt.NDArray[np.float64]]]]:
    """Yield the rows of the samples of flows that have a qlog, with the columns from it."""
    for number, log in qlogs.items():
        folder = directory / FOLDER / f"{number}-{SIDES[0]}" / KEPT
        # Of several connections, the one that has sent the most.
        files = sorted(folder.rglob("*.sqlog"), key=lambda file: (-file.stat().st_size, file.name))
        if not files:
            continue
        rows = np.flatnonzero(samples["flow"] == number)
        times_ns = samples["time_ns"][rows].astype(np.int64)
        with files[0].open("rb") as lines:
            columns = qlog.samples(
                lines, times_ns, start_ns=log.start_ns, day_ns=log.day_ns, rtt_ms=log.rtt_ms
            )
        if columns is not None:
            yield rows, columns


def _programs(given: GuestInput, directory: Path, qlogs: Mapping[int, Qlog]) -> dict[str, Any]:
    """Return how the programs of flows have ended, and what they have written.

    The end of each other program must be known too: what supervises it may have been killed.
    """
    names = [path.split("/")[1] for path in given.files if path.endswith("/words")]
    end_of = {name: _end(directory / FOLDER / name) for name in names}
    own = (name.split("-") for name in names if name.endswith(SIDES))
    keys = sorted((int(number), SIDES.index(side)) for number, side in own)
    if not keys:
        return {}
    folders = [directory / FOLDER / f"{number}-{SIDES[side]}" for number, side in keys]
    ends = [end_of[folder.name] for folder in folders]
    columns = {
        "flow": [number for number, _ in keys],
        "side": [side for _, side in keys],
        "end": [PROGRAM_ENDS.index(how) for how, *_ in ends],
        "status": [int(status) for _, status, _ in ends],
        "end_ns": [int(end_ns) - shared.constant("LEAD_NS") for *_, end_ns in ends],
    }
    dropped = {number for number, log in qlogs.items() if not log.is_kept}
    files = {
        str(file.relative_to(directory)): file.read_bytes()
        for (number, _), folder in zip(keys, folders, strict=True)
        for file in (folder / "output", *sorted((folder / KEPT).rglob("*")))
        if file.is_file() and not (number in dropped and file.suffix == ".sqlog")
    }
    return {"programs": _table(columns, RUN_TABLES["programs"]), "files": files}


def _end(folder: Path) -> list[str]:
    """Return how a program has ended, its status, and the time."""
    try:
        return (folder / "end").read_text().split()
    except FileNotFoundError:
        message = f"the end of {subject(folder)}, is not known, as its supervisor was killed"
        raise EngineError(
            f"{message}: do not let programs signal process -1; if the host killed it, free memory"
        ) from None


def _table(columns: dict[str, Any], types: Columns) -> Arrays:
    return Arrays(_contiguous(columns, types))


def _contiguous(columns: dict[str, Any], types: Columns) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of a table in arrays of their own, in its order and of its types."""
    kinds = {name: "int8" if kind == "category" else kind for name, kind in types.items()}
    return {name: np.ascontiguousarray(columns[name], kind) for name, kind in kinds.items()}


def _rows_of(bottleneck: int, events: npt.NDArray[Any], count: int) -> Any:
    # The slice avoids a copy of millions of rows in the usual case.
    return slice(None) if count == 1 else events["bottleneck"] == bottleneck


def _flows(
    ccas: npt.NDArray[np.str_],
    samples: npt.NDArray[Any],
    info: Mapping[str, Sequence[Field]],
    of_qlogs: Iterable[tuple[npt.NDArray[Any], Mapping[str, npt.NDArray[np.float64]]]],
) -> Arrays:
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
    for rows, own in of_qlogs:
        for name, values in own.items():
            columns[name] = columns[name].copy()
            columns[name][rows] = np.nan_to_num(values) if name in _COUNTS else values
    columns["time_ns"] = samples["time_ns"].view(np.int64)
    unknown = dict.fromkeys(CCA_COLUMNS, np.full(len(samples), np.nan))
    return _table({**unknown, **columns}, {**RUN_TABLES["flows"], **CCA_COLUMNS})
