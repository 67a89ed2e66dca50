# SPDX-License-Identifier: Apache-2.0
"""Figures of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

    from ccbench.pages import Picture, Pictures
    from ccbench.raygen.analysis.predictor import Predictor
    from ccbench.raygen.result import SearchResult

__all__ = ["course_pictures", "landscape_pictures"]


def course_pictures(
    result: SearchResult, others: Mapping[str, SearchResult], pictures: Pictures
) -> list[Picture]:
    """Draw the progress of the search, and that of other searches."""
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
