# SPDX-License-Identifier: Apache-2.0
"""The first process of a run's private namespaces: two hosts, and a bessd between them.

python -m ccbench.emulate.bess.world FOLDER DIRECTORY USER CORE
"""

from __future__ import annotations

import os
import pwd
import sys
import time
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.emulate.bess import doctor, pipeline, wires
from ccbench.emulate.bess.client import Bess
from ccbench.emulate.bess.probe import measured_mbps
from ccbench.emulate.bess.records import LARGEST_RATE_ERROR
from ccbench.emulate.mahimahi.files import GATES
from ccbench.emulate.mahimahi.gates import Gates
from ccbench.emulate.mahimahi.private import HERE, ROUTER_SYSCTLS, prepare
from ccbench.emulate.mahimahi.shells import delay_shell
from ccbench.emulate.realtime import world
from ccbench.emulate.realtime.files import ARRIVALS, CONSOLE, DEPARTURES, SENT
from ccbench.emulate.realtime.namespaces import go_first, inside_namespace_of, set_sysctls

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ccbench.scenario import Scenario

__all__: list[str] = []

#: bessd measures its clock once, when it starts, and is off for good if that fails.
_ATTEMPTS = 3
#: Between the end of all preparations and the beginning of the scenario.
_LEAD_S = 0.5


def run(folder: Path, directory: Path, user: str, core: int, scenario: Scenario) -> None:
    """Run the scenario on the BESS of a directory; `core` is for its worker alone."""
    if others := os.sched_getaffinity(0) - {core}:
        os.sched_setaffinity(0, others)
    hosts = wires.connect(world.host_sysctls(scenario))
    with _switch(folder, directory, core, scenario, hosts) as bess:
        go_first()  # but not bessd, whose worker never sleeps
        receiver, address = hosts["receiver"], wires.HOSTS["receiver"]
        if not doctor.delays(directory):
            receiver, address = _behind_delay(receiver, folder, pwd.getpwnam(user), scenario)
        _record(bess, folder, scenario)
        world.talk(
            scenario,
            folder,
            zero_ns=time.time_ns() + round(_LEAD_S * 1e9),
            address=address,
            sender_pid=hosts["sender"],
            receiver_pid=receiver,
        )
        bess.call(("PauseAll", {}))
        for port in wires.ports():
            statistics = bess.call(("GetPortStats", {"name": port}))
            if lost := statistics.inc.dropped + statistics.out.dropped:
                raise RuntimeError(
                    f"the switch lost {lost} packets at its port to the {port}: the machine is too "
                    "busy, or the rate too high for it"
                )


@contextmanager
def _switch(
    folder: Path, directory: Path, core: int, scenario: Scenario, hosts: Mapping[str, int]
) -> Iterator[Bess]:
    """Start a BESS with the scenario's path, at its rate."""
    (bottleneck,) = scenario.bottlenecks
    assert bottleneck.bandwidth_mbps is not None
    delay_ms = round(scenario.rtt_ms) if doctor.delays(directory) else None
    path = pipeline.path(bottleneck, core=core, ports=wires.ports(), delay_ms=delay_ms)
    found_mbps = 0.0
    for _ in range(_ATTEMPTS):
        with closing(Bess(directory, folder)) as bess:
            for call in path:
                bess.call(call)
            found_mbps = measured_mbps(bess, hosts, bottleneck, folder / "probe")
            world.say()
            if abs(found_mbps / bottleneck.bandwidth_mbps - 1) <= LARGEST_RATE_ERROR:
                yield bess
                return
    raise RuntimeError(
        f"the switch's link has {found_mbps:.4g} Mbit/s instead of {bottleneck.bandwidth_mbps:g}: "
        f"leave core {core} of this machine to it, or lower the rate"
    )


def _behind_delay(
    receiver: int, folder: Path, user: pwd.struct_passwd, scenario: Scenario
) -> tuple[int, str]:
    """Put Mahimahi's mm-delay before the receiver; return a process behind it, and its address."""
    prepare(folder)
    gates = Gates(HERE / GATES, user)
    with inside_namespace_of(receiver):
        set_sysctls(ROUTER_SYSCTLS)
        shell = gates.start([delay_shell(scenario.rtt_ms)], HERE / CONSOLE)
    sysctls = {**ROUTER_SYSCTLS, **world.host_sysctls(scenario)}
    (behind,), _ = gates.open_all(shell, 1, partial(set_sysctls, sysctls))
    with inside_namespace_of(behind):
        return behind, wires.address_of("ingress")


def _record(bess: Bess, folder: Path, scenario: Scenario) -> None:
    """Let BESS write the packets from now on."""
    taps = [(pipeline.QUEUE, "igate", ARRIVALS), (pipeline.QUEUE, "ogate", DEPARTURES)]
    if scenario.bottlenecks[0].loss:
        taps.append((pipeline.LOSS, "igate", SENT))
    for module, gate, name in taps:
        (folder / name).touch()
        bess.call(pipeline.tap(module, gate, folder / name))


if __name__ == "__main__":
    here, where, who, which_core = sys.argv[1:]
    world.main(Path(here), partial(run, Path(here), Path(where), who, int(which_core)))
