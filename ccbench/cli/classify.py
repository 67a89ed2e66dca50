# SPDX-License-Identifier: Apache-2.0
"""``ccbench classify`` and ``ccbench classify-train``."""

from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ccbench._progress import progress
from ccbench.cli._console import print_json, print_pairs, print_table
from ccbench.cli._options import json_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ccbench.classify.training import Sample, Variation
    from ccbench.classify.verdict import Verdict

__all__ = ["classify", "classify_train"]


@click.command()
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--setting",
    "setting_name",
    metavar="NAME",
    help="Where the files were recorded, such as 5bw-85rtt-64q: Mbit/s, ms and packets. Runs know "
    "it themselves.",
)
@click.option(
    "--training",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A training set of one's own (`ccbench classify-train`).",
)
@json_option
def classify(
    *, files: tuple[Path, ...], setting_name: str | None, training: Path | None, as_json: bool
) -> None:
    """Say which congestion control made these queues.

    FILE is a record of a bottleneck's queue of one server: the folder of a run (`ccbench run -o`)
    or of a command (`ccbench shell -o`), a log of mm-link, or a CSV file with the columns time_s
    and occupancy_packets. Each has a vote.
    """
    from ccbench.classify.occupancy import occupancy
    from ccbench.classify.recording import read
    from ccbench.classify.setting import Setting
    from ccbench.classify.training_set import PACKAGED, TrainingSet
    from ccbench.classify.verdict import judge

    known = TrainingSet.load(training if training is not None else PACKAGED)
    setting = None if setting_name is None else Setting.named(setting_name)
    recordings = [read(file, setting, known.settings) for file in files]
    traces = [(one.setting, occupancy(one.events)) for one in recordings]
    verdict = judge(traces, known)
    if as_json:
        print_json({"files": [str(file) for file in files], **verdict.to_dict()})
        return
    _print(files, verdict)


def _print(files: tuple[Path, ...], verdict: Verdict) -> None:
    print_table(
        [
            "file",
            "setting",
            "vote",
            "nearest\npackets",
            "",
            "second\npackets",
            "",
            "limit\npackets",
        ],
        [
            [
                file.name,
                vote.setting.name,
                vote.label,
                f"{vote.distance:.2f}",
                vote.nearest,
                "-" if math.isinf(vote.second_distance) else f"{vote.second_distance:.2f}",
                vote.second,
                f"{vote.threshold:.2f}",
            ]
            for file, vote in zip(files, verdict.traces, strict=True)
        ],
    )
    click.echo(f"congestion control: {verdict.label}")


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
    "--setting",
    "setting_names",
    multiple=True,
    metavar="NAME",
    help="Where to observe, such as 5bw-85rtt-64q; may be repeated.  [default: the thesis's four, "
    "and one for servers that are far away]",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Runs of each congestion control in each setting and variation.",
)
def classify_train(
    *, output: Path, more_ccas: tuple[str, ...], setting_names: tuple[str, ...], samples: int
) -> None:
    """Make the training set that `ccbench classify` compares with.

    The virtual kernel runs each congestion control in each setting, several times with what
    differs between servers. Runs that were made before come out of the store.
    """
    from ccbench.classify.setting import LOW_RATE, SETTINGS, Setting
    from ccbench.classify.training import CCAS, TESTED_VARIATIONS, VARIATIONS, collect
    from ccbench.classify.training_set import train
    from ccbench.emulate import get_engine

    engine = get_engine("kernel")
    ccas = (*CCAS, *more_ccas)
    settings = tuple(map(Setting.named, dict.fromkeys(setting_names))) or (*SETTINGS, LOW_RATE)
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
                f"{one.false_unknown:.1%}",
                f"{one.false_known:.1%}",
            ]
            for name, one in thresholds.items()
        ],
    )
    print_pairs({"traces": str(len(known.samples)), "kept in": str(output)})
