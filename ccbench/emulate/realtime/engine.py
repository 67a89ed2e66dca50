# SPDX-License-Identifier: Apache-2.0
"""Base class of real-time engines, which run this machine's TCP over an emulated path."""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING, Any, ClassVar

from ccbench.base import validation
from ccbench.base.code_digests import code_digest
from ccbench.base.errors import MissingRequirement
from ccbench.emulate._workspace import workspace
from ccbench.emulate.engine import require, run_identity, run_provenance
from ccbench.emulate.realtime.command import (
    check_command,
    check_link,
    exit_status,
    run_session,
)
from ccbench.emulate.realtime.host import (
    check_cca,
    check_noise,
    check_scenario,
    ordinary_user,
    provenance,
)
from ccbench.emulate.realtime.needs import needs
from ccbench.emulate.realtime.supervisor import run_world

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from typing_extensions import Self

    from ccbench.emulate.engine import Check, Progress
    from ccbench.emulate.recording import CommandRecording
    from ccbench.emulate.resources import Needs
    from ccbench.experiment.bottleneck import Bottleneck
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["RealTimeEngine"]

_MAX_RTT_MS = 10_000


class RealTimeEngine(ABC):
    """A real-time engine: runs scenarios, and any program behind a link.

    Each run has its own network, mount and process namespaces. Subclasses define the path: the
    modules ``world`` and ``session`` of their package are the first processes of the namespaces of
    a scenario and of a command, respectively.

    Parameters
    ----------
    user : str, optional
        The user of programs that refuse root. By default the environment variable ``CCBENCH_USER``,
        the caller of sudo, or ``nobody``.
    """

    name: ClassVar[str]
    #: The package with ``world``, ``session`` and ``records``.
    package: ClassVar[str]
    #: The program that emulates the path, and the software that machines with equal versions share.
    program: ClassVar[str]
    shared: ClassVar[str]
    #: Size of all records of one packet in bytes.
    packet_record_bytes: ClassVar[int]
    #: The minimum delay of a command's link in milliseconds, and the possible directions of its
    #: bottleneck.
    shortest_rtt_ms: ClassVar[int]
    directions: ClassVar[tuple[str, ...]] = ("down",)
    #: Whether acknowledgements can have a bottleneck.
    has_way_back: ClassVar[bool] = False
    #: The file with the command's exit status in a session's folder.
    status_file: ClassVar[str]

    def __init__(self, user: str | None = None) -> None:
        self.user = ordinary_user(user)

    @classmethod
    def of_version(cls, version: str) -> Self:
        """Return the engine of that version.

        Raises
        ------
        MissingRequirement
            If this machine has another version.
        """
        engine = cls()
        if engine.version() != version:
            raise MissingRequirement(
                f"{cls.program} here is {engine.version()}, but {version} is needed: use machines "
                f"with {cls.shared}"
            )
        return engine

    def version(self) -> str:
        """Return an identifier of everything that affects results."""
        code = code_digest(f"{self.package}.world", f"{self.package}.records")[:12]
        return f"{code}-{platform.release()}-{self.programs()}"

    def identity(self, scenario: Scenario) -> str:
        """Return the digest of everything that determines a run of `scenario`."""
        return run_identity(self.name, self.version(), scenario.key())

    def provenance(self) -> dict[str, object]:
        """Describe this engine; see :meth:`ccbench.emulate.engine.Engine.provenance`."""
        return provenance(self.name, self.version())

    def check_cca(self, cca: str, field: str = "cca") -> None:
        """Raise an InputError about `field` if this machine lacks a congestion control."""
        check_cca(cca, field)

    def check(self, scenario: Scenario) -> None:
        """Raise an InputError if the path or this machine's kernel does not support a scenario."""
        check_scenario(scenario, self.name, has_way_back=self.has_way_back)
        self.check_path(scenario.path.bottlenecks[0], scenario.path.rtt_ms)
        for bottleneck in scenario.path.reverse_bottlenecks:
            self.check_way_back(bottleneck)
        check_noise(scenario.path.noise, self.name, self.jitter_ms())
        require(self.doctor())
        self.check_installed(scenario.path.rtt_ms)

    def needs(self, scenario: Scenario) -> Needs:
        """Return the resources of a run; see :meth:`ccbench.emulate.engine.Engine.needs`."""
        return needs(scenario, self.packet_record_bytes)

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Run a scenario; see :meth:`ccbench.emulate.engine.Engine.run`."""
        self.check(scenario)

        def waiting() -> None:
            if on_progress is not None:
                on_progress(0.0)

        with self.own_core(waiting) as core, workspace() as folder:
            folder.chmod(0o711)  # accessible to the ordinary user
            arguments = self.world_arguments(core)
            run_world(
                f"{self.package}.world", scenario, folder, *arguments, on_progress=on_progress
            )
            return self.read_run(scenario, folder, run_provenance(self, scenario))

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

        The command runs as an ordinary user and inherits this process's standard input. It reaches
        the same hosts as this machine, except for the machine's loopback addresses (127.0.0.1).

        Parameters
        ----------
        command, bottleneck, rtt_ms, direction, output
            As for :meth:`ccbench.emulate.engine.LinkEngine.record`.

        Raises
        ------
        InputError
            If the engine cannot emulate this link.
        MissingRequirement
            If a requirement is not installed or not permitted.
        EngineError
            If the command was not started, or the record of its packets is incomplete.

        Examples
        --------
        As root, on a machine that forwards packets:

        .. code-block:: python

            link = Bottleneck(bandwidth_mbps=12, queue_packets=63)
            recording = engine.record(["curl", "-O", "https://example.com/file"], link, 80)
            recording.queue["backlog_packets"].max()
        """
        check_command(command)
        self.check_link(bottleneck)
        validation.one_of("direction", direction, self.directions)
        delays = validation.Range(self.shortest_rtt_ms, _MAX_RTT_MS)
        rtt_ms = validation.number("rtt_ms", rtt_ms, delays, example=80)
        self.check_path(bottleneck, rtt_ms)
        require(self.link_checks())
        self.check_installed(rtt_ms)
        with self.own_core(lambda: None) as core, workspace() as folder:
            folder.chmod(0o711)
            self.prepare_link(folder, bottleneck, rtt_ms, direction, core)
            session = f"{self.package}.session"
            was_interrupted = run_session(session, folder, self.user, command, output)
            status = exit_status(folder, self.status_file, interrupted=was_interrupted)
            return self.read_command(
                folder,
                bottleneck,
                status=status,
                was_interrupted=was_interrupted,
                provenance={
                    **self.provenance(),
                    "bottleneck": bottleneck.to_dict(),
                    "rtt_ms": rtt_ms,
                    "direction": direction,
                    "command": list(command),
                },
            )

    def nearest_link(self, bottleneck: Bottleneck) -> Bottleneck:
        """Return the equivalent of a bottleneck on this engine.

        Raises
        ------
        InputError
            If the engine cannot emulate it.
        """
        self.check_link(bottleneck)
        return bottleneck

    def check_link(self, bottleneck: Bottleneck) -> None:
        """Raise an InputError if the engine cannot emulate this link for a command."""
        check_link(bottleneck)

    def check_installed(self, rtt_ms: float) -> None:  # noqa: B027 - most builds support all
        """Raise an InputError if the installed program does not support this delay."""

    def own_core(
        self,
        waiting: Callable[[], None],  # noqa: ARG002 - for subclasses
    ) -> AbstractContextManager[int]:
        """Reserve a core for the path's program, waiting for a free one; -1 if it needs none."""
        return nullcontext(-1)

    @abstractmethod
    def programs(self) -> str:
        """Return the digest of the path's programs."""

    @abstractmethod
    def doctor(self) -> list[Check]:
        """Return the checks of the engine's requirements on this machine."""

    @abstractmethod
    def link_checks(self) -> list[Check]:
        """Return the checks of the requirements of :meth:`record` on this machine."""

    @abstractmethod
    def check_path(self, bottleneck: Bottleneck, rtt_ms: float, /) -> None:
        """Raise an InputError if the programs cannot emulate this path."""

    def check_way_back(self, bottleneck: Bottleneck, /) -> None:  # noqa: B027 - only with one
        """Raise an InputError if the programs cannot emulate a bottleneck of the reverse path."""

    @abstractmethod
    def jitter_ms(self) -> float:
        """Return the path's inherent jitter in either direction in milliseconds."""

    @abstractmethod
    def world_arguments(self, core: int, /) -> tuple[str, ...]:
        """Return the arguments of the module ``world`` after the folder."""

    @abstractmethod
    def read_run(self, scenario: Scenario, folder: Path, provenance: Mapping[str, Any]) -> Run:
        """Read a run from the records in a folder."""

    @abstractmethod
    def prepare_link(
        self, folder: Path, bottleneck: Bottleneck, rtt_ms: float, direction: str, core: int, /
    ) -> None:
        """Write the input of the module ``session`` to its folder."""

    @abstractmethod
    def read_command(
        self, folder: Path, bottleneck: Bottleneck, /, **fields: Any
    ) -> CommandRecording:
        """Read the record of a command's link from a session's folder.

        Parameters
        ----------
        folder : Path
            The session's folder.
        bottleneck : Bottleneck
            The bottleneck of the link.
        **fields
            ``status``, ``was_interrupted`` and ``provenance`` of the CommandRecording.
        """
