# SPDX-License-Identifier: Apache-2.0
"""First process of a run's private namespaces, which starts nested Mahimahi shells.

Usage: ``python -m ccbench.emulate.mahimahi.world FOLDER USER``.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.emulate.mahimahi import files
from ccbench.emulate.mahimahi.gates import Gates, end
from ccbench.emulate.mahimahi.link_log import started_ms
from ccbench.emulate.mahimahi.private import ROUTER_SYSCTLS, make_ready, prepare
from ccbench.emulate.mahimahi.rate import constant_rate, link_trace
from ccbench.emulate.mahimahi.shells import ANSWERS, shells
from ccbench.emulate.mahimahi.sniffer import start_sniffer
from ccbench.emulate.realtime import world
from ccbench.emulate.realtime.files import (
    ARRIVALS,
    CONSOLE,
    DEPARTURES,
    SENT,
    WAY_BACK_ARRIVALS,
    WAY_BACK_DEPARTURES,
)
from ccbench.emulate.realtime.namespaces import HERE, set_sysctls

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario
    from ccbench.experiment.trace import Trace

__all__: list[str] = []

#: Minimum time for the setup between the start of the link's clock and that of the scenario.
_LEAD_MS = 1_000
#: Time limit for the end of the sniffers, in seconds.
_TIMEOUT_S = 20.0


def run(folder: Path, user: pwd.struct_passwd, scenario: Scenario) -> None:
    """Run the scenario with shells of `user`.

    Raises
    ------
    RuntimeError
        If a part of the path does not start, or does not end with the others.
    """
    (bottleneck,) = scenario.path.bottlenecks
    prepare(folder)
    folder = HERE
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    trace, lead_ms = link_trace(bottleneck, at_least_ms=_LEAD_MS)
    path = _open_path(scenario, trace, folder, user)
    taps = {ARRIVALS: path.link, DEPARTURES: path.beyond}
    if bottleneck.loss:
        taps[SENT] = path.sender
    sniffers = [start_sniffer(pid, folder / name) for name, pid in taps.items()]
    if scenario.path.reverse_bottlenecks:
        taps = {WAY_BACK_ARRIVALS: path.beyond, WAY_BACK_DEPARTURES: path.link}
        sniffers += [start_sniffer(pid, folder / name, entering=True) for name, pid in taps.items()]
    world.talk(
        scenario,
        folder,
        zero_ns=(_link_started_ms(folder / files.LINK_LOG) + lead_ms) * 1_000_000,
        address=path.address,
        sender_pid=path.sender,
    )
    end(path.shells)
    for sniffer in sniffers:
        sniffer.join(_TIMEOUT_S)
        if sniffer.exitcode != 0:
            raise RuntimeError("a sniffer did not end with the shells")


@dataclass(frozen=True, kw_only=True)
class _Path:
    """The shells, processes in the network namespaces to capture in, and the outside address."""

    shells: subprocess.Popen[str]
    sender: int
    link: int
    beyond: int
    address: str


def _open_path(scenario: Scenario, trace: Trace, folder: Path, user: pwd.struct_passwd) -> _Path:
    link, answers = folder / files.LINK_TRACE, folder / files.ANSWERS_TRACE
    trace.to_file(link)
    way_back = None
    for reverse in scenario.path.reverse_bottlenecks:
        assert reverse.bandwidth_mbps is not None
        constant_rate(reverse.bandwidth_mbps).to_file(answers)
        way_back = reverse, folder / files.WAY_BACK_LOG
    if way_back is None:
        ANSWERS.to_file(answers)
    log = folder / files.LINK_LOG
    log.parent.mkdir()
    os.chown(log.parent, user.pw_uid, user.pw_gid)
    sysctls = world.host_sysctls(scenario)
    set_sysctls({**ROUTER_SYSCTLS, **sysctls})
    (bottleneck,) = scenario.path.bottlenecks
    nested = shells(
        bottleneck, scenario.path.rtt_ms, link=link, answers=answers, log=log, way_back=way_back
    )
    gates = Gates(folder / files.GATES, user)
    process = gates.start(nested, folder / CONSOLE)
    insides, address = gates.open_all(process, len(nested), partial(make_ready, sysctls))
    beyond, link_inside = insides[:2]
    return _Path(
        shells=process, sender=insides[-1], link=link_inside, beyond=beyond, address=address
    )


def _link_started_ms(log: Path) -> int:
    """Return the start time of mm-link's clock in milliseconds since 1970."""
    deadline_s = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline_s:
        with suppress(FileNotFoundError):
            if time_ms := started_ms(log.read_text(encoding="utf-8", errors="replace")):
                return time_ms
        time.sleep(0.01)
    raise RuntimeError("mm-link does not log when its clock started")


if __name__ == "__main__":
    here = Path(sys.argv[1])
    world.main(here, partial(run, here, pwd.getpwnam(sys.argv[2])))
