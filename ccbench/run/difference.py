# SPDX-License-Identifier: Apache-2.0
"""The first difference between two runs of a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ccbench.base.errors import InputError
from ccbench.run import queue_events
from ccbench.run.cca_info import COLUMNS
from ccbench.run.tables import NO_FLOW, RUN_TABLES, SUMMARY_TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from ccbench.run.record import RunRecord

__all__ = ["Difference", "FirstPacket", "FirstState", "Row", "difference"]

#: A row of a table: values by column, None where there is none.
Row: TypeAlias = "Mapping[str, Any]"

#: Settings that two compared runs must share.
_SHARED = ("flow_count", "duration_s", "sample_interval_ms")


@dataclass(frozen=True)
class FirstPacket:
    """The first event of a packet that differs.

    Attributes
    ----------
    time_ns : int
        The earlier of the two times.
    bottleneck : int
    a, b : mapping or None
        The event in each run, as in the table ``queue``; None if a run has no further event at
        this bottleneck.
    states : mapping
        By flow of these events: its last samples until then in both runs, None before its first.
    """

    time_ns: int
    bottleneck: int
    a: Row | None
    b: Row | None
    states: Mapping[int, tuple[Row | None, Row | None]]


@dataclass(frozen=True)
class FirstState:
    """The first sample of a flow that differs.

    Attributes
    ----------
    time_ns, flow : int
    a, b : mapping or None
        The sample in each run, as in the table ``flows``; None if a run has none at this time.
    columns : tuple of str
        The columns that differ; those of the congestion control's state by their names, if it has
        the same in both runs.
    """

    time_ns: int
    flow: int
    a: Row | None
    b: Row | None
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """The difference between two runs, `a` and `b`.

    Attributes
    ----------
    settings : mapping
        Settings of the scenarios that differ, with both values; None where one is absent.
    modules : mapping
        Digests in both runs of the kernel's modules that differ; None where one is not loaded.
    packet : FirstPacket or None
        None if packets are alike or not compared.
    state : FirstState or None
        None if all samples are alike.
    tables : tuple of str
        Names of all tables that differ, of those that both runs have.
    without_packets : tuple of str
        The runs, ``"a"`` or ``"b"``, without a queue log; packets are then not compared.
    """

    settings: Mapping[str, tuple[Any, Any]]
    modules: Mapping[str, tuple[Any, Any]]
    packet: FirstPacket | None
    state: FirstState | None
    tables: tuple[str, ...]
    without_packets: tuple[str, ...]

    @property
    def is_alike(self) -> bool:
        """Whether all compared tables are equal."""
        return not self.tables

    @property
    def time_ns(self) -> int | None:
        """Time of the first packet or state that differs, None if there is none."""
        return min((each.time_ns for each in (self.packet, self.state) if each), default=None)


def difference(a: RunRecord, b: RunRecord) -> Difference:
    """Return the first packet and the first state in which two runs differ.

    Packets are compared in their order at each bottleneck, by time, event, flow, size and backlog;
    states are all columns of the samples of each flow.

    Parameters
    ----------
    a, b : Run
        Two runs of one scenario, whose seeds, kernels, modules or other settings may differ.

    Raises
    ------
    InputError
        If the runs have other numbers of flows or bottlenecks, another duration, or another sample
        interval.

    Examples
    --------
    >>> difference(run, run).is_alike  # doctest: +SKIP
    True
    """
    _check_comparable(a, b)
    logs = {"a": a.scenario.queue_log, "b": b.scenario.queue_log}
    without = tuple(name for name, log in logs.items() if log is not True)
    return Difference(
        settings=_different(*(dict(_leaves(run.scenario.to_dict())) for run in (a, b))),
        modules=_different(*(run.provenance.get("modules", {}) for run in (a, b))),
        packet=None if without else _first_packet(a, b),
        state=_first_state(a, b),
        tables=tuple(_tables(a, b, has_packets=not without)),
        without_packets=without,
    )


def _check_comparable(a: RunRecord, b: RunRecord) -> None:
    own = [{name: getattr(run.scenario, name) for name in _SHARED} for run in (a, b)]
    for values, run in zip(own, (a, b), strict=True):
        values["number of bottlenecks"] = len(run.scenario.path.links)
    for name, value in own[0].items():
        if value != own[1][name]:
            raise InputError(
                f"{name} is {value} in A and {own[1][name]} in B, and must be equal: "
                "compare two runs of one scenario"
            )


def _different(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the names with other values in two mappings, with both values."""
    pairs = {name: (a.get(name), b.get(name)) for name in sorted(a.keys() | b.keys())}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _leaves(part: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the single settings of a document with their paths, such as ``flows.0.cca``."""
    if isinstance(part, dict):
        parts = part.items()
    elif isinstance(part, (list, tuple)):
        parts = {str(i): each for i, each in enumerate(part)}.items()
    else:
        yield name, part
        return
    for key, each in parts:
        yield from _leaves(each, f"{name}.{key}" if name else str(key))


def _first_packet(a: RunRecord, b: RunRecord) -> FirstPacket | None:
    found = []
    for number in range(len(a.scenario.path.links)):
        rows = [queue_events.events(run, number) for run in (a, b)]
        at = _first_row(rows[0], rows[1])
        if at is not None:
            pair = [_row(own, at) for own in rows]
            found.append((min(row["time_ns"] for row in pair if row), number, pair))
    if not found:
        return None
    time_ns, number, (own, other) = min(found, key=lambda each: each[:2])
    flows = sorted({row["flow"] for row in (own, other) if row} - {NO_FLOW})
    states = {flow: (_state(a, flow, time_ns), _state(b, flow, time_ns)) for flow in flows}
    return FirstPacket(time_ns, number, own, other, states)


def _first_state(a: RunRecord, b: RunRecord) -> FirstState | None:
    fields = [_fields(run) for run in (a, b)]
    others = [flow for flow, (own, other) in enumerate(zip(*fields, strict=True)) if own != other]
    rows = [run.flows.sort_values(["time_ns", "flow"], kind="stable") for run in (a, b)]
    for frame in rows if others else ():  # states of two congestion controls are not comparable
        frame.loc[frame["flow"].isin(others), list(COLUMNS)] = np.nan
    at = _first_row(rows[0], rows[1])
    if at is None:
        return None
    own, other = (_row(each, at) for each in rows)
    time_ns, flow = min((row["time_ns"], row["flow"]) for row in (own, other) if row)
    own, other = (
        row if row and (row["time_ns"], row["flow"]) == (time_ns, flow) else None
        for row in (own, other)
    )
    own, other = (
        row and _named(row, names[flow]) for row, names in zip((own, other), fields, strict=True)
    )
    names = [*(own or other or {})]
    columns = [name for name in names if not (own and other) or own[name] != other.get(name)]
    return FirstState(time_ns, flow, own, other, tuple(columns))


def _fields(run: RunRecord) -> list[tuple[str, ...]]:
    """Return the names of the state that the congestion control of each flow reports."""
    described = run.provenance.get("cca_info", {})
    return [tuple(described.get(cca, ())) for cca in run.scenario.flow_table()["cca"]]


def _named(row: Row, names: Sequence[str]) -> Row:
    """Return a sample in which the congestion control's state has its names."""
    of_column = dict(zip(COLUMNS, names, strict=False))
    return {
        of_column.get(name, name): value
        for name, value in row.items()
        if name in of_column or name not in COLUMNS or value is not None
    }


def _first_row(a: pd.DataFrame, b: pd.DataFrame) -> int | None:
    """Return the position of the first row that differs; the end of the shorter table at last."""
    if [*a.columns] != [*b.columns]:  # a qdisc with a queue for L4S against one without
        common = a.columns.intersection(b.columns)
        a, b = a[common], b[common]
    count = min(len(a), len(b))
    differs = np.zeros(count, dtype=bool)
    for name in a.columns:
        own, other = (_comparable(frame[name])[:count] for frame in (a, b))
        differs |= (own != other) & ~((own != own) & (other != other))  # noqa: PLR0124 - NaN
    if differs.any():
        return int(differs.argmax())
    return count if len(a) != len(b) else None


def _names(frame: pd.DataFrame) -> list[str]:
    return [str(name) for name in frame.columns]


def _comparable(column: pd.Series[Any]) -> Any:
    return (column.cat.codes if column.dtype == "category" else column).to_numpy()


def _row(frame: pd.DataFrame, at: int) -> Row | None:
    """Return a row as Python values, None beyond the end."""
    if at >= len(frame):
        return None
    values = {name: frame[name].iloc[at] for name in _names(frame)}
    return {
        name: None if value != value else value.item() if isinstance(value, np.generic) else value  # noqa: PLR0124 - NaN
        for name, value in values.items()
    }


def _state(run: RunRecord, flow: int, time_ns: int) -> Row | None:
    """Return the last sample of a flow until a time."""
    samples = run.flows[(run.flows["flow"] == flow) & (run.flows["time_ns"] <= time_ns)]
    return _row(samples, len(samples) - 1) if len(samples) else None


def _tables(a: RunRecord, b: RunRecord, *, has_packets: bool) -> Iterator[str]:
    for name in RUN_TABLES:
        if (name != "queue" or has_packets) and not getattr(a, name).equals(getattr(b, name)):
            yield name
    if a.queue_summary is not None and b.queue_summary is not None:
        for name in SUMMARY_TABLES:
            own, other = (getattr(run.queue_summary, name) for run in (a, b))
            if not own.equals(other):
                yield f"queue_{name}"
