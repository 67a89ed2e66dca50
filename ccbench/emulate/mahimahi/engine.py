# SPDX-License-Identifier: Apache-2.0
"""Mahimahi as an engine: the host's own TCP, over an emulated path, in real time."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from ccbench.base.code_digests import code_digest
from ccbench.base.errors import MissingRequirement
from ccbench.emulate._workspace import workspace
from ccbench.emulate.engine import run_identity, run_provenance
from ccbench.emulate.mahimahi import doctor
from ccbench.emulate.mahimahi.delay import LARGEST_JITTER_MS
from ccbench.emulate.mahimahi.records import read_run
from ccbench.emulate.mahimahi.shells import check_path
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

__all__ = ["MahimahiEngine"]

#: The modules that make a run of a scenario, and its tables of what that has left.
_CODE = ("ccbench.emulate.mahimahi.world", "ccbench.emulate.mahimahi.records")

#: A packet's lines in mm-link's log, and its records, in bytes.
_RECORDS_BYTES = 100


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
    >>> from dataclasses import replace
    >>> from ccbench import Scenario
    >>> scenario = replace(Scenario.load("examples/bbr-vs-cubic.toml"), duration_s=10)
    >>> run = MahimahiEngine().run(scenario)  # doctest: +SKIP
    """

    name = "mahimahi"

    def __init__(self, user: str | None = None) -> None:
        self.user = ordinary_user(user)

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
        return f"{code_digest(*_CODE)[:12]}-{platform.release()}-{doctor.programs_digest()}"

    def identity(self, scenario: Scenario) -> str:
        """Return the digest of all that decides what a run of `scenario` looks like."""
        return run_identity(self.name, self.version(), scenario.key())

    def provenance(self) -> dict[str, object]:
        """Return what this engine is; see :meth:`ccbench.emulate.engine.Engine.provenance`."""
        return provenance(self.name, self.version())

    def check(self, scenario: Scenario) -> None:
        """Raise an InputError if Mahimahi or this kernel cannot do what the scenario says."""
        check_scenario(scenario, self.name)
        check_path(scenario.bottlenecks[0], scenario.rtt_ms)
        check_noise(scenario.noise, self.name, LARGEST_JITTER_MS)
        require(self.doctor())

    def needs(self, scenario: Scenario) -> Needs:
        """Return what a run takes; see :meth:`ccbench.emulate.engine.Engine.needs`."""
        return needs(scenario, _RECORDS_BYTES)

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Run a scenario; see :meth:`ccbench.emulate.engine.Engine.run`."""
        self.check(scenario)
        with workspace() as folder:
            folder.chmod(0o711)  # the shells' user finds its way through
            run_world(
                "ccbench.emulate.mahimahi.world",
                scenario,
                folder,
                self.user,
                on_progress=on_progress,
            )
            return read_run(scenario, folder, run_provenance(self, scenario))

    def doctor(self) -> list[Check]:
        """Return what Mahimahi needs of this machine, and whether it is there."""
        return doctor.checks(self.user)
