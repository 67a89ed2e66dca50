# SPDX-License-Identifier: Apache-2.0
"""Engines: the interface of a program that runs scenarios, and the description of an engine.

An engine of ccbench is a package in ``ccbench/emulate``: its ``__init__.py`` sets ``ENGINES`` to
the :class:`EngineInfo` of each engine in it, where :mod:`ccbench.emulate.registry` finds them. An
engine of your own needs no description: pass the object wherever an engine is expected.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from ccbench.base.errors import MissingRequirement
from ccbench.run import run_files

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self

    from ccbench.emulate.realtime.recording import Recording
    from ccbench.emulate.resources import Needs
    from ccbench.experiment.bottleneck import Bottleneck
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = [
    "Check",
    "Engine",
    "EngineInfo",
    "EngineOption",
    "LinkEngine",
    "Progress",
    "require",
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


def require(checks: Iterable[Check]) -> None:
    """Raise a MissingRequirement that names all checks that fail."""
    missing = [f"{one.name}: {one.detail}: {one.remedy}" for one in checks if not one.ok]
    if missing:
        raise MissingRequirement("; ".join(missing))


class Engine(Protocol):
    """Runs scenarios.

    An engine may be used by several threads at once.
    """

    @property
    def name(self) -> str:
        """The engine's name: the one in its :class:`EngineInfo`, if it has one."""

    @classmethod
    def of_version(cls, version: str) -> Self:
        """Return the engine of that version (:meth:`version`), as a cluster's worker needs it.

        What it lacks is built, which may take minutes.

        Raises
        ------
        MissingRequirement
            If this machine has no engine of that version and cannot build it.
        """

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

    def check_cca(self, cca: str, field: str = "cca") -> None:
        """Raise an InputError that names `field` if flows cannot have this congestion control.

        Raises a MissingRequirement if the engine itself is not installed.
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


@runtime_checkable
class LinkEngine(Engine, Protocol):
    """An engine that can also put any program behind an emulated link, which reaches servers."""

    def link_checks(self) -> list[Check]:
        """Return what :meth:`record` needs of this machine, and whether it is there."""

    def nearest_link(self, bottleneck: Bottleneck) -> Bottleneck:
        """Return the link of this engine that stands for a bottleneck.

        Engines differ in how they count a queue's places.

        Raises
        ------
        InputError
            If a command cannot be behind it.
        """

    def record(
        self,
        command: Sequence[str],
        bottleneck: Bottleneck,
        rtt_ms: float,
        *,
        direction: str = "down",
        output: IO[bytes] | None = None,
    ) -> Recording:
        """Run a command behind a link, and record the link's queue.

        Parameters
        ----------
        command : sequence of str
            Program and arguments. It has this process's standard input.
        bottleneck : Bottleneck
            A drop-tail queue and its link.
        rtt_ms : float
            Added to every round trip, in milliseconds.
        direction : str
            What passes the bottleneck: ``"down"``, the packets that the command receives, or
            ``"up"``, those that it sends.
        output : file, optional
            For the command's standard output and error; by default this process's.

        Raises
        ------
        InputError
            If the engine cannot be this link.
        MissingRequirement
            If something is not installed or not allowed.
        EngineError
            If the command was not started, or the record of its packets is not complete.
        """


@dataclass(frozen=True, kw_only=True)
class EngineOption:
    """An option of an engine: on the command line, and a keyword argument of its class.

    Parameters
    ----------
    flag : str
        The option of the commands that run scenarios, such as ``"--bess-dir"``.
    parameter : str
        The keyword argument.
    kind : type
        ``str``, ``int``, ``float``, or ``Path`` for a folder.
    metavar, help : str
        For ``--help``; the engines that have the option and its default are added.
    default : str
        The value without the option, in words.
    environment : str
        The environment variable that the engine reads where the option is left out; empty if there
        is none.
    read : callable, optional
        Makes the argument of the option's value. It raises an
        :class:`~ccbench.base.errors.InputError` that names the flag.
    """

    flag: str
    parameter: str
    kind: type[str | int | float | Path]
    metavar: str
    help: str
    default: str
    environment: str = ""
    read: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True, kw_only=True)
class EngineInfo:
    """Description of an engine, which imports nothing that only its runs need.

    Parameters
    ----------
    name : str
        The name in ``--engine NAME``.
    summary : str
        What it is, in a few words without a full stop.
    load : callable
        Imports and returns its class.
    page : str
        Its page in ``docs/``.
    install : str
        What to install, for the table of engines.
    is_real_time : bool
        Whether a run takes as long as the scenario.
    is_repeatable : bool
        Whether the same scenario always gives the same bytes.
    needs_root : bool
        Whether only root can run it.
    has_links : bool
        Whether its class is a :class:`LinkEngine`, whose links reach servers.
    options : tuple of EngineOption
        Its own options.
    """

    name: str
    summary: str
    load: Callable[[], type[Engine]]
    page: str
    install: str
    is_real_time: bool
    is_repeatable: bool
    needs_root: bool
    has_links: bool
    options: tuple[EngineOption, ...] = ()


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
