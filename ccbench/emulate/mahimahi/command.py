# SPDX-License-Identifier: Apache-2.0
"""Any command behind an emulated link, and what its queue did meanwhile."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ccbench import _validate
from ccbench.emulate._workspace import workspace
from ccbench.emulate.mahimahi import doctor, files
from ccbench.emulate.mahimahi.engine import MahimahiEngine
from ccbench.emulate.mahimahi.link_log import LinkLog
from ccbench.emulate.mahimahi.private import HERE
from ccbench.emulate.mahimahi.rate import link_trace
from ccbench.emulate.mahimahi.replay import replay
from ccbench.emulate.mahimahi.shells import ANSWERS, DIRECTIONS, check_path, shells
from ccbench.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from ccbench.bottleneck import Bottleneck

__all__ = ["Recording", "record"]

_RTT = _validate.Range(2, 10_000)


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """What a command did to a queue.

    Parameters
    ----------
    status : int
        The command's exit status.
    duration_s : float
        How long the link was there, in seconds.
    queue : DataFrame
        As in a :class:`~ccbench.run.Run`; all packets are of flow 0.
    provenance : mapping
        JSON-able values that say what made it: ``ccbench``, ``engine``, ``engine_version``, the
        ``bottleneck``, ``rtt_ms``, ``direction`` and ``command``.
    """

    status: int
    duration_s: float
    queue: pd.DataFrame = field(repr=False)
    provenance: Mapping[str, Any]


def record(
    command: Sequence[str],
    bottleneck: Bottleneck,
    rtt_ms: float,
    *,
    direction: str = "down",
    user: str | None = None,
) -> Recording:
    """Run a command behind an emulated link, and record the link's queue.

    The command has this process's standard input, output and error. It reaches whomever this
    machine reaches; the machine itself is at ``$MAHIMAHI_BASE``.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    bottleneck : Bottleneck
        A drop-tail queue and its link.
    rtt_ms : float
        Added to every round trip, in milliseconds; an even whole number.
    direction : str
        What passes the bottleneck: ``"down"``, what the command receives, or ``"up"``, what it
        sends.
    user : str, optional
        Who runs it; as for :class:`~ccbench.emulate.mahimahi.engine.MahimahiEngine`.

    Raises
    ------
    InputError
        If Mahimahi cannot be this link.
    MissingRequirement
        If something is not installed or not allowed.
    EngineError
        If the command was not started.

    Examples
    --------
    >>> link = Bottleneck(bandwidth_mbps=12, queue_packets=64)  # doctest: +SKIP
    >>> recording = record(["curl", "-O", url], link, 80)  # doctest: +SKIP
    >>> recording.queue["backlog_packets"].max()  # doctest: +SKIP
    64
    """
    if not command:
        raise _validate.bad("command", list(command), "a program and its arguments", "name one")
    _validate.one_of("direction", direction, DIRECTIONS)
    _validate.one_of("qdisc", bottleneck.qdisc, ("droptail",))
    rtt_ms = _validate.number("rtt_ms", rtt_ms, _RTT, example=80)
    check_path(bottleneck, rtt_ms)
    engine = MahimahiEngine(user)
    doctor.require([*engine.doctor(), doctor.forwarding()])
    with workspace() as folder:
        folder.chmod(0o711)
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
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
        session = [sys.executable, "-m", "ccbench.emulate.mahimahi.session"]
        with _interrupts_left_to_others():
            subprocess.run([*namespaces, *session, str(folder), engine.user, *command], check=False)
        status = folder / files.STATUS
        if not status.exists():
            raise EngineError("the command was not started: Mahimahi's own words are above")
        log = LinkLog.read(folder / files.LINK_LOG)
        queue = replay(log)
        return Recording(
            status=int(status.read_text(encoding="utf-8")),
            duration_s=float(log.lines["time_ms"].iloc[-1]) / 1e3,
            queue=queue,
            provenance={
                **engine.provenance(),
                "bottleneck": bottleneck.to_dict(),
                "rtt_ms": rtt_ms,
                "direction": direction,
                "command": list(command),
            },
        )


@contextmanager
def _interrupts_left_to_others() -> Iterator[None]:
    """Let Ctrl-C end the command, which has the terminal; what it did until then is read."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread has a say in signals
        return
    # Not SIG_IGN, which the command would inherit.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
