# SPDX-License-Identifier: Apache-2.0
"""Interface and description of engines, which run scenarios.

Each engine of ccbench is part of a package in ``ccbench/emulate``, whose ``__init__.py`` lists the
:class:`EngineInfo` of its engines in ``ENGINES`` (see :mod:`ccbench.emulate.registry`). Engines
outside ccbench need no description: pass the object wherever an engine is expected.
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

    from ccbench.emulate.recording import CommandRecording
    from ccbench.emulate.resources import Needs
    from ccbench.experiment.bottleneck import Bottleneck
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = [
    "CapturingEngine",
    "Check",
    "ChoosingEngine",
    "Engine",
    "EngineInfo",
    "EngineOption",
    "LinkEngine",
    "Progress",
    "StackEngine",
    "require",
    "run_identity",
    "run_provenance",
]

#: Callback with the completed time of the scenario in seconds.
Progress: TypeAlias = Callable[[float], None]


@dataclass(frozen=True, kw_only=True)
class Check:
    """Check of one requirement on this machine.

    Parameters
    ----------
    name : str
        Name of the requirement.
    ok : bool
        Whether it is met.
    detail : str
        The state of this machine in one line.
    remedy : str
        The next step if it is not met, in one line.
    """

    name: str
    ok: bool
    detail: str = ""
    remedy: str = ""

    @classmethod
    def of_programs(cls, name: str, missing: Mapping[str, str]) -> Check:
        """Return the check of installed programs; `missing` maps programs to their packages."""
        packages = " ".join(dict.fromkeys(missing.values()))
        return cls(
            name=name,
            ok=not missing,
            detail=f"not installed: {', '.join(missing)}" if missing else "all installed",
            remedy=f"sudo apt-get install -y {packages}",
        )


def require(checks: Iterable[Check]) -> None:
    """Raise a MissingRequirement that lists all failed checks."""
    missing = [f"{check.name}: {check.detail}: {check.remedy}" for check in checks if not check.ok]
    if missing:
        raise MissingRequirement("; ".join(missing))


class Engine(Protocol):
    """Interface of engines, which run scenarios.

    An engine may be used by several threads at once.
    """

    @property
    def name(self) -> str:
        """The engine's name, as in its :class:`EngineInfo` if it has one."""

    @classmethod
    def of_version(cls, version: str) -> Self:
        """Return the engine of that version (:meth:`version`), for workers of a cluster.

        Missing parts are built, which may take minutes.

        Raises
        ------
        MissingRequirement
            If this machine lacks that version and cannot build it.
        """

    def version(self) -> str:
        """Return an identifier of everything in the engine that affects results."""

    def identity(self, scenario: Scenario) -> str:
        """Return the digest of everything that determines a run of `scenario`.

        Runs with the same identity are equal except for the names of their scenarios, and are
        stored once. :func:`run_identity` computes it. The scenario has passed :meth:`check`.
        """

    def provenance(self) -> dict[str, object]:
        """Describe the engine by JSON values for files of results.

        They include ``ccbench`` (its version), ``engine`` (the name) and ``engine_version``.
        """

    def check_cca(self, cca: str, field: str = "cca") -> None:
        """Raise an InputError about `field` if the engine lacks this congestion control.

        Raise a MissingRequirement if the engine itself is not installed.
        """

    def check(self, scenario: Scenario) -> None:
        """Raise an :class:`~ccbench.base.errors.InputError` if this engine cannot run `scenario`.

        Start nothing, and raise a :class:`~ccbench.base.errors.MissingRequirement` if the engine
        itself is not installed.
        """

    def needs(self, scenario: Scenario) -> Needs:
        """Estimate the resources of a run of `scenario`, in well below a millisecond."""

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Run `scenario`.

        Parameters
        ----------
        scenario : Scenario
            The scenario.
        on_progress : callable, optional
            Called several times a second. If it raises an exception, the engine stops all processes
            of the run and propagates the exception.

        Raises
        ------
        EngineError
            If the run fails. No process is left running.
        """

    def doctor(self) -> list[Check]:
        """Return the checks of the engine's requirements on this machine."""


@runtime_checkable
class CapturingEngine(Engine, Protocol):
    """An engine that can also capture the packets of a run."""

    def capture_bytes(self, scenario: Scenario) -> float:
        """Return the maximum size of the capture of a run of `scenario`, in bytes."""

    def capture(
        self, scenario: Scenario, path: Path, *, on_progress: Progress | None = None
    ) -> Run:
        """Return the same run as :meth:`Engine.run`, and write its packets.

        Parameters
        ----------
        scenario : Scenario
            The scenario.
        path : Path
            File or folder of the capture, which :func:`ccbench.run.captures.writer.check_path` has
            accepted. A failed run leaves none.
        on_progress : callable, optional
            See :meth:`Engine.run`.

        Raises
        ------
        EngineError
            If the run fails.
        """


@runtime_checkable
class ChoosingEngine(Engine, Protocol):
    """An engine of several versions that differ in their features, such as releases of Linux."""

    def suiting(self, check: Callable[[Self], object]) -> tuple[Self, str]:
        """Return the engine for an input: this one, or if it lacks a feature, another version.

        Parameters
        ----------
        check : callable
            Checks the input with an engine, as :meth:`Engine.check`.

        Returns
        -------
        engine : Engine
            An engine with which `check` raises no error.
        note : str
            The other version and the reason; empty if it is this one.

        Raises
        ------
        InputError
            That of this engine if no version has the feature, or the user chose this version.
        """


@runtime_checkable
class LinkEngine(Engine, Protocol):
    """An engine that can also run any program behind an emulated link that reaches servers."""

    @property
    def user(self) -> str:
        """The ordinary user that runs these programs."""

    def link_checks(self) -> list[Check]:
        """Return the checks of the requirements of :meth:`record` on this machine."""

    def nearest_link(self, bottleneck: Bottleneck) -> Bottleneck:
        """Return the equivalent of a bottleneck on this engine.

        Engines differ in the packets that count towards the length of a queue.

        Raises
        ------
        InputError
            If the engine cannot emulate it.
        """

    def record(
        self,
        command: Sequence[str],
        bottleneck: Bottleneck,
        rtt_ms: float,
        *,
        direction: str = "down",
        output: IO[bytes] | None = None,
    ) -> CommandRecording:
        """Run a command behind a link, and record the link's queue.

        Parameters
        ----------
        command : sequence of str
            Program and arguments. It inherits this process's standard input.
        bottleneck : Bottleneck
            A link with a drop-tail queue.
        rtt_ms : float
            Delay added to each round trip in milliseconds.
        direction : str
            Packets that pass the bottleneck: ``"down"`` for those that the command receives,
            ``"up"`` for those that it sends.
        output : file, optional
            The command's standard output and error; by default those of this process.

        Raises
        ------
        InputError
            If the engine cannot emulate this link.
        MissingRequirement
            If a requirement is not installed or not permitted.
        EngineError
            If the command was not started, or the record of its packets is incomplete.
        """


@runtime_checkable
class StackEngine(Engine, Protocol):
    """An engine that can run the programs of stacks (:mod:`ccbench.experiment.stacks`)."""

    def stack_checks(self) -> list[Check]:
        """Return for each stack the check that this machine has its programs."""


@dataclass(frozen=True, kw_only=True)
class EngineOption:
    """An option of an engine: on the command line, and a keyword argument of its class.

    Parameters
    ----------
    flag : str
        The option of commands that run scenarios, such as ``"--bess-dir"``.
    parameter : str
        The keyword argument.
    kind : type
        ``str``, ``int``, ``float``, or ``Path`` for a folder.
    metavar, help : str
        Texts for ``--help``, which adds the option's engines and default.
    default : str
        The default in words.
    environment : str
        The environment variable that the engine reads if the option is omitted, or empty.
    """

    flag: str
    parameter: str
    kind: type[str | int | float | Path]
    metavar: str
    help: str
    default: str
    environment: str = ""


@dataclass(frozen=True, kw_only=True)
class EngineInfo:
    """Description of an engine. It does not import the modules that only runs need.

    Parameters
    ----------
    name : str
        The name in ``--engine NAME``.
    summary : str
        A description in a few words without a full stop.
    load : callable
        Imports and returns its class.
    page : str
        Its page in ``docs/``.
    install : str
        The required installation, for the table of engines.
    is_real_time : bool
        Whether a run takes as long as the scenario.
    is_repeatable : bool
        Whether the same scenario always produces the same bytes.
    needs_root : bool
        Whether it requires root.
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
    """Return the identity of a run: the SHA-256 in hexadecimal of everything that determines it.

    Parameters
    ----------
    engine : str
        The engine's name.
    *parts : str
        The input and software of the run, each in full or as a digest. The version of the format of
        run files is added.

    Examples
    --------
    >>> run_identity("kernel", "1") == run_identity("kernel", "2")
    False
    """
    return hashlib.sha256(json.dumps([run_files.FORMAT, engine, *parts]).encode()).hexdigest()


def run_provenance(engine: Engine, scenario: Scenario) -> dict[str, Any]:
    """Return the provenance of a run: the engine and the scenario's identity, key and seed."""
    return {
        **engine.provenance(),
        "identity": engine.identity(scenario),
        "scenario_key": scenario.key(),
        "seed": scenario.seed,
    }
