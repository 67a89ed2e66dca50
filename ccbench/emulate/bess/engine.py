# SPDX-License-Identifier: Apache-2.0
"""BESS as an engine: the host's own TCP, over a software switch, in real time."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base.code_digests import code_digest
from ccbench.base.errors import MissingRequirement
from ccbench.emulate._workspace import workspace
from ccbench.emulate.bess import doctor
from ccbench.emulate.bess.cores import own_core
from ccbench.emulate.bess.files import program
from ccbench.emulate.bess.pipeline import check_bottleneck
from ccbench.emulate.bess.records import read_run
from ccbench.emulate.engine import run_identity, run_provenance
from ccbench.emulate.mahimahi.delay import LARGEST_JITTER_MS
from ccbench.emulate.mahimahi.doctor import programs_digest
from ccbench.emulate.realtime.host import (
    check_noise,
    check_scenario,
    ordinary_user,
    provenance,
    require,
)
from ccbench.emulate.realtime.needs import needs
from ccbench.emulate.realtime.supervisor import run_world

if TYPE_CHECKING:
    from ccbench.emulate.engine import Check, Progress
    from ccbench.emulate.resources import Needs
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["BessEngine"]

#: The modules that make a run of a scenario, and its tables of what that has left.
_CODE = ("ccbench.emulate.bess.world", "ccbench.emulate.bess.records")

#: A packet as it came to the queue, as it left it and, with losses, as it was sent, in bytes.
_RECORDS_BYTES = 3 * 1530


class BessEngine:
    """Runs scenarios on the TCP stack of this machine, in real time, through a BESS switch.

    Every run has a bessd and network, mount and process namespaces of its own, and a core for
    bessd alone; a run for which there is none waits.

    Parameters
    ----------
    directory : path, optional
        The folder in which BESS was built. By default the one that the environment variable
        ``CCBENCH_BESS_DIR`` names.
    user : str, optional
        Who runs Mahimahi's mm-delay, which is needed if BESS has no module that delays packets. By
        default as for :class:`~ccbench.emulate.mahimahi.engine.MahimahiEngine`.

    Examples
    --------
    As root, where BESS was built:

    .. code-block:: python

        run = BessEngine("/opt/bess").run(Scenario.load("scenario.toml"))
    """

    name = "bess"

    def __init__(self, directory: str | Path | None = None, user: str | None = None) -> None:
        named = directory or os.environ.get("CCBENCH_BESS_DIR")
        self.directory = Path(named).resolve() if named else None
        self.user = ordinary_user(user)

    @classmethod
    def of_version(cls, version: str) -> BessEngine:
        """Return the engine of that version.

        Raises
        ------
        MissingRequirement
            If that is another one.
        """
        engine = cls()
        if engine.version() != version:
            raise MissingRequirement(
                f"BESS here is {engine.version()}, but {version} is needed: use machines with the "
                "same kernel and the same bessd, and set CCBENCH_BESS_DIR on each"
            )
        return engine

    def version(self) -> str:
        """Return what identifies everything that can change a result."""
        digest = "none" if self.directory is None else _digest(program(self.directory))
        if self.directory is None or not doctor.delays(self.directory):
            digest += f"-{programs_digest()}"
        return f"{code_digest(*_CODE)[:12]}-{platform.release()}-{digest}"

    def identity(self, scenario: Scenario) -> str:
        """Return the digest of all that decides what a run of `scenario` looks like."""
        return run_identity(self.name, self.version(), scenario.key())

    def provenance(self) -> dict[str, object]:
        """Return what this engine is; see :meth:`ccbench.emulate.engine.Engine.provenance`."""
        return provenance(self.name, self.version())

    def check(self, scenario: Scenario) -> None:
        """Raise an InputError if BESS or this kernel cannot do what the scenario says."""
        check_scenario(scenario, self.name)
        check_bottleneck(scenario.bottlenecks[0])
        # A build that delays packets itself does without mm-delay and its jitter.
        delays = self.directory is not None and doctor.delays(self.directory)
        check_noise(scenario.noise, self.name, 0.0 if delays else LARGEST_JITTER_MS)
        require(self.doctor())
        assert self.directory is not None
        doctor.check_rtt(self.directory, scenario.rtt_ms)

    def needs(self, scenario: Scenario) -> Needs:
        """Return what a run takes; see :meth:`ccbench.emulate.engine.Engine.needs`."""
        return needs(scenario, _RECORDS_BYTES)

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Run a scenario; see :meth:`ccbench.emulate.engine.Engine.run`."""
        self.check(scenario)

        def waiting() -> None:
            if on_progress is not None:
                on_progress(0.0)

        with own_core(waiting) as core, workspace() as folder:
            folder.chmod(0o711)  # mm-delay's user finds its way through
            run_world(
                "ccbench.emulate.bess.world",
                scenario,
                folder,
                *(str(self.directory), self.user, str(core)),
                on_progress=on_progress,
            )
            return read_run(scenario, folder, run_provenance(self, scenario))

    def doctor(self) -> list[Check]:
        """Return what BESS needs of this machine, and whether it is there."""
        return doctor.checks(self.directory, self.user)


@cache
def _digest(program: Path) -> str:
    """Return what tells this build of BESS from others; "none" without one."""
    if not program.is_file():
        return "none"
    return hashlib.sha256(program.read_bytes()).hexdigest()[:8]
