# SPDX-License-Identifier: Apache-2.0
"""The closed loop on BMv2, in namespaces of its own."""

from __future__ import annotations

import json
import subprocess
import tempfile
from typing import TYPE_CHECKING

from ccbench.bfc.p4.bmv2 import missing
from ccbench.bfc.p4.loop.run import FlowResult, LoopResult, QueueResult
from ccbench.bfc.p4.sources import COMPILED, load_compiled
from ccbench.emulate.realtime.namespaces import in_namespaces
from ccbench.errors import CcbenchError, MissingRequirement

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["run_on_bmv2"]


def run_on_bmv2(folder: Path, seconds: float, *, stops: bool = True) -> LoopResult:
    """Run a topology on BMv2's ``simple_switch``.

    Parameters
    ----------
    folder : Path
        Where its ``topology.json`` is.
    seconds : float
        How long hosts send.
    stops : bool
        Whether pauses stop queues.

    Raises
    ------
    MissingRequirement
        If BMv2 is not installed, or this is not root.
    CcbenchError
        If a switch does not start or refuses its configuration.
    """
    reason = missing()
    if reason is not None:
        raise MissingRequirement(f"BMv2: {reason}")
    load_compiled()  # raises if it is not that of the sources
    with tempfile.TemporaryDirectory(prefix="ccbench-bmv2-") as scratch:
        done = subprocess.run(  # noqa: S603 - our own module, in namespaces
            in_namespaces(
                "ccbench.bfc.p4.loop.live_network",
                str(COMPILED),
                str(folder),
                scratch,
                str(seconds),
                "stops" if stops else "runs on",
                network=True,
            ),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        lines = done.stderr.splitlines() or ["no message"]
        raise CcbenchError(f"BMv2: {lines[-1]}")
    read = json.loads(done.stdout)
    return LoopResult(
        seconds=read["seconds"],
        flows=tuple(FlowResult(**flow) for flow in read["flows"]),
        queues=tuple(QueueResult(**queue) for queue in read["queues"]),
        paused_at_end=tuple(read["paused_at_end"]),
    )
