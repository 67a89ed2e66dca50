# SPDX-License-Identifier: Apache-2.0
"""Heat maps of measured and predicted harm over two genes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from ccbench.base import validation
from ccbench.base.figures import Figure
from ccbench.base.random_streams import standard_stream
from ccbench.raygen.analysis.diversity import finished
from ccbench.raygen.analysis.predictor import Predictor
from ccbench.raygen.figures.gene_axis import GeneAxis
from ccbench.raygen.figures.style import quantity_name

if TYPE_CHECKING:
    import numpy.typing as npt

    from ccbench.raygen.result import SearchResult
    from ccbench.raygen.space import Chromosome, Space

__all__ = ["check_heat_map", "heat_map_figure", "is_trusted", "predictor_of"]

_Array: TypeAlias = "npt.NDArray[np.float64]"

_HARM_COLOURS = "RdBu_r"
#: Number of values of the other genes over which a prediction is averaged: enough for a stable
#: mean, few enough for a heat map in a second.
_OTHERS = 48
#: Seed of the values of the other genes.
_SEED = 1
#: Number of cells predicted in one call.
_BATCH = 8
#: Minimum number of experiments, and minimum fraction of the variance of harm explained in
#: cross-validation, for a prediction to be drawn.
_MIN_EXPERIMENTS, _MIN_EXPLAINED = 20, 0.3
#: Maximum number of experiments that the predictor is fitted to, as its time is cubic.
_MAX_FITTED = 500


def predictor_of(result: SearchResult) -> Predictor:
    """Return a predictor of harm, fitted to the experiments of a search.

    It is fitted to all experiments, or to 500 evenly spread over the search.

    Examples
    --------
    >>> predictor_of(result).noise > 0  # doctest: +SKIP
    True
    """
    table = finished(result.config.space, result.experiments)
    rows = np.unique(np.linspace(0, len(table) - 1, _MAX_FITTED).round().astype(int))
    fitted = table.iloc[rows]
    space = result.config.space
    chromosomes = (space.chromosome(row) for row in fitted.to_dict("records"))
    return Predictor(space, dict(zip(chromosomes, fitted["relative_harm"], strict=True)))


def is_trusted(result: SearchResult, predictor: Predictor) -> bool:
    """Return whether a prediction of harm is reliable.

    It is reliable if at least 20 distinct experiments succeeded, and it explains at least 30 % of
    the variance of their harm in cross-validation.

    Examples
    --------
    >>> is_trusted(result, predictor_of(result))  # of 4 networks  # doctest: +SKIP
    False
    """
    count = len(finished(result.config.space, result.experiments))
    return count >= _MIN_EXPERIMENTS and predictor.explained >= _MIN_EXPLAINED


def check_heat_map(space: Space, x: str, y: str) -> None:
    """Check that a heat map over two genes is possible.

    Raises
    ------
    InputError
        If a gene does not exist or has a single value, or the genes are equal.

    Examples
    --------
    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> check_heat_map(DEFAULT_SPACE, "rtt_ms", "loss")
    Traceback (most recent call last):
    ...
    ccbench.base.errors.InputError: heatmap is 'loss'; it must be a gene that varies: choose from
    bandwidth_mbps, rtt_ms, queue_bdp, alpha_flows, beta_flows
    """
    names = [gene.name for gene in space.genes if gene.size > 1]
    for name in (x, y):
        if name not in names:
            step = f"choose from {', '.join(names)}"
            raise validation.bad("heatmap", name, "a gene that varies", step)
    if x == y:
        raise validation.bad("heatmap", [x, y], "two different genes", "name another gene")


def heat_map_figure(result: SearchResult, x: str, y: str, predictor: Predictor) -> Figure:
    """Draw the measured harm over two genes, and the predicted harm if it is reliable.

    Parameters
    ----------
    result : SearchResult
    x, y : str
        Names of the genes.
    predictor : Predictor
        The result of :func:`predictor_of`.

    Returns
    -------
    Figure
        From top to bottom: each experiment, with more harmful ones in front; the prediction
        averaged over all other genes (partial dependence: Friedman, Annals of Statistics 29 (2001),
        section 8.2); the highest prediction over all other genes. Dots mark uncertain predictions,
        whose standard deviation exceeds half of that of all measured harms. Predictions are omitted
        unless they are reliable, see :func:`is_trusted`.

    Raises
    ------
    InputError
        See :func:`check_heat_map`.

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
    drawn = []
    if is_trusted(result, predictor):
        prediction = _predict(space, predictor, across, up)
        drawn = [
            ("predicted, mean over the others", prediction.mean, prediction.mean_sd),
            ("predicted, worst of the others", prediction.most, prediction.most_sd),
        ]
    # The greatest harm defines the colour scale; greater benefits are clipped.
    limit = max(0.05, float(harm.max()), *(float(mean.max()) for _, mean, _ in drawn))
    colours = ScalarMappable(Normalize(-limit, limit), _HARM_COLOURS)

    rows = 1 + len(drawn)
    figure = Figure(figsize=(4.6, 0.9 + 2.8 * rows), layout="constrained")
    panels = figure.subplots(rows, 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    panels[0].set_facecolor("0.85")  # visible behind both ends and the middle of the colour map
    panels[0].scatter(
        across.positions(table),
        up.positions(table),
        c=colours.to_rgba(harm),
        s=18,
        edgecolors="0.5",
        linewidths=0.4,
    )
    panels[0].set_title("measured")
    uncertain = 0.5 * float(harm.std())
    for axes, (name, mean, deviation) in zip(panels[1:], drawn, strict=True):
        axes.imshow(
            colours.to_rgba(mean),
            extent=(0, 1, 0, 1),
            origin="lower",
            aspect="auto",
            interpolation="none",
        )
        rows_at, columns_at = np.nonzero(deviation > uncertain)
        dots = across.centres[columns_at], up.centres[rows_at]
        axes.scatter(*dots, s=2.5, color="0.2", linewidths=0)
        axes.set_title(name)
    for axes in panels:
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_ylabel(quantity_name(result.config, up.gene))
        axes.set_xticks(*across.ticks())
        axes.set_yticks(*up.ticks())
    panels[-1].set_xlabel(quantity_name(result.config, across.gene))
    extend = "min" if harm.min() < -limit else "neither"
    label = result.config.harm_words
    figure.colorbar(colours, ax=panels, label=label, extend=extend, location="bottom", aspect=40)
    return figure


@dataclass(frozen=True, kw_only=True)
class _Prediction:
    """Predicted harm over two genes with its standard deviation, of shape (up, across)."""

    mean: _Array
    mean_sd: _Array
    most: _Array
    most_sd: _Array


def _predict(space: Space, predictor: Predictor, across: GeneAxis, up: GeneAxis) -> _Prediction:
    """Predict the mean and maximum of harm over the other genes in each cell."""
    stream = standard_stream(_SEED, "heat map")
    others = [space.values(chromosome) for chromosome in space.stratified(stream, _OTHERS)]
    cells = list(itertools.product(up.cells(), across.cells()))
    mean, mean_sd, most, most_sd = np.empty((4, len(cells)))
    # Batches balance the number of calls and the size of the covariance matrix.
    for start in range(0, len(cells), _BATCH):
        batch = cells[start : start + _BATCH]
        chromosomes: list[Chromosome] = [
            space.chromosome({**other, up.gene.name: up_value, across.gene.name: across_value})
            for up_value, across_value in batch
            for other in others
        ]
        harm, covariance = predictor.predict(chromosomes)
        for i in range(len(batch)):
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
