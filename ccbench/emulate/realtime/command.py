# SPDX-License-Identifier: Apache-2.0
"""Start and exit status of a command behind an emulated link."""

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
    """Check that a command is not empty.

    Raises
    ------
    InputError
        If it is.
    """
    if not command:
        raise validation.bad("command", list(command), "a program and its arguments", "name one")


def check_link(bottleneck: Bottleneck) -> None:
    """Check that a real-time engine can emulate a bottleneck for a command.

    Raises
    ------
    InputError
        If its link is Wi-Fi, or its queue length is given in BDPs.
    """
    if bottleneck.wifi is not None:
        step = "write bandwidth_mbps, or run a scenario on the engine kernel"
        allowed = "left out, as real-time engines have no Wi-Fi links"
        raise validation.bad("wifi", "set", allowed, step)
    if bottleneck.queue_packets is None:
        allowed = "left out, as only a scenario has a BDP"
        raise validation.bad("queue_bdp", bottleneck.queue_bdp, allowed, "write queue_packets")


def run_session(
    module: str, folder: Path, user: str, command: Sequence[str], output: IO[bytes] | None
) -> bool:
    """Run a module that calls :func:`ccbench.emulate.realtime.session.main`.

    Return whether Ctrl-C was pressed. It interrupts the command, which owns the terminal; the
    command's record is still read.

    Parameters
    ----------
    module : str
        The module, run as the first process of the command's namespaces.
    folder : Path
        The session's folder.
    user : str
        User of the command.
    command : sequence of str
        Program and arguments.
    output : file, optional
        Standard output and error; by default those of this process.
    """
    interrupts: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if is_main:  # only this thread can set handlers. The command would inherit SIG_IGN.
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
                lifeline.close()  # makes the session undo its changes and end
                process.wait()
    finally:
        os.close(reading)
        if is_main:
            signal.signal(signal.SIGINT, before)
    return bool(interrupts)


def exit_status(folder: Path, status: str, *, interrupted: bool) -> int:
    """Return the command's exit status, or a shell's status for Ctrl-C.

    Parameters
    ----------
    folder : Path
        The session's folder.
    status : str
        Name of the file with the exit status.
    interrupted : bool
        Whether there was a Ctrl-C.

    Raises
    ------
    EngineError
        If there is no exit status; the message contains the session's error.
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
    raise EngineError("the command was not started, or was killed with its link")
