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
from ccbench.emulate.bess.pipeline import check_bottleneck, counted_in_places
from ccbench.emulate.bess.records import read_command, read_run
from ccbench.emulate.engine import Check
from ccbench.emulate.mahimahi.delay import LARGEST_JITTER_MS
from ccbench.emulate.mahimahi.doctor import programs_digest
from ccbench.emulate.realtime.engine import RealTimeEngine
from ccbench.emulate.realtime.host import forwarding_check, lacking, user_check

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from ccbench.emulate.realtime.recording import Recording
    from ccbench.experiment.bottleneck import Bottleneck
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["BessEngine"]


class BessEngine(RealTimeEngine):
    """Runs scenarios on the TCP stack of this machine, in real time, through a BESS switch.

    Every run has a bessd and network, mount and process namespaces of its own, and a core for
    bessd alone; a run for which there is none waits. The queue of a command's link holds a power of
    two of packets less one. Its round trip is a whole number of milliseconds, and an even one
    without a module of BESS that delays packets.

    Parameters
    ----------
    directory : path, optional
        The folder in which BESS was built. By default the one that the environment variable
        ``CCBENCH_BESS_DIR`` names.
    user : str, optional
        Who runs commands, and Mahimahi's mm-delay, which is needed if BESS has no module that
        delays packets. By default as for
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
    packet_record_bytes = 3 * 1530  # as it came to the queue, as it left it, and as it was sent
    shortest_rtt_ms = 1
    status_file = files.STATUS

    def __init__(self, directory: str | Path | None = None, user: str | None = None) -> None:
        super().__init__(user)
        named = directory or os.environ.get(DIRECTORY.environment)
        self.directory = Path(named).resolve() if named else None

    def programs(self) -> str:
        """Return the digest of bessd, and of mm-delay if that is needed."""
        digest = "none" if self.directory is None else _digest(files.program(self.directory))
        return digest if self._delays() else f"{digest}-{programs_digest()}"

    def doctor(self) -> list[Check]:
        """Return what BESS needs of this machine, and whether it is there."""
        return doctor.checks(self.directory, self.user)

    def link_checks(self) -> list[Check]:
        """Return what :meth:`record` needs of this machine, and whether it is there."""
        found = [
            *self.doctor(),
            user_check(self.user),
            Check.of_programs("programs for the way out", lacking({"iptables": "iptables"})),
            forwarding_check(),
        ]
        return list({check.name: check for check in found}.values())  # mm-delay needs a user, too

    def nearest_link(self, bottleneck: Bottleneck) -> Bottleneck:
        """Return the link whose queue has as many places, of which BESS fills all but one."""
        return super().nearest_link(counted_in_places(bottleneck))

    def check_link(self, bottleneck: Bottleneck) -> None:
        """Raise an InputError if no command can be behind this link."""
        super().check_link(bottleneck)
        check_bottleneck(bottleneck)

    def check_path(self, bottleneck: Bottleneck, _rtt_ms: float, /) -> None:
        """Raise an InputError if BESS cannot be this path."""
        check_bottleneck(bottleneck)

    def check_installed(self, rtt_ms: float) -> None:
        """Raise an InputError if this build of BESS cannot have this delay."""
        assert self.directory is not None
        doctor.check_rtt(self.directory, rtt_ms)

    def jitter_ms(self) -> float:
        """Return the path's own jitter: mm-delay's, which some builds do without."""
        return 0.0 if self._delays() else LARGEST_JITTER_MS

    def own_core(self, waiting: Callable[[], None]) -> AbstractContextManager[int]:
        """Hold a core for bessd alone, once one is free."""
        return own_core(waiting)

    def world_arguments(self, core: int) -> tuple[str, ...]:
        """Return the arguments of the module ``world`` after the folder."""
        return str(self.directory), self.user, str(core)

    def read_run(self, scenario: Scenario, folder: Path, provenance: Mapping[str, Any]) -> Run:
        """Read the run whose records are in a folder."""
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

    def read_command(self, folder: Path, bottleneck: Bottleneck, /, **fields: Any) -> Recording:
        """Read the captures and counts of the link from a session's folder."""
        if not (folder / files.STATUS).exists():
            raise KeyboardInterrupt  # it had not begun
        return read_command(folder, bottleneck, **fields)

    def _delays(self) -> bool:
        """Whether BESS is there with a module that delays packets."""
        return self.directory is not None and doctor.delays(self.directory)


@cache
def _digest(program: Path) -> str:
    """Return what tells this build of BESS from others; "none" without one."""
    if not program.is_file():
        return "none"
    return hashlib.sha256(program.read_bytes()).hexdigest()[:8]
