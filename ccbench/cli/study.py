# SPDX-License-Identifier: Apache-2.0
"""``ccbench study list`` and ``ccbench study run``."""

from __future__ import annotations

import math
import shutil
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from ccbench.base import result_folders
from ccbench.base.progress_bars import progress
from ccbench.cli._console import WIDTH, made_by, print_json, print_pairs, print_table
from ccbench.cli._options import (
    completes,
    engine_options,
    jobs_option,
    json_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ccbench.cli._options import EngineChoice
    from ccbench.studies import CatalogueEntry, StudyResult

__all__ = ["study"]


@click.group(short_help="Run published figures again, ours beside theirs.")
def study() -> None:
    """Run published figures again and set our numbers beside the published ones."""


@study.command("list")
@json_option
def list_studies(*, as_json: bool) -> None:
    """Say which studies there are, and how much each runs."""
    from ccbench import studies

    known = [studies.info(name) for name in studies.names()]
    missing = {one.name: one.missing() for one in known}
    if as_json:
        listed = [
            {
                "name": one.name,
                "source": one.source,
                "title": one.title,
                "runs": one.runs,
                "virtual_hours": one.virtual_s / 3600,
                "missing": missing[one.name],
            }
            for one in known
        ]
        print_json({"studies": listed})
        return
    _print_list(known)
    for reason in sorted({reason for reason in missing.values() if reason}):
        lacking = ", ".join(name for name in missing if missing[name] == reason)
        click.echo(f"cannot run here: {lacking}: {reason}")


#: From how many columns on the list of studies says which figure each of them is.
_WIDE = 120
#: Titles have as many columns as this, however narrow the terminal is.
_NARROWEST = 20


def _print_list(known: Sequence[CatalogueEntry]) -> None:
    """Print the list of studies, by publication, as wide as the terminal is.

    What is longer than its column is broken between words, into lines of about the same length.
    """
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 0)).columns)
    columns = ["study", "what", "published as", "runs", "virtual\ntime"]
    groups = [
        (
            publication,
            [[one.name, one.title, one.part, str(one.runs), _lasting(one.virtual_s)] for one in of],
        )
        for publication, of in groupby(known, key=lambda one: one.publication)
    ]
    if width < _WIDE:
        del columns[2]
        for _, rows in groups:
            for row in rows:
                del row[2]
    taken = max(len(publication) for publication, _ in groups)
    everything = [row for _, rows in groups for row in rows]
    taken += sum(max(map(len, column)) for column in list(zip(*everything, strict=True))[2:])
    room = max(_NARROWEST, width - taken - 2 * len(columns) - 1)
    lines: list[list[str]] = []
    for publication, rows in groups:
        lines += [[""], [publication]] if lines else [[publication]]
        lines += [[name, _balanced(title, room), *rest] for name, title, *rest in rows]
    print_table(columns, lines, words=len(columns) - 2)


def _balanced(text: str, width: int) -> str:
    """Break a text into as few lines as go into `width` columns, of about the same length."""
    lines = wrap(text, width)
    for narrower in range(width - 1, 0, -1):
        closer = wrap(text, narrower)
        if len(closer) > len(lines):
            break
        lines = closer
    return "\n".join(lines)


def _lasting(seconds: float) -> str:
    """Return a length of time in the largest unit of which there is one."""
    for size, unit in ((3600.0, "h"), (60.0, "min"), (1.0, "s")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds * 1e3:.1f} ms"


def _names() -> Iterable[str]:
    from ccbench import studies

    return studies.names()


@study.command(short_help="Run a study and compare it with what was published.")
@click.argument("name", shell_complete=completes(_names))
@click.option("--quick", is_flag=True, help="A small version that takes seconds.")
@click.option(
    "--full", is_flag=True, help="As large as published, where the usual version is smaller."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default="studies",
    show_default=True,
    help="Folder for NAME.csv, NAME.png and NAME.json.",
)
@engine_options
@jobs_option
@click.option("--fresh", is_flag=True, help="Run even what the store has already.")
@json_option
def run(
    *,
    name: str,
    quick: bool,
    full: bool,
    output: Path,
    engine: EngineChoice,
    jobs: int | None,
    fresh: bool,
    as_json: bool,
) -> None:
    """Run the study NAME and compare what comes of it with what was published.

    NAME is one of `ccbench study list`, or a Python file of your own that sets STUDY, as the
    documentation of ccbench.studies shows.

    Every finished run is kept: the same command goes on where it was interrupted. The exit status
    is 0 also where ours differs from the published: a difference is a result. A study that compares
    engines has its own.
    """
    from ccbench import studies

    chosen = studies.get(name)
    runs_on = engine.make()
    result_folders.prepare(output, "study")
    with progress("{task.percentage:.0f} %") as bar:
        task = bar.add_task(name, total=1.0)

        def show(done: float) -> None:
            bar.update(task, completed=done)

        result = studies.run_study(
            chosen,
            quick=quick,
            full=full,
            engine=runs_on,
            jobs=jobs,
            fresh=fresh,
            on_progress=show,
        )
    files = result.save(output)
    if as_json:
        print_json({**result.to_dict(), "files": files})
        return
    _print(result)
    print_pairs({"made by": made_by(result.provenance), "files": ", ".join(map(str, files))})


def _print(result: StudyResult) -> None:
    """Print the comparisons, and below them their notes."""
    notes: list[str] = []
    rows = []
    for comparison in result.findings.comparisons:
        mark = ""
        if comparison.note:
            notes.append(comparison.note)
            mark = f" [{len(notes)}]"
        known = math.isfinite(comparison.value)
        rows.append(
            [
                comparison.what + mark,
                f"{comparison.ours:.3g}" if known else "-",
                comparison.published.text,
                comparison.unit,
                comparison.judgement,
            ]
        )
    study = result.study
    print_table(
        ["what", "ours", "published", "unit", "verdict"],
        rows,
        title=f"{study.name}: {study.title} ({study.source})",
    )
    for number, note in enumerate(notes, start=1):
        click.echo(f"[{number}] {note}")
    if result.quick:
        click.echo("A quick version: too short for its numbers to agree with published ones.")
    click.echo()
