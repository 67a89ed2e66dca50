# SPDX-License-Identifier: Apache-2.0
"""Style of the figures of studies: those of a paper, in its column width.

Studies draw panels at any size. :func:`concluded` draws them in the colours of Okabe and Ito, which
colour-blind readers can tell apart, and sets the width of one or two columns and texts of at least
7 pt, tells lines apart in grey too, and moves legends out of the panels, where they may cover data.
"""

from __future__ import annotations

from contextlib import contextmanager
from math import radians, sin
from textwrap import fill
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.rcsetup import cycler
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation

from ccbench import plots

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.transforms import Transform

    from ccbench.base.figures import Figure
    from ccbench.studies.study import AnyStudy, Findings

__all__ = ["concluded", "finished", "save_figure", "style"]

#: Colours in the order of matplotlib's own: blue, orange, green, red, and so on.
_COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#000000", "#999999"),
    *("#882255", "#b8a500"),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES: Any = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
#: Widths of one and of two columns, and the least height of a row of panels.
_COLUMN_INCHES, _PAGE_INCHES, _ROW_INCHES = 3.5, 7.0, 2.1
_POINTS, _LEAST_POINTS = 8, 7
#: The share of a panel's size along which its axes extend.
_SHARE_OF_PANEL = 0.75
#: Most characters in a line of a name along a vertical axis.
_NAME_CHARACTERS = 48
#: Height of a line of text, and of the numbers and the label of a horizontal axis.
_LINE_INCHES, _LABELS_INCHES = 0.12, 0.4
#: Size of an entry of a legend: its line, a character of its name, and a row.
_HANDLE_INCHES, _CHARACTER_INCHES, _ROW_OF_LEGEND_INCHES = 0.5, 0.062, 0.17


@contextmanager
def style() -> Iterator[None]:
    """Draw with the style of studies in the block.

    Examples
    --------
    >>> from ccbench.base.figures import Figure
    >>> with style():
    ...     (line,) = Figure().subplots().plot([1, 2])
    >>> line.get_color()
    '#0072b2'
    """
    settings: Any = {
        "axes.prop_cycle": cycler(color=_COLOURS),
        "font.size": _POINTS,
        "axes.titlesize": _POINTS,
        "lines.linewidth": 1.2,
        "lines.markersize": 3.5,
    }
    with mpl.rc_context(settings):
        yield


def concluded(study: AnyStudy, results: Any) -> Findings:
    """Return the findings of a study, with figures in this style.

    Parameters
    ----------
    study : Study, SearchStudy, SimulationStudy or ModelStudy
    results : DataFrame, or sequence of SearchResult
        The argument of the study's ``conclude``.

    Examples
    --------
    >>> import pandas as pd
    >>> from ccbench import studies
    >>> study = studies.get("bfc-c.1")
    >>> findings = concluded(study, pd.DataFrame(study.rows(quick=True)))
    >>> float(findings.figure.get_size_inches()[0])
    3.5
    """
    with style():
        findings = study.conclude(results)
        for figure in (findings.figure, *findings.more_figures.values()):
            finished(figure)
    return findings


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure of :func:`concluded`, whose colours are those of the style."""
    with style():
        plots.save(figure, path)


def finished(figure: Figure) -> Figure:
    """Set a figure in the width of a paper's column or page; return it.

    Parameters
    ----------
    figure : Figure
        Changed in place. With several panels side by side, or long names along a vertical axis, it
        is as wide as a page.

    Examples
    --------
    >>> from ccbench.base.figures import Figure
    >>> figure = Figure(figsize=(8, 4))
    >>> _ = figure.subplots().plot([1, 2], label="bbr")
    >>> finished(figure).get_size_inches().tolist()
    [3.5, 2.1]
    """
    panels = [axes for axes in figure.axes if axes.get_subplotspec() is not None]
    if not panels or figure.subfigs:
        return figure
    grids = [axes.get_subplotspec().get_gridspec() for axes in panels]  # type: ignore[union-attr]
    columns, rows = max(grid.ncols for grid in grids), max(grid.nrows for grid in grids)
    width, height = figure.get_size_inches()
    longest, names_inches = (max(sizes) for sizes in zip(*map(_wrap_names, panels), strict=True))
    is_wide = columns > 1 or longest * _CHARACTER_INCHES > _COLUMN_INCHES / 2
    own = _PAGE_INCHES if is_wide else _COLUMN_INCHES
    for axes in figure.axes:
        _tell_apart(axes)
    for axes in panels:
        _wrap(axes, own / columns, max(height * own / width / rows, _ROW_INCHES))
    legend_inches = _move_legends(figure, own)
    row_inches = max(height * own / width / rows, _ROW_INCHES, names_inches)
    row_inches += max(map(_slanted_inches, panels))
    figure.set_size_inches(own, rows * row_inches + legend_inches)
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_fontsize(min(_POINTS, max(_LEAST_POINTS, text.get_fontsize())))
    return figure


def _wrap_names(axes: Axes) -> tuple[int, float]:
    """Break long names along the vertical axis.

    Returns
    -------
    tuple
        Number of characters of the longest line, and the height in inches of a panel in which
        broken names do not overlap.
    """
    names = [text.get_text() for text in axes.get_yticklabels()]
    wrapped = [fill(name, _NAME_CHARACTERS) for name in names]
    lines = [name.splitlines() for name in wrapped]
    longest = max((len(line) for each in lines for line in each), default=0)
    if wrapped == names:
        return longest, 0.0
    axes.set_yticks(axes.get_yticks(), wrapped)
    return longest, max(map(len, lines)) * len(lines) * _LINE_INCHES + _ROW_INCHES


def _slanted_inches(axes: Axes) -> float:
    """Return the height of names along the horizontal axis that are turned."""
    labels = axes.get_xticklabels()
    return max((_height_inches(label) for label in labels if label.get_rotation()), default=0.0)


def _height_inches(text: Text) -> float:
    return _CHARACTER_INCHES * len(text.get_text()) * sin(radians(text.get_rotation()))


def _wrap(axes: Axes, width: float, height: float) -> None:
    """Break the labels and the title of a panel of a size in inches."""
    for inches, text in (
        (_SHARE_OF_PANEL * width, axes.xaxis.label),
        (_SHARE_OF_PANEL * height, axes.yaxis.label),
        (width, axes.title),
    ):
        text.set_text(fill(text.get_text(), max(12, int(inches / _CHARACTER_INCHES))))


def _tell_apart(axes: Axes) -> None:
    """Give lines of different colours different markers or, if all are solid, line styles."""
    lines = [line for line in axes.lines if len(line.get_xydata()) > 1]  # type: ignore[arg-type]
    numbers: dict[object, int] = {}
    for line in lines:
        numbers.setdefault(line.get_color(), len(numbers))
    if len(numbers) < 2:  # noqa: PLR2004 - nothing to tell apart
        return
    is_plain = all(line.get_linestyle() == "-" and not _has_marker(line) for line in lines)
    for line in lines:
        number = numbers[line.get_color()]
        if line.get_marker() == "o":
            line.set_marker(_MARKERS[number % len(_MARKERS)])
        elif is_plain:
            line.set_linestyle(_LINES[number % len(_LINES)])


def _has_marker(line: Line2D) -> bool:
    return line.get_marker() not in {"", " ", "None", None}


def _move_legends(figure: Figure, width: float) -> float:
    """Move legends out of the panels: a common one below or above all, or one below each.

    Returns
    -------
    float
        The height that they take in inches.
    """
    own = {axes: _entries(axes) for axes in figure.axes if axes.get_legend() is not None}
    titles = {axes: axes.get_legend().get_title().get_text() for axes in own}  # type: ignore[union-attr]
    rows = 0
    if _agree(list(own.values())) and len(set(titles.values())) == 1:
        entries = {name: handle for each in own.values() for name, handle in each.items()}
        for axes in own:
            axes.get_legend().remove()  # type: ignore[union-attr]
        columns = _columns(entries, width)
        figure.legend(
            list(entries.values()),
            list(entries),
            title=next(iter(titles.values())) or None,
            # Below, it would cover a common label of the horizontal axis.
            loc="outside upper center" if figure.get_supxlabel() else "outside lower center",
            ncols=columns,
            frameon=False,
        )
        return _ROW_OF_LEGEND_INCHES * (-(-len(entries) // columns) + any(titles.values()))
    for axes, entries in own.items():
        columns = _columns(entries, width / axes.get_subplotspec().get_gridspec().ncols)  # type: ignore[union-attr]
        rows = max(rows, -(-len(entries) // columns))
        axes.legend(
            list(entries.values()),
            list(entries),
            title=titles[axes] or None,
            loc="upper center",
            bbox_to_anchor=(0.5, 0),
            bbox_transform=axes.transAxes + _below_labels(axes, figure),
            ncols=columns,
            frameon=False,
        )
    return _ROW_OF_LEGEND_INCHES * rows


def _below_labels(axes: Axes, figure: Figure) -> Transform:
    """Return the shift from the lower edge of a panel to below its ticks and label."""
    inches = _LABELS_INCHES + _LINE_INCHES * axes.get_xlabel().count("\n")
    return ScaledTranslation(0, -inches, figure.dpi_scale_trans)


def _entries(axes: Axes) -> dict[str, Any]:
    """Return the entries of a legend by name, with the artists of the panel if it has them."""
    legend = axes.get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    artists, labels = axes.get_legend_handles_labels()
    return dict(zip(names, artists if labels == names else legend.legend_handles, strict=True))


def _agree(legends: list[dict[str, Any]]) -> bool:
    """Return whether each name has one look in all legends, and each look one name."""
    looks: dict[str, object] = {}
    for entries in legends:
        for name, handle in entries.items():
            if looks.setdefault(name, _look(handle)) != _look(handle):
                return False
    return bool(legends) and len(set(looks.values())) == len(looks)


def _columns(entries: Any, width: float) -> int:
    """Return how many entries fit beside each other."""
    longest = max(map(len, entries))
    fitting = int(width / (_HANDLE_INCHES + _CHARACTER_INCHES * longest))
    return max(1, min(len(entries), fitting))


def _look(artist: Any) -> object:
    """Return colour and marker of an entry of a legend."""
    parts = (getattr(artist, "get_children", list)() or [artist])[:1]
    getters = ("get_color", "get_facecolor", "get_marker", "get_linestyle", "get_hatch")
    return str([getattr(part, name)() for part in parts for name in getters if hasattr(part, name)])
