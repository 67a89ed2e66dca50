# SPDX-License-Identifier: Apache-2.0
"""Pictures of sweeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ccbench.base.errors import InputError
from ccbench.sweeps.estimates import estimates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from ccbench.sweeps._settings import Value
    from ccbench.sweeps._sweep import Sweep
    from ccbench.sweeps.estimates import CaseEstimate
    from ccbench.sweeps.metrics import SweepMetric

__all__ = ["check_figure", "setting_name", "sweep_figure"]

#: Okabe and Ito's, which all kinds of eyes tell apart; black last.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_STYLES = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: More lines than this in one panel, or more panels, nobody can read.
_MOST_LINES = 24
_MOST_PANELS = 60

_UNITS = {"ms": "ms", "s": "s", "mbps": "Mbit/s", "bdp": "BDP", "packets": "packets"}
_NAMES = {"rtt": "base RTT", "cca": "CCA", "qdisc": "queueing discipline", "loss": "random loss"}


def sweep_figure(sweep: Sweep, table: pd.DataFrame) -> Figure:
    """Draw the means of a sweep with their 95 % intervals.

    The first setting with several values is the x axis, logarithmic if they are about equal factors
    apart; values that are no numbers are points side by side. The second is the colour of a line,
    and each combination of the others has a column of panels. Each metric has a row. Groups of
    flows and bottlenecks differ by the style of their lines, or by colour where only one setting
    varies.

    Parameters
    ----------
    sweep : Sweep
    table : DataFrame
        What its :meth:`~ccbench.sweeps.Sweep.run` has returned.

    Returns
    -------
    Figure
        For :func:`ccbench.run.plots.save`.

    Raises
    ------
    InputError
        If there would be too many lines or panels to read.

    Examples
    --------
    >>> sweep_figure(sweep, table)  # doctest: +SKIP
    """
    check_figure(sweep)
    found = estimates(sweep, table)
    first, *more = _varied(sweep)
    second, others = (more[0] if more else None), more[1:]
    panels = list(dict.fromkeys(tuple(one.values[path] for path in others) for one in found))
    drawn = Figure(
        figsize=(2.6 + 3.9 * len(panels), 0.7 + 3.1 * len(sweep.measured)), layout="constrained"
    )
    axes = drawn.subplots(
        len(sweep.measured), len(panels), sharex=True, sharey="row", squeeze=False
    )
    for i, metric in enumerate(sweep.measured):
        for j, panel in enumerate(panels):
            here = [
                one
                for one in found
                if one.metric is metric and tuple(one.values[path] for path in others) == panel
            ]
            _draw(axes[i, j], here, sweep, first, second)
            if i == 0 and others:
                words = (
                    f"{setting_name(sweep, p)[0]} {v}" for p, v in zip(others, panel, strict=True)
                )
                axes[i, j].set_title(", ".join(words), fontsize="medium")
        axes[i, 0].set_ylabel(_with_unit(metric.quantity, metric.unit))
        _limit(axes[i, 0], metric)
        if axes[i, -1].get_legend_handles_labels()[1]:
            axes[i, -1].legend(
                title=second and _with_unit(*setting_name(sweep, second)),
                loc="upper left",
                bbox_to_anchor=(1.01, 1),
                borderaxespad=0,
                fontsize="small",
                frameon=False,
            )
    for below in axes[-1]:
        below.set_xlabel(_with_unit(*setting_name(sweep, first)))
    return drawn


def check_figure(sweep: Sweep) -> None:
    """Make sure that a sweep can be drawn: to be called before it is run.

    Raises
    ------
    InputError
        If there would be too many lines or panels to read.
    """
    _, *more = (len(sweep.vary[path]) for path in _varied(sweep))
    second, others = (more[0] if more else 1), more[1:]
    parts = len(sweep.cases[0].scenario.flows), len(sweep.cases[0].scenario.bottlenecks)
    panels, lines = math.prod(others) * len(sweep.measured), second * max(parts)
    for what, number, most in (("panels", panels, _MOST_PANELS), ("lines", lines, _MOST_LINES)):
        if number > most:
            raise InputError(
                f"plot has {number} {what}; there can be at most {most}: put the one with most "
                "values first, which makes it the x axis, or vary less"
            )


def setting_name(sweep: Sweep, path: str) -> tuple[str, str]:
    """Return a setting's name for people, and its unit.

    Examples
    --------
    >>> from ccbench.sweeps import Sweep
    >>> sweep = Sweep.of("examples/bbr-vs-cubic.toml", vary={"rtt_ms": [10, 20]})
    >>> setting_name(sweep, "rtt_ms"), setting_name(sweep, "bottlenecks.0.queue_bdp")
    (('base RTT', 'ms'), ('queue', 'BDP'))
    >>> setting_name(sweep, "flows.1.cca")
    ('CCA of group 1', '')
    """
    *above, last = path.split(".")
    words, _, suffix = last.rpartition("_")
    name, unit = (words, _UNITS[suffix]) if words and suffix in _UNITS else (last, "")
    name = _NAMES.get(name, name.replace("_", " "))
    scenario = sweep.cases[0].scenario
    if above[:1] == ["flows"] and len(scenario.flows) > 1:
        name += f" of group {above[1]}"
    if above[:1] == ["bottlenecks"] and len(scenario.bottlenecks) > 1:
        name += f" of bottleneck {above[1]}"
    return name, unit


def _varied(sweep: Sweep) -> list[str]:
    """Return the settings that have several values; without any, the first."""
    return [path for path, values in sweep.vary.items() if len(values) > 1] or [*sweep.vary][:1]


def _draw(
    axes: Axes, found: Sequence[CaseEstimate], sweep: Sweep, first: str, second: str | None
) -> None:
    """Draw a panel."""
    positions = _positions(axes, sweep.vary[first])
    parts = list(dict.fromkeys(one.of for one in found))
    colours = sweep.vary[second] if second is not None else parts
    lines: dict[tuple[Value, str], list[CaseEstimate]] = {}
    for one in found:
        colour = one.of if second is None else one.values[second]
        lines.setdefault((colour, one.of), []).append(one)
    are_numbers = _are_numbers(sweep.vary[first])
    for number, ((colour, part), points) in enumerate(lines.items()):
        index, style = list(colours).index(colour), parts.index(part)
        words = [str(colour)] if second is None else [str(colour), part]
        look: dict[str, Any] = {
            "color": _COLOURS[index % len(_COLOURS)],
            "marker": _MARKERS[(index if second is None else style) % len(_MARKERS)],
            "markersize": 4,
            "label": ", ".join(filter(None, words)),
        }
        x = np.array([positions[one.values[first]] for one in points])
        order = np.argsort(x)
        mean = np.array([one.estimate.mean for one in points])[order]
        half = np.array([one.estimate.half_width for one in points])[order]
        x = x[order]
        if are_numbers:
            line = "-" if second is None else _STYLES[style % len(_STYLES)]
            axes.plot(x, mean, linestyle=line, linewidth=1.4, **look)
            axes.fill_between(x, mean - half, mean + half, color=look["color"], alpha=0.2, lw=0)
        else:  # side by side, where they hide none of each other
            offset = (number - (len(lines) - 1) / 2) * min(0.12, 0.7 / len(lines))
            error = np.nan_to_num(half)
            axes.errorbar(x + offset, mean, yerr=error, linestyle="", capsize=2.5, **look)
    axes.grid(alpha=0.3)


def _positions(axes: Axes, values: Sequence[Value]) -> Mapping[Value, float]:
    """Set up the x axis for some values; return where they are on it."""
    if not _are_numbers(values):
        axes.set_xticks(range(len(values)), [str(value) for value in values])
        axes.set_xlim(-0.5, len(values) - 0.5)
        return {value: float(i) for i, value in enumerate(values)}
    numbers = sorted(map(float, values))
    if _is_geometric(numbers):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(numbers))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    return {value: float(value) for value in values}


def _is_geometric(numbers: Sequence[float]) -> bool:
    """Whether ascending numbers are about equal factors rather than equal steps apart.

    Examples
    --------
    >>> _is_geometric([0.5, 1, 2, 4]), _is_geometric([10, 20, 30]), _is_geometric([0, 1, 10])
    (True, False, False)
    """
    if len(numbers) < 3 or numbers[0] <= 0:  # noqa: PLR2004 - two are both
        return False
    steps, factors = np.diff(numbers), np.diff(np.log(numbers))
    return bool(np.std(factors) / np.mean(factors) < np.std(steps) / np.mean(steps))


def _are_numbers(values: Sequence[Value]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _limit(axes: Axes, metric: SweepMetric) -> None:
    low, high = metric.limits
    if low is None:
        axes.axhline(0, color="0.5", linewidth=0.8)
    else:
        axes.set_ylim(bottom=low)
    if high is not None:
        axes.set_ylim(top=high * 1.03)  # shows what lies on it


def _with_unit(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name
