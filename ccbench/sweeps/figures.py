# SPDX-License-Identifier: Apache-2.0
"""Figures of sweeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ccbench.base.errors import InputError
from ccbench.base.figures import Figure
from ccbench.plots import paper
from ccbench.sweeps.estimates import estimates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ccbench.experiment.setting_paths import Value
    from ccbench.metrics import Metric
    from ccbench.sweeps._sweep import Sweep
    from ccbench.sweeps.estimates import CaseEstimate
    from ccbench.sweeps.saved import SavedSweep

__all__ = ["check_figure", "drawn", "setting_name", "sweep_figure"]

#: Height of a row of panels, and the smallest width of a panel.
_HEIGHT_INCHES, _LEAST_INCHES = 1.9, 1.8
#: Maximum number of readable lines in a panel, and of panels.
_MOST_LINES = 24
_MOST_PANELS = 60

_UNITS = {"ms": "ms", "s": "s", "mbps": "Mbit/s", "bdp": "BDP", "packets": "packets"}
_NAMES = {"rtt": "base RTT", "cca": "CCA", "qdisc": "queueing discipline", "loss": "random loss"}


def sweep_figure(sweep: Sweep, table: pd.DataFrame, *, columns: int = 2) -> Figure:
    """Plot the medians of a sweep with their 95 % intervals.

    The first setting with several values is the x axis, which is logarithmic for values at about
    equal factors and categorical for values that are not numbers. The second determines the colour
    of a line, and each combination of the others has a column of panels. Each metric has a row.
    Groups of flows and bottlenecks differ by line style, or by colour if only one setting varies.
    A value of the whole network is black.

    Parameters
    ----------
    sweep : Sweep
    table : DataFrame
        Result of :meth:`Sweep.run <ccbench.sweeps.Sweep.run>`.
    columns : 1 or 2
        Width in columns of a paper, 3.33 or 7 inches; more if the panels need it.

    Returns
    -------
    Figure
        For :func:`ccbench.plots.save`.

    Raises
    ------
    InputError
        If there are too many lines or panels.

    Examples
    --------
    >>> sweep_figure(sweep, table)  # doctest: +SKIP
    """
    check_figure(sweep)
    return drawn(sweep, estimates(sweep, table), columns=columns)


def drawn(
    sweep: Sweep | SavedSweep, medians: Sequence[CaseEstimate], *, columns: int = 2
) -> Figure:
    """Plot medians of a sweep that can be plotted; see :func:`sweep_figure`."""
    with paper.text_sizes():
        return _drawn(sweep, medians, paper.WIDTHS_INCHES[columns])


def _drawn(sweep: Sweep | SavedSweep, medians: Sequence[CaseEstimate], width: float) -> Figure:
    """Plot medians in a figure of at least some width in inches."""
    first, *more = _varied(sweep)
    second, others = (more[0] if more else None), more[1:]
    panels = list(
        dict.fromkeys(tuple(median.values[path] for path in others) for median in medians)
    )
    width = max(width, _LEAST_INCHES * len(panels))
    of_lines = {path: sweep.vary[path] for path in (first, *more[:1])}
    parts = list(dict.fromkeys(median.of for median in medians))
    figure = Figure(layout="constrained")
    axes = figure.subplots(
        len(sweep.measured), len(panels), sharex=True, sharey="row", squeeze=False
    )
    for i, metric in enumerate(sweep.measured):
        for j, panel in enumerate(panels):
            of_panel = [
                median
                for median in medians
                if median.metric is metric
                and tuple(median.values[path] for path in others) == panel
            ]
            _draw(axes[i, j], of_panel, of_lines, parts)
            if i == 0 and others:
                words = (
                    f"{setting_name(sweep, p)[0]} {v}" for p, v in zip(others, panel, strict=True)
                )
                axes[i, j].set_title(", ".join(words))
        axes[i, 0].set_ylabel(_with_unit(metric.quantity, metric.unit))
        _limit(axes[i, 0], metric)
    by_name: dict[str, Artist] = {}
    for own in axes.flat:
        handles, names = own.get_legend_handles_labels()
        by_name |= dict(zip(names, handles, strict=True))
    figure.set_size_inches(
        width,
        0.5 + _HEIGHT_INCHES * len(sweep.measured) + paper.legend_inches(list(by_name), width),
    )
    if by_name:
        title = second and _with_unit(*setting_name(sweep, second))
        paper.add_legend(figure, list(by_name.values()), list(by_name), title)
    for bottom in axes[-1]:
        bottom.set_xlabel(_with_unit(*setting_name(sweep, first)))
    return figure


def check_figure(sweep: Sweep | SavedSweep) -> None:
    """Check that a sweep can be plotted, to be called before it is run.

    Raises
    ------
    InputError
        If there are too many lines or panels.
    """
    _, *more = (len(sweep.vary[path]) for path in _varied(sweep))
    second, others = (more[0] if more else 1), more[1:]
    parts = len(sweep.document["flows"]), sum(map(len, _links(sweep)))
    panels, lines = math.prod(others) * len(sweep.measured), second * max(parts)
    for items, number, most in (("panels", panels, _MOST_PANELS), ("lines", lines, _MOST_LINES)):
        if number > most:
            raise InputError(
                f"plot has {number} {items}; there can be at most {most}: put the setting with "
                "most values first, which makes it the x axis, or vary less"
            )


def setting_name(sweep: Sweep | SavedSweep, path: str) -> tuple[str, str]:
    """Return the readable name and the unit of a setting.

    Examples
    --------
    >>> from ccbench.sweeps import Sweep
    >>> sweep = Sweep.of("examples/bbr-vs-cubic.toml", vary={"rtt_ms": [10, 20]})
    >>> setting_name(sweep, "rtt_ms"), setting_name(sweep, "bottlenecks.0.queue_bdp")
    (('base RTT', 'ms'), ('queue', 'BDP'))
    >>> setting_name(sweep, "flows.1.cca"), setting_name(sweep, "flows.*.cca")
    (('CCA of group 1', ''), ('CCA of all groups', ''))
    """
    *parents, last = path.split(".")
    words, _, suffix = last.rpartition("_")
    name, unit = (words, _UNITS[suffix]) if words and suffix in _UNITS else (last, "")
    name = _NAMES.get(name, name.replace("_", " "))
    forward, reverse = _links(sweep)
    if parents[1:2] == ["*"]:
        return f"{name} of all {'groups' if parents[0] == 'flows' else 'bottlenecks'}", unit
    if parents[:1] == ["flows"] and len(sweep.document["flows"]) > 1:
        name += f" of group {parents[1]}"
    if parents[:1] == ["bottlenecks"] and len([*forward, *reverse]) > 1:
        name += f" of bottleneck {parents[1]}"
    if parents[:1] == ["reverse_bottlenecks"]:
        name += f" of bottleneck {len(forward) + int(parents[1])}"
    return name, unit


def _links(sweep: Sweep | SavedSweep) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the bottlenecks of both directions."""
    return sweep.document["bottlenecks"], sweep.document.get("reverse_bottlenecks", ())


def _varied(sweep: Sweep | SavedSweep) -> list[str]:
    """Return the settings with several values or, if there are none, the first setting."""
    return [path for path, values in sweep.vary.items() if len(values) > 1] or [*sweep.vary][:1]


def _draw(
    axes: Axes,
    medians: Sequence[CaseEstimate],
    settings: Mapping[str, Sequence[Value]],
    parts: Sequence[str],
) -> None:
    """Draw a panel of one or two settings with their values.

    `parts` are the groups and bottlenecks of the figure.
    """
    first, *others = settings
    second = others[0] if others else None
    positions = _positions(axes, settings[first])
    colours = settings[second] if second is not None else parts
    lines: dict[tuple[Value, str], list[CaseEstimate]] = {}
    for median in medians:
        colour = median.of if second is None else median.values[second]
        lines.setdefault((colour, median.of), []).append(median)
    are_numbers = _are_numbers(settings[first])
    for number, ((colour, part), points) in enumerate(lines.items()):
        index, style = list(colours).index(colour), parts.index(part)
        words = [str(colour)] if second is None else [str(colour), part]
        is_whole = second is None and not part
        options: dict[str, Any] = {
            "color": "black" if is_whole else paper.COLOURS[index % len(paper.COLOURS)],
            "marker": paper.MARKERS[(index if second is None else style) % len(paper.MARKERS)],
            "markersize": 3.5,
            "label": ", ".join(filter(None, words)),
        }
        x = np.array([positions[point.values[first]] for point in points])
        order = np.argsort(x)
        y = np.array([point.estimate.value for point in points])[order]
        low, high = np.array([point.estimate.interval for point in points])[order].T
        x = x[order]
        if are_numbers:
            line = "-" if is_whole else paper.STYLES[style % len(paper.STYLES)]
            axes.plot(x, y, linestyle=line, linewidth=1.1, **options)
            axes.fill_between(x, low, high, color=options["color"], alpha=0.2, lw=0)
        else:  # side by side, to avoid overlap
            offset = (number - (len(lines) - 1) / 2) * min(0.12, 0.7 / len(lines))
            error = np.nan_to_num([y - low, high - y])
            axes.errorbar(x + offset, y, yerr=error, linestyle="", capsize=2.5, **options)
    axes.grid(alpha=0.3)


def _positions(axes: Axes, values: Sequence[Value]) -> Mapping[Value, float]:
    """Set up the x axis for some values and return their positions."""
    if not _are_numbers(values):
        axes.set_xticks(range(len(values)), [str(value) for value in values])
        axes.set_xlim(-0.5, len(values) - 0.5)
        return {value: float(i) for i, value in enumerate(values)}
    numbers = sorted(values)
    if _is_geometric(numbers):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(numbers))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    return {value: float(value) for value in values}


def _is_geometric(numbers: Sequence[float]) -> bool:
    """Return whether ascending numbers are closer to equal factors than to equal steps.

    Examples
    --------
    >>> _is_geometric([0.5, 1, 2, 4]), _is_geometric([10, 20, 30]), _is_geometric([0, 1, 10])
    (True, False, False)
    """
    if len(numbers) < 3 or numbers[0] <= 0:  # noqa: PLR2004 - two numbers fit both
        return False
    steps, factors = np.diff(numbers), np.diff(np.log(numbers))
    return bool(np.std(factors) / np.mean(factors) < np.std(steps) / np.mean(steps))


def _are_numbers(values: Sequence[Value]) -> TypeGuard[Sequence[float]]:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _limit(axes: Axes, metric: Metric) -> None:
    low, high = metric.limits
    if low is None:
        axes.axhline(0, color="0.5", linewidth=0.8)
    else:
        axes.set_ylim(bottom=low)
    if high is not None:
        axes.set_ylim(top=high * 1.03)  # shows points on the limit


def _with_unit(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name
