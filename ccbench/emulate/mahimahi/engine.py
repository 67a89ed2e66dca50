# SPDX-License-Identifier: Apache-2.0
"""Mahimahi as an engine: the host's own TCP, over an emulated path, in real time."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import select
import shutil
import subprocess
import time
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench import _validate
from ccbench.emulate._workspace import workspace
from ccbench.emulate.mahimahi import doctor, files
from ccbench.emulate.mahimahi.private import in_namespaces
from ccbench.emulate.mahimahi.records import read_run
from ccbench.emulate.mahimahi.shells import check_path
from ccbench.errors import EngineError, MissingRequirement

if TYPE_CHECKING:
    from ccbench.emulate.engine import Check, Progress
    from ccbench.run import Run
    from ccbench.scenario import Scenario

__all__ = ["MahimahiEngine"]

#: Changes when the same scenario would give another Run.
_VERSION = 1

#: Each has a port.
_MOST_FLOWS = 1_000
#: mm-link delivers answers at whole milliseconds.
_LARGEST_JITTER_MS = 1.0
#: A run that says nothing for this long does not go on.
_SILENCE_S = 60.0
_POLL_S = 0.1


class MahimahiEngine:
    """Runs scenarios on the TCP stack of this machine, in real time, through Mahimahi's shells.

    Every run has network, mount and process namespaces of its own.

    Parameters
    ----------
    user : str, optional
        Who runs the shells, which refuse root. By default the user that the environment variable
        ``CCBENCH_USER`` names, or who has called sudo, or ``nobody``.

    Examples
    --------
    >>> run = MahimahiEngine().run(Scenario.load("examples/bbr-vs-cubic.toml"))  # doctest: +SKIP
    """

    name = "mahimahi"

    def __init__(self, user: str | None = None) -> None:
        named = user or os.environ.get("CCBENCH_USER") or os.environ.get("SUDO_USER", "nobody")
        self.user = "nobody" if named == "root" else named

    @classmethod
    def of_version(cls, version: str) -> MahimahiEngine:
        """Return the engine of that version.

        Raises
        ------
        MissingRequirement
            If that is another one.
        """
        engine = cls()
        if engine.version() != version:
            raise MissingRequirement(
                f"Mahimahi here is {engine.version()}, but {version} is needed: use machines with "
                "the same kernel and the same mahimahi package"
            )
        return engine

    def version(self) -> str:
        """Return what identifies everything that can change a result."""
        return f"{_VERSION}-{platform.release()}-{_programs_digest()}"

    def provenance(self) -> dict[str, object]:
        """Return what this engine is; see :meth:`ccbench.emulate.engine.Engine.provenance`."""
        return {
            "ccbench": version("ccbench"),
            "engine": self.name,
            "engine_version": self.version(),
            "kernel_release": platform.release(),
            "machine": platform.machine(),
        }

    def check(self, scenario: Scenario) -> None:
        """Raise an InputError if Mahimahi or this kernel cannot do what the scenario says."""
        if len(scenario.bottlenecks) > 1:
            allowed, step = "one with the engine mahimahi", "remove some, or use the engine kernel"
            raise _validate.bad("bottlenecks", len(scenario.bottlenecks), allowed, step)
        check_path(scenario.bottlenecks[0], scenario.rtt_ms)
        if scenario.flow_count > _MOST_FLOWS:
            allowed = f"at most {_MOST_FLOWS} single flows with the engine mahimahi"
            raise _validate.bad("flows", scenario.flow_count, allowed, "lower the counts")
        if scenario.jitter_ms > _LARGEST_JITTER_MS:
            allowed = f"at most {_LARGEST_JITTER_MS:g} with the engine mahimahi, whose own it is"
            raise _validate.bad("jitter_ms", scenario.jitter_ms, allowed, "lower it")
        available = doctor.available_ccas()
        for i, flow in enumerate(scenario.flows):
            with _validate.within(f"flows[{i}]."):
                if flow.extra_rtt_ms:
                    allowed = "0 with the engine mahimahi, where all flows share one path"
                    raise _validate.bad("extra_rtt_ms", flow.extra_rtt_ms, allowed, "remove it")
                if not flow.is_udp and flow.cca not in available:
                    allowed = f"one that this machine's kernel has: {', '.join(available)}"
                    step = f"choose one, or load it (sudo modprobe tcp_{flow.cca})"
                    raise _validate.bad("cca", flow.cca, allowed, step)
        doctor.require(self.doctor())

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Run a scenario; see :meth:`ccbench.emulate.engine.Engine.run`."""
        self.check(scenario)
        with workspace() as folder:
            folder.chmod(0o711)  # the shells' user finds its way through
            document = json.dumps(scenario.to_dict())
            (folder / files.SCENARIO).write_text(document, encoding="utf-8")
            _in_private_namespaces(folder, self.user, on_progress)
            provenance = {
                **self.provenance(),
                "scenario_key": scenario.key(),
                "seed": scenario.seed,
            }
            return read_run(scenario, folder, provenance)

    def doctor(self) -> list[Check]:
        """Return what Mahimahi needs of this machine, and whether it is there."""
        return doctor.checks(self.user)


@cache
def _programs_digest() -> str:
    """Return what tells this machine's build of Mahimahi from others; "none" without one."""
    digest = hashlib.sha256()
    for name in doctor.PROGRAMS:
        path = shutil.which(name)
        if path is None:
            return "none"
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()[:8]


def _in_private_namespaces(folder: Path, user: str, on_progress: Progress | None) -> None:
    """Run what is in the folder, until it is complete.

    Raises
    ------
    EngineError
        If it fails. Nothing is left of it, whatever happens.
    """
    command = in_namespaces("ccbench.emulate.mahimahi.world", str(folder), user, network=True)
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
                raise EngineError(f"the run on Mahimahi ended early: {reason}", words[-20:])
            *lines, text = (text + piece).split(b"\n")
            for message in map(json.loads, lines):
                if "error" in message:
                    raise EngineError(f"the run on Mahimahi failed: {message['error']}")
                if "finished" in message:
                    return
                done_s = message.get("done_s", done_s)
        elif time.monotonic() - heard_s > _SILENCE_S:
            raise EngineError(f"the run on Mahimahi has said nothing for {_SILENCE_S:g} s")
        if on_progress is not None:
            on_progress(done_s)
