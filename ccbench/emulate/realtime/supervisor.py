# SPDX-License-Identifier: Apache-2.0
"""The engine's side of a run in real time: starts it, follows it, and ends it in any case."""

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

#: A run that says nothing for this long does not go on.
_SILENCE_S = 60.0
_POLL_S = 0.1


def run_world(
    module: str, scenario: Scenario, folder: Path, *arguments: str, on_progress: Progress | None
) -> None:
    """Run a module of ours, which calls :func:`ccbench.emulate.realtime.world.main`.

    Parameters
    ----------
    module : str
        What becomes the first process of the run's namespaces. Its first argument is the folder.
    scenario : Scenario
        What to run.
    folder : Path
        Of the run.
    *arguments : str
        The module's other arguments.
    on_progress : callable, optional
        As of :meth:`ccbench.emulate.engine.Engine.run`.

    Raises
    ------
    EngineError
        If the run fails. Nothing is left of it, whatever happens.
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
    """Follow what the run says of itself, until it is complete."""
    assert process.stdout is not None
    assert process.stderr is not None
    heard_s, done_s, text = time.monotonic(), 0.0, b""
    while True:
        if select.select([process.stdout], [], [], _POLL_S)[0]:
            heard_s = time.monotonic()
            piece = os.read(process.stdout.fileno(), 1 << 16)
            if not piece:
                words = process.stderr.read().decode(errors="replace").splitlines()
                reason = words[-1] if words else "it said nothing"
                raise EngineError(f"the run ended early: {reason}", words[-20:])
            *lines, text = (text + piece).split(b"\n")
            for message in map(json.loads, lines):
                if "error" in message:
                    raise EngineError(f"the run failed: {message['error']}")
                if "finished" in message:
                    return
                done_s = message.get("done_s", done_s)
        elif time.monotonic() - heard_s > _SILENCE_S:
            raise EngineError(f"the run has said nothing for {_SILENCE_S:g} s")
        if on_progress is not None:
            on_progress(done_s)
