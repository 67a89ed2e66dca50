# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from matplotlib.text import Text

from ccbench.base.errors import InputError
from ccbench.plots.paper import WIDTHS_INCHES
from ccbench.sweeps.figures import check_figure, sweep_figure
from tests.unit.sweeps.test_sweep import QUEUE, sweep_of

if TYPE_CHECKING:
    from tests.unit.conftest import ArithmeticEngine


def drawn(engine: ArithmeticEngine, vary: Any, **settings: Any) -> list[Any]:
    """Return the axes of a sweep's figure."""
    sweep = sweep_of(vary, **settings)
    return sweep_figure(sweep, sweep.run(engine=engine)).get_axes()


class TestSweepFigure:
    def test_lines(self, engine: ArithmeticEngine) -> None:
        """The first setting is x, each value of the second a line for each group."""
        (axes,) = drawn(engine, {QUEUE: [0.5, 1, 2, 4], "rtt_ms": [10, 40]}, metrics=["share"])
        labels = axes.get_legend_handles_labels()[1]
        assert ["10, even", "10, two", "40, even", "40, two"] == labels
        assert ("log", "queue (BDP)") == (axes.get_xscale(), axes.get_xlabel())
        assert [0.5, 1, 2, 4] == list(axes.get_lines()[0].get_xdata())

    def test_linear(self, engine: ArithmeticEngine) -> None:
        """Equidistant values are on a linear axis, in order, with units."""
        (axes,) = drawn(engine, {"rtt_ms": [60, 20, 40]})
        assert ("linear", "base RTT (ms)") == (axes.get_xscale(), axes.get_xlabel())
        assert "throughput (Mbit/s)" == axes.get_ylabel()
        assert [20, 40, 60] == list(axes.get_lines()[0].get_xdata())

    def test_words(self, engine: ArithmeticEngine) -> None:
        """Words are separate points, not joined by lines."""
        (axes,) = drawn(engine, {"flows.0.cca": ["even", "greedy"]}, repeat=2)
        assert ["even", "greedy"] == [label.get_text() for label in axes.get_xticklabels()]
        assert all(line.get_linestyle() in {"None", ""} for line in axes.get_lines())

    def test_panels(self, engine: ArithmeticEngine) -> None:
        """Other settings and metrics have panels; a setting with one value has none."""
        vary = {"duration_s": [5], QUEUE: [1, 2], "rtt_ms": [10, 40], "flows.1.count": [1, 2, 3]}
        axes = drawn(engine, vary, metrics=["share", "jain"])
        assert 2 * 3 == len(axes)
        assert "queue (BDP)" == axes[-1].get_xlabel()
        assert "count of group 1 3" == axes[2].get_title()

    @pytest.mark.parametrize("columns", [1, 2])
    def test_paper(self, engine: ArithmeticEngine, columns: int) -> None:
        """Figures are as wide as a paper's columns, and the legend names all lines above them."""
        sweep = sweep_of({QUEUE: [1, 2], "rtt_ms": [10, 40]}, metrics=["share", "jain"])
        figure = sweep_figure(sweep, sweep.run(engine=engine), columns=columns)
        figure.draw_without_rendering()
        assert WIDTHS_INCHES[columns] == figure.get_figwidth()
        assert all(float(text.get_fontsize()) >= 7 for text in figure.findobj(Text))
        (legend,) = figure.legends
        named = [text.get_text() for text in legend.get_texts()]
        assert ["10, even", "10, two", "40, even", "40, two", "10", "40"] == named
        assert legend.get_window_extent().ymin >= max(
            axes.get_window_extent().ymax for axes in figure.get_axes()
        )

    def test_network(self, engine: ArithmeticEngine) -> None:
        """The line of a value of the whole network has the colour of no group."""
        shares, network = drawn(engine, {QUEUE: [1, 2]}, metrics=["share", "jain"])
        colours = {line.get_color() for line in shares.get_lines() if len(line.get_xdata()) == 2}
        (line,) = (line for line in network.get_lines() if list(line.get_xdata()) == [1, 2])
        assert line.get_color() not in colours

    @pytest.mark.parametrize("order", [1, -1])
    def test_too_many(self, order: int) -> None:
        """Too many lines are refused before anything runs, with the remedy."""
        vary = {"rtt_ms": range(1, 40), QUEUE: [1, 2]}
        sweep = sweep_of(dict(list(vary.items())[::order]))
        if order == 1:
            check_figure(sweep)
        else:
            with pytest.raises(InputError, match="78 lines; there can be at most 24"):
                check_figure(sweep)
