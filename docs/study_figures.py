# SPDX-License-Identifier: Apache-2.0
"""Draw the figures of the studies' pages from the studies' results: part of ``make pages``.

``studies/results/NAME.json`` gives the numbers of :func:`agreement`, and ``NAME.csv``, where it is
stored, the figure of the study, with the style of today and without running anything. A table must
have the digest in the JSON file, so that figures and numbers are of the same runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ccbench import studies
from ccbench.base.figures import Figure
from ccbench.base.sealed import file_digest
from ccbench.studies.style import concluded, finished, save_figure, style

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["IMAGES", "TABLES", "agreement", "agreement_name", "draw", "numbers_of"]

IMAGES = Path(__file__).with_name("images") / "studies"
TABLES = Path(__file__).with_name("studies") / "results"

#: The drawn part of the axis, in widths of the range of numbers that agree.
_LEAST, _MOST = -2.0, 3.0
#: Colours of the style, and markers, by verdict.
_LOOKS: Mapping[str, Mapping[str, Any]] = {
    "agrees": {"color": "C0", "marker": "o"},
    "differs": {"color": "C3", "marker": "D", "markerfacecolor": "none"},
}


def numbers_of(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the comparisons of a study with published numbers that have a range."""
    return [
        comparison
        for comparison in result["comparisons"]
        if comparison["kind"] == "number"
        and comparison["measured"] is not None
        and comparison["low"] is not None
        and comparison["high"] is not None
        and comparison["low"] < comparison["high"]
    ]


def agreement_name(page: str) -> str:
    """Return the name of the figure of a page's numbers."""
    return f"agreement-{page}"


def agreement(results: Iterable[Mapping[str, Any]]) -> Figure:
    """Draw each number of studies relative to the range of numbers that agree.

    A row is a study. 0 and 1 are the ends of the range by the rules of comparison; numbers beyond
    the axis are at its ends.
    """
    rows = [(result["study"], numbers_of(result)) for result in results]
    rows = [(name, numbers) for name, numbers in rows if numbers]
    with style():
        figure = Figure(figsize=(1, 0.1 + 0.05 * len(rows)), layout="constrained")
        axes = figure.subplots()
        axes.axvspan(0, 1, color="0.88", label="range of agreement")
        for row, (_, numbers) in enumerate(rows):
            for i, number in enumerate(numbers):
                # Numbers of one study are apart, so that equal ones can be counted.
                y = row + 0.5 * ((i + 0.5) / len(numbers) - 0.5)
                _draw(axes, number, y)
        for verdict, look in _LOOKS.items():
            axes.plot([], [], linestyle="none", label=verdict, **look)
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(_LEAST, _MOST)
        ticks = range(int(_LEAST), int(_MOST) + 1)
        first, *middle, last = [f"{tick}".replace("-", "\N{MINUS SIGN}") for tick in ticks]
        axes.set_xticks(ticks, [f"≤ {first}", *middle, f"≥ {last}"])
        axes.set_xlabel("place in the range of agreement")
        axes.grid(axis="y", alpha=0.3)
        axes.legend()
        return finished(figure)


def _draw(axes: Any, number: Mapping[str, Any], y: float) -> None:
    """Draw a number with its interval."""
    low, width = number["low"], number["high"] - number["low"]

    def place(value: float) -> float:
        return min(_MOST, max(_LEAST, (value - low) / width))

    look = _LOOKS["agrees" if number["verdict"] == "agrees" else "differs"]
    ends = number.get("interval")
    if ends is None and number["half_width"] is not None:
        ends = (
            number["measured"] - number["half_width"],
            number["measured"] + number["half_width"],
        )
    if ends is not None:
        axes.hlines(y, *map(place, ends), colors=look["color"], linewidth=0.6)
    axes.plot(place(number["measured"]), y, clip_on=False, **look)


def draw(of: Mapping[str, Mapping[str, Any]], pages: Mapping[str, Iterable[str]]) -> None:
    """Write all figures.

    Parameters
    ----------
    of : mapping
        The results of all studies by name.
    pages : mapping
        The studies of each page that has a figure of their numbers.
    """
    IMAGES.mkdir(exist_ok=True)
    for page, names in pages.items():
        figure = agreement(of[name] for name in names if name in of)
        for suffix in (".png", ".svg"):
            save_figure(figure, IMAGES / f"{agreement_name(page)}{suffix}")
    for csv in sorted(TABLES.glob("*.csv")):
        result = of[csv.stem]
        if file_digest(csv.read_bytes()) != result["files"][csv.name]:
            message = f"{csv.name} is not of the runs of {csv.stem}.json: copy both from one folder"
            raise ValueError(message)
        findings = concluded(studies.get(csv.stem), pd.read_csv(csv))
        for short, figure in {"": findings.figure, **findings.more_figures}.items():
            for suffix in (".png", ".svg"):
                save_figure(figure, IMAGES / f"{csv.stem}{short and '-'}{short}{suffix}")
