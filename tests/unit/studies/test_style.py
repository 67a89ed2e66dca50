# SPDX-License-Identifier: Apache-2.0
"""Figures of studies in the style of a paper."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.text import Text

from ccbench.base.figures import Figure
from ccbench.studies.style import finished, style


@pytest.fixture
def figure() -> Figure:
    """Give a large figure of two panels with two lines each, and legends in both."""
    with style():
        figure = Figure(figsize=(12, 4), layout="constrained")
        for axes in figure.subplots(1, 2):
            axes.plot([0, 1, 2], [0, 1, 2], label="bbr")
            axes.plot([0, 1, 2], [2, 1, 0], label="cubic")
            axes.set_xlabel("the round-trip time of the path without queues in milliseconds")
            axes.legend(fontsize=4)
        return finished(figure)


def test_width(figure: Figure) -> None:
    """Panels side by side take the width of a page, and a single panel that of a column."""
    assert 7 == figure.get_size_inches()[0]
    alone = Figure(figsize=(9, 5))
    alone.subplots()
    assert 3.5 == finished(alone).get_size_inches()[0]


def test_readable(figure: Figure) -> None:
    """No text is smaller than 7 pt, and no label leaves the figure."""
    figure.draw_without_rendering()
    texts: list[Any] = figure.findobj(Text)
    sizes = [text.get_fontsize() for text in texts]
    assert 7 <= min(sizes) <= max(sizes) <= 8
    width, height = figure.bbox.size
    for axes in figure.axes:
        box = axes.xaxis.label.get_window_extent()
        assert 0 <= box.x0 <= box.x1 <= width
        assert 0 <= box.y0 <= box.y1 <= height


def test_turned_names() -> None:
    """Turned names along the horizontal axis take none of the panel's height."""
    heights = []
    for degrees in (0, 30):
        figure = Figure()
        axes = figure.subplots()
        axes.set_xticks([0, 1], ["a long name of a link", "another one"], rotation=degrees)
        heights.append(finished(figure).get_size_inches()[1])
    assert heights[1] > heights[0] + 0.3


def test_legend(figure: Figure) -> None:
    """Equal legends become one, which covers no panel."""
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert ["bbr", "cubic"] == [text.get_text() for text in legend.get_texts()]
    assert all(axes.get_legend() is None for axes in figure.axes)
    assert all(legend.get_window_extent().y1 <= axes.bbox.y0 for axes in figure.axes)


def test_legend_and_common_label() -> None:
    """A common legend and a common label of the horizontal axis do not cover each other."""
    figure = Figure(figsize=(9, 3), layout="constrained")
    for axes in figure.subplots(1, 2):
        axes.plot([0, 1], [0, 1], label="bbr")
        axes.legend()
    label = figure.supxlabel("round-trip time (ms)")
    finished(figure).draw_without_rendering()
    (legend,) = figure.legends
    assert not legend.get_window_extent().overlaps(label.get_window_extent())


def test_legends_that_disagree() -> None:
    """If panels use one colour for two names, each keeps its legend, below its axis's label."""
    with style():
        figure = Figure(figsize=(12, 4), layout="constrained")
        for axes, name in zip(figure.subplots(1, 2), ("10 ms", "100 ms"), strict=True):
            axes.plot([0, 1], [0, 1], label=name)
            axes.set_xlabel("the round-trip time of the path without queues in milliseconds")
            axes.legend()
        finished(figure)
    figure.draw_without_rendering()
    assert [] == figure.legends
    for axes in figure.axes:
        legend = axes.get_legend()
        assert legend is not None
        assert 1 <= axes.get_xlabel().count("\n")
        assert legend.get_window_extent().y1 <= axes.xaxis.label.get_window_extent().y0


def test_grey(figure: Figure) -> None:
    """Lines of one panel differ without colours: solid ones by style, circles by marker."""
    styles = [line.get_linestyle() for line in figure.axes[0].lines]
    assert 2 == len(set(styles))
    with style():
        other = Figure()
        axes = other.subplots()
        for i in range(3):
            axes.plot([0, 1], [i, i + 1], "o-")
        finished(other)
    assert 3 == len({line.get_marker() for line in axes.lines})
    assert {"-"} == {line.get_linestyle() for line in axes.lines}
