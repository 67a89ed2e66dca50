# SPDX-License-Identifier: Apache-2.0
"""Any command behind a link of BESS, and what its queue did meanwhile."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING

from ccbench.base import validation
from ccbench.emulate._workspace import workspace
from ccbench.emulate.bess import doctor, files
from ccbench.emulate.bess.cores import own_core
from ccbench.emulate.bess.engine import BessEngine
from ccbench.emulate.bess.pipeline import check_bottleneck
from ccbench.emulate.bess.records import read_command
from ccbench.emulate.engine import Check
from ccbench.emulate.realtime.command import (
    check_command,
    check_link,
    exit_status,
    run_session,
)
from ccbench.emulate.realtime.host import forwarding_check, lacking, require, user_check

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ccbench.emulate.realtime.recording import Recording
    from ccbench.experiment.bottleneck import Bottleneck

__all__ = ["checks", "record"]

_SESSION = "ccbench.emulate.bess.session"
_RTT = validation.Range(1, 10_000)


def checks(directory: str | Path | None = None, user: str | None = None) -> list[Check]:
    """Return what :func:`record` needs of this machine, and whether it is there.

    Parameters
    ----------
    directory, user : str, optional
        As for :func:`record`.
    """
    engine = BessEngine(directory, user)
    found = [
        *engine.doctor(),
        user_check(engine.user),
        Check.of_programs("programs for the way out", lacking({"iptables": "iptables"})),
        forwarding_check(),
    ]
    return list({check.name: check for check in found}.values())  # mm-delay needs a user, too


def record(  # noqa: PLR0913 - what runs where, and how
    command: Sequence[str],
    bottleneck: Bottleneck,
    rtt_ms: float,
    *,
    output: IO[bytes] | None = None,
    directory: str | Path | None = None,
    user: str | None = None,
) -> Recording:
    """Run a command behind a link of BESS, and record the link's queue.

    The command has this process's standard input, output and error. It reaches whomever this
    machine reaches, but not the machine's own addresses of the kind 127.0.0.1. What it receives
    passes the link. It waits until there is a core for bessd.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    bottleneck : Bottleneck
        A drop-tail queue and its link. The queue holds a power of two of packets less one.
    rtt_ms : float
        Added to every round trip, in milliseconds: a whole number, and without a module of BESS's
        that delays packets an even one.
    output : file, optional
        Where the command's standard output and error go; by default to this process's.
    directory : path, optional
        BESS's; as for :class:`~ccbench.emulate.bess.engine.BessEngine`.
    user : str, optional
        Who runs it; as for :class:`~ccbench.emulate.mahimahi.engine.MahimahiEngine`.

    Raises
    ------
    InputError
        If BESS cannot be this link.
    MissingRequirement
        If something is not installed or not allowed.
    EngineError
        If the command was not started, a packet is not in the records, or the link was late or had
        another rate.

    Examples
    --------
    As root, on a machine that forwards packets:

    .. code-block:: python

        link = Bottleneck(bandwidth_mbps=12, queue_packets=63)
        recording = record(["curl", "-O", "https://example.com/file"], link, 80)
        recording.queue["backlog_packets"].max()
    """
    check_command(command)
    check_link(bottleneck)
    rtt_ms = validation.number("rtt_ms", rtt_ms, _RTT, example=80)
    check_bottleneck(bottleneck)
    engine = BessEngine(directory, user)
    require(checks(directory, user))
    assert engine.directory is not None
    doctor.check_rtt(engine.directory, rtt_ms)
    link = bottleneck.to_dict()
    with own_core() as core, workspace() as folder:
        folder.chmod(0o711)  # mm-delay's user finds its way through
        about = {
            "directory": str(engine.directory),
            "core": core,
            "bottleneck": link,
            "rtt_ms": rtt_ms,
        }
        (folder / files.SESSION).write_text(json.dumps(about), encoding="utf-8")
        was_interrupted = run_session(_SESSION, folder, engine.user, command, output)
        status = exit_status(folder, files.STATUS, interrupted=was_interrupted)
        if not (folder / files.STATUS).exists():
            raise KeyboardInterrupt  # it had not begun
        return read_command(
            folder,
            bottleneck,
            status=status,
            was_interrupted=was_interrupted,
            provenance={
                **engine.provenance(),
                "bottleneck": link,
                "rtt_ms": rtt_ms,
                "direction": "down",
                "command": list(command),
            },
        )
