# SPDX-License-Identifier: Apache-2.0
"""Pictures of a search.

Every function returns a matplotlib ``Figure`` that belongs to no window and no global state, as
those of :mod:`ccbench.plots`, which writes them to files.

Harm is drawn in red where alpha takes more than a fair share and in blue where it takes less: two
colours that all kinds of eyes tell apart.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import LogLocator, MaxNLocator

from ccbench import _validate
from ccbench.harm import measure
from ccbench.harm.experiment import INTERVAL_S, flow_names
from ccbench.raygen.diversity import distances, finished
from ccbench.raygen.gene import Number
from ccbench.raygen.predictor import Predictor
from ccbench.raygen.quantities import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from ccbench.harm import Experiment
    from ccbench.raygen.config import SearchConfig
    from ccbench.raygen.gene import Gene, Value
    from ccbench.raygen.result import SearchResult
    from ccbench.raygen.space import Chromosome, Space
    from ccbench.run import Run

__all__ = [
    "TOP",
    "check_heat_map",
    "distances_figure",
    "heat_map_figure",
    "parallel_figure",
    "predictor_of",
    "progress_figure",
    "progress_table",
    "quantity_name",
    "throughput_figure",
    "top_figure",
]

_Array: TypeAlias = "npt.NDArray[np.float64]"

#: How many of the most harmful scenarios the distributions compare (Ware, Figure 5.13).
TOP = 100
#: And how many of them the parallel coordinates show.
_LINES = 20

_ALPHA_COLOUR = "tab:red"
_BETA_COLOUR = "tab:blue"
_HARM_COLOURS = "RdBu_r"
#: Of baselines: Okabe and Ito's, which all kinds of eyes tell apart.
_COLOURS = ("#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9") * 9
_HARM = "relative harm"

#: Cells of a heat map along the axis of a gene with a range.
_CELLS = 24
#: Whole numbers that are no more than this have a cell each.
_MOST_CELLS = 20
#: Values of the other genes over which a prediction is averaged: enough that the mean does not
#: show which ones were drawn, few enough for a heat map in a second.
_OTHERS = 48
#: Cells whose prediction is asked for in one call.
_AT_ONCE = 8
#: The predictor learns from no more experiments than this: its time grows with their cube.
_LEARNT = 500

_NAMES = {
    "bandwidth_mbps": "link",
    "rtt_ms": "RTT",
    "queue_bdp": "queue",
    "queue_packets": "queue",
    "alpha_flows": "{alpha} flows",
    "beta_flows": "{beta} flows",
    "alpha_start_s": "{alpha} starts at",
    "beta_start_s": "{beta} starts at",
    "alpha_rtt_ratio": "RTT of {alpha} / RTT of {beta}",
    "loss": "random loss",
    "qdisc": "queueing discipline",
}


def quantity_name(config: SearchConfig, gene: Gene) -> str:
    """Return what a gene varies, for people, with its unit.

    Examples
    --------
    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> quantity_name(config, DEFAULT_SPACE.genes[1])  # doctest: +SKIP
    'RTT (ms)'
    """
    name = _NAMES.get(gene.name, gene.name).format(alpha=config.alpha, beta=config.beta)
    return f"{name} ({gene.unit})" if gene.unit not in {"", "flows"} else name


def progress_table(experiments: pd.DataFrame) -> pd.DataFrame:
    """Return how far a search had come after each experiment.

    Parameters
    ----------
    experiments : DataFrame
        Those of a :class:`~ccbench.raygen.SearchResult`.

    Returns
    -------
    DataFrame
        Index: number of experiments proposed until then. Columns: ``generation``; ``best`` and
        ``percentile_90``, of the relative harm of all of them, of which those that failed count
        for nothing.

    Examples
    --------
    >>> table = pd.DataFrame({"generation": [1, 1, 2], "relative_harm": [0.1, 0.3, 0.2]})
    >>> progress_table(table)["best"].to_list()
    [0.1, 0.3, 0.3]
    """
    so_far = experiments["relative_harm"].expanding(min_periods=1)
    return pd.DataFrame(
        {
            "generation": experiments["generation"].to_numpy(),
            "best": so_far.max().to_numpy(),
            "percentile_90": so_far.quantile(0.9).to_numpy(),
        },
        index=pd.RangeIndex(1, len(experiments) + 1, name="experiments"),
    )


def progress_figure(result: SearchResult, baselines: Mapping[str, SearchResult]) -> Figure:
    """Draw how the harm that a search has found grows (Ware, Figure 5.15).

    Parameters
    ----------
    result : SearchResult
        The search.
    baselines : mapping
        Other searches by their names. Without any, what the first generation found is the baseline,
        if it was random.

    Returns
    -------
    Figure
        The greatest relative harm and its 90th percentile over all experiments so far: left after
        each generation, right after each experiment, where points are single experiments.

    Examples
    --------
    >>> progress_figure(result, {})  # doctest: +SKIP
    """
    table = progress_table(result.experiments)
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    generations = table.groupby("generation").last()
    harm = result.experiments["relative_harm"]
    right.plot(table.index, harm, "o", markersize=2.5, color="0.6", alpha=0.6, zorder=1)
    levels = _levels(result, baselines)
    for axes, rows, marker in ((left, generations, "o"), (right, table, "")):
        style = {"marker": marker, "markersize": 4, "zorder": 3, "color": _ALPHA_COLOUR}
        axes.plot(rows.index, rows["best"], label="best so far", **style)
        axes.plot(rows.index, rows["percentile_90"], "--", label="90th percentile so far", **style)
        for (name, level), colour in zip(levels.items(), _COLOURS, strict=False):
            axes.axhline(level, color=colour, linestyle=":", linewidth=1.5, label=name, zorder=2)
        axes.grid(alpha=0.3)
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.set_xlabel("generation")
    left.set_ylabel(_HARM)
    right.set_xlabel("experiments")
    right.set_xlim(0, len(table) + 1)
    figure.legend(
        *left.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False
    )
    return figure


def _levels(result: SearchResult, baselines: Mapping[str, SearchResult]) -> dict[str, float]:
    """Return what the search is to be compared with."""
    if baselines:
        return {
            f"best of {name}": float(other.experiments["relative_harm"].max())
            for name, other in baselines.items()
        }
    config = result.config
    if config.strategy == "sweep" or config.initial != "random" or config.corners:
        return {}
    table = result.experiments
    first = table.loc[table["generation"] == 1, "relative_harm"]
    return {
        f"best of the first {len(first)}, random": float(first.max()),
        f"90th percentile of the first {len(first)}": float(first.quantile(0.9)),
    }


def top_figure(result: SearchResult, baselines: Mapping[str, SearchResult]) -> Figure:
    """Draw the distribution of the harm in the most harmful scenarios (Ware, Figure 5.13).

    Parameters
    ----------
    result, baselines
        As in :func:`progress_figure`.

    Returns
    -------
    Figure
        For each search, the fraction of its :data:`TOP` worst scenarios with no more relative harm.

    Examples
    --------
    >>> top_figure(result, {"once more": result})  # doctest: +SKIP
    """
    worst = {
        name: search.worst(TOP)["relative_harm"].to_numpy(dtype=np.float64)
        for name, search in {"this search": result, **baselines}.items()
    }
    return _distributions(worst, xlabel=_HARM, ylabel="fraction of scenarios")


def _distributions(samples: Mapping[str, _Array], *, xlabel: str, ylabel: str) -> Figure:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for (name, sample), colour in zip(samples.items(), (_ALPHA_COLOUR, *_COLOURS), strict=False):
        if len(sample):
            axes.ecdf(sample, color=colour, linewidth=2)
        axes.plot([], [], color=colour, linewidth=2, label=f"{name}: {len(sample)}")
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=1, frameon=False)
    return figure


def distances_figure(result: SearchResult, baselines: Mapping[str, SearchResult]) -> Figure:
    """Draw how far the most harmful scenarios lie from each other (Ware, Figure 5.14).

    Parameters
    ----------
    result, baselines
        As in :func:`progress_figure`.

    Returns
    -------
    Figure
        For each search, the fraction of the pairs of its 20 worst scenarios that are no further
        apart, see :func:`~ccbench.raygen.distances`.

    Examples
    --------
    >>> distances_figure(result, {})  # doctest: +SKIP
    """
    space = result.config.space
    return _distributions(
        {
            name: distances(space, search.worst(_LINES))
            for name, search in {"this search": result, **baselines}.items()
        },
        xlabel="distance in the space, each gene scaled to 0 to 1",
        ylabel="fraction of pairs",
    )


def predictor_of(result: SearchResult) -> Predictor:
    """Return what predicts harm from the experiments of a search.

    It learns from all of them, or from 500 evenly spread over the search.

    Examples
    --------
    >>> predictor_of(result).noise > 0  # doctest: +SKIP
    True
    """
    table = finished(result.config.space, result.experiments)
    learnt = table.iloc[np.unique(np.linspace(0, len(table) - 1, _LEARNT).round().astype(int))]
    space = result.config.space
    chromosomes = (space.chromosome(row) for row in learnt.to_dict("records"))
    return Predictor(space, dict(zip(chromosomes, learnt["relative_harm"], strict=True)))


def check_heat_map(space: Space, x: str, y: str) -> None:
    """Make sure that there can be a heat map over two genes.

    Raises
    ------
    InputError
        If the space does not have them, or one of them has a single value.

    Examples
    --------
    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> check_heat_map(DEFAULT_SPACE, "rtt_ms", "loss")
    Traceback (most recent call last):
    ...
    ccbench.errors.InputError: heatmap is 'loss'; it must be a gene that varies: choose from
    bandwidth_mbps, rtt_ms, queue_bdp, alpha_flows, beta_flows
    """
    names = [gene.name for gene in space.genes if gene.size > 1]
    for name in (x, y):
        if name not in names:
            step = f"choose from {', '.join(names)}"
            raise _validate.bad("heatmap", name, "a gene that varies", step)
    if x == y:
        raise _validate.bad("heatmap", [x, y], "two genes", "name another one")


def heat_map_figure(result: SearchResult, x: str, y: str, predictor: Predictor) -> Figure:
    """Draw the harm over two genes: as measured, and as predicted everywhere.

    Parameters
    ----------
    result : SearchResult
        The search.
    x, y : str
        Names of the genes.
    predictor : Predictor
        What :func:`predictor_of` returns.

    Returns
    -------
    Figure
        From left to right: each experiment, the more harmful ones above; the prediction, averaged
        over all other genes (partial dependence: Friedman, Annals of Statistics 29 (2001), section
        8.2); the highest prediction over all other genes. Dots mark where a prediction tells
        little: its standard deviation is more than half of that of all measured harms.

    Raises
    ------
    InputError
        As :func:`check_heat_map`.

    Examples
    --------
    >>> heat_map_figure(result, "rtt_ms", "queue_bdp", predictor_of(result))  # doctest: +SKIP
    """
    space = result.config.space
    check_heat_map(space, x, y)
    genes = {gene.name: gene for gene in space.genes}
    across, up = _Axis(genes[x]), _Axis(genes[y])
    table = finished(space, result.experiments).sort_values("relative_harm", kind="stable")
    harm = table["relative_harm"].to_numpy()
    # The colours are for harm: benefits beyond the greatest harm all look the same.
    prediction = _predict(space, predictor, across, up)
    limit = max(float(harm.max()), float(prediction.most.max()), 0.05)
    colours = ScalarMappable(Normalize(-limit, limit), _HARM_COLOURS)

    figure = Figure(figsize=(12, 4.1), layout=ConstrainedLayoutEngine(wspace=0.06))
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    panels[0].set_facecolor("0.85")  # on which both ends and the middle of the colours are seen
    panels[0].scatter(
        across.places(table),
        up.places(table),
        c=colours.to_rgba(harm),
        s=18,
        edgecolors="0.5",
        linewidths=0.4,
    )
    panels[0].set_title("measured")
    doubtful = 0.5 * float(harm.std())
    for axes, name, mean, deviation in (
        (panels[1], "predicted, mean over the others", prediction.mean, prediction.mean_sd),
        (panels[2], "predicted, worst of the others", prediction.most, prediction.most_sd),
    ):
        axes.imshow(
            colours.to_rgba(mean),
            extent=(0, 1, 0, 1),
            origin="lower",
            aspect="auto",
            interpolation="none",
        )
        rows, columns = np.nonzero(deviation > doubtful)
        axes.scatter(across.centres[columns], up.centres[rows], s=2.5, color="0.2", linewidths=0)
        axes.set_title(name)
    for axes in panels:
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_xlabel(quantity_name(result.config, across.gene))
        axes.set_xticks(*across.ticks())
        axes.set_yticks(*up.ticks())
    panels[0].set_ylabel(quantity_name(result.config, up.gene))
    extend = "min" if harm.min() < -limit else "neither"
    figure.colorbar(colours, ax=panels, label=_HARM, extend=extend)
    return figure


def parallel_figure(result: SearchResult) -> Figure:
    """Draw the genes of the most harmful scenarios: a line for each, an axis for each gene.

    Parameters
    ----------
    result : SearchResult
        The search.

    Returns
    -------
    Figure
        The 20 worst in colours, the worst on top; all other experiments in grey. The last axis is
        relative harm.

    Examples
    --------
    >>> parallel_figure(result)  # doctest: +SKIP
    """
    genes = [gene for gene in result.config.space.genes if gene.size > 1]
    table = finished(result.config.space, result.experiments)
    worst = result.worst(_LINES)
    low, high = float(table["relative_harm"].min()), float(table["relative_harm"].max())
    axes_of = [_Axis(gene) for gene in genes]

    def lines(rows: pd.DataFrame) -> _Array:
        harm = (rows["relative_harm"].to_numpy() - low) / max(high - low, 1e-9)
        return np.column_stack([*(axis.places(rows) for axis in axes_of), harm])

    figure = Figure(figsize=(12, 4.4), layout="constrained")
    axes = figure.subplots()
    positions = np.arange(len(genes) + 1)
    axes.plot(positions, lines(table).T, color="0.5", linewidth=0.4, alpha=0.25)
    limits = Normalize(float(worst["relative_harm"].min()), float(worst["relative_harm"].max()))
    # Without the ends of the map, which vanish on dark or light paper.
    some = ListedColormap(colormaps["plasma"](np.linspace(0.2, 0.8, 256)))
    colours = ScalarMappable(limits, some)
    for line, harm in zip(lines(worst)[::-1], worst["relative_harm"][::-1], strict=True):
        axes.plot(positions, line, color=colours.to_rgba(harm), linewidth=1.6, alpha=0.9)
    ticks = [axis.ticks() for axis in axes_of]
    numbers = [tick for tick in MaxNLocator(6).tick_values(low, high) if low <= tick <= high]
    ticks.append(
        ([(tick - low) / max(high - low, 1e-9) for tick in numbers], [f"{n:.2g}" for n in numbers])
    )
    for position, (places, labels) in zip(positions, ticks, strict=True):
        axes.axvline(float(position), color="0.5", linewidth=0.8)
        side, align = (-4, "right") if position < len(genes) else (4, "left")
        for place, label in zip(places, labels, strict=True):
            axes.annotate(
                label,
                (position, place),
                xytext=(side, 0),
                textcoords="offset points",
                ha=align,
                va="center",
                fontsize="small",
                bbox={"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.5},
            )
    names = [quantity_name(result.config, gene).replace(" (", "\n(") for gene in genes]
    axes.set_xticks(positions, [*names, _HARM])
    axes.tick_params(length=0)
    axes.set_yticks([])
    axes.set_xlim(-0.35, len(genes) + 0.3)
    axes.set_ylim(-0.04, 1.04)
    axes.spines[:].set_visible(False)
    figure.colorbar(colours, ax=axes, label=f"{_HARM} of the {len(worst)} worst")
    return figure


def throughput_figure(experiment: Experiment, solo: Run, competing: Run) -> Figure:
    """Draw the throughput of both sides over time, and what beta had alone.

    Parameters
    ----------
    experiment : Experiment
        Whose runs they are.
    solo, competing : Run
        Its runs.

    Returns
    -------
    Figure
        Thick lines are all flows of a side together, thin ones single flows; harm was measured over
        the shaded time.

    Examples
    --------
    >>> throughput_figure(experiment, solo, competing)  # doctest: +SKIP
    """
    harm = measure(solo, competing, experiment.measured_s)
    together = competing.throughput(INTERVAL_S)
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    # Transparent, so that it suits dark pages too.
    axes.axvspan(harm.from_s, harm.to_s, color="0.5", alpha=0.12, linewidth=0, label="measured")
    alpha_name, beta_name = flow_names(experiment.alpha), flow_names(experiment.beta)
    _draw_side(axes, together.iloc[:, harm.n_beta :], alpha_name, _ALPHA_COLOUR)
    _draw_side(axes, together.iloc[:, : harm.n_beta], beta_name, _BETA_COLOUR)
    alone = solo.throughput(INTERVAL_S).sum(axis=1)
    axes.plot(alone.index, alone, color=_BETA_COLOUR, linestyle=":", linewidth=0.8)
    axes.plot(
        (harm.from_s, harm.to_s),
        (harm.solo_mbps, harm.solo_mbps),
        color=_BETA_COLOUR,
        linestyle="--",
        label=f"{beta_name} alone (mean)",
    )
    axes.set_title(f"{experiment.describe()}: {_HARM} {harm.relative:.2f}", fontsize="medium")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("throughput (Mbit/s)")
    axes.set_xlim(0, competing.scenario.duration_s)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", fontsize="small", ncols=4, frameon=False)
    return figure


def _draw_side(axes: Axes, throughput: pd.DataFrame, name: str, colour: str) -> None:
    total = throughput.sum(axis=1)
    axes.plot(total.index, total, color=colour, linewidth=2, label=name)
    if throughput.shape[1] > 1:
        axes.plot(throughput.index, throughput.to_numpy(), color=colour, linewidth=0.6, alpha=0.6)


class _Axis:
    """An axis from 0 to 1 along the scale of a gene.

    A gene with a range has it divided into equal parts of its scale. A choice, or a few whole
    numbers, has a part for each value.
    """

    def __init__(self, gene: Gene) -> None:
        self.gene = gene
        self._single: tuple[Value, ...] | None = None
        if not isinstance(gene, Number) or (NUMBERS[gene.name].whole and gene.size <= _MOST_CELLS):
            self._single = gene.levels(gene.size)
        count = _CELLS if self._single is None else len(self._single)
        #: The middles of its cells.
        self.centres: _Array = (np.arange(count) + 0.5) / count

    def cells(self) -> list[Value]:
        """Return the value in the middle of each cell."""
        if self._single is not None:
            return list(self._single)
        return [self.gene.at(float(centre)) for centre in self.centres]

    def places(self, table: pd.DataFrame) -> _Array:
        """Return where the experiments of a table lie.

        Within the cell of a single value they are spread, or they would hide each other.
        """
        values: list[Value] = table[self.gene.name].tolist()
        if self._single is None:
            return np.array([self.gene.coordinates(value)[0] for value in values])
        # Multiples of the golden ratio spread evenly, however many they are.
        spread = (table["number"].to_numpy() * 0.6180339887 % 1 - 0.5) * 0.7
        centres = np.array([self.centres[self._single.index(value)] for value in values])
        return centres + spread / len(self._single)

    def ticks(self) -> tuple[list[float], list[str]]:
        """Return places and labels of round values."""
        if self._single is not None or not isinstance(self.gene, Number):
            return list(self.centres), [_shown(value) for value in self._single or ()]
        low, high = self.gene.low, self.gene.high
        locator = LogLocator(subs=(1, 2, 5)) if self.gene.scale == "log" else MaxNLocator(5)
        places = {low: 0.0, high: 1.0}
        for value in map(float, locator.tick_values(low, high)):
            if low < value < high:
                (place,) = self.gene.coordinates(value)
                if min(place, 1 - place) > 0.1:  # noqa: PLR2004 - or its label meets that of an end
                    places[value] = place
        return list(places.values()), [_shown(value) for value in places]


def _shown(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}"


@dataclass(frozen=True, kw_only=True)
class _Prediction:
    """Predicted harm over two genes, and how uncertain it is: arrays of shape (up, across)."""

    mean: _Array
    mean_sd: _Array
    most: _Array
    most_sd: _Array


def _predict(space: Space, predictor: Predictor, across: _Axis, up: _Axis) -> _Prediction:
    """Predict harm in every cell, as its mean and maximum over the other genes."""
    others = [space.values(one) for one in space.stratified(random.Random(0), _OTHERS)]
    cells = list(itertools.product(up.cells(), across.cells()))
    mean, mean_sd, most, most_sd = np.empty((4, len(cells)))
    # One by one costs more calls, all at once a covariance between all of them.
    for start in range(0, len(cells), _AT_ONCE):
        some = cells[start : start + _AT_ONCE]
        here: list[Chromosome] = [
            space.chromosome({**other, up.gene.name: high, across.gene.name: wide})
            for high, wide in some
            for other in others
        ]
        harm, covariance = predictor.predict(here)
        for i in range(len(some)):
            block = slice(i * _OTHERS, (i + 1) * _OTHERS)
            worst = int(harm[block].argmax())
            mean[start + i], most[start + i] = harm[block].mean(), harm[block][worst]
            of_cell = covariance[block, block]
            mean_sd[start + i] = math.sqrt(max(float(of_cell.mean()), 0.0))
            most_sd[start + i] = math.sqrt(max(float(of_cell[worst, worst]), 0.0))
    shape = len(up.centres), len(across.centres)
    return _Prediction(
        mean=mean.reshape(shape),
        mean_sd=mean_sd.reshape(shape),
        most=most.reshape(shape),
        most_sd=most_sd.reshape(shape),
    )
