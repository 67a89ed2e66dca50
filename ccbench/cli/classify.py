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
from ccbench.cli._options import json_option, positive

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
@click.option(
    "--smooth",
    type=positive,
    metavar="SECONDS",
    help="Smooth traces, also those of the training set: time constant of a moving average.",
)
@click.option(
    "--bridge",
    type=positive,
    metavar="SECONDS",
    help="Draw straight lines over pauses of the application: where the queue is empty and nothing "
    "arrives for longer than this. Must be longer than a round trip, such as 0.5.",
)
@json_option
def classify(
    *,
    files: tuple[Path, ...],
    setting_name: str | None,
    training: Path | None,
    smooth: float | None,
    bridge: float | None,
    as_json: bool,
) -> None:
    """Say which congestion control made these queues.

    FILE is a record of a bottleneck's queue of one server: the folder of a run (`ccbench run -o`)
    or of a command (`ccbench shell -o`), a log of mm-link, a CSV file with the columns time_s and
    occupancy_packets, or two captures, BEFORE.pcap AFTER.pcap, of what arrived at the queue and
    what left it. Each has a vote.
    """
    from ccbench.classify.filters import Filters
    from ccbench.classify.recording import read_all
    from ccbench.classify.setting import Setting
    from ccbench.classify.training_set import PACKAGED, TrainingSet
    from ccbench.classify.verdict import judge

    known = TrainingSet.load(training if training is not None else PACKAGED)
    setting = None if setting_name is None else Setting.named(setting_name)
    filters = Filters(smooth_s=smooth, bridge_s=bridge)
    recordings = read_all(files, setting, known.settings)
    traces = [(one.setting, filters.trace(one.events)) for one in recordings]
    verdict = judge(traces, filters.known(known, {one.setting for one in recordings}))
    if as_json:
        print_json({"files": [str(file) for file in files], **verdict.to_dict()})
        return
    _print([one.name for one in recordings], verdict)


def _print(names: Sequence[str], verdict: Verdict) -> None:
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
                name,
                vote.setting.name,
                vote.label,
                f"{vote.distance:.2f}",
                vote.nearest,
                "-" if math.isinf(vote.second_distance) else f"{vote.second_distance:.2f}",
                vote.second,
                f"{vote.threshold:.2f}",
            ]
            for name, vote in zip(names, verdict.traces, strict=True)
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
