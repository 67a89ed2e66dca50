# SPDX-License-Identifier: Apache-2.0
"""Stacks of programs on this machine (:mod:`ccbench.experiment.stacks`)."""

from __future__ import annotations

import importlib.util
import shlex
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.emulate.engine import Check
from ccbench.emulate.kernel.boot import programs
from ccbench.experiment import stacks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccbench.experiment.stacks import Stack

__all__ = ["check_cca", "checks", "installed"]


def check_cca(cca: str, field: str) -> None:
    """Check that the stack of a congestion control exists and is installed.

    Raises
    ------
    InputError
        About `field`, if it does not or is not.
    """
    stack = stacks.named(cca, field)
    if missing := lacking(stack):
        verb = "is" if len(missing) == 1 else "are"
        allowed = f"that of an installed stack; {' and '.join(missing)} {verb} missing"
        raise validation.bad(field, cca, allowed, stack.install)


def installed() -> Iterator[Stack]:
    """Yield the stacks whose programs are installed."""
    yield from (stack for stack in stacks.stacks().values() if not lacking(stack))


def checks() -> list[Check]:
    """Return for each stack the check that its programs are installed."""
    return [
        Check(
            name=stack.title,
            ok=not (missing := lacking(stack)),
            detail=f"not installed: {', '.join(missing)}"
            if missing
            else f"{stack.summary}: {', '.join(cca for cca, _ in stack.ccas)}",
            remedy=stack.install,
        )
        for stack in stacks.stacks().values()
    ]


def lacking(stack: Stack) -> list[str]:
    """Return the programs and Python's modules of a stack that are not installed."""
    flow = stack.programs(stack.ccas[0][0])
    assert flow.receiver is not None
    commands = (flow.sender, flow.receiver.program or "")
    firsts = dict.fromkeys(shlex.split(command)[0] for command in commands)
    missing = [name for name in firsts if programs.find(name) is None]
    return missing + [name for name in stack.packages if importlib.util.find_spec(name) is None]
