# SPDX-License-Identifier: Apache-2.0
"""Kinds of plots of runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.text import Text

from ccbench import plots
from ccbench.base.errors import InputError
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from ccbench.base.figures import Figure
    from ccbench.run.run import Run

    MakeRun = Callable[..., Run]

SCENARIO = Scenario(
    flows=(Flow(cca="bbr"), Flow(cca="cubic", count=2)),
    path=NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=10, queue_packets=20),), rtt_ms=40),
    duration_s=60,
    sample_interval_ms=1000,
    queue_log=False,
)


def lines(axes: Axes) -> dict[str, Any]:
    """Return the values of each line, by its label."""
    return {str(line.get_label()): np.asarray(line.get_ydata()) for line in axes.lines}


class TestLabels:
    @pytest.mark.parametrize(
        ("by", "expected"),
        [
            ("group", {"bbr": 5, "cubic": 5}),
            ("flow", {"bbr (0)": 5, "cubic (1)": 3, "cubic (2)": 2}),
            ("run", {"all": 10}),
        ],
    )
    def test_sums(self, make_run: MakeRun, by: Any, expected: dict[str, float]) -> None:
        """Rates of a group or of a run are the sum over its flows."""
        run = make_run(SCENARIO, [5, 3, 2])
        (axes,) = plots.draw({"a": run}, "time-series", by=by).axes
        assert expected == pytest.approx({name: y[-1] for name, y in lines(axes).items()})

    def test_several_runs(self, make_run: MakeRun) -> None:
        """With several runs, labels begin with the run's name."""
        run = make_run(SCENARIO, [5, 3, 2])
        (axes,) = plots.draw({"a": run, "b": run}, "time-series", by="run").axes
        assert ["a", "b"] == list(lines(axes))

    def test_same_label(self, make_run: MakeRun) -> None:
        """Groups of one label are told apart by their numbers."""
        run = make_run(replace(SCENARIO, flows=(Flow(), Flow(), Flow())), [5, 3, 2])
        (axes,) = plots.draw({"a": run}, "time-series").axes
        assert ["cubic (group 0)", "cubic (group 1)", "cubic (group 2)"] == list(lines(axes))


class TestDistributions:
    def test_cdf(self, make_run: MakeRun) -> None:
        """A CDF rises to 1, and its steps are the shares of the observations."""
        rates = np.tile([[2.0, 1, 1], [6, 1, 1], [6, 1, 1], [6, 1, 1]], (15, 1))
        (axes,) = plots.draw({"a": make_run(SCENARIO, rates)}, "cdf", metrics=["throughput"]).axes
        bbr = next(line for line in axes.lines if line.get_label() == "bbr")
        x, y = (np.asarray(values) for values in (bbr.get_xdata(), bbr.get_ydata()))
        assert 1 == y[-1]
        assert 0.25 == pytest.approx(y[x <= 2 + 1e-9].max())

    def test_starts(self, make_run: MakeRun) -> None:
        """The time before a flow's start is no observation of its rate."""
        late = replace(SCENARIO, flows=(Flow(), Flow(start_s=30), Flow()))
        rates = np.repeat([[5.0, 0, 5], [3, 4, 3]], 30, axis=0)
        (axes,) = plots.draw({"a": make_run(late, rates)}, "quantiles", metrics=["goodput"]).axes
        assert 4 == pytest.approx(lines(axes)["cubic (group 1)"].min())

    def test_boxes(self, make_run: MakeRun) -> None:
        """Each group has a box under its name."""
        (axes,) = plots.draw({"a": make_run(SCENARIO, [5, 3, 2])}, "box").axes
        assert ["bbr", "cubic"] == [tick.get_text() for tick in axes.get_xticklabels()]

    def test_nothing(self, make_run: MakeRun) -> None:
        """A metric without observations is refused."""
        with pytest.raises(InputError, match="fct: the runs have no observations"):
            plots.draw({"a": make_run(SCENARIO, [5, 3, 2])}, "cdf", metrics=["fct"])


class TestTradeOff:
    def test_axes(self, make_run: MakeRun) -> None:
        """Less delay is to the right, and a flow's mean is the mean of its seconds."""
        run = make_run(SCENARIO, [5, 3, 2])
        srtt_us = np.where(run.flows["flow"] == 0, 50_000.0, 80_000.0)
        run = replace(run, flows=run.flows.assign(srtt_us=srtt_us))
        (axes,) = plots.draw({"a": run}, "delay-throughput").axes
        left, right = axes.get_xlim()
        assert left > right
        points = [np.asarray(line.get_xydata())[0].tolist() for line in axes.lines]
        assert [50, 5] == pytest.approx(points[0])
        assert [80, 5] == pytest.approx(points[1])

    def test_one_metric(self, make_run: MakeRun) -> None:
        """It needs two quantities."""
        run = make_run(SCENARIO, [5, 3, 2])
        with pytest.raises(InputError, match="has two axes"):
            plots.draw({"a": run}, "delay-throughput", metrics=["srtt"])


class TestPrint:
    @pytest.mark.parametrize("columns", [1, 2])
    def test_font_sizes(self, make_run: MakeRun, columns: int) -> None:
        """No text is smaller than 7 pt in the width of a paper's column."""
        run = make_run(SCENARIO, [5, 3, 2])
        figure: Figure = plots.draw({"a": run, "b": run}, "time-series", columns=columns)
        figure.draw_without_rendering()
        texts: list[Any] = figure.findobj(Text)
        assert min(text.get_fontsize() for text in texts) >= 7
        assert {1: 3.33, 2: 7.0}[columns] == figure.get_figwidth()

    def test_grey(self, make_run: MakeRun) -> None:
        """Lines of different labels differ in their style, not only in colour."""
        run = make_run(SCENARIO, [5, 3, 2])
        (axes,) = plots.draw({"a": run, "b": run}, "time-series", by="flow").axes
        assert 6 == len({line.get_label() for line in axes.lines})
        drawn: list[Any] = list(axes.lines)
        dashes = {str(line._unscaled_dash_pattern) for line in drawn}
        assert 6 == len(dashes)

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"kind": "pie"}, "as is 'pie'"),
            ({"kind": "cdf", "metrics": ["speed"]}, "metric is 'speed'"),
            ({"kind": "cdf", "by": "cca"}, "by is 'cca'"),
            ({"kind": "cdf", "columns": 3}, "columns is 3"),
            ({"kind": "time-series", "metrics": ["fct"]}, "metric is 'fct'"),
        ],
    )
    def test_bad_input(self, make_run: MakeRun, settings: dict[str, Any], words: str) -> None:
        """Errors name the setting and what is allowed."""
        with pytest.raises(InputError, match=words):
            plots.draw({"a": make_run(SCENARIO, [5, 3, 2])}, **settings)
        with pytest.raises(InputError, match="one run or more"):
            plots.draw({}, "cdf")
