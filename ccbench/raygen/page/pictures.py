# SPDX-License-Identifier: Apache-2.0
"""The figures of a report: within its page, and as files beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from ccbench.base import validation
from ccbench.base.os_errors import explain
from ccbench.raygen.figures import (
    distances_figure,
    heat_map_figure,
    parallel_figure,
    progress_figure,
    top_figure,
)
from ccbench.raygen.figures.style import SHOWN
from ccbench.raygen.page.tables import title_of
from ccbench.run import plots

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from ccbench.raygen.analysis.predictor import Predictor
    from ccbench.raygen.result import SearchResult

__all__ = ["FIGURES", "Picture", "Pictures", "course_pictures", "landscape_pictures"]

#: The folder of the figures, beside the page.
FIGURES = "figures"
_FORMATS = (".svg", ".png")


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure within the page."""

    svg: Markup
    caption: str


class Pictures:
    """Writes figures to files, and gives them for the page."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: list[Path] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            allowed = "where a folder can be written"
            raise validation.bad("output", str(folder), allowed, explain(error)) from error

    def add(self, name: str, figure: Figure, caption: str) -> Picture:
        """Write a figure; return it for the page."""
        written = [self._folder / f"{name}{suffix}" for suffix in _FORMATS]
        for path in written:
            plots.save(figure, path)
        self.files += written
        svg = written[0].read_text(encoding="utf-8")
        svg = svg[svg.index("<svg") :]  # without the prologue of a file
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        # A page has each name once.
        svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
        title = Markup.escape(caption.partition(".")[0])
        svg = svg.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
        return Picture(svg=Markup(svg), caption=caption)  # noqa: S704 - matplotlib has escaped it


def course_pictures(
    result: SearchResult, others: Mapping[str, SearchResult], pictures: Pictures
) -> list[Picture]:
    """Draw how the search went; with others, beside them."""
    beside = "each search" if others else "the search"
    worst = len(result.worst(SHOWN))
    counted = "up to 20" if others else f"the {worst}"
    return [
        pictures.add(
            "progress",
            progress_figure(result, others),
            "Harm found so far, by generations and by experiments. The points are single "
            "experiments; the 90th percentile is that of all experiments so far.",
        ),
        pictures.add(
            "top",
            top_figure(result, others),
            f"Harm in the most harmful networks of {beside}, as distribution functions: the "
            "further to the right, the more harm. Behind the colon, how many networks.",
        ),
        pictures.add(
            "distances",
            distances_figure(result, others),
            f"Diversity: distances between each two of {counted} most harmful networks of "
            f"{beside}. The further to the right, the less alike they are. Behind the colon, how "
            "many pairs.",
        ),
    ]


def landscape_pictures(
    result: SearchResult,
    pairs: Sequence[tuple[str, str]],
    predictor: Predictor,
    pictures: Pictures,
) -> list[Picture]:
    """Draw where harm is: the most harmful networks, then a heat map for each pair of genes."""
    config = result.config
    genes = {gene.name: gene for gene in config.space.genes}
    drawn = [
        pictures.add(
            "parallel",
            parallel_figure(result),
            f"The {len(result.worst(SHOWN))} most harmful networks. Each line is one, and crosses "
            "the axes at its values; all others are grey. Whole numbers are spread a little, or "
            "lines would hide each other.",
        )
    ]
    for x, y in pairs:
        across, up = (title_of(config, genes[name])[0] for name in (x, y))
        drawn.append(
            pictures.add(
                f"heatmap-{x}-{y}",
                heat_map_figure(result, x, y, predictor),
                f"Harm over {across} and {up}.",
            )
        )
    return drawn
