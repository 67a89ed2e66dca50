# SPDX-License-Identifier: Apache-2.0
"""Harm over two genes: as measured, and as predicted everywhere."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from ccbench import _validate
from ccbench.raygen.diversity import finished
from ccbench.raygen.figures.gene_axis import GeneAxis
from ccbench.raygen.figures.style import HARM, quantity_name
from ccbench.raygen.predictor import Predictor

if TYPE_CHECKING:
    import numpy.typing as npt

    from ccbench.raygen.result import SearchResult
    from ccbench.raygen.space import Chromosome, Space

__all__ = ["check_heat_map", "heat_map_figure", "predictor_of"]

_Array: TypeAlias = "npt.NDArray[np.float64]"

_HARM_COLOURS = "RdBu_r"
#: Values of the other genes over which a prediction is averaged: enough that the mean does not
#: show which ones were drawn, few enough for a heat map in a second.
_OTHERS = 48
#: Cells whose prediction is asked for in one call.
_AT_ONCE = 8
#: The predictor learns from no more experiments than this: its time grows with their cube.
_LEARNT = 500


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
    across, up = GeneAxis(genes[x]), GeneAxis(genes[y])
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
    figure.colorbar(colours, ax=panels, label=HARM, extend=extend)
    return figure


@dataclass(frozen=True, kw_only=True)
class _Prediction:
    """Predicted harm over two genes, and how uncertain it is: arrays of shape (up, across)."""

    mean: _Array
    mean_sd: _Array
    most: _Array
    most_sd: _Array


def _predict(space: Space, predictor: Predictor, across: GeneAxis, up: GeneAxis) -> _Prediction:
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
