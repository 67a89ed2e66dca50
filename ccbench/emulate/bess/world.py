# SPDX-License-Identifier: Apache-2.0
"""First process of a run's private namespaces, which connects two hosts through a bessd.

Usage: ``python -m ccbench.emulate.bess.world FOLDER DIRECTORY USER CORE``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.emulate.bess import cores, files, pipeline, switch, wires
from ccbench.emulate.bess.account import Account
from ccbench.emulate.realtime import world
from ccbench.emulate.realtime.namespaces import HERE, settle

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario

__all__: list[str] = []

#: Time from the end of the setup to the start of the scenario, in seconds.
_LEAD_S = 0.5
#: Interval of polling for an empty queue, in seconds.
_POLL_S = 0.5


def run(folder: Path, directory: Path, user: str, core: int, scenario: Scenario) -> None:
    """Run the scenario on the BESS in `directory`, with its worker on `core`."""
    settle(folder)
    os.sched_setaffinity(0, cores.host_cores())
    (bottleneck,), rtt_ms = scenario.path.bottlenecks, scenario.path.rtt_ms
    sysctls = world.host_sysctls(scenario)
    hosts = wires.connect(sysctls)
    with (
        switch.running_switch(
            directory, hosts, bottleneck, rtt_ms, core=core, waiting=world.report
        ) as bess,
        switch.running_receiver(hosts["receiver"], directory, user, rtt_ms, sysctls) as endpoint,
    ):
        receiver, address = endpoint
        before = Account.of(bess, hosts)
        switch.record(bess, bottleneck)
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


if __name__ == "__main__":
    run_folder, bess_folder, user_name, worker_core = sys.argv[1:]
    world.main(
        Path(run_folder),
        partial(run, Path(run_folder), Path(bess_folder), user_name, int(worker_core)),
    )
