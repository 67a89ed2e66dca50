# SPDX-License-Identifier: Apache-2.0
"""What a run will cost, in words for its user before it starts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base.cores import cores
from ccbench.base.counts import counted
from ccbench.emulate._work import expected_s
from ccbench.emulate.engine import CapturingEngine
from ccbench.emulate.resources import size

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.emulate.engine import Engine
    from ccbench.experiment.scenario import Scenario

__all__ = ["duration", "size_of_capture", "summarised_log"]

#: Memory of a queue log that is only summarised if nobody wants to see it.
_LARGE_LOG_BYTES = 200e6
#: Size of a capture that is announced.
_LARGE_CAPTURE_BYTES = 1e9
#: Duration of runs that is announced, in seconds.
_LONG_S = 300


def summarised_log(scenario: Scenario, engine: Engine) -> tuple[Scenario, str]:
    """Return the scenario with a queue summary in place of a large queue log, and say so."""
    if scenario.queue_log is not True:
        return scenario, ""
    summarised = replace(scenario, queue_log="summary")
    saved_bytes = engine.needs(scenario).reading_bytes - engine.needs(summarised).reading_bytes
    if saved_bytes <= _LARGE_LOG_BYTES:
        return scenario, ""
    words = (
        f'queue_log = "summary" for this table, as the full log would take about '
        f"{size(saved_bytes)} of memory: -o FOLDER records it"
    )
    return summarised, words


def duration(scenario: Scenario, engine: Engine, count: int) -> str:
    """Return how long `count` runs side by side take; empty if minutes, or unknown."""
    run_s = expected_s([scenario], engine) or 0.0
    total_s = run_s * math.ceil(count / cores())
    if total_s <= _LONG_S:
        return ""
    subject = "this run takes" if count == 1 else "these runs take"
    return f"{subject} about {counted(round(total_s / 60), 'minute')}"


def size_of_capture(scenario: Scenario, engine: Engine, path: Path) -> str:
    """Return the size of a capture; empty if it is small."""
    if not isinstance(engine, CapturingEngine):
        return ""
    capture_bytes = engine.capture_bytes(scenario)
    if capture_bytes <= _LARGE_CAPTURE_BYTES:
        return ""
    return f"the capture takes up to {size(capture_bytes)} in {path}"
