# SPDX-License-Identifier: Apache-2.0
"""``ccbench classify-train``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ccbench.base import validation
from ccbench.cli._console import print_pairs, print_table
from ccbench.cli._options import (
    WorkersChoice,
    check_ccas,
    check_folder_of,
    engine_options,
    quantity,
    workers_options,
)
from ccbench.cli._plan import dry_run_option, print_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.classify.setting import Setting
    from ccbench.classify.training_set import TrainingSet
    from ccbench.cli._options import EngineChoice

__all__ = ["classify_train"]


@click.command("classify-train", short_help="Make a training set for `ccbench classify`.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="File of the training set.",
)
@click.option(
    "--cca",
    "more_ccas",
    multiple=True,
    metavar="NAME[=CCA, VARIANT]",
    help="CCA in addition to those of Linux, such as a module, or another implementation of one, "
    "such as 'mybic=bic, with my patch'; may be repeated.",
)
@click.option(
    "--setting",
    "setting_names",
    multiple=True,
    metavar="NAME",
    help="Bottleneck of the measurement, such as 5bw-85rtt-64q; may be repeated.  [default: the "
    "thesis's four, and one for distant servers]",
)
@click.option(
    "--recorded",
    multiple=True,
    metavar="CCA=FILE",
    help="Recorded queue of a CCA in any form that `ccbench classify` reads; may be repeated, as "
    "for the second of two captures. Without --cca, it is added to an existing training set.",
)
@click.option(
    "--only-recorded",
    is_flag=True,
    help="Make a training set of the recorded queues alone, at least two of each CCA in a setting.",
)
@click.option(
    "--training",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Training set to extend instead of the packaged one.",
)
@click.option(
    "--samples",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    help="Runs of each CCA in each setting and variation.",
)
@click.option(
    "--noisy",
    type=click.IntRange(0, 10_000),
    metavar="N",
    default=225,
    show_default=True,
    help="Random paths with loss and cross traffic, on which each CCA runs once in each setting.",
)
@click.option(
    "--networks",
    type=click.IntRange(0, 10_000),
    metavar="N",
    help="Random networks, on each of which each CCA runs once for a minute, for recordings of any "
    "part of a connection on any network.  [default: 170, and none with --setting or --noisy 0]",
)
@click.option(
    "--length",
    type=quantity("s"),
    metavar="SECONDS",
    help="Length of the traces; that of a training set cannot be changed.  [default: 20]",
)
@workers_options
@dry_run_option
@engine_options
def classify_train(
    *,
    output: Path,
    more_ccas: tuple[str, ...],
    setting_names: tuple[str, ...],
    recorded: tuple[str, ...],
    only_recorded: bool,
    training: Path | None,
    samples: int,
    noisy: int,
    networks: int | None,
    length: float | None,
    workers: WorkersChoice,
    dry_run: bool,
    engine: EngineChoice,
) -> None:
    """Create a training set for `ccbench classify`.

    The virtual kernel runs each CCA in each setting several times, varying what differs between
    servers. Stored runs are reused. Recordings of servers can be added, such as those of one
    cluster of `ccbench classify-cluster`:

    \b
        ccbench classify-train -o mine.parquet --recorded new=servers/example.com
    """  # noqa: D301 - click needs the backslash
    from ccbench.classify.filters import LEAST_S
    from ccbench.classify.implementation import IMPLEMENTATIONS, Implementation
    from ccbench.classify.occupancy import DURATION_S
    from ccbench.classify.setting import LOW_RATE, SETTINGS, Setting
    from ccbench.classify.training_set import PACKAGED, TrainingSet, extended
    from ccbench.classify.windows import N_NETWORKS

    check_folder_of(output)
    is_new = bool(more_ccas) or only_recorded or not recorded
    if length is not None and not is_new:
        allowed = "left out with --recorded, which extends a training set"
        raise validation.bad("--length", length, allowed, "leave it out, or add --only-recorded")
    if dry_run:
        _check_dry_run(workers, has_runs=is_new and not only_recorded)
    duration_s = DURATION_S if length is None else length
    validation.number("--length", duration_s, validation.Range(LEAST_S, 3600), example=20)
    settings = tuple(map(Setting.named, dict.fromkeys(setting_names)))
    files = _files(recorded)
    if recorded and len(settings) > 1:
        given, step = [setting.name for setting in settings], "add the settings one by one"
        raise validation.bad("--setting", given, "one setting with --recorded", step)
    if training is not None and (more_ccas or not recorded):
        allowed = "left out, unless there is --recorded and no --cca"
        raise validation.bad("--training", str(training), allowed, "add --recorded CCA=FILE")
    if only_recorded:
        result = _of_recordings(files, settings, more_ccas, training, duration_s)
        result.save(output)
        _print(result, output)
        return
    if is_new:
        named = [("--cca", Implementation.named(text).module) for text in more_ccas]
        if networks is None:
            networks = 0 if setting_names or not noisy else N_NETWORKS
        runner = engine.make(lambda engine: check_ccas(*named, engine=engine))
        check_ccas(*named, engine=runner)
        ccas = (*IMPLEMENTATIONS, *more_ccas)
        settings = settings or (*SETTINGS, LOW_RATE)
        options: dict[str, Any] = {
            "n_noisy": noisy,
            "n_networks": networks,
            "duration_s": duration_s,
            "engine": runner,
        }
        if dry_run:
            _print_plan(ccas, settings, samples, options, workers.jobs)
            return
        with workers.connected() as where:
            result = _simulated(ccas, settings, samples, {**options, **where})
    else:
        result = TrainingSet.load(training or PACKAGED)
    if recorded:
        from ccbench.classify.samples import recorded_samples

        setting = next(iter(settings), None)
        added = recorded_samples(files, setting, result.settings, duration_s=result.duration_s)
        result = extended(result, added)
    result.save(output)
    _print(result, output)


def _check_dry_run(workers: WorkersChoice, *, has_runs: bool) -> None:
    workers.check_local("--dry-run")
    if not has_runs:
        allowed = "left out with --recorded, which runs nothing"
        raise validation.bad("--dry-run", "given", allowed, "leave it out")


def _print_plan(
    ccas: Sequence[str],
    settings: Sequence[Setting],
    samples: int,
    options: dict[str, Any],
    jobs: int | None,
) -> None:
    from ccbench.classify.samples import training_plan

    plan = training_plan(ccas, settings, samples, **options)
    print_plan(plan, jobs, {"CCAs": str(len(ccas))}, as_json=False)


def _of_recordings(
    files: dict[str, list[Path]],
    settings: Sequence[Setting],
    more_ccas: Sequence[str],
    training: Path | None,
    duration_s: float,
) -> TrainingSet:
    """Create a training set of recordings alone."""
    from ccbench.classify.samples import recorded_samples
    from ccbench.classify.training_set import train_on_recordings

    for option, given in (("--cca", more_ccas), ("--training", training)):
        if given:
            allowed = "left out with --only-recorded"
            raise validation.bad(option, given, allowed, "leave out one of them")
    setting = next(iter(settings), None)
    return train_on_recordings(recorded_samples(files, setting, duration_s=duration_s))


def _simulated(
    ccas: Sequence[str],
    settings: Sequence[Setting],
    samples: int,
    options: dict[str, Any],
) -> TrainingSet:
    """Create a training set from runs on the virtual kernel."""
    from ccbench.classify.samples import train_on_runs
    from ccbench.emulate.progress import shown

    with shown("observing") as on_progress:
        return train_on_runs(ccas, settings, samples, on_progress=on_progress, **options)


def _files(recorded: Sequence[str]) -> dict[str, list[Path]]:
    """Return the files by CCA."""
    files: dict[str, list[Path]] = {}
    for text in recorded:
        cca, _, path = text.partition("=")
        if not cca or not path:
            allowed = "CCA=FILE, such as new=queue.csv"
            raise validation.bad("--recorded", text, allowed, "write the name, = and the file")
        if any(Path(path) in own for own in files.values()):
            raise validation.bad("--recorded", text, "another file each time", "name it once")
        files.setdefault(cca, []).append(Path(path))
    return files


def _print(training_set: TrainingSet, output: Path) -> None:
    def percent(share: float) -> str:
        return "not measured" if math.isnan(share) else f"{share:.1%}"

    print_table(
        [
            "setting",
            "limits\npackets",
            "quantile",
            "false\nunknown",
            "false\nknown",
        ],
        [
            [
                setting.name,
                f"{min(threshold.limits.values()):.2f} to {max(threshold.limits.values()):.2f}",
                f"{threshold.quantile:.2f}",
                percent(threshold.false_unknown),
                percent(threshold.false_known),
            ]
            for setting, threshold in training_set.thresholds.items()
        ],
    )
    print_pairs({"traces": str(len(training_set.samples)), "saved to": str(output)})
