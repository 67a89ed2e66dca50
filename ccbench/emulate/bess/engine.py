# SPDX-License-Identifier: Apache-2.0
"""BESS as an engine: the host's own TCP, over a software switch, in real time."""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench.emulate.bess import DIRECTORY, INFO, doctor, files
from ccbench.emulate.bess.cores import own_core
from ccbench.emulate.bess.pipeline import check_bottleneck, usable_queue
from ccbench.emulate.bess.records import read_command, read_run
from ccbench.emulate.engine import Check
from ccbench.emulate.mahimahi.delay import LARGEST_JITTER_MS
from ccbench.emulate.mahimahi.doctor import programs_digest
from ccbench.emulate.realtime.engine import RealTimeEngine
from ccbench.emulate.realtime.host import forwarding_check, lacking, user_check

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from ccbench.emulate.recording import CommandRecording
    from ccbench.experiment.bottleneck import Bottleneck
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["BessEngine"]


class BessEngine(RealTimeEngine):
    """Runs scenarios on the TCP stack of this machine, in real time, through a BESS switch.

    Each run has its own bessd, its own network, mount and process namespaces, and a core reserved
    for bessd, for which it waits if necessary. The length of a link's queue in packets is a power
    of two minus one. The round-trip time is a whole number of milliseconds, and an even one if BESS
    has no module that delays packets.

    Parameters
    ----------
    directory : path, optional
        The folder in which BESS was built; by default the environment variable
        ``CCBENCH_BESS_DIR``.
    user : str, optional
        The user of commands, and of Mahimahi's mm-delay, which is required if BESS has no module
        that delays packets. By default as for
        :class:`~ccbench.emulate.mahimahi.engine.MahimahiEngine`.

    Examples
    --------
    As root, where BESS was built:

    .. code-block:: python

        run = BessEngine("/opt/bess").run(Scenario.load("scenario.toml"))
    """

    name = INFO.name
    package = "ccbench.emulate.bess"
    program = "BESS"
    shared = f"the same kernel and the same bessd, and set {DIRECTORY.environment} on each"
    packet_record_bytes = 3 * 1530  # captured at the sender, and before and after the queue
    shortest_rtt_ms = 1
    status_file = files.STATUS

    def __init__(self, directory: str | Path | None = None, user: str | None = None) -> None:
        super().__init__(user)
        path = directory or os.environ.get(DIRECTORY.environment)
        self.directory = Path(path).resolve() if path else None

    def programs(self) -> str:
        """Return the digest of bessd, and of mm-delay if required."""
        digest = "none" if self.directory is None else _digest(files.program(self.directory))
        return digest if self._delays() else f"{digest}-{programs_digest()}"

    def doctor(self) -> list[Check]:
        """Return the checks of BESS's requirements on this machine."""
        return doctor.checks(self.directory, self.user)

    def link_checks(self) -> list[Check]:
        """Return the checks of the requirements of :meth:`record` on this machine."""
        checks = [
            *self.doctor(),
            user_check(self.user),
            Check.of_programs("programs for the way out", lacking({"iptables": "iptables"})),
            forwarding_check(),
        ]
        return list({check.name: check for check in checks}.values())  # mm-delay also checks user

    def nearest_link(self, bottleneck: Bottleneck) -> Bottleneck:
        """Return the link with the same queue capacity, of which BESS uses all but one packet."""
        return super().nearest_link(usable_queue(bottleneck))

    def check_link(self, bottleneck: Bottleneck) -> None:
        """Raise an InputError if BESS cannot emulate this link for a command."""
        super().check_link(bottleneck)
        check_bottleneck(bottleneck)

    def check_path(self, bottleneck: Bottleneck, _rtt_ms: float, /) -> None:
        """Raise an InputError if BESS cannot emulate this path."""
        check_bottleneck(bottleneck)

    def check_installed(self, rtt_ms: float) -> None:
        """Raise an InputError if this build of BESS does not support this delay."""
        assert self.directory is not None
        doctor.check_rtt(self.directory, rtt_ms)

    def jitter_ms(self) -> float:
        """Return the path's inherent jitter in milliseconds: that of mm-delay if it is used."""
        return 0.0 if self._delays() else LARGEST_JITTER_MS

    def own_core(self, waiting: Callable[[], None]) -> AbstractContextManager[int]:
        """Reserve a core for bessd, waiting for a free one."""
        return own_core(waiting)

    def world_arguments(self, core: int) -> tuple[str, ...]:
        """Return the arguments of the module ``world`` after the folder."""
        return str(self.directory), self.user, str(core)

    def read_run(self, scenario: Scenario, folder: Path, provenance: Mapping[str, Any]) -> Run:
        """Read a run from the records in a folder."""
        return read_run(scenario, folder, provenance)

    def prepare_link(
        self, folder: Path, bottleneck: Bottleneck, rtt_ms: float, _direction: str, core: int, /
    ) -> None:
        """Write the switch's settings to a session's folder."""
        settings = {
            "directory": str(self.directory),
            "core": core,
            "bottleneck": bottleneck.to_dict(),
            "rtt_ms": rtt_ms,
        }
        (folder / files.SESSION).write_text(json.dumps(settings), encoding="utf-8")

    def read_command(
        self, folder: Path, bottleneck: Bottleneck, /, **fields: Any
    ) -> CommandRecording:
        """Read the captures and counters of the link from a session's folder."""
        if not (folder / files.STATUS).exists():
            raise KeyboardInterrupt  # the command was not started
        return read_command(folder, bottleneck, **fields)

    def _delays(self) -> bool:
        """Return whether this BESS has a module that delays packets."""
        return self.directory is not None and doctor.delays(self.directory)


@cache
def _digest(program: Path) -> str:
    """Return a digest of a build of BESS; "none" if it is missing."""
    if not program.is_file():
        return "none"
    return hashlib.sha256(program.read_bytes()).hexdigest()[:8]
