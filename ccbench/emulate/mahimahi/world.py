# SPDX-License-Identifier: Apache-2.0
"""The first process of a run's private namespaces: it makes the path, and lets traffic pass.

The engine starts it as root of new network, mount and process namespaces. All else that runs there
ends with it, and with that every device and rule is gone; and it ends when its standard input does,
which whoever wants the run holds open. It says on its standard output, a JSON object a line, how
far the run is (``done_s``), that it is complete (``finished``) or why it is not (``error``).

    python -m ccbench.emulate.mahimahi.world FOLDER USER
"""

from __future__ import annotations

import json
import os
import pwd
import resource
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.emulate._hosts import HOST_SYSCTLS
from ccbench.emulate.mahimahi import files
from ccbench.emulate.mahimahi.gates import Gates
from ccbench.emulate.mahimahi.link_log import started_ms
from ccbench.emulate.mahimahi.private import HERE, ROUTER_SYSCTLS, prepare, set_sysctls
from ccbench.emulate.mahimahi.rate import link_trace
from ccbench.emulate.mahimahi.shells import ANSWERS, shells
from ccbench.emulate.mahimahi.sniffer import inside_namespace_of, start_sniffer
from ccbench.emulate.mahimahi.traffic import Clock, Receiver, Sender
from ccbench.scenario import Scenario

if TYPE_CHECKING:
    from ccbench.trace import Trace

__all__: list[str] = []

#: Between the start of the link's clock and that of the scenario all is made ready.
_LEAD_MS = 1_000
#: Packets that are on their way at the end arrive in this time after their round trip.
_REST_S = 0.5
_LONGEST_REST_S = 30.0
#: Besides the sockets of the flows.
_OTHER_FILES = 100
#: How long the shells may take to start, and to end.
_PATIENCE_S = 20.0

#: Packets that wait until a shell reads them. The usual 500 are too few for many flows that start
#: together, and what finds no room is in no log.
_ENTRANCE = "20000"

#: What runs innermost: it ends when it is told to.
_INNERMOST = ("sh", "-c", "read -r end")


def main(folder: Path, user: str) -> None:
    """Run the scenario in `folder`, the shells as `user`."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        _run(folder, pwd.getpwnam(user))
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        _say(error=f"{error}{_console(folder)}")
    else:
        _say(finished=True)


def _run(folder: Path, user: pwd.struct_passwd) -> None:
    scenario = Scenario.from_dict(json.loads((folder / files.SCENARIO).read_text(encoding="utf-8")))
    (bottleneck,) = scenario.bottlenecks
    prepare(folder)
    folder = HERE
    _allow_files(3 * scenario.flow_count + _OTHER_FILES)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    trace, lead_ms = link_trace(bottleneck, at_least_ms=_LEAD_MS)
    path = _open_path(scenario, trace, folder, user)
    taps = {files.ARRIVALS: path.link, files.DEPARTURES: path.beyond}
    if bottleneck.loss:
        taps[files.SENT] = path.sender
    sniffers = [start_sniffer(pid, folder / name) for name, pid in taps.items()]

    zero_ns = (_link_started_ms(folder / files.LINK_LOG) + lead_ms) * 1_000_000
    (folder / files.ZERO).write_text(str(zero_ns), encoding="utf-8")
    clock = Clock(zero_ns)
    receiver = Receiver([f.is_udp for f in scenario.flows for _ in range(f.flow_count)], clock)
    with inside_namespace_of(path.sender):
        sender = Sender(scenario, path.address, receiver, clock)
    receiver.start()
    if clock.now_ns() > 0:
        raise RuntimeError("the machine is too busy: the link was not ready in time")
    _sleep(-clock.now_s())
    sender.run(lambda done_s: _say(done_s=round(done_s, 3)))
    completions = sender.completions()
    if receiver.error is not None:
        raise RuntimeError(f"the receiving host failed: {receiver.error}")
    # What is on its way or waits would be in one of the records and not in the other.
    assert bottleneck.queue_packets is not None
    full_s = bottleneck.queue_packets * bottleneck.packet_ms / 1e3
    _sleep(_REST_S + scenario.rtt_ms / 1e3 + min(full_s, _LONGEST_REST_S))

    path.shells.communicate("end\n", _PATIENCE_S)
    if status := path.shells.returncode:
        raise RuntimeError(f"the shells ended with status {status}")
    for sniffer in sniffers:
        sniffer.join(_PATIENCE_S)
        if sniffer.exitcode != 0:
            raise RuntimeError("what watches the packets did not end with them")
    np.save(folder / files.SAMPLES, sender.samples())
    np.save(folder / files.COMPLETIONS, completions)


def _allow_files(count: int) -> None:
    """Let this process have so many files open: each flow has three sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, max(count, hard)))


def _sleep(seconds: float) -> None:
    """Sleep, and say now and then that this is meant."""
    until_s = time.monotonic() + seconds
    while (left_s := until_s - time.monotonic()) > 0:
        time.sleep(min(left_s, 1.0))
        _say()


@dataclass(frozen=True, kw_only=True)
class _Path:
    """The open shells, a process in each network namespace that matters, and who is outside."""

    shells: subprocess.Popen[str]
    sender: int
    link: int
    beyond: int
    address: str


def _open_path(scenario: Scenario, trace: Trace, folder: Path, user: pwd.struct_passwd) -> _Path:
    link, answers = folder / files.LINK_TRACE, folder / files.ANSWERS_TRACE
    trace.to_file(link)
    ANSWERS.to_file(answers)
    log = folder / files.LINK_LOG
    log.parent.mkdir()
    os.chown(log.parent, user.pw_uid, user.pw_gid)
    own = {"net.ipv4.tcp_ecn": "1" if scenario.ecn else "0", **dict(scenario.sysctls)}
    sysctls = {**ROUTER_SYSCTLS, **HOST_SYSCTLS, **own}
    set_sysctls(sysctls)
    (bottleneck,) = scenario.bottlenecks
    nested = shells(bottleneck, scenario.rtt_ms, link=link, answers=answers, log=log)
    gates = Gates(folder / files.GATES, user.pw_uid)
    with (folder / files.CONSOLE).open("wb") as console:
        process = subprocess.Popen(
            gates.chain(nested, _INNERMOST),
            stdin=subprocess.PIPE,
            stdout=console,
            stderr=console,
            text=True,
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=[],
            env={"PATH": os.environ["PATH"], "HOME": "/"},
        )

    def make_ready() -> None:
        set_sysctls(sysctls)
        subprocess.run(["ip", "link", "set", "ingress", "txqueuelen", _ENTRANCE], check=True)

    insides, address = gates.open_all(process, len(nested), make_ready)
    beyond, link_inside = insides[:2]
    return _Path(
        shells=process, sender=insides[-1], link=link_inside, beyond=beyond, address=address
    )


def _console(folder: Path) -> str:
    """Return what the shells said first, which tells most: the others only repeat it."""
    console = folder / files.CONSOLE
    text = console.read_text(encoding="utf-8", errors="replace") if console.exists() else ""
    return f": {text.partition(chr(10))[0]}" if text else ""


def _link_started_ms(log: Path) -> int:
    """Return when mm-link's clock started, in milliseconds since 1970."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline_s:
        with suppress(FileNotFoundError):
            if found_ms := started_ms(log.read_text(encoding="utf-8", errors="replace")):
                return found_ms
        time.sleep(0.01)
    raise RuntimeError("mm-link does not say when its clock started")


def _end_with_input() -> None:
    # Not by sys.stdin, whose lock the processes forked meanwhile would wait for.
    while os.read(0, 1):
        pass
    os._exit(1)


def _say(**words: Any) -> None:
    sys.stdout.write(f"{json.dumps(words)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
