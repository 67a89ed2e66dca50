# SPDX-License-Identifier: Apache-2.0
"""A command behind an emulated link, seen from outside: the session that runs it, and its end."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from typing import IO, TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import EngineError
from ccbench.emulate.realtime import files
from ccbench.emulate.realtime.namespaces import in_namespaces

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ccbench.experiment.bottleneck import Bottleneck

__all__ = ["check_command", "check_link", "exit_status", "run_session"]


def check_command(command: Sequence[str]) -> None:
    """Check that there is a command.

    Raises
    ------
    InputError
        If there is none.
    """
    if not command:
        raise validation.bad("command", list(command), "a program and its arguments", "name one")


def check_link(bottleneck: Bottleneck) -> None:
    """Check that a bottleneck is one that a command can be behind, whatever the engine.

    Raises
    ------
    InputError
        If its link is Wi-Fi, or its queue is as long as a scenario's round-trip time says.
    """
    if bottleneck.wifi is not None:
        step = "write bandwidth_mbps, or run a scenario on the engine kernel"
        raise validation.bad("wifi", "there", "left out, as no link in real time is Wi-Fi", step)
    if bottleneck.queue_packets is None:
        allowed = "left out, as only a scenario knows a BDP"
        raise validation.bad("queue_bdp", bottleneck.queue_bdp, allowed, "write queue_packets")


def run_session(
    module: str, folder: Path, user: str, command: Sequence[str], output: IO[bytes] | None
) -> bool:
    """Run a module of ours, which calls :func:`ccbench.emulate.realtime.session.main`.

    Ctrl-C is for the command, which has the terminal; what it has done until then is read.

    Parameters
    ----------
    module : str
        What becomes the first process of the command's namespaces.
    folder : Path
        Where it finds all else that it needs to know.
    user : str
        Who runs the command.
    command : sequence of str
        Program and arguments.
    output : file, optional
        Where standard output and error go; by default to this process's.

    Returns
    -------
    bool
        Whether there was a Ctrl-C.
    """
    interrupts: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if is_main:  # only that thread has a say. Not SIG_IGN, which the command would inherit.
        signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    reading, writing = os.pipe()
    words = (str(folder), user, str(reading), *command)
    session = in_namespaces(module, *words, network=False)
    try:
        with os.fdopen(writing, "wb") as lifeline:
            process = subprocess.Popen(session, pass_fds=[reading], stdout=output, stderr=output)
            try:
                process.wait()
            finally:
                lifeline.close()  # the session takes back what it has changed, and ends
                process.wait()
    finally:
        os.close(reading)
        if is_main:
            signal.signal(signal.SIGINT, before)
    return bool(interrupts)


def exit_status(folder: Path, status: str, *, interrupted: bool) -> int:
    """Return the command's exit status, or a shell's for Ctrl-C.

    Parameters
    ----------
    folder : Path
        Of the session.
    status : str
        The file in there that has it.
    interrupted : bool
        Whether there was a Ctrl-C.

    Raises
    ------
    EngineError
        If there is none, with what the session says.
    """
    path = folder / status
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if text.strip().isdecimal():
        return int(text)
    if interrupted:
        return 128 + signal.SIGINT
    failure = folder / files.FAILURE
    if failure.exists():
        raise EngineError(f"the emulated link failed: {failure.read_text(encoding='utf-8')}")
    raise EngineError("the command was not started, or killed with its link")
