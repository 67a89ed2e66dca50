# SPDX-License-Identifier: Apache-2.0
"""``ccbench classify-train``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ccbench.base import validation
from ccbench.base.progress_bars import progress
from ccbench.cli._console import print_pairs, print_table
from ccbench.cli._options import check_ccas, check_folder_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.classify.setting import Setting
    from ccbench.classify.training_set import TrainingSet

__all__ = ["classify_train"]


@click.command("classify-train", short_help="Make a training set for `ccbench classify`.")
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
    "--setting",
    "setting_names",
    multiple=True,
    metavar="NAME",
    help="Where to observe, such as 5bw-85rtt-64q; may be repeated.  [default: the thesis's four, "
    "and one for servers that are far away]",
)
@click.option(
    "--recorded",
    multiple=True,
    metavar="CCA=FILE",
    help="What was recorded of a congestion control, in all forms that `ccbench classify` reads; "
    "may be repeated, as for the second of two captures. Without --cca, it is added to what is "
    "known already.",
)
@click.option(
    "--training",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Add to this training set in place of ccbench's own.",
)
@click.option(
    "--samples",
    type=click.IntRange(1, 10_000),
    default=2,
    show_default=True,
    help="Runs of each congestion control in each setting and variation.",
)
def classify_train(
    *,
    output: Path,
    more_ccas: tuple[str, ...],
    setting_names: tuple[str, ...],
    recorded: tuple[str, ...],
    training: Path | None,
    samples: int,
) -> None:
    """Make the training set that `ccbench classify` compares with.

    The virtual kernel runs each congestion control in each setting, several times with what
    differs between servers. Runs that were made before come out of the store. Recordings of
    servers can be added, as of those that `ccbench classify-cluster` finds alike:

    \b
        ccbench classify-train -o mine.parquet --recorded new=servers/example.com
    """  # noqa: D301 - click wants this sign itself
    from ccbench.classify.setting import LOW_RATE, SETTINGS, Setting
    from ccbench.classify.training import CCAS
    from ccbench.classify.training_set import PACKAGED, TrainingSet, extended

    check_folder_of(output)
    settings = tuple(map(Setting.named, dict.fromkeys(setting_names)))
    if training is not None and (more_ccas or not recorded):
        allowed = "left out, unless there is --recorded and no --cca"
        raise validation.bad("--training", str(training), allowed, "name what to add to it")
    if more_ccas or not recorded:
        check_ccas(*(("--cca", name) for name in more_ccas))
        known = _observed((*CCAS, *more_ccas), settings or (*SETTINGS, LOW_RATE), samples)
    else:
        known = TrainingSet.load(training or PACKAGED)
    if recorded:
        from ccbench.classify.samples import recorded_samples

        if len(settings) > 1:
            given, step = [setting.name for setting in settings], "add one after the other"
            raise validation.bad("--setting", given, "one, with --recorded", step)
        setting = next(iter(settings), None)
        known = extended(known, recorded_samples(_files(recorded), setting, known.settings))
    known.save(output)
    _print(known, output)


def _observed(ccas: Sequence[str], settings: Sequence[Setting], samples: int) -> TrainingSet:
    """Let the virtual kernel make a training set."""
    from ccbench.classify.samples import train_on_runs

    with progress("{task.completed:.0f} of {task.total:.0f} runs") as bar:
        task = bar.add_task("observing", total=1)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        return train_on_runs(ccas, settings, samples, on_progress=show)


def _files(recorded: Sequence[str]) -> dict[str, list[Path]]:
    """Return the files of each congestion control."""
    files: dict[str, list[Path]] = {}
    for text in recorded:
        cca, _, path = text.partition("=")
        if not cca or not path:
            allowed = "the name of a congestion control and a file, such as new=queue.csv"
            raise validation.bad("--recorded", text, allowed, "write it like that")
        files.setdefault(cca, []).append(Path(path))
    return files


def _print(known: TrainingSet, output: Path) -> None:
    def percent(share: float) -> str:
        return "not measured" if math.isnan(share) else f"{share:.1%}"

    thresholds = {one.name: threshold for one, threshold in known.thresholds.items()}
    print_table(
        [
            "setting",
            "limits\npackets",
            "quantile",
            "known ones\ncalled unknown",
            "unknown ones\ncalled known",
        ],
        [
            [
                name,
                f"{min(one.limits.values()):.2f} to {max(one.limits.values()):.2f}",
                f"{one.quantile:.2f}",
                percent(one.false_unknown),
                percent(one.false_known),
            ]
            for name, one in thresholds.items()
        ],
    )
    print_pairs({"traces": str(len(known.samples)), "kept in": str(output)})
