# SPDX-License-Identifier: Apache-2.0
"""Figures of a search."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from ccbench.base.errors import InputError
from ccbench.harm import measure
from ccbench.raygen import (
    DEFAULT_SPACE,
    Choice,
    Number,
    SearchConfig,
    SearchResult,
    Space,
    Timeline,
    search,
)
from ccbench.raygen.figures import (
    TOP,
    check_heat_map,
    distances_figure,
    heat_map_figure,
    is_trusted,
    parallel_figure,
    predictor_of,
    progress_figure,
    progress_table,
    quantity_name,
    throughput_figure,
    top_figure,
)
from ccbench.raygen.objective import objective_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ccbench.emulate import Engine


def _made(harms: list[float], **settings: Any) -> SearchResult:
    """Return a result in which random scenarios, ten in a generation, have these harms."""
    options: dict[str, Any] = {"alpha": "greedy", "beta": "even", "budget": 4, "population": 4}
    config = SearchConfig(**options | settings)
    rng = random.Random(1)
    rows = [
        {
            "number": number,
            "generation": 1 + number // 10,
            "relative_harm": harm,
            "duration_share": 1.0,
            "error": "out of luck" if math.isnan(harm) else "",
            **config.space.values(config.space.random(rng)),
        }
        for number, harm in enumerate(harms)
    ]
    return SearchResult(
        config=config, experiments=pd.DataFrame(rows), claims=pd.DataFrame(), provenance={}
    )


def _slope(count: int, longest_ms: float = 320) -> SearchResult:
    """Return a search whose harm grows from -0.5 to 0.5 along the round-trip time's scale only."""
    result = _made([0.0] * count)
    table = result.experiments[result.experiments["rtt_ms"] <= longest_ms]
    harm = np.log2(table["rtt_ms"] / 10) / 5 - 0.5
    return replace(result, experiments=table.assign(relative_harm=harm))


def _lines(axes: Axes) -> dict[str, list[float]]:
    """Return the heights of the lines in the legend."""
    return {
        str(line.get_label()): list(np.asarray(line.get_ydata()))
        for line in axes.lines
        if not str(line.get_label()).startswith("_")
    }


def _tick_labels(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


class TestQuantityName:
    def test_unit(self) -> None:
        """A quantity has its unit, and flows and choices have the names of the CCAs."""
        config = _made([0.1]).config
        names = [quantity_name(config, gene) for gene in config.space.genes]
        assert ["link (Mbit/s)", "RTT (ms)", "queue (BDP)", "greedy flows", "even flows"] == names

    def test_every_quantity(self) -> None:
        """A quantity without a special name has its name in files."""
        gene = Choice(name="workload", values=("long", "short"))
        assert "workload" == quantity_name(_made([0.1]).config, gene)


class TestProgressTable:
    def test_best_and_percentile(self) -> None:
        """Best and 90th percentile are those of all experiments so far, as NumPy computes them."""
        harms = np.random.default_rng(1).normal(size=35)
        table = progress_table(_made(list(harms)).experiments)
        for n, row in table.iterrows():
            assert row["best"] == harms[:n].max()
            assert row["percentile_90"] == pytest.approx(np.percentile(harms[:n], 90))

    def test_best_never_falls(self) -> None:
        """The best never falls."""
        best = progress_table(_made([0.3, 0.1, 0.4, 0.2]).experiments)["best"]
        assert best.is_monotonic_increasing

    def test_failures(self) -> None:
        """Failed experiments do not count, even at the start."""
        table = progress_table(_made([math.nan, 0.2, math.nan]).experiments)
        assert math.isnan(table["best"].iloc[0])
        assert [0.2, 0.2] == list(table["best"].iloc[1:])


class TestProgressFigure:
    def test_generations(self) -> None:
        """The left panel has a point for each generation: the best at its end."""
        left, right = progress_figure(_made([i / 100 for i in range(30)]), {}).axes
        assert [0.09, 0.19, 0.29] == _lines(left)["best so far"]
        assert 30 == len(_lines(right)["best so far"])

    def test_first_generation_as_baseline(self) -> None:
        """Without another search, the first generation's best and 90th percentile are levels."""
        result = _made([i / 100 for i in range(30)])
        lines = _lines(progress_figure(result, {}).axes[0])
        assert {0.09} == set(lines["best of the first 10, random"])
        assert {np.percentile(np.arange(10) / 100, 90)} == set(
            lines["90th percentile of the first 10"]
        )

    @pytest.mark.parametrize(
        "settings",
        [
            {"strategy": "sweep"},
            {"strategy_options": {"initial": "stratified"}},
            {"strategy_options": {"corners": True}},
        ],
    )
    def test_no_random_generation(self, settings: dict[str, Any]) -> None:
        """A search that does not begin at random has no random baseline."""
        lines = _lines(progress_figure(_made([0.1] * 30, **settings), {}).axes[0])
        assert {"best so far", "90th percentile so far"} == set(lines)

    def test_baselines(self) -> None:
        """Each other search is a level at its best."""
        others = {"one": _made([0.5, 0.7]), "two": _made([0.1, math.nan])}
        lines = _lines(progress_figure(_made([0.2, 0.3]), others).axes[0])
        assert {0.7} == set(lines["best of one"])
        assert {0.1} == set(lines["best of two"])


class TestTopFigure:
    def test_distribution(self) -> None:
        """The curve is the fraction of the worst with at most that harm (an empirical CDF)."""
        harms = list(np.random.default_rng(1).normal(size=150))
        (axes,) = top_figure(_made(harms), {}).axes
        line, _ = axes.lines
        worst = sorted(harms)[-TOP:]
        x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        assert worst == list(x[1:])
        for harm, fraction in zip(x[1:], y[1:], strict=True):
            assert fraction == pytest.approx(np.mean(np.array(worst) <= harm))

    def test_baselines(self) -> None:
        """Every search has its own curve and colour."""
        (axes,) = top_figure(_made([0.1, 0.2]), {"other": _made([0.3])}).axes
        assert ["this search: 2", "other: 1"] == list(_lines(axes))
        assert 2 == len({to_hex(line.get_color()) for line in axes.lines})


class TestDistancesFigure:
    def test_all_pairs(self) -> None:
        """The 20 worst have 190 pairs, at distances within the diameter of the space."""
        (axes,) = distances_figure(_made(list(np.linspace(0, 1, 60))), {}).axes
        line, _ = axes.lines
        assert ["this search: 190"] == list(_lines(axes))
        assert np.asarray(line.get_xdata())[1:].max() <= math.sqrt(len(DEFAULT_SPACE.genes))

    def test_one_alone(self) -> None:
        """A single scenario has no distances, and that is no error."""
        (axes,) = distances_figure(_made([0.1]), {}).axes
        assert ["this search: 0"] == list(_lines(axes))


@pytest.fixture(scope="module")
def slope() -> SearchResult:
    """Give a search in which harm depends on the round-trip time alone."""
    return _slope(80)


@pytest.fixture(scope="module")
def figure(slope: SearchResult) -> Figure:
    """Give its heat map over round-trip time and numbers of flows."""
    return heat_map_figure(slope, "rtt_ms", "alpha_flows", predictor_of(slope))


class TestHeatMapFigure:
    def test_measured(self, slope: SearchResult, figure: Figure) -> None:
        """Every experiment is a point at the position of its genes on their scales."""
        (points,) = figure.axes[0].collections
        offsets = np.asarray(points.get_offsets())
        table = slope.experiments.sort_values("relative_harm", kind="stable")
        places = np.log2(table["rtt_ms"].to_numpy() / 10) / 5
        assert list(places) == pytest.approx(list(offsets[:, 0]), abs=0.01)
        flows = np.ceil(offsets[:, 1] * 5)  # five equal cells
        assert list(table["alpha_flows"]) == list(flows)

    def test_prediction(self, figure: Figure) -> None:
        """The prediction follows the measurements: blue turns to red at harm 0."""
        for axes in figure.axes[1:3]:
            (image,) = axes.images
            colours = np.asarray(image.get_array())
            red, blue = colours[..., 0], colours[..., 2]
            assert (red > blue)[:, 14:].all()
            assert (red < blue)[:, :10].all()

    def test_axes(self, figure: Figure) -> None:
        """Axes have names with units, and ticks at round values and at the ends of the ranges."""
        lowest = figure.axes[2]
        assert ("RTT (ms)", "greedy flows") == (lowest.get_xlabel(), lowest.get_ylabel())
        assert {"10", "20", "50", "100", "320"} <= set(_tick_labels(lowest.xaxis))
        assert list("12345") == _tick_labels(lowest.yaxis)
        assert "relative harm" == figure.axes[3].get_xlabel()

    def test_colours_are_centred(self, slope: SearchResult, figure: Figure) -> None:
        """The colours are centred on harm 0 and include the greatest harm."""
        low, high = figure.axes[3].get_xlim()
        assert -low == pytest.approx(high)
        assert high >= slope.experiments["relative_harm"].max()

    def test_doubt(self) -> None:
        """Predictions far from all experiments are marked as uncertain."""
        result = _slope(60, longest_ms=40)
        figure = heat_map_figure(result, "rtt_ms", "queue_bdp", predictor_of(result))
        (dots,) = figure.axes[2].collections
        places = np.asarray(dots.get_offsets())[:, 0]
        assert len(places)
        assert places.min() > np.log2(40 / 10) / 5

    @pytest.mark.parametrize(("count", "panels"), [(11, 1), (19, 1), (40, 3)])
    def test_few_points_predict_nothing(self, count: int, panels: int) -> None:
        """Below 20 experiments only measurements are drawn, however smooth they look."""
        result = _slope(count)
        figure = heat_map_figure(result, "rtt_ms", "queue_bdp", predictor_of(result))
        assert panels + 1 == len(figure.axes)  # and the colours

    @pytest.mark.parametrize("seed", range(5))
    def test_noise_predicts_nothing(self, seed: int) -> None:
        """Harm that no gene explains is not predicted, by cross-validation."""
        result = _made(list(np.random.default_rng(seed).normal(size=40)))
        predictor = predictor_of(result)
        assert predictor.explained < 0.3
        assert not is_trusted(result, predictor)

    def test_words(self) -> None:
        """A choice of words is an axis with a cell for each word."""
        qdisc = Choice(name="qdisc", values=("droptail", "codel", "pie"))
        space = Space((*DEFAULT_SPACE.genes, qdisc))
        result = _made([0.1] * 40, space=space)
        slope = 0.1 * np.log2(result.experiments["rtt_ms"] / 10)
        result = replace(result, experiments=result.experiments.assign(relative_harm=slope))
        figure = heat_map_figure(result, "qdisc", "rtt_ms", predictor_of(result))
        assert ["droptail", "codel", "pie"] == _tick_labels(figure.axes[2].xaxis)
        assert (24, 3, 4) == np.asarray(figure.axes[1].images[0].get_array()).shape

    def test_linear(self) -> None:
        """A linear gene has its middle in the middle of the axis."""
        start = Number(name="alpha_start_s", low=0, high=80, scale="linear")
        result = _made([0.1, 0.2, 0.3], space=Space((*DEFAULT_SPACE.genes, start)))
        table = result.experiments.assign(alpha_start_s=[0, 40, 80])
        result = replace(result, experiments=table)
        figure = heat_map_figure(result, "alpha_start_s", "rtt_ms", predictor_of(result))
        offsets = np.asarray(figure.axes[0].collections[0].get_offsets())[:, 0]
        assert [0, 0.5, 1] == pytest.approx(list(offsets), abs=0.01)

    @pytest.mark.parametrize(
        ("x", "y", "words"),
        [
            ("loss", "rtt_ms", "heatmap is 'loss'; it must be a gene that varies"),
            ("rtt_ms", "rtt_ms", "it must be two different genes"),
        ],
    )
    def test_bad_genes(self, x: str, y: str, words: str) -> None:
        """Genes missing from the space, or one gene twice, are refused."""
        with pytest.raises(InputError, match=words):
            check_heat_map(DEFAULT_SPACE, x, y)

    def test_fixed_gene(self) -> None:
        """A gene with a single value is no axis."""
        genes = (Number(name="rtt_ms", low=10, high=10), *DEFAULT_SPACE.genes[::2])
        with pytest.raises(InputError, match="choose from bandwidth_mbps, queue_bdp"):
            check_heat_map(Space(genes), "bandwidth_mbps", "rtt_ms")


class TestParallelFigure:
    def test_lines(self) -> None:
        """The 20 worst have coloured lines, the worst on top; each ends at its harm."""
        harms = list(np.linspace(-0.5, 0.5, 50))
        axes = parallel_figure(_made(harms)).axes[0]
        coloured = [line for line in axes.lines if line.get_linewidth() > 1]
        ends = [np.asarray(line.get_ydata())[-1] for line in coloured]
        assert list(np.linspace(0, 1, 50)[-20:]) == pytest.approx(ends)

    def test_axes(self) -> None:
        """There is an axis for each gene that varies, with its unit, and one for harm."""
        axes = parallel_figure(_made([0.1, 0.2])).axes[0]
        names = ["link\n(Mbit/s)", "RTT (ms)", "queue\n(BDP)", "greedy\nflows", "even flows"]
        assert [*names, "relative\nharm"] == _tick_labels(axes.xaxis)


class TestThroughputFigure:
    def test_shows_both_sides_and_the_solo_level(self, engine: Engine) -> None:
        """Each side is a line of its own colour, and beta's solo throughput is a level."""
        settings: dict[str, Any] = {"budget": 4, "population": 4, "duration_s": 4}
        result = search(alpha="greedy", beta="even", engine=engine, store=None, **settings)
        experiment = result.experiment(0)
        solo, competing = engine.run(experiment.solo), engine.run(experiment.competing)
        harm = measure(solo, competing)
        timeline = Timeline.of(objective_of("harm", "harm"), experiment, solo, competing)
        (axes,) = throughput_figure(experiment, timeline, title="one run").axes
        lines = _lines(axes)
        assert lines[f"{harm.n_alpha} greedy"] == pytest.approx([harm.alpha_mbps] * 4)
        assert lines[f"{harm.n_beta} even"] == pytest.approx([harm.competing_mbps] * 4)
        assert set(lines[f"{harm.n_beta} even alone, mean"]) == {harm.solo_mbps}
        alpha, beta = (
            next(line for line in axes.lines if line.get_label() == label)
            for label in (f"{harm.n_alpha} greedy", f"{harm.n_beta} even")
        )
        assert alpha.get_color() != beta.get_color()
