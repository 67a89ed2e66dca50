# SPDX-License-Identifier: Apache-2.0
"""The first process of a command's namespaces: a switch, and the command behind it.

It is what :mod:`ccbench.emulate.realtime.session` says. The hosts are those of a run, but the
sender is a router: what others send to the command comes through it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.emulate.bess import cores, files, switch, wires
from ccbench.emulate.bess.account import Account
from ccbench.emulate.bess.uplink import Uplink
from ccbench.emulate.realtime import session
from ccbench.emulate.realtime.files import ZERO
from ccbench.emulate.realtime.namespaces import (
    HERE,
    inside_namespace,
    inside_namespace_of,
    new_network,
    settle,
)
from ccbench.experiment.bottleneck import Bottleneck

if TYPE_CHECKING:
    import pwd
    from collections.abc import Mapping

    from ccbench.emulate.bess.client import Bess

__all__: list[str] = []

_CTRL_C = {signal.SIGINT}

#: What the command has said last gets away in this time after its round trip.
_REST_S = 0.5
#: How often to look whether packets are still on their way, and how long they may be.
_POLL_S = 0.2
_PATIENCE_S = 20.0


def run(folder: Path, user: pwd.struct_passwd, lifeline: int, command: list[str]) -> None:
    """Run the command behind the switch that the folder describes."""
    # Ctrl-C is for the command. What else is started here does not get it.
    interrupts: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    signal.pthread_sigmask(signal.SIG_BLOCK, _CTRL_C)
    settle(folder)
    os.sched_setaffinity(0, cores.host_cores())
    about = json.loads((HERE / files.SESSION).read_text(encoding="utf-8"))
    bottleneck, rtt_ms = Bottleneck.from_dict(about["bottleneck"]), float(about["rtt_ms"])
    directory = Path(about["directory"])
    uplink = Uplink()
    threading.Thread(target=_end_with, args=(lifeline, uplink), daemon=True).start()
    with (
        Path("/proc/self/ns/net").open("rb") as machine,
        inside_namespace_of(new_network()),
        nullcontext(wires.connect({})) as hosts,
        switch.running_switch(directory, hosts, bottleneck, rtt_ms, core=about["core"]) as bess,
        switch.the_receiver(hosts["receiver"], directory, user.pw_name, rtt_ms, {}) as (inside, _),
    ):
        before, zero_ns = Account.of(bess, hosts), time.time_ns()
        switch.record(bess, bottleneck)
        try:
            with inside_namespace(machine.fileno()):
                uplink.make(hosts["sender"])
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _CTRL_C)
            if interrupts:
                return
            with inside_namespace_of(inside):
                process = subprocess.Popen([*session.ORDINARY, *command], **session.identity(user))
            signal.pthread_sigmask(signal.SIG_BLOCK, _CTRL_C)
            status = process.wait()
            time.sleep(_REST_S + rtt_ms / 1e3)
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, _CTRL_C)
            with inside_namespace(machine.fileno()):
                uplink.remove()
        account = _settled(bess, hosts, rtt_ms).since(before)
        bess.call(("PauseAll", {}))
    (HERE / ZERO).write_text(str(zero_ns), encoding="utf-8")
    (HERE / files.ACCOUNT).write_text(json.dumps(asdict(account)), encoding="utf-8")
    as_shells_do = status if status >= 0 else 128 - status
    (HERE / files.STATUS).write_text(str(as_shells_do), encoding="utf-8")


def _settled(bess: Bess, hosts: Mapping[str, int], rtt_ms: float) -> Account:
    """Return what was counted when nothing is on its way any more."""
    deadline_s = time.monotonic() + _PATIENCE_S
    account, is_over = Account.of(bess, hosts), False
    while not is_over and time.monotonic() < deadline_s:
        time.sleep(_POLL_S + rtt_ms / 1e3)
        before, account = account, Account.of(bess, hosts)
        then = replace(before, time_s=account.time_s, waited_s=account.waited_s)
        is_over = then == account and account.queued == account.left
    return account


def _end_with(lifeline: int, uplink: Uplink) -> None:
    """End all of it when nobody waits for the command any more."""
    os.read(lifeline, 1)
    uplink.remove()
    os._exit(1)


if __name__ == "__main__":
    session.main(run)
