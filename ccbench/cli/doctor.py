# SPDX-License-Identifier: Apache-2.0
"""``ccbench doctor``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ccbench.cli._console import coloured, print_json
from ccbench.cli._options import engine_named, engine_options, json_option
from ccbench.cli._status import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ccbench.emulate.engine import Check, Engine

__all__ = ["doctor"]


@click.command(short_help="Say what this machine can run, and what is missing.")
@engine_options
@json_option
def doctor(*, engine: str, bess_dir: Path | None, as_json: bool) -> ExitStatus:
    """Say what this machine can run, and what to install for the rest.

    The exit status is 0 if the engine has everything that runs need, and 1 if something is missing.
    """
    from ccbench.emulate.store import Store

    chosen = engine_named(engine, bess_dir)
    checks = [*chosen.doctor(), Store().check()]
    fine = all(check.ok for check in checks)
    servers = _servers(chosen, checks)
    if as_json:
        shown = {"checks": [asdict(c) for c in checks], "servers": [asdict(c) for c in servers]}
        print_json({"engine": chosen.name, "ok": fine, **shown})
    else:
        _print(checks)
        verdict = "can run here" if fine else "cannot run here yet: follow the arrows"
        click.echo(f"\nEngine {chosen.name!r} {verdict}.")
        if servers:
            click.echo("\n`ccbench classify SERVER` with it needs besides:")
            _print(servers)
    return ExitStatus.OK if fine else ExitStatus.FAILED


def _print(checks: Iterable[Check]) -> None:
    for check in checks:
        mark, colour = ("ok", "green") if check.ok else ("missing", "red")
        click.echo(f"{coloured(f'{mark:7}', colour)}  {check.name}: {check.detail}")
        if not check.ok:
            click.echo(f"         -> {check.remedy}")


def _servers(engine: Engine, checks: Iterable[Check]) -> list[Check]:
    """Return what asking servers through this engine's links needs besides the engine."""
    if engine.name not in {"mahimahi", "bess"}:
        return []
    from ccbench.cli._servers import link_checks

    own = {check.name for check in checks}
    return [check for check in link_checks(engine) if check.name not in own]
