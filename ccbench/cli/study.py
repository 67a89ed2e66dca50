# SPDX-License-Identifier: Apache-2.0
"""``ccbench study list`` and ``ccbench study run``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ccbench._progress import progress
from ccbench.cli._console import made_by, print_json, print_pairs, print_table
from ccbench.cli._options import (
    engine_named,
    engine_options,
    jobs_option,
    json_option,
    kernel_option,
    make_folder,
)
from ccbench.errors import MissingRequirement

if TYPE_CHECKING:
    from ccbench.studies import SearchStudy, SimulationStudy, Study, StudyResult

__all__ = ["study"]


@click.group()
def study() -> None:
    """Run published figures again and set our numbers beside the published ones."""


@study.command("list")
@json_option
def list_studies(*, as_json: bool) -> None:
    """Say which studies there are, and how much each runs."""
    from ccbench import studies

    known = [_listed(studies.get(name)) for name in studies.names()]
    if as_json:
        print_json({"studies": known})
        return
    width = max(len(one["name"]) for one in known)
    print_table(
        ["study", "source", "runs", "virtual\nhours"],
        [
            [
                f"{one['name']:<{width}}  {one['title']}",
                one["source"],
                "-" if one["runs"] is None else str(one["runs"]),
                "-" if one["runs"] is None else f"{one['virtual_hours']:.1f}",
            ]
            for one in known
        ],
    )
    for reason in sorted({one["missing"] for one in known if one["missing"]}):
        click.echo(f"-: {reason}")


def _listed(study: Study | SearchStudy | SimulationStudy) -> dict[str, Any]:
    """Return what is said of a study; one that lacks something cannot tell how much it runs."""
    row = {"name": study.name, "source": study.source, "title": study.title}
    try:
        size = {"runs": study.run_count, "virtual_hours": study.virtual_hours}
    except MissingRequirement as error:
        return {**row, "runs": None, "virtual_hours": None, "missing": str(error)}
    return {**row, **size, "missing": None}


@study.command()
@click.argument("name")
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
@kernel_option
@jobs_option
@click.option("--fresh", is_flag=True, help="Run even what the store has already.")
@json_option
def run(
    *,
    name: str,
    quick: bool,
    full: bool,
    output: Path,
    engine: str,
    bess_dir: Path | None,
    kernel: str | None,
    jobs: int | None,
    fresh: bool,
    as_json: bool,
) -> None:
    """Run the study NAME and compare what comes of it with what was published.

    Every finished run is kept: the same command goes on where it was interrupted. The exit status
    is 0 also where ours differs from the published: a difference is a result. A study that compares
    engines has its own.
    """
    from ccbench import studies

    chosen = studies.get(name)
    runs_on = engine_named(engine, bess_dir, kernel)
    make_folder(output)
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
        known = math.isfinite(comparison.ours)
        rows.append(
            [
                comparison.what + mark,
                f"{comparison.ours:.3g}" if known else "-",
                comparison.published,
                comparison.unit,
                "yes" if comparison.agrees else "no",
            ]
        )
    study = result.study
    print_table(
        ["what", "ours", "published", "unit", "agrees"],
        rows,
        title=f"{study.name}: {study.title} ({study.source})",
    )
    for number, note in enumerate(notes, start=1):
        click.echo(f"[{number}] {note}")
    if result.quick:
        click.echo("A quick version: too short for its numbers to agree with published ones.")
    click.echo()
