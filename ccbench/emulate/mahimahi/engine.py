# SPDX-License-Identifier: Apache-2.0
"""Mahimahi as an engine: the host's own TCP, over an emulated path, in real time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.emulate.mahimahi import INFO, doctor, files
from ccbench.emulate.mahimahi.delay import LARGEST_JITTER_MS
from ccbench.emulate.mahimahi.link_log import LinkLog
from ccbench.emulate.mahimahi.rate import link_trace
from ccbench.emulate.mahimahi.records import read_run
from ccbench.emulate.mahimahi.replay import replay
from ccbench.emulate.mahimahi.shells import (
    ANSWERS,
    DIRECTIONS,
    check_path,
    check_way_back,
    shells,
)
from ccbench.emulate.realtime.engine import RealTimeEngine
from ccbench.emulate.realtime.host import forwarding_check
from ccbench.emulate.realtime.namespaces import HERE
from ccbench.emulate.recording import CommandRecording

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ccbench.emulate.engine import Check
    from ccbench.experiment.bottleneck import Bottleneck
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["MahimahiEngine"]


class MahimahiEngine(RealTimeEngine):
    """Runs scenarios on the TCP stack of this machine, in real time, through Mahimahi's shells.

    A command behind a link reaches the machine itself at ``$MAHIMAHI_BASE``. Round-trip times of
    links are even numbers of milliseconds.

    Parameters
    ----------
    user : str, optional
        The user of the shells, which refuse root. By default the environment variable
        ``CCBENCH_USER``, the caller of sudo, or ``nobody``.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from ccbench import Scenario
    >>> scenario = replace(Scenario.load("examples/bbr-vs-cubic.toml"), duration_s=8)
    >>> run = MahimahiEngine().run(scenario)  # doctest: +SKIP
    """

    name = INFO.name
    package = "ccbench.emulate.mahimahi"
    program = "Mahimahi"
    shared = "the same kernel and the same mahimahi package"
    packet_record_bytes = 100  # lines in mm-link's log, and captured packets
    shortest_rtt_ms = 2
    directions = DIRECTIONS
    has_way_back = True
    status_file = files.STATUS

    def programs(self) -> str:
        """Return the digest of Mahimahi's programs."""
        return doctor.programs_digest()

    def doctor(self) -> list[Check]:
        """Return the checks of Mahimahi's requirements on this machine."""
        return doctor.checks(self.user)

    def link_checks(self) -> list[Check]:
        """Return the checks of the requirements of :meth:`record` on this machine."""
        return [*self.doctor(), forwarding_check()]

    def check_path(self, bottleneck: Bottleneck, rtt_ms: float) -> None:
        """Raise an InputError if Mahimahi cannot emulate this path."""
        check_path(bottleneck, rtt_ms)

    def check_way_back(self, bottleneck: Bottleneck) -> None:
        """Raise an InputError if Mahimahi cannot emulate a bottleneck of the reverse path."""
        check_way_back(bottleneck)

    def check_link(self, bottleneck: Bottleneck) -> None:
        """Raise an InputError if this link cannot be emulated or recorded for a command."""
        super().check_link(bottleneck)
        validation.one_of("qdisc", bottleneck.qdisc, ("droptail",))

    def jitter_ms(self) -> float:
        """Return the path's inherent jitter in either direction in milliseconds."""
        return LARGEST_JITTER_MS

    def world_arguments(self, _core: int, /) -> tuple[str, ...]:
        """Return the arguments of the module ``world`` after the folder."""
        return (self.user,)

    def read_run(self, scenario: Scenario, folder: Path, provenance: Mapping[str, Any]) -> Run:
        """Read a run from the records in a folder."""
        return read_run(scenario, folder, provenance)

    def prepare_link(
        self, folder: Path, bottleneck: Bottleneck, rtt_ms: float, direction: str, _core: int, /
    ) -> None:
        """Write the shells' command lines and traces to a session's folder."""
        trace, _ = link_trace(bottleneck, at_least_ms=0)
        trace.to_file(folder / files.LINK_TRACE)
        ANSWERS.to_file(folder / files.ANSWERS_TRACE)
        nested = shells(
            bottleneck,
            rtt_ms,
            link=HERE / files.LINK_TRACE,
            answers=HERE / files.ANSWERS_TRACE,
            log=HERE / files.LINK_LOG,
            direction=direction,
        )
        (folder / files.SHELLS).write_text(json.dumps(nested), encoding="utf-8")

    def read_command(
        self, folder: Path, _bottleneck: Bottleneck, /, **fields: Any
    ) -> CommandRecording:
        """Read mm-link's log of the link from a session's folder."""
        log = LinkLog.read(folder / files.LINK_LOG)
        times_ms = log.lines["time_ms"]
        duration_s = times_ms.iloc[-1] / 1e3 if len(times_ms) else 0.0
        return CommandRecording(duration_s=duration_s, queue=replay(log), **fields)
