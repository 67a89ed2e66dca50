# SPDX-License-Identifier: Apache-2.0
"""First process of a run's private namespaces: the part that all engines share.

When it ends, so do all other processes, devices and rules in the namespaces. It ends when its
standard input is closed, which its parent holds open. It reports on its standard output, in one
JSON object per line, the progress of the run (``done_s``), its completion (``finished``) or its
failure (``error``).
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
from ccbench.emulate._hosts import HOST_SYSCTLS, TCP_ECN
from ccbench.emulate.realtime import files
from ccbench.emulate.realtime.clock import Clock
from ccbench.emulate.realtime.namespaces import inside_namespace_of
from ccbench.emulate.realtime.receiver import ReceivingHost
from ccbench.emulate.realtime.sender import SendingHost
from ccbench.experiment.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["host_sysctls", "main", "report", "sleep", "talk"]

#: Time for packets in flight to arrive at the end, in addition to their round trip, and the maximum
#: time for queued packets, in seconds.
_DRAIN_S = 0.5
_MAX_DRAIN_S = 30.0
#: Number of open files in addition to the sockets of the flows.
_OTHER_FILES = 100


def main(folder: Path, run: Callable[[Scenario], None]) -> None:
    """Run the scenario in `folder` and report the result.

    Parameters
    ----------
    folder : Path
        The run's folder.
    run : callable
        Sets up the path and calls :func:`talk`. Its errors are reported as the run's.
    """
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        document = json.loads((folder / files.SCENARIO).read_text(encoding="utf-8"))
        scenario = Scenario.from_dict(document)
        _allow_files(3 * scenario.flow_count + _OTHER_FILES)
        run(scenario)
    except (CcbenchError, OSError, RuntimeError, subprocess.SubprocessError) as error:
        report(error=f"{error}{files.first_words(folder)}")
    else:
        report(finished=True)


def host_sysctls(scenario: Scenario) -> dict[str, str]:
    """Return the sysctls of both hosts."""
    own = {"net.ipv4.tcp_ecn": TCP_ECN[scenario.path.ecn], **dict(scenario.path.sysctls)}
    return {**HOST_SYSCTLS, **own}


def talk(  # noqa: PLR0913 - independent facts about the hosts, by keyword
    scenario: Scenario,
    folder: Path,
    *,
    zero_ns: int,
    address: str,
    sender_pid: int,
    receiver_pid: int | None = None,
) -> None:
    """Exchange the flows' data until the scenario ends and its last packet has arrived.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    folder : Path
        Output folder of the hosts' records: ``ZERO``, ``SAMPLES`` and ``COMPLETIONS``.
    zero_ns : int
        Start of the scenario in nanoseconds since 1970.
    address : str
        The receiver's address from the sender's point of view.
    sender_pid, receiver_pid : int
        Processes in the hosts' network namespaces; by default the receiver is in this process's.

    Raises
    ------
    RuntimeError
        If the start time has passed, or the receiver fails.
    """
    (folder / files.ZERO).write_text(str(zero_ns), encoding="utf-8")
    clock = Clock(zero_ns)
    flows = [flow for flow in scenario.flows for _ in range(flow.flow_count)]
    with nullcontext() if receiver_pid is None else inside_namespace_of(receiver_pid):
        receiver = ReceivingHost(flows, clock)
    with inside_namespace_of(sender_pid):
        sender = SendingHost(scenario, address, receiver, clock)
    receiver.start()
    if clock.now_ns() > 0:
        raise RuntimeError("the machine is too busy: the link was not ready in time")
    sleep(-clock.now_s())
    sender.run(lambda done_s: report(done_s=round(done_s, 3)))
    completions = sender.completions()
    if receiver.error is not None:
        raise RuntimeError(f"the receiving host failed: {receiver.error}")
    np.save(folder / files.SAMPLES, sender.samples())
    np.save(folder / files.COMPLETIONS, completions)
    # Packets in flight or queued would be in only some of the records.
    (bottleneck,) = scenario.path.bottlenecks
    assert bottleneck.queue_packets is not None
    full_s = bottleneck.queue_packets * bottleneck.packet_ms / 1e3
    sleep(_DRAIN_S + scenario.path.rtt_ms / 1e3 + min(full_s, _MAX_DRAIN_S))


def sleep(seconds: float) -> None:
    """Sleep, reporting every second that the run is alive."""
    until_s = time.monotonic() + seconds
    while (left_s := until_s - time.monotonic()) > 0:
        time.sleep(min(left_s, 1.0))
        report()


def report(**fields: Any) -> None:
    """Write a JSON object to standard output."""
    sys.stdout.write(f"{json.dumps(fields)}\n")
    sys.stdout.flush()


def _allow_files(count: int) -> None:
    """Raise the limit of open files to `count`: each flow has three sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, max(count, hard)))


def _end_with_input() -> None:
    # Not through sys.stdin: processes forked meanwhile would wait for its lock.
    while os.read(0, 1):
        pass
    os._exit(1)
