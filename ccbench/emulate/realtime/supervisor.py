# SPDX-License-Identifier: Apache-2.0
"""Supervision of a real-time run by the engine's process: start, progress and end."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from typing import TYPE_CHECKING

from ccbench.base.errors import EngineError
from ccbench.emulate.realtime import files
from ccbench.emulate.realtime.namespaces import in_namespaces

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.emulate.engine import Progress
    from ccbench.experiment.scenario import Scenario

__all__ = ["run_world"]

#: Time without a report after which a run is considered hung, in seconds.
_TIMEOUT_S = 60.0
_POLL_S = 0.1


def run_world(
    module: str, scenario: Scenario, folder: Path, *arguments: str, on_progress: Progress | None
) -> None:
    """Run a module that calls :func:`ccbench.emulate.realtime.world.main`.

    No process of the run outlives this call.

    Parameters
    ----------
    module : str
        The module, run as the first process of the run's namespaces. Its first argument is the
        folder.
    scenario : Scenario
        The scenario.
    folder : Path
        The run's folder.
    *arguments : str
        The module's other arguments.
    on_progress : callable, optional
        As for :meth:`ccbench.emulate.engine.Engine.run`.

    Raises
    ------
    EngineError
        If the run fails.
    """
    document = json.dumps(scenario.to_dict())
    (folder / files.SCENARIO).write_text(document, encoding="utf-8")
    command = in_namespaces(module, str(folder), *arguments, network=True)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            _watch(process, on_progress)
        finally:
            process.kill()


def _watch(process: subprocess.Popen[bytes], on_progress: Progress | None) -> None:
    """Process the run's reports until it is complete."""
    assert process.stdout is not None
    assert process.stderr is not None
    reported_s, done_s, text = time.monotonic(), 0.0, b""
    while True:
        if select.select([process.stdout], [], [], _POLL_S)[0]:
            reported_s = time.monotonic()
            block = os.read(process.stdout.fileno(), 1 << 16)
            if not block:
                errors = process.stderr.read().decode(errors="replace").splitlines()
                reason = errors[-1] if errors else "no message"
                raise EngineError(f"the run ended early: {reason}", errors[-20:])
            *lines, text = (text + block).split(b"\n")
            for message in map(json.loads, lines):
                if "error" in message:
                    raise EngineError(f"the run failed: {message['error']}")
                if "finished" in message:
                    return
                done_s = message.get("done_s", done_s)
        elif time.monotonic() - reported_s > _TIMEOUT_S:
            raise EngineError(f"the run hangs: no report for {_TIMEOUT_S:g} s")
        if on_progress is not None:
            on_progress(done_s)
