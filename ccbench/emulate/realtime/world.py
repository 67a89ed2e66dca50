# SPDX-License-Identifier: Apache-2.0
"""The first process of a run's private namespaces: what any engine's does there.

All else that runs there ends with it, and with that every device and rule is gone; and it ends when
its standard input does, which whoever wants the run holds open. It says on its standard output, a
JSON object a line, how far the run is (``done_s``), that it is complete (``finished``) or why it is
not (``error``).
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base.errors import CcbenchError
from ccbench.emulate._hosts import HOST_SYSCTLS
from ccbench.emulate.realtime import files
from ccbench.emulate.realtime.clock import Clock
from ccbench.emulate.realtime.namespaces import inside_namespace_of
from ccbench.emulate.realtime.receiver import Receiver
from ccbench.emulate.realtime.sender import Sender
from ccbench.experiment.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["host_sysctls", "main", "say", "sleep", "talk"]

#: Packets that are on their way at the end arrive in this time after their round trip.
_REST_S = 0.5
_LONGEST_REST_S = 30.0
#: Besides the sockets of the flows.
_OTHER_FILES = 100


def main(folder: Path, run: Callable[[Scenario], None]) -> None:
    """Run the scenario that lies in `folder`, and say what comes of it.

    Parameters
    ----------
    folder : Path
        Of the run.
    run : callable
        Makes the path, and calls :func:`talk`. Its errors are the run's.
    """
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        document = json.loads((folder / files.SCENARIO).read_text(encoding="utf-8"))
        scenario = Scenario.from_dict(document)
        _allow_files(3 * scenario.flow_count + _OTHER_FILES)
        run(scenario)
    except (CcbenchError, OSError, RuntimeError, subprocess.SubprocessError) as error:
        say(error=f"{error}{files.first_words(folder)}")
    else:
        say(finished=True)


def host_sysctls(scenario: Scenario) -> dict[str, str]:
    """Return the settings of both hosts."""
    own = {"net.ipv4.tcp_ecn": "1" if scenario.ecn else "0", **dict(scenario.sysctls)}
    return {**HOST_SYSCTLS, **own}


def talk(  # noqa: PLR0913 - who, where and when, all by keyword
    scenario: Scenario,
    folder: Path,
    *,
    zero_ns: int,
    address: str,
    sender_pid: int,
    receiver_pid: int | None = None,
) -> None:
    """Let the hosts talk until the scenario is over and its last packet has arrived.

    Parameters
    ----------
    scenario : Scenario
        What the hosts do.
    folder : Path
        Where to write what they have seen: ``ZERO``, ``SAMPLES`` and ``COMPLETIONS``.
    zero_ns : int
        When the scenario begins, in nanoseconds since 1970.
    address : str
        The receiver's, as the sender sees it.
    sender_pid, receiver_pid : int
        Processes in their network namespaces. The receiver may be in this one.

    Raises
    ------
    RuntimeError
        If it is too late to begin, or the receiver fails.
    """
    (folder / files.ZERO).write_text(str(zero_ns), encoding="utf-8")
    clock = Clock(zero_ns)
    flows = [flow for flow in scenario.flows for _ in range(flow.flow_count)]
    with nullcontext() if receiver_pid is None else inside_namespace_of(receiver_pid):
        receiver = Receiver(flows, clock)
    with inside_namespace_of(sender_pid):
        sender = Sender(scenario, address, receiver, clock)
    receiver.start()
    if clock.now_ns() > 0:
        raise RuntimeError("the machine is too busy: the link was not ready in time")
    sleep(-clock.now_s())
    sender.run(lambda done_s: say(done_s=round(done_s, 3)))
    completions = sender.completions()
    if receiver.error is not None:
        raise RuntimeError(f"the receiving host failed: {receiver.error}")
    np.save(folder / files.SAMPLES, sender.samples())
    np.save(folder / files.COMPLETIONS, completions)
    # What is on its way or waits would be in one of the records and not in the other.
    (bottleneck,) = scenario.bottlenecks
    assert bottleneck.queue_packets is not None
    full_s = bottleneck.queue_packets * bottleneck.packet_ms / 1e3
    sleep(_REST_S + scenario.rtt_ms / 1e3 + min(full_s, _LONGEST_REST_S))


def sleep(seconds: float) -> None:
    """Sleep, and say now and then that this is meant."""
    until_s = time.monotonic() + seconds
    while (left_s := until_s - time.monotonic()) > 0:
        time.sleep(min(left_s, 1.0))
        say()


def say(**words: Any) -> None:
    """Tell whoever wants the run."""
    sys.stdout.write(f"{json.dumps(words)}\n")
    sys.stdout.flush()


def _allow_files(count: int) -> None:
    """Let this process have so many files open: each flow has three sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, max(count, hard)))


def _end_with_input() -> None:
    # Not by sys.stdin, whose lock the processes forked meanwhile would wait for.
    while os.read(0, 1):
        pass
    os._exit(1)
