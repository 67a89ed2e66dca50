# SPDX-License-Identifier: Apache-2.0
"""Figures of a report, embedded in its page and as files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from ccbench import plots
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

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ccbench.base.figures import Figure
    from ccbench.raygen.analysis.predictor import Predictor
    from ccbench.raygen.result import SearchResult

__all__ = ["FIGURES", "Picture", "Pictures", "course_pictures", "landscape_pictures"]

#: Folder of the figures, beside the page.
FIGURES = "figures"
_FORMATS = (".svg", ".png")


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure embedded in the page."""

    svg: Markup
    caption: str


class Pictures:
    """Writer of figures, to files and for the page."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: list[Path] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            allowed = "in a writable folder"
            raise validation.bad("output", str(folder), allowed, explain(error)) from error

    def add(self, name: str, figure: Figure, caption: str) -> Picture:
        """Write a figure to files, and return it for the page."""
        paths = [self._folder / f"{name}{suffix}" for suffix in _FORMATS]
        for path in paths:
            plots.save(figure, path)
            figure.set_layout_engine(None)  # the layout is computed once
        self.files += paths
        svg = paths[0].read_text(encoding="utf-8")
        svg = svg[svg.index("<svg") :]  # without the XML prologue
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        # Names must be unique within the page.
        svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
        title = Markup.escape(caption.partition(".")[0])
        svg = svg.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
        return Picture(svg=Markup(svg), caption=caption)  # noqa: S704 - matplotlib has escaped it


def course_pictures(
    result: SearchResult, others: Mapping[str, SearchResult], pictures: Pictures
) -> list[Picture]:
    """Draw the progress of the search, beside that of other searches."""
    beside = "each search" if others else "the search"
    worst = len(result.worst(SHOWN))
    counted = "up to 20" if others else f"the {worst}"
    return [
        pictures.add(
            "progress",
            progress_figure(result, others),
            "Greatest harm so far by generation and by experiment. Points are single experiments; "
            "the 90th percentile is that of all experiments so far.",
        ),
        pictures.add(
            "top",
            top_figure(result, others),
            f"Distribution of harm in the most harmful networks of {beside}: harm increases to the "
            "right. The legend gives the number of networks.",
        ),
        pictures.add(
            "distances",
            distances_figure(result, others),
            f"Diversity: distances between all pairs of {counted} most harmful networks of "
            f"{beside}. Diversity increases to the right. The legend gives the number of pairs.",
        ),
    ]


def landscape_pictures(
    result: SearchResult,
    pairs: Sequence[tuple[str, str]],
    predictor: Predictor,
    pictures: Pictures,
) -> list[Picture]:
    """Draw the most harmful networks, and a heat map of harm for each pair of genes."""
    config = result.config
    genes = {gene.name: gene for gene in config.space.genes}
    drawn = [
        pictures.add(
            "parallel",
            parallel_figure(result),
            f"The {len(result.worst(SHOWN))} most harmful networks. Each line is a network and "
            "crosses the axes at its values; all other networks are grey. Whole numbers are spread "
            "slightly to separate the lines.",
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
