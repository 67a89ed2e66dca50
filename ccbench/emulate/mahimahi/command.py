# SPDX-License-Identifier: Apache-2.0
"""Any command behind an emulated link, and what its queue did meanwhile."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING

from ccbench.base import validation
from ccbench.emulate._workspace import workspace
from ccbench.emulate.mahimahi import files
from ccbench.emulate.mahimahi.engine import MahimahiEngine
from ccbench.emulate.mahimahi.link_log import LinkLog
from ccbench.emulate.mahimahi.rate import link_trace
from ccbench.emulate.mahimahi.replay import replay
from ccbench.emulate.mahimahi.shells import ANSWERS, DIRECTIONS, check_path, shells
from ccbench.emulate.realtime.command import (
    check_command,
    check_link,
    exit_status,
    run_session,
)
from ccbench.emulate.realtime.host import forwarding_check, require
from ccbench.emulate.realtime.namespaces import HERE
from ccbench.emulate.realtime.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.emulate.engine import Check
    from ccbench.experiment.bottleneck import Bottleneck

__all__ = ["checks", "record"]

_SESSION = "ccbench.emulate.mahimahi.session"
_RTT = validation.Range(2, 10_000)


def checks(user: str | None = None) -> list[Check]:
    """Return what :func:`record` needs of this machine, and whether it is there.

    Parameters
    ----------
    user : str, optional
        As for :func:`record`.
    """
    return [*MahimahiEngine(user).doctor(), forwarding_check()]


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
    As root, on a machine that forwards packets:

    .. code-block:: python

        link = Bottleneck(bandwidth_mbps=12, queue_packets=64)
        recording = record(["curl", "-O", "https://example.com/file"], link, 80)
        recording.queue["backlog_packets"].max()
    """
    check_command(command)
    check_link(bottleneck)
    validation.one_of("direction", direction, DIRECTIONS)
    validation.one_of("qdisc", bottleneck.qdisc, ("droptail",))
    rtt_ms = validation.number("rtt_ms", rtt_ms, _RTT, example=80)
    check_path(bottleneck, rtt_ms)
    engine = MahimahiEngine(user)
    require(checks(user))
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
        was_interrupted = run_session(_SESSION, folder, engine.user, command, output)
        status = exit_status(folder, files.STATUS, interrupted=was_interrupted)
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
