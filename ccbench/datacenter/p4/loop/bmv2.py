# SPDX-License-Identifier: Apache-2.0
"""The closed loop on BMv2, in separate namespaces."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from ccbench.datacenter.p4.bmv2 import run_in_namespaces
from ccbench.datacenter.p4.loop.run import FlowResult, LoopResult, QueueResult

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["run_on_bmv2"]


def run_on_bmv2(folder: Path, seconds: float, *, stops: bool = True) -> LoopResult:
    """Run a topology on BMv2's ``simple_switch``.

    Parameters
    ----------
    folder : Path
        Folder with ``topology.json``.
    seconds : float
        Duration of sending.
    stops : bool
        Whether pauses stop queues.

    Raises
    ------
    MissingRequirement
        If BMv2 is not installed, or the user is not root.
    CcbenchError
        If a switch does not start or refuses its configuration.
    """
    with tempfile.TemporaryDirectory(prefix="ccbench-bmv2-") as scratch:
        pauses = "stops" if stops else "runs on"
        read = run_in_namespaces(
            "ccbench.datacenter.p4.loop.live_network", folder, scratch, seconds, pauses
        )
    return LoopResult(
        seconds=read["seconds"],
        flows=tuple(FlowResult(**flow) for flow in read["flows"]),
        queues=tuple(QueueResult(**queue) for queue in read["queues"]),
        paused_at_end=tuple(read["paused_at_end"]),
    )
