# SPDX-License-Identifier: Apache-2.0
"""``ccbench doctor``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ccbench.cli._console import print_json
from ccbench.cli._options import engine_named, engine_options, json_option
from ccbench.cli._status import ExitStatus

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["doctor"]


@click.command()
@engine_options
@json_option
def doctor(*, engine: str, bess_dir: Path | None, as_json: bool) -> ExitStatus:
    """Say what this machine can run, and what to install for the rest.

    The exit status is 0 if everything is there and 1 if something is missing.
    """
    chosen = engine_named(engine, bess_dir)
    checks = chosen.doctor()
    fine = all(check.ok for check in checks)
    if as_json:
        print_json({"engine": chosen.name, "ok": fine, "checks": [asdict(c) for c in checks]})
    else:
        for check in checks:
            mark, colour = ("ok", "green") if check.ok else ("missing", "red")
            click.echo(f"{click.style(f'{mark:7}', fg=colour)}  {check.name}: {check.detail}")
            if not check.ok:
                click.echo(f"         -> {check.remedy}")
        verdict = "can run here" if fine else "cannot run here yet: follow the arrows"
        click.echo(f"\nEngine {chosen.name!r} {verdict}.")
    return ExitStatus.OK if fine else ExitStatus.FAILED
