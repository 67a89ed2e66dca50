# SPDX-License-Identifier: Apache-2.0
"""The worst networks of a report, each with a figure and the commands that repeat it."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ccbench.base.errors import CcbenchError
from ccbench.raygen.figures import throughput_figure
from ccbench.raygen.selection import CLAIMED
from ccbench.raygen.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from ccbench.experiment.scenario import Scenario
    from ccbench.pages import Picture, Pictures
    from ccbench.raygen.config import SearchConfig
    from ccbench.raygen.result import SearchResult
    from ccbench.run.run import Run

__all__ = ["Card", "cards_of"]


@dataclass(frozen=True, kw_only=True)
class Card:
    """One of the worst networks."""

    rank: int
    title: str
    row: Mapping[str, Any]
    commands: Mapping[str, str]
    picture: Picture | None
    reason: str


def cards_of(
    result: SearchResult, folder: Path, run: Callable[[Scenario], Run], pictures: Pictures
) -> Iterator[Card]:
    """Yield the claims, or the worst networks of an unfinished search, which are run."""
    config = result.config
    confirmed = not result.claims.empty
    rows: Any = (result.claims if confirmed else result.worst(CLAIMED)).to_dict("records")
    for rank, row in enumerate(rows, start=1):
        experiment = result.claimed(rank) if confirmed else result.experiment(row["number"])
        title = result.describe(row["number"])
        picture, reason = None, row["error"]
        if not reason:
            try:
                timeline = result.timelines.get(rank) or Timeline.of(
                    config.maximised, experiment, *map(run, experiment.scenarios)
                )
            except CcbenchError as error:
                reason = f"Its throughput over time is missing: {error}"
            else:
                figure = throughput_figure(experiment, timeline, title=title)
                words = _timeline_words(config, experiment.seed, timeline.harm.relative)
                picture = pictures.add(f"worst-{rank}", figure, words)
        yield Card(
            rank=rank,
            title=title,
            row={
                "rank": rank,
                "found_harm": row["relative_harm"],
                "half_width": row.get("relative_harm_high", math.nan) - row["relative_harm"],
                **row,
            },
            commands={
                label: shlex.join(["ccbench", "run", str(path)])
                for label, path in (
                    ("together", folder / f"worst-{rank}.toml"),
                    (f"{config.beta} alone", folder / f"worst-{rank}-solo.toml"),
                )
                if path.is_file()
            },
            picture=picture,
            reason=reason,
        )


def _timeline_words(config: SearchConfig, seed: int, harm: float) -> str:
    return (
        f"Throughput over time in the run with seed {seed}, whose {config.harm_words} is "
        f"{harm:+.3f}. Thick lines are the sums over the flows of {config.alpha} and of "
        f"{config.beta}, thin lines single flows. The dotted line is {config.beta} alone, the "
        "dashed line its mean. Harm was measured over the shaded time."
    )
