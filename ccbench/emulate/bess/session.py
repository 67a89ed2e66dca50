# SPDX-License-Identifier: Apache-2.0
"""First process of a command's namespaces, which runs the command behind a switch.

It implements :mod:`ccbench.emulate.realtime.session`. The hosts are those of a run, except that the
sender is a router, through which other hosts' packets reach the command.
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

#: Time for the command's last packets to arrive, in addition to the round trip, in seconds.
_DRAIN_S = 0.5
#: Interval and time limit of polling for packets in flight, in seconds.
_POLL_S = 0.2
_TIMEOUT_S = 20.0


def run(folder: Path, user: pwd.struct_passwd, lifeline: int, command: list[str]) -> None:
    """Run the command behind the switch that the folder describes."""
    # Ctrl-C interrupts only the command; other child processes inherit the blocked signal.
    interrupts: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    signal.pthread_sigmask(signal.SIG_BLOCK, _CTRL_C)
    settle(folder)
    os.sched_setaffinity(0, cores.host_cores())
    settings = json.loads((HERE / files.SESSION).read_text(encoding="utf-8"))
    bottleneck, rtt_ms = Bottleneck.from_dict(settings["bottleneck"]), float(settings["rtt_ms"])
    directory, core = Path(settings["directory"]), settings["core"]
    uplink = Uplink()
    threading.Thread(target=_end_with, args=(lifeline, uplink), daemon=True).start()
    with (
        Path("/proc/self/ns/net").open("rb") as machine,
        inside_namespace_of(new_network()),
        nullcontext(wires.connect({})) as hosts,
        switch.running_switch(directory, hosts, bottleneck, rtt_ms, core=core) as bess,
        switch.running_receiver(hosts["receiver"], directory, user.pw_name, rtt_ms, {}) as endpoint,
    ):
        receiver, _ = endpoint
        before, zero_ns = Account.of(bess, hosts), time.time_ns()
        switch.record(bess, bottleneck)
        try:
            with inside_namespace(machine.fileno()):
                uplink.make(hosts["sender"])
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _CTRL_C)
            if interrupts:
                return
            with inside_namespace_of(receiver):
                process = subprocess.Popen([*session.ORDINARY, *command], **session.identity(user))
            signal.pthread_sigmask(signal.SIG_BLOCK, _CTRL_C)
            status = process.wait()
            time.sleep(_DRAIN_S + rtt_ms / 1e3)
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, _CTRL_C)
            with inside_namespace(machine.fileno()):
                uplink.remove()
        account = _final_account(bess, hosts, rtt_ms).since(before)
        bess.call(("PauseAll", {}))
    (HERE / ZERO).write_text(str(zero_ns), encoding="utf-8")
    (HERE / files.ACCOUNT).write_text(json.dumps(asdict(account)), encoding="utf-8")
    shell_status = status if status >= 0 else 128 - status
    (HERE / files.STATUS).write_text(str(shell_status), encoding="utf-8")


def _final_account(bess: Bess, hosts: Mapping[str, int], rtt_ms: float) -> Account:
    """Return the counters when no packet is in flight any more."""
    deadline_s = time.monotonic() + _TIMEOUT_S
    account, is_over = Account.of(bess, hosts), False
    while not is_over and time.monotonic() < deadline_s:
        time.sleep(_POLL_S + rtt_ms / 1e3)
        before, account = account, Account.of(bess, hosts)
        unchanged = replace(before, time_s=account.time_s, waited_s=account.waited_s)
        is_over = unchanged == account and account.queued == account.left
    return account


def _end_with(lifeline: int, uplink: Uplink) -> None:
    """End the session when the lifeline is closed."""
    os.read(lifeline, 1)
    uplink.remove()
    os._exit(1)


if __name__ == "__main__":
    session.main(run)
