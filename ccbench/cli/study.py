# SPDX-License-Identifier: Apache-2.0
"""``ccbench study list`` and ``ccbench study run``."""

from __future__ import annotations

import math
import shutil
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from ccbench.base import result_folders, validation
from ccbench.base.errors import EngineError, InputError, MissingRequirement
from ccbench.base.failures import raise_failures
from ccbench.base.progress_bars import progress
from ccbench.cli._console import WIDTH, made_by, print_json, print_pairs, print_table
from ccbench.cli._options import (
    WorkersChoice,
    completes,
    engine_options,
    json_option,
    output_option,
    workers_options,
)
from ccbench.cli._plan import dry_run_option, print_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ccbench.cli._options import EngineChoice
    from ccbench.studies import AnyStudy, CatalogueEntry, StudyResult

__all__ = ["study"]


@click.group(short_help="Reproduce published figures.")
def study() -> None:
    """Reproduce published figures and compare the numbers."""


@study.command("list")
@json_option
def list_studies(*, as_json: bool) -> None:
    """List the studies, with the number and length of their runs."""
    from ccbench import studies

    entries = [studies.info(name) for name in studies.names()]
    missing = {entry.name: entry.missing() for entry in entries}
    if as_json:
        listed = [
            {
                "name": entry.name,
                "source": entry.source,
                "title": entry.title,
                "runs": entry.runs,
                "virtual_hours": entry.virtual_s / 3600,
                "missing": missing[entry.name],
            }
            for entry in entries
        ]
        print_json({"studies": listed})
        return
    _print_list(entries)
    for reason in sorted({reason for reason in missing.values() if reason}):
        lacking = ", ".join(name for name in missing if missing[name] == reason)
        click.echo(f"cannot run here: {lacking}: {reason}")


#: Minimum terminal width in columns at which the list of studies names the published figures.
_WIDE = 120
#: Minimum width of a title in columns, in however narrow a terminal.
_MIN_TITLE_WIDTH = 20


def _print_list(entries: Sequence[CatalogueEntry]) -> None:
    """Print the list of studies by publication, as wide as the terminal.

    Long titles are wrapped between words into lines of about the same length.
    """
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 0)).columns)
    columns = ["study", "title", "published as", "runs", "virtual\ntime"]
    groups = [
        (publication, [_row(entry) for entry in group])
        for publication, group in groupby(entries, key=lambda entry: entry.publication)
    ]
    if width < _WIDE:
        del columns[2]
        for _, rows in groups:
            for row in rows:
                del row[2]
    taken = max(len(publication) for publication, _ in groups)
    everything = [row for _, rows in groups for row in rows]
    taken += sum(max(map(len, column)) for column in list(zip(*everything, strict=True))[2:])
    title_width = max(_MIN_TITLE_WIDTH, width - taken - 2 * len(columns) - 1)
    lines: list[list[str]] = []
    for publication, rows in groups:
        lines += [[""], [publication]] if lines else [[publication]]
        lines += [[name, _balanced(title, title_width), *rest] for name, title, *rest in rows]
    print_table(columns, lines, words=len(columns) - 2)


def _row(entry: CatalogueEntry) -> list[str]:
    return [entry.name, entry.title, entry.part, str(entry.runs), _duration(entry.virtual_s)]


def _balanced(text: str, width: int) -> str:
    """Wrap a text into the fewest lines of at most `width` columns, of about the same length."""
    lines = wrap(text, width)
    for narrower in range(width - 1, 0, -1):
        balanced = wrap(text, narrower)
        if len(balanced) > len(lines):
            break
        lines = balanced
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    """Return a duration in the largest unit of which it contains at least one."""
    for size, unit in ((3600.0, "h"), (60.0, "min"), (1.0, "s")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds * 1e3:.1f} ms"


def _names() -> Iterable[str]:
    from ccbench import studies

    return studies.names()


@study.command(short_help="Run a study and compare it with the publication.")
@click.argument("name", required=False, shell_complete=completes(_names))
@click.option("--all", "is_all", is_flag=True, help="Run every study that can run here.")
@click.option("--quick", is_flag=True, help="Run a small version that takes seconds.")
@click.option("--full", is_flag=True, help="Run the published size if the default is smaller.")
@click.option("--cca", help="Study another congestion control, for example bbr with bbr-draft.")
@output_option(
    "Folder for NAME.csv, NAME.png, NAME.svg and NAME.json.", default="studies", show_default=True
)
@engine_options
@workers_options
@dry_run_option
@click.option("--fresh", is_flag=True, help="Run again although runs are stored.")
@json_option
def run(
    *,
    name: str | None,
    is_all: bool,
    quick: bool,
    full: bool,
    cca: str | None,
    output: Path,
    engine: EngineChoice,
    workers: WorkersChoice,
    dry_run: bool,
    fresh: bool,
    as_json: bool,
) -> None:
    """Run the study NAME and compare its numbers with the published ones.

    NAME is listed by `ccbench study list`, or is a Python file that sets STUDY (see the
    documentation of ccbench.studies). With --all, every study that can run here runs, one after the
    other, and those that cannot are named with the reason.

    Finished runs are stored: the same command continues an interrupted study. The exit status is 0
    even if numbers differ from the published ones: a difference is a result. A study that compares
    engines ignores --engine, and one that names its kernels needs no --kernel.
    """
    from ccbench import studies

    size: dict[str, Any] = {"quick": quick, "full": full, "cca": cca}
    if is_all:
        _check_all(name, {"--full": full, "--cca": cca, "--dry-run": dry_run, "--json": as_json})
        _run_all(output, engine, workers, {**size, "fresh": fresh})
        return
    if name is None:
        raise InputError("NAME is missing: choose one of `ccbench study list`, or write --all")
    chosen = _chosen(name, engine)
    if dry_run:
        workers.check_local("--dry-run")
        plan = studies.plan_study(chosen, engine=engine.make(), **size)
        print_plan(plan, workers.jobs, {"study": chosen.title}, as_json=as_json)
        return
    result_folders.prepare(output, "study")
    result = _run(chosen, engine, workers, {**size, "fresh": fresh})
    files = result.save(output)
    if as_json:
        print_json({**result.to_dict(), "files": files})
        return
    _print(result)
    print_pairs({"made by": made_by(result.provenance), "files": ", ".join(map(str, files))})


def _check_all(name: str | None, options: dict[str, Any]) -> None:
    """Refuse a name, and options of one study, with all of them."""
    for given, value in {"NAME": name, **options}.items():
        if value:
            raise validation.bad(given, value, "left out with --all", "leave out one of the two")


def _run_all(
    output: Path, engine: EngineChoice, workers: WorkersChoice, options: dict[str, Any]
) -> None:
    """Run every study that can run here, and then name those that failed.

    Raises
    ------
    EngineError
        If a study failed; the others are saved.
    """
    from ccbench import studies

    result_folders.prepare(output, "study")
    names = studies.names()
    failed: list[tuple[str, EngineError]] = []
    for name in names:
        try:
            result = _run(_chosen(name, engine), engine, workers, options)
        except (InputError, MissingRequirement) as error:
            click.echo(f"cannot run here: {name}: {error}")
        except EngineError as error:
            failed.append((name, error))
        else:
            result.save(output)
            _print(result)
    raise_failures(failed, len(names), "are saved or cannot run here")


def _run(
    study: AnyStudy, engine: EngineChoice, workers: WorkersChoice, options: dict[str, Any]
) -> StudyResult:
    """Run a study and show its progress."""
    from ccbench import studies

    with workers.connected() as where, progress("{task.percentage:.0f} %") as bar:
        task = bar.add_task(study.name, total=1.0)

        def show(done: float) -> None:
            bar.update(task, completed=done)

        return studies.run_study(study, **options, engine=engine.make(), on_progress=show, **where)


def _chosen(name: str, engine: EngineChoice) -> AnyStudy:
    """Return a study; refuse a kernel other than those that it names."""
    from ccbench import studies

    study = studies.get(name)
    kernels: Sequence[str] = getattr(study, "kernels", ())
    given = engine.values.get("--kernel")
    if kernels and given is not None and given not in kernels:
        allowed = f"left out for {study.name}, which runs on Linux {' and '.join(kernels)}"
        raise validation.bad("--kernel", given, allowed, "remove it")
    return study


def _print(result: StudyResult) -> None:
    """Print the comparisons and their notes."""
    notes: list[str] = []
    rows = []
    for comparison in result.findings.comparisons:
        mark = ""
        if comparison.note:
            notes.append(comparison.note)
            mark = f" [{len(notes)}]"
        is_measured = math.isfinite(comparison.value)
        rows.append(
            [
                comparison.quantity + mark,
                f"{comparison.measured:.3g}" if is_measured else "-",
                comparison.published.text,
                comparison.unit,
                comparison.judgement,
            ]
        )
    study = result.study
    print_table(
        ["quantity", "measured", "published", "unit", "verdict"],
        rows,
        title=f"{study.name}: {study.title} ({study.source})",
    )
    for number, note in enumerate(notes, start=1):
        click.echo(f"[{number}] {note}")
    if result.quick:
        click.echo("This is a quick version, too short for its numbers to be compared.")
    click.echo()
