# SPDX-License-Identifier: Apache-2.0
"""``ccbench doctor``."""

from __future__ import annotations

from dataclasses import asdict

import click

from ccbench.cli._console import print_json
from ccbench.cli._options import json_option
from ccbench.cli._status import ExitStatus

__all__ = ["doctor"]


@click.command()
@click.option(
    "--engine", "name", default="kernel", show_default=True, help="What runs scenarios: see `run`."
)
@json_option
def doctor(*, name: str, as_json: bool) -> ExitStatus:
    """Say what this machine can run, and what to install for the rest.

    The exit status is 0 if everything is there and 1 if something is missing.
    """
    from ccbench.emulate.engine import get_engine

    engine = get_engine(name)
    checks = engine.doctor()
    fine = all(check.ok for check in checks)
    if as_json:
        print_json({"engine": engine.name, "ok": fine, "checks": [asdict(c) for c in checks]})
    else:
        for check in checks:
            mark, colour = ("ok", "green") if check.ok else ("missing", "red")
            click.echo(f"{click.style(f'{mark:7}', fg=colour)}  {check.name}: {check.detail}")
            if not check.ok:
                click.echo(f"         -> {check.remedy}")
        verdict = "can run here" if fine else "cannot run here yet: follow the arrows"
        click.echo(f"\nEngine {engine.name!r} {verdict}.")
    return ExitStatus.OK if fine else ExitStatus.FAILED
