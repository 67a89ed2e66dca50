# SPDX-License-Identifier: Apache-2.0
"""``ccbench bisect``."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ccbench.base import result_folders
from ccbench.base.counts import counted
from ccbench.base.progress_bars import progress
from ccbench.cli._console import made_by, print_json, print_pairs, print_table
from ccbench.cli._options import (
    PatchesCommand,
    cca_names,
    completes,
    jobs_option,
    json_option,
    kernel_option,
    output_option,
    patches_option,
)
from ccbench.cli._plan import dry_run_option, print_plan
from ccbench.cli._status import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccbench.bisect import Bisection, History, Question
    from ccbench.cli._options import EngineChoice
    from ccbench.emulate import Engine

__all__ = ["bisect"]


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What the command line asks of each version."""

    scenario: Path | None
    metric: str | None
    of: str
    above: float | None
    below: float | None
    repeat: int
    criterion: str | None
    cca: str | None
    pack: str | None
    seed: int | None

    def question(self) -> tuple[Question, Callable[[Engine], object] | None]:
        """Return the question, and the check of its input with an engine."""
        if self.criterion is not None:
            return self._of_criterion(), None
        if self.scenario is None:
            message = "SCENARIO or --criterion is missing: give one of the two"
            raise click.UsageError(message)
        if self.cca is not None or self.pack is not None:
            message = "--cca and --pack are for a criterion: add --criterion, or leave them out"
            raise click.UsageError(message)
        return self._of_scenario(self.scenario)

    def _of_criterion(self) -> Question:
        from ccbench import evaluate
        from ccbench.bisect import CriterionQuestion

        if self.scenario is not None or self.metric is not None:
            message = "--criterion has its own scenarios: leave out SCENARIO and --metric"
            raise click.UsageError(message)
        if self.cca is None:
            message = "--cca is missing: name the CCA of the module that is evaluated"
            raise click.UsageError(message)
        return CriterionQuestion(
            evaluate.Design(
                candidate=self.cca,
                pack=evaluate.load_pack(self.pack or evaluate.DEFAULT_PACK),
                extent="quick",
                only=(self.criterion or "",),
                seed=1 if self.seed is None else self.seed,
            )
        )

    def _of_scenario(self, file: Path) -> tuple[Question, Callable[[Engine], object]]:
        from dataclasses import replace

        from ccbench.base.validation import within
        from ccbench.bisect import MetricQuestion, RunQuestion
        from ccbench.evaluate import Measure
        from ccbench.evaluate.criterion import check_measure
        from ccbench.run import scenario_sources

        scenario = scenario_sources.read(file).scenario()
        if self.seed is not None:
            scenario = replace(scenario, seed=self.seed)

        def check(engine: Engine) -> None:
            with within(f"{file}: "):
                engine.check(scenario)

        if self.metric is None:
            if self.of or self.above is not None or self.below is not None:
                message = "--of, --above and --below are for a metric: add --metric"
                raise click.UsageError(message)
            return RunQuestion(replace(scenario, queue_log=True)), check
        if self.above is not None and self.below is not None:
            message = "--above and --below are given; give one of them"
            raise click.UsageError(message)
        names = list(dict.fromkeys(flow.name for flow in scenario.flows))
        with within("--"):
            measure = Measure(metric=self.metric, of=self.of)
            if not self.of and measure.described.scope == "flow":
                if len(names) > 1:
                    message = f"--of is missing: name a group of flows: {', '.join(names)}"
                    raise click.UsageError(message)
                measure = replace(measure, of=names[0])
            check_measure(measure, scenario)
        question = MetricQuestion(
            scenario=scenario,
            measure=measure,
            repetitions=self.repeat,
            bound=self.below if self.above is None else self.above,
            good_is_above=self.below is not None,
        )
        return question, check

    def words(self) -> list[str]:
        """Return the options that ask the same again."""
        scenario = () if self.scenario is None else (str(self.scenario),)
        options = {
            name: getattr(self, name)
            for name in ("metric", "of", "above", "below", "criterion", "cca", "pack", "seed")
        }
        if self.metric is not None:
            options["repeat"] = self.repeat
        given = {name: value for name, value in options.items() if value not in (None, "")}
        return [*scenario, *(f"--{name}={value}" for name, value in given.items())]


@click.command(cls=PatchesCommand)
@click.argument("module", metavar="FOLDER", type=click.Path(path_type=Path))
@click.argument(
    "scenario", metavar="[SCENARIO.toml]", required=False, type=click.Path(path_type=Path)
)
@click.option("--good", metavar="COMMIT", help="Commit before the change.")
@click.option("--bad", metavar="COMMIT", help="Commit after the change.  [default: HEAD]")
@patches_option("Patches of FOLDER in their order, instead of commits.")
@click.option(
    "--metric",
    metavar="M",
    help="Metric of `ccbench metrics` that has changed, instead of the run as a whole.",
)
@click.option(
    "--of", metavar="NAME", default="", help="Group of flows, bottleneck or queue of the metric."
)
@click.option("--above", type=float, metavar="X", help="A version is bad if the metric is above X.")
@click.option("--below", type=float, metavar="X", help="A version is bad if the metric is below X.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    metavar="N",
    default=12,
    show_default=True,
    help="Most repetitions of a version for a metric, each with its own seed.",
)
@click.option(
    "--criterion",
    metavar="NAME",
    help="Criterion of `ccbench evaluate` that a version must not fail, and in which it must not "
    "be worse than the good version, instead of a scenario.",
)
@click.option(
    "--cca", metavar="CCA", shell_complete=completes(cca_names), help="CCA of the criterion."
)
@click.option("--pack", metavar="NAME|FOLDER", help="Pack of the criterion.  [default: rfc9743]")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of all random numbers.")
@jobs_option
@dry_run_option
@kernel_option
@output_option("Folder for the results before and after the change: good and bad.")
@json_option
def bisect(
    *,
    module: Path,
    scenario: Path | None,
    good: str | None,
    bad: str | None,
    patches: tuple[Path, ...],
    metric: str | None,
    of: str,
    above: float | None,
    below: float | None,
    repeat: int,
    criterion: str | None,
    cca: str | None,
    pack: str | None,
    seed: int | None,
    jobs: int | None,
    dry_run: bool,
    engine: EngineChoice,
    output: Path | None,
    as_json: bool,
) -> ExitStatus:
    """Find the commit or patch that changed a result.

    FOLDER is that of the module in its Git repository. Commits between --good and --bad that change
    it are compiled and run; those that do not compile are skipped. Nothing is checked out: the
    repository stays as it is.

    A version is bad if the run of the scenario differs from that of the good version, if --metric
    is above or below a bound (by default the middle between both ends), or if --criterion fails or
    is worse.

    The exit status is 0 if one version is found, and 1 if several remain, as all between the last
    good and the first bad one were skipped.
    """
    from ccbench import bisect as library

    asked = _Asked(
        scenario=scenario,
        metric=metric,
        of=of,
        above=above,
        below=below,
        repeat=repeat,
        criterion=criterion,
        cca=cca,
        pack=pack,
        seed=seed,
    )
    history = _history(module, good, bad, patches)
    question, check = asked.question()

    def make_engine() -> Engine:
        return engine.make(check)

    if dry_run:
        plan = library.plan(history, question, make_engine=make_engine, jobs=jobs)
        count, most = len(history.versions), library.most_tests(history)
        about = {"versions": f"{count}, of which at most {most} are tested if none is skipped"}
        print_plan(plan, jobs, about, as_json=as_json)
        return ExitStatus.OK
    if output is not None:
        for name in library.SAVED:
            result_folders.prepare(output / name, "evaluation" if criterion else "run")
    with progress() as bar:
        task = bar.add_task("", total=1.0)
        found = library.bisect(
            history,
            question,
            make_engine=make_engine,
            output=output,
            on_progress=lambda step, done: bar.update(task, description=step, completed=done),
            jobs=jobs,
        )
    ends = (found.suspects[0] - 1, found.suspects[-1])
    options = [f"{flag}={value}" for flag, value in engine.given.items()]
    words = ["ccbench", "bisect", str(module), *asked.words(), *options, *history.options(*ends)]
    again = shlex.join(words)
    if as_json:
        print_json({**found.to_dict(), "again": again})
    else:
        _print(found, again, output)
    return ExitStatus.OK if found.first_bad else ExitStatus.FAILED


def _history(module: Path, good: str | None, bad: str | None, patches: tuple[Path, ...]) -> History:
    from ccbench.bisect import Commits, Series

    if patches:
        if good is not None or bad is not None:
            message = "--patch is given with --good or --bad: leave out one of the two"
            raise click.UsageError(message)
        return Series.of(module, patches)
    if good is None:
        message = "--good is missing: name a commit before the change, or give --patch"
        raise click.UsageError(message)
    return Commits.between(module, good, "HEAD" if bad is None else bad)


def _print(found: Bisection, again: str, output: Path | None) -> None:
    print_table(
        ["version", "verdict", "result", "subject"],
        [
            [each.version.short, each.verdict, each.words, each.version.subject]
            for each in found.tested
        ],
        words=4,
    )
    click.echo()
    pairs = {}
    if (first := found.first_bad) is not None:
        origin = ", ".join(filter(None, (first.author, first.date)))
        pairs["first bad"] = " ".join(
            filter(None, (first.name, first.subject, origin and f"({origin})"))
        )
        if len(first.parents) > 1:
            before, merged = (parent[: len(first.short)] for parent in first.parents[:2])
            pairs["it is a merge"] = f"search its branch with --good {before} --bad {merged}"
    else:
        names = ", ".join(found.versions[i].short for i in found.suspects)
        pairs["first bad"] = f"one of {names}: the others between them were skipped"
    pairs["tested"] = f"{len(found.tested)} of {counted(len(found.versions), 'version')}"
    pairs["made by"] = made_by(found.provenance)
    if output is not None:
        pairs["saved"] = f"{output / 'good'} and {output / 'bad'}"
    print_pairs(pairs | {"again": again})
