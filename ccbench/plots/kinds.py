# SPDX-License-Identifier: Apache-2.0
"""Kinds of plots of one or several runs. Each returns panels, which are data."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.plots._panel import Box, Cloud, Line, Panel
from ccbench.plots._render import render
from ccbench.plots.quantities import OBSERVED_S, QUANTITIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ccbench.base.figures import Figure
    from ccbench.plots.quantities import PlottedQuantity
    from ccbench.run.run import Run

__all__ = ["BY", "KINDS", "PlotKind", "draw"]

Values: TypeAlias = npt.NDArray[np.float64]

#: What has a line, box or cloud of its own.
By: TypeAlias = Literal["flow", "group", "run"]
BY: tuple[By, ...] = ("group", "flow", "run")

#: Approximate number of points of a line over time.
_POINTS = 300

#: Interval of the points of delay against throughput in seconds.
_TRADE_OFF_S = 1.0

#: Lowest share of the observations above a quantile that is drawn.
_RAREST = 1e-4


@dataclass(frozen=True)
class PlotKind:
    """A kind of plot.

    Attributes
    ----------
    name : str
    shows : str
        What it shows, for help.
    metrics : tuple of str
        Default quantities, by name.
    panels : callable
        Returns the panels for named runs, quantities, and what has a line of its own.
    """

    name: str
    shows: str
    metrics: tuple[str, ...]
    panels: Callable[[Mapping[str, Run], Sequence[PlottedQuantity], By], Iterator[Panel]]


def draw(
    runs: Mapping[str, Run],
    kind: str,
    *,
    metrics: Sequence[str] = (),
    by: By = "group",
    columns: int = 2,
) -> Figure:
    """Draw a plot of one or several runs.

    Parameters
    ----------
    runs : mapping of str to Run
        Runs by name. With several runs, the names are part of the labels.
    kind : str
        Key of :data:`KINDS`.
    metrics : sequence of str
        Keys of :data:`~ccbench.plots.quantities.QUANTITIES`. Default: those of the kind.
    by : "group", "flow" or "run"
        What has a line, box or cloud of its own.
    columns : 1 or 2
        Width in columns of a paper, 3.33 or 7 inches.

    Raises
    ------
    InputError
        If a name is unknown, a quantity has no course over time, or a run lacks its record.

    Examples
    --------
    >>> draw({"1 BDP": run}, "cdf", metrics=["srtt"])  # doctest: +SKIP
    """
    if not runs:
        raise validation.bad("runs", [], "one run or more", "name the folder of a saved run")
    validation.one_of("as", kind, KINDS)
    for name in metrics:
        validation.one_of("metric", name, QUANTITIES)
    validation.one_of("by", by, BY)
    validation.whole("columns", columns, validation.Range(1, 2), example=1)
    quantities = [QUANTITIES[name] for name in metrics or KINDS[kind].metrics]
    return render(list(KINDS[kind].panels(runs, quantities, by)), columns=columns)


def _labels(
    runs: Mapping[str, Run], quantity: PlottedQuantity, by: By
) -> Iterator[tuple[str, pd.Series[str]]]:
    """Yield the name of each run, and the label of each of its flows or bottlenecks."""
    for name, run in runs.items():
        prefix = name if len(runs) > 1 else ""
        if quantity.of == "bottleneck":
            links = len(run.scenario.path.links)
            own = pd.Series([f"bottleneck {i}" if links > 1 else "" for i in range(links)])
        else:
            flows = run.scenario.flow_table()
            own = flows["label"].astype(str)
            if by == "flow":
                own = own + [f" ({flow})" for flow in flows.index]
            elif flows.groupby("label")["group"].nunique().max() > 1:
                own = own + [f" (group {group})" for group in flows["group"]]
        parts = [""] * len(own) if by == "run" else own
        joined = [", ".join(filter(None, (prefix, part))) for part in parts]
        yield name, pd.Series(joined, own.index).replace("", "all")


def _time_series(
    runs: Mapping[str, Run], quantities: Sequence[PlottedQuantity], by: By
) -> Iterator[Panel]:
    for quantity in quantities:
        if quantity.over_time is None:
            known = [q.name for q in QUANTITIES.values() if q.over_time is not None]
            raise validation.bad("metric", quantity.name, f"one of {', '.join(known)}", "use cdf")
        lines = []
        for name, labels in _labels(runs, quantity, by):
            run = runs[name]
            courses = _courses(quantity, run, labels, _interval_s(run))
            lines += [
                Line(str(label), courses.index.to_numpy(np.float64), courses[label].to_numpy())
                for label in courses
            ]
        yield Panel(items=tuple(lines), x="time (s)", y=quantity.words)


def _courses(
    quantity: PlottedQuantity, run: Run, labels: pd.Series[str], interval_s: float
) -> pd.DataFrame:
    """Return the values over time, a column for each label in order."""
    assert quantity.over_time is not None  # as callers have checked
    table = quantity.over_time(run, interval_s)
    grouped = table.T.groupby(labels.reindex(table.columns))
    courses = (grouped.sum(min_count=1) if quantity.adds_up else grouped.mean()).T
    return courses[[label for label in dict.fromkeys(labels) if label in courses]]


def _interval_s(run: Run) -> float:
    """Return a multiple of the sample interval that gives about `_POINTS` points."""
    return _multiple_s(run, run.scenario.duration_s / _POINTS)


def _multiple_s(run: Run, interval_s: float) -> float:
    """Return the multiple of the sample interval that is closest to an interval."""
    sample_s = run.scenario.sample_interval_ms / 1e3
    return max(1, round(interval_s / sample_s)) * sample_s


def _observed(
    runs: Mapping[str, Run], quantity: PlottedQuantity, by: By
) -> Iterator[tuple[str, npt.NDArray[np.float64]]]:
    """Yield the label and the observations of each line."""
    are_missing = True
    for name, labels in _labels(runs, quantity, by):
        if quantity.observations is None:
            values = _courses(
                quantity, runs[name], labels, _multiple_s(runs[name], OBSERVED_S)
            ).melt()
            of, numbers = values.iloc[:, 0].to_numpy(), values["value"].to_numpy(np.float64)
        else:
            single = quantity.observations(runs[name])
            of, numbers = labels.reindex(single.index).to_numpy(), single.to_numpy(np.float64)
        for label in dict.fromkeys(labels):
            own = numbers[(of == label) & np.isfinite(numbers)]
            if own.size:
                are_missing = False
                yield label, np.sort(own)
    if are_missing:
        raise InputError(
            f"metric {quantity.name}: the runs have no observations of it: choose another metric"
        )


def _cdf(runs: Mapping[str, Run], quantities: Sequence[PlottedQuantity], by: By) -> Iterator[Panel]:
    for quantity in quantities:
        lines = [
            Line(
                label, *_thinned(values, np.arange(1, values.size + 1) / values.size), is_step=True
            )
            for label, values in _observed(runs, quantity, by)
        ]
        yield Panel(items=tuple(lines), x=quantity.words, y="share of observations")


def _quantiles(
    runs: Mapping[str, Run], quantities: Sequence[PlottedQuantity], by: By
) -> Iterator[Panel]:
    for quantity in quantities:
        lines = []
        for label, values in _observed(runs, quantity, by):
            above = np.geomspace(1, max(_RAREST, 1 / values.size), _POINTS)
            lines.append(Line(label, above, np.quantile(values, 1 - above)))
        yield Panel(
            items=tuple(lines),
            x="share of observations above",
            y=quantity.words,
            x_scale="log",
            is_x_reversed=True,
        )


def _box(runs: Mapping[str, Run], quantities: Sequence[PlottedQuantity], by: By) -> Iterator[Panel]:
    for quantity in quantities:
        boxes = [Box(label, values) for label, values in _observed(runs, quantity, by)]
        yield Panel(items=tuple(boxes), x="", y=quantity.words)


def _trade_off(
    runs: Mapping[str, Run], quantities: Sequence[PlottedQuantity], by: By
) -> Iterator[Panel]:
    if len(quantities) != 2:  # noqa: PLR2004 - an axis each
        raise InputError(
            f"metric names {len(quantities)} quantities, but delay-throughput has two axes: write "
            "--metric srtt --metric throughput"
        )
    across, up = quantities
    if across.of != up.of or across.over_time is None or up.over_time is None:
        raise InputError(
            f"metric names {across.name} and {up.name}; delay-throughput needs two quantities of "
            "flows over time: write --metric srtt --metric throughput"
        )
    clouds = []
    for name, labels in _labels(runs, across, by):
        run = runs[name]
        x, y = (_by_second(quantity, run, labels) for quantity in (across, up))
        for label in dict.fromkeys(labels):
            points = pd.concat([x.get(label), y.get(label)], axis=1).dropna()
            if len(points):
                columns = points.to_numpy(np.float64).T
                clouds.append(Cloud(label, columns[0], columns[1]))
    yield Panel(items=tuple(clouds), x=across.words, y=up.words, is_x_reversed=True)


def _by_second(quantity: PlottedQuantity, run: Run, labels: pd.Series[str]) -> pd.DataFrame:
    """Return means over seconds, a column for each label."""
    courses = _courses(quantity, run, labels, run.scenario.sample_interval_ms / 1e3)
    return courses.groupby(np.ceil(courses.index.to_numpy() / _TRADE_OFF_S - 1e-6)).mean()


def _thinned(x: Values, y: Values) -> tuple[Values, Values]:
    """Return at most about 2,000 points of a curve, with both ends."""
    step = max(1, x.size // 2000)
    chosen = np.unique(np.r_[np.arange(0, x.size, step), x.size - 1])
    return x[chosen], y[chosen]


#: Kinds of plots by name.
#:
#: :meta hide-value:
KINDS: Mapping[str, PlotKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            PlotKind("time-series", "quantities over time", ("throughput",), _time_series),
            PlotKind("queue", "queue length over time", ("queue_length",), _time_series),
            PlotKind("cdf", "cumulative distributions", ("srtt",), _cdf),
            PlotKind(
                "quantiles",
                "quantiles up to rare ones, on a logarithmic axis",
                ("srtt",),
                _quantiles,
            ),
            PlotKind("box", "quartiles, median and the range of 5 to 95 %", ("throughput",), _box),
            PlotKind(
                "delay-throughput",
                "mean of each second, and the ellipse of one standard deviation; better is up and "
                "to the right",
                ("srtt", "throughput"),
                _trade_off,
            ),
        )
    }
)
