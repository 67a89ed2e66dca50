# SPDX-License-Identifier: Apache-2.0
"""Any command behind an emulated link, and what its queue did meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from typing import IO, TYPE_CHECKING

from ccbench import _validate
from ccbench.emulate._workspace import workspace
from ccbench.emulate.mahimahi import doctor, files
from ccbench.emulate.mahimahi.engine import MahimahiEngine
from ccbench.emulate.mahimahi.link_log import LinkLog
from ccbench.emulate.mahimahi.rate import link_trace
from ccbench.emulate.mahimahi.replay import replay
from ccbench.emulate.mahimahi.shells import ANSWERS, DIRECTIONS, check_path, shells
from ccbench.emulate.realtime.host import require
from ccbench.emulate.realtime.namespaces import HERE, in_namespaces
from ccbench.emulate.realtime.recording import Recording
from ccbench.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ccbench.bottleneck import Bottleneck

__all__ = ["record"]

_RTT = _validate.Range(2, 10_000)


def record(  # noqa: PLR0913 - what runs where, and how
    command: Sequence[str],
    bottleneck: Bottleneck,
    rtt_ms: float,
    *,
    direction: str = "down",
    output: IO[bytes] | None = None,
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
    output : file, optional
        Where the command's standard output and error go; by default to this process's.
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
    As root, on a machine that forwards packets::

        link = Bottleneck(bandwidth_mbps=12, queue_packets=64)
        recording = record(["curl", "-O", "https://example.com/file"], link, 80)
        recording.queue["backlog_packets"].max()
    """
    if not command:
        raise _validate.bad("command", list(command), "a program and its arguments", "name one")
    _validate.one_of("direction", direction, DIRECTIONS)
    _validate.one_of("qdisc", bottleneck.qdisc, ("droptail",))
    rtt_ms = _validate.number("rtt_ms", rtt_ms, _RTT, example=80)
    check_path(bottleneck, rtt_ms)
    engine = MahimahiEngine(user)
    require([*engine.doctor(), doctor.forwarding()])
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
        was_interrupted = _run(folder, engine.user, command, output)
        status = _status(folder, interrupted=was_interrupted)
        log = LinkLog.read(folder / files.LINK_LOG)
        times_ms = log.lines["time_ms"]
        return Recording(
            status=status,
            duration_s=times_ms.iloc[-1] / 1e3 if len(times_ms) else 0.0,
            queue=replay(log),
            provenance={
                **engine.provenance(),
                "bottleneck": bottleneck.to_dict(),
                "rtt_ms": rtt_ms,
                "direction": direction,
                "command": list(command),
            },
            was_interrupted=was_interrupted,
        )


def _run(folder: Path, user: str, command: Sequence[str], output: IO[bytes] | None) -> bool:
    """Run a command in the shells that the folder names; return whether there was a Ctrl-C.

    Ctrl-C is for the command, which has the terminal; what it has done until then is read.
    """
    reading, writing = os.pipe()
    words = (str(folder), user, str(reading), *command)
    session = in_namespaces("ccbench.emulate.mahimahi.session", *words, network=False)
    interrupts: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if is_main:  # only that thread has a say. Not SIG_IGN, which the command would inherit.
        signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        process = subprocess.Popen(session, pass_fds=[reading], stdout=output, stderr=output)
        os.close(reading)
        try:
            process.wait()
        finally:
            os.close(writing)  # the shells take back what they have changed, and end
            process.wait()
    finally:
        if is_main:
            signal.signal(signal.SIGINT, before)
    return bool(interrupts)


def _status(folder: Path, *, interrupted: bool) -> int:
    """Return the command's exit status, or a shell's for Ctrl-C."""
    path = folder / files.STATUS
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if text.strip().isdecimal():
        return int(text)
    if interrupted:
        return 128 + signal.SIGINT
    raise EngineError("the command was not started, or killed with its shells")
