# SPDX-License-Identifier: Apache-2.0
"""``ccbench doctor``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ccbench.cli._console import coloured, print_json
from ccbench.cli._options import engine_options, json_option
from ccbench.cli._status import ExitStatus
from ccbench.emulate.engine import LinkEngine, StackEngine

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ccbench.cli._options import EngineChoice
    from ccbench.emulate.engine import Check, Engine

__all__ = ["doctor"]


@click.command(short_help="Check what this machine can run and what is missing.")
@engine_options
@json_option
def doctor(*, engine: EngineChoice, as_json: bool) -> ExitStatus:
    """Check the requirements of an engine on this machine, and name missing packages.

    With the virtual kernel, it also lists the stacks of QUIC and whether they are installed. The
    exit status is 0 if the engine can run, and 1 if a requirement of the engine is missing.
    """
    from ccbench.emulate.store import Store

    chosen = engine.make()
    checks = [*chosen.doctor(), Store().check()]
    fine = all(check.ok for check in checks)
    servers = _servers(chosen, checks)
    stacks = chosen.stack_checks() if isinstance(chosen, StackEngine) else []
    if as_json:
        parts = {"checks": checks, "servers": servers, "stacks": stacks}
        shown = {name: [asdict(check) for check in part] for name, part in parts.items()}
        print_json({"engine": chosen.name, "ok": fine, **shown})
    else:
        _print(checks)
        verdict = "can run here" if fine else "cannot run here yet: follow the arrows"
        click.echo(f"\nEngine {chosen.name!r} {verdict}.")
        if servers:
            click.echo("\nRequirements of `ccbench classify SERVER` with this engine:")
            _print(servers)
        if stacks:
            click.echo("\nStacks, whose congestion controls have names such as quic:ngtcp2/bbr:")
            _print(stacks)
    return ExitStatus.OK if fine else ExitStatus.FAILED


def _print(checks: Iterable[Check]) -> None:
    for check in checks:
        mark, colour = ("ok", "green") if check.ok else ("missing", "red")
        click.echo(f"{coloured(f'{mark:7}', colour)}  {check.name}: {check.detail}")
        if not check.ok:
            click.echo(f"         -> {check.remedy}")


def _servers(engine: Engine, checks: Iterable[Check]) -> list[Check]:
    """Return the additional checks for measuring servers through this engine's links."""
    if not isinstance(engine, LinkEngine):
        return []
    from ccbench.classify.web.h2load import H2Load
    from ccbench.classify.web.http3 import Http3

    own = {check.name for check in checks}
    needed = (*engine.link_checks(), *(client.check(engine.user) for client in (H2Load(), Http3())))
    return [check for check in needed if check.name not in own]
