# SPDX-License-Identifier: Apache-2.0
"""``ccbench module check``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ccbench.base.counts import counted
from ccbench.base.progress_bars import progress
from ccbench.cli._console import coloured, print_json
from ccbench.cli._options import json_option
from ccbench.cli._status import ExitStatus

if TYPE_CHECKING:
    from ccbench.emulate.kernel.module_check import ModuleCheck

__all__ = ["module"]


@click.group()
def module() -> None:
    """Check congestion controls and qdiscs of your own."""


@module.command(short_help="Compile, load and run a module in adverse scenarios.")
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def check(*, folder: Path, as_json: bool) -> ExitStatus:
    """Compile the modules of FOLDER on all built kernels, and run them in adverse scenarios.

    The scenarios have losses, timeouts, reordering, duplicates, ECN, tiny windows, idle flows, and
    flows that end in every state. The check reports errors and warnings of the compiler, crashes,
    sleeps, warnings of Linux, lost packets, windows and pacing rates of 0, floods and memory that
    is not released.

    The exit status is 0 without findings, 1 with findings, and 2 if FOLDER has no module.
    """
    from ccbench.emulate.kernel.module_check import check_module

    with progress() as bar:
        task = bar.add_task("", total=1.0)
        result = check_module(
            folder,
            on_progress=lambda step, done: bar.update(task, description=step, completed=done),
        )
    if as_json:
        print_json({"ok": not result.findings, **asdict(result)})
    else:
        _print(result)
    return ExitStatus.FAILED if result.findings else ExitStatus.OK


def _print(result: ModuleCheck) -> None:
    for finding in result.findings:
        place = ", ".join(filter(None, (finding.subject, finding.scenario)))
        where = f"Linux {finding.kernel}{f', {place}' if place else ''}"
        click.echo(f"{coloured('found', 'red')}  {where}: {finding.problem}")
        for line in finding.details:
            click.echo(f"       | {line}")
    kernels = ", ".join(result.kernels)
    subjects = ", ".join((*result.ccas, *result.qdiscs))
    verdict = counted(len(result.findings), "finding") if result.findings else "nothing found"
    ran = f"{subjects} in {len(result.scenarios)} scenarios" if result.scenarios else "compiled"
    click.echo(f"{ran} on Linux {kernels}: {verdict}")
