# SPDX-License-Identifier: Apache-2.0
"""The first process of a run's private namespaces: two hosts, and a bessd between them.

It is ``python -m ccbench.emulate.bess.world FOLDER DIRECTORY USER CORE``.
"""

from __future__ import annotations

import json
import os
import pwd
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.emulate.bess import cores, doctor, files, pipeline, wires
from ccbench.emulate.bess.account import Account
from ccbench.emulate.bess.client import Bess
from ccbench.emulate.bess.probe import probe
from ccbench.emulate.bess.records import LARGEST_RATE_ERROR
from ccbench.emulate.mahimahi.delay import behind_delay
from ccbench.emulate.realtime import world
from ccbench.emulate.realtime.files import ARRIVALS, DEPARTURES, SENT
from ccbench.emulate.realtime.namespaces import HERE, settle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ccbench.scenario import Scenario

__all__: list[str] = []

#: bessd measures its clock once, when it starts, and is off for good if that fails.
_ATTEMPTS = 3
#: Between the end of all preparations and the beginning of the scenario.
_LEAD_S = 0.5
#: How often to look whether the queue is empty.
_POLL_S = 0.5


def run(folder: Path, directory: Path, user: str, core: int, scenario: Scenario) -> None:
    """Run the scenario on the BESS of a directory; `core` is for its worker alone."""
    settle(folder)
    os.sched_setaffinity(0, cores.host_cores())
    hosts = wires.connect(world.host_sysctls(scenario))
    with (
        _switch(directory, core, scenario, hosts) as bess,
        _receiver(hosts["receiver"], directory, user, scenario) as (receiver, address),
    ):
        before = Account.of(bess, hosts)
        _record(bess, scenario)
        world.talk(
            scenario,
            HERE,
            zero_ns=time.time_ns() + round(_LEAD_S * 1e9),
            address=address,
            sender_pid=hosts["sender"],
            receiver_pid=receiver,
        )
        while bess.call(pipeline.queue_status()).count:
            world.sleep(_POLL_S)
        account = Account.of(bess, hosts).since(before)
        bess.call(("PauseAll", {}))
        (HERE / files.ACCOUNT).write_text(json.dumps(asdict(account)), encoding="utf-8")


@contextmanager
def _switch(
    directory: Path, core: int, scenario: Scenario, hosts: Mapping[str, int]
) -> Iterator[Bess]:
    """Start a BESS with the scenario's path, at its rate."""
    (bottleneck,) = scenario.bottlenecks
    delay_ms = round(scenario.rtt_ms) if doctor.delays(directory) else None
    path = pipeline.path(bottleneck, core=core, ports=wires.ports(), delay_ms=delay_ms)
    error = 0.0
    for _ in range(_ATTEMPTS):
        with closing(Bess(directory, HERE)) as bess:
            for call in path:
                bess.call(call)
            error = probe(bess, hosts, bottleneck, HERE)
            if abs(error) <= LARGEST_RATE_ERROR:
                yield bess
                return
    assert bottleneck.bandwidth_mbps is not None
    raise RuntimeError(
        f"the switch's link has {bottleneck.bandwidth_mbps * (1 + error):.4g} Mbit/s instead of "
        f"{bottleneck.bandwidth_mbps:g}: leave core {core} of this machine to it, or lower the rate"
    )


@contextmanager
def _receiver(
    beyond: int, directory: Path, user: str, scenario: Scenario
) -> Iterator[tuple[int, str]]:
    """Have the receiver behind mm-delay, if BESS cannot delay; tell a process there, its address.

    `beyond` is a process at the end of the wire.
    """
    if doctor.delays(directory):
        yield beyond, wires.HOSTS["receiver"]
        return
    shells_user, sysctls = pwd.getpwnam(user), world.host_sysctls(scenario)
    with behind_delay(beyond, scenario.rtt_ms, shells_user, sysctls) as host:
        yield host


def _record(bess: Bess, scenario: Scenario) -> None:
    """Let BESS write the packets from now on."""
    taps = [(pipeline.QUEUE, "igate", ARRIVALS), (pipeline.QUEUE, "ogate", DEPARTURES)]
    if scenario.bottlenecks[0].loss:
        taps.append((pipeline.LOSS, "igate", SENT))
    for module, gate, name in taps:
        (HERE / name).touch()
        bess.call(pipeline.tap(module, gate, HERE / name))


if __name__ == "__main__":
    here, where, who, which_core = sys.argv[1:]
    world.main(Path(here), partial(run, Path(here), Path(where), who, int(which_core)))
