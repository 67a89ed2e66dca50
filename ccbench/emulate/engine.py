# SPDX-License-Identifier: Apache-2.0
"""Engines: what can run a scenario."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ccbench.base import validation
from ccbench.run import run_files

if TYPE_CHECKING:
    from ccbench.emulate.resources import Needs
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = [
    "ENGINES",
    "Check",
    "Engine",
    "Progress",
    "get_engine",
    "run_identity",
    "run_provenance",
]

#: Is called with the seconds of the scenario that are done.
Progress: TypeAlias = Callable[[float], None]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that an engine needs of this machine.

    Parameters
    ----------
    name : str
        What it is.
    ok : bool
        Whether it is there.
    detail : str
        What was found, in one line.
    remedy : str
        What to do if it is not there, in one line.
    """

    name: str
    ok: bool
    detail: str = ""
    remedy: str = ""

    @classmethod
    def of_programs(cls, name: str, missing: Mapping[str, str]) -> Check:
        """Return the check that programs are installed; those `missing` with their packages."""
        packages = " ".join(dict.fromkeys(missing.values()))
        return cls(
            name=name,
            ok=not missing,
            detail=f"not installed: {', '.join(missing)}" if missing else "all installed",
            remedy=f"sudo apt-get install -y {packages}",
        )


class Engine(Protocol):
    """Runs scenarios.

    An engine may be used by several threads at once.
    """

    @property
    def name(self) -> str:
        """The name that :func:`get_engine` knows it by."""

    def version(self) -> str:
        """Return what identifies everything in the engine that can change a result."""

    def identity(self, scenario: Scenario) -> str:
        """Return the digest of all that decides what a run of `scenario` looks like.

        Runs of equal identity are equal, but for their scenarios' names. A store keeps each once.
        :func:`run_identity` makes it. The scenario is one that :meth:`check` lets pass.
        """

    def provenance(self) -> dict[str, object]:
        """Return JSON-able values that say what this engine is, for files of results.

        Among them are ``ccbench`` (its version), ``engine`` (the name) and ``engine_version``.
        """

    def check(self, scenario: Scenario) -> None:
        """Raise an :class:`~ccbench.base.errors.InputError` if this engine cannot run `scenario`.

        Starts nothing, and raises :class:`~ccbench.base.errors.MissingRequirement` if the engine
        itself is not installed.
        """

    def needs(self, scenario: Scenario) -> Needs:
        """Return about what a run of `scenario` takes of a machine, in well below a millisecond."""

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Run `scenario`.

        Parameters
        ----------
        scenario : Scenario
            What to run.
        on_progress : callable, optional
            Is called several times a second. An exception that it raises ends the run: the engine
            stops what it started and lets the exception through.

        Raises
        ------
        EngineError
            If the run fails. Nothing is left running.
        """

    def doctor(self) -> list[Check]:
        """Return what the engine needs of this machine, and whether it is there."""


def run_identity(engine: str, *parts: str) -> str:
    """Return the identity of a run: the SHA-256 in hexadecimal of what decides what it looks like.

    Parameters
    ----------
    engine : str
        The engine's name.
    *parts : str
        What is run and what runs it, each in full or as a digest. The format of a run's files is
        added.

    Examples
    --------
    >>> run_identity("kernel", "1") == run_identity("kernel", "2")
    False
    """
    return hashlib.sha256(json.dumps([run_files.FORMAT, engine, *parts]).encode()).hexdigest()


def run_provenance(engine: Engine, scenario: Scenario) -> dict[str, Any]:
    """Return what the provenance of a run says: the engine, and what it has run."""
    return {
        **engine.provenance(),
        "identity": engine.identity(scenario),
        "scenario_key": scenario.key(),
        "seed": scenario.seed,
    }


#: Where each engine is. They are imported when they are asked for, as they need different packages.
ENGINES = {
    "kernel": ("ccbench.emulate.kernel.engine", "KernelEngine"),
    "kernel-http": ("ccbench.emulate.kernel.http", "HttpKernelEngine"),
    "mahimahi": ("ccbench.emulate.mahimahi.engine", "MahimahiEngine"),
    "bess": ("ccbench.emulate.bess.engine", "BessEngine"),
}


def get_engine(name: str, version: str | None = None) -> Engine:
    """Return the engine of that name.

    Parameters
    ----------
    name : str
        One of :data:`ENGINES`.
    version : str, optional
        The version that it must have (:meth:`Engine.version`). What it lacks is built, which may
        take minutes. Left out: the one that this machine uses.

    Raises
    ------
    InputError
        If there is none of that name.
    MissingRequirement
        If this machine has no engine of that version and cannot build it.

    Examples
    --------
    >>> get_engine("kernel").name
    'kernel'
    """
    if name not in ENGINES:
        allowed = f"one of {', '.join(ENGINES)}"
        raise validation.bad("engine", name, allowed, 'write for example engine = "kernel"')
    module, cls = ENGINES[name]
    kind = getattr(importlib.import_module(module), cls)
    engine: Engine = kind() if version is None else kind.of_version(version)
    return engine
