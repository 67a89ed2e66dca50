# SPDX-License-Identifier: Apache-2.0
"""``ccbench classify-train``."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ccbench._progress import progress
from ccbench.cli._console import print_pairs, print_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ccbench.classify.training import Sample, Variation

__all__ = ["classify_train"]


@click.command("classify-train")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="Where to write the training set.",
)
@click.option(
    "--cca",
    "more_ccas",
    multiple=True,
    metavar="NAME",
    help="Another congestion control besides those of Linux, such as a module; may be repeated.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Runs of each congestion control in each setting and variation.",
)
def classify_train(*, output: Path, more_ccas: tuple[str, ...], samples: int) -> None:
    """Make the training set that `ccbench classify` compares with.

    The virtual kernel runs each congestion control in each setting, several times with what
    differs between servers. Runs that were made before come out of the store.
    """
    from ccbench.classify.setting import LOW_RATE, SETTINGS
    from ccbench.classify.training import CCAS, TESTED_VARIATIONS, VARIATIONS, collect
    from ccbench.classify.training_set import train
    from ccbench.emulate import get_engine

    engine = get_engine("kernel")
    ccas, settings = (*CCAS, *more_ccas), (*SETTINGS, LOW_RATE)
    sets = ((VARIATIONS, range(1, samples + 1)), (TESTED_VARIATIONS, (0,)))
    total = len(ccas) * len(settings) * sum(len(kinds) * len(seeds) for kinds, seeds in sets)
    with progress("{task.completed:.0f} of {task.total:.0f} runs") as bar:
        task = bar.add_task("observing", total=total)

        def observed(variations: Sequence[Variation], seeds: Sequence[int]) -> Iterator[Sample]:
            with closing(collect(ccas, settings, variations, seeds, engine=engine)) as runs:
                for sample in runs:
                    bar.advance(task)
                    yield sample

        learnt, tested = (tuple(observed(variations, tuple(s))) for variations, s in sets)
    known = train(learnt, tested, engine.provenance())
    known.save(output)
    thresholds = {one.name: threshold for one, threshold in known.thresholds.items()}
    print_table(
        [
            "setting",
            "limit\npackets",
            "quantile",
            "known ones\ncalled unknown",
            "unknown ones\ncalled known",
        ],
        [
            [
                name,
                f"{one.distance:.2f}",
                f"{one.quantile:.2f}",
                f"{one.false_unknown:.1%}",
                f"{one.false_known:.1%}",
            ]
            for name, one in thresholds.items()
        ],
    )
    print_pairs({"traces": str(len(known.samples)), "kept in": str(output)})
