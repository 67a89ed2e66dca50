# SPDX-License-Identifier: Apache-2.0
"""The path of a scenario as Mahimahi's shells, one within another.

A packet of a sender, which sits innermost, passes ``mm-loss``, then the queue and the link of
``mm-link``, then ``mm-delay``, and is at the receiver, which sits outside. Answers pass all of them
the other way, where only the delay matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.emulate.mahimahi.delay import check_rtt, delay_shell
from ccbench.emulate.mahimahi.rate import TUN_HEADER_BYTES
from ccbench.experiment.flow import MTU_BYTES
from ccbench.experiment.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ccbench.experiment.bottleneck import Bottleneck

__all__ = [
    "ANSWERS",
    "DIRECTIONS",
    "QUEUES",
    "check_path",
    "shells",
]

#: mm-link's queues by the names of ours. For each, what a scenario calls an option, what mm-link
#: does, and the value if the scenario names none: Linux's.
QUEUES: Mapping[str, Mapping[str, tuple[str, int]]] = {
    "droptail": {},
    "bfifo": {},
    "codel": {"target_ms": ("target", 5), "interval_ms": ("interval", 100)},
    "pie": {"target_ms": ("qdelay_ref", 15), "max_burst_ms": ("max_burst", 150)},
}

#: Where mm-link has another name. Its one drop-tail queue counts packets or bytes.
_THEIR_NAMES = {"bfifo": "droptail"}

#: The link of the answers, 240 Mbit/s: packets without data do not queue there.
ANSWERS = Trace(name="answers", opportunities_ms=(1,) * 20)

DIRECTIONS = ("down", "up")


def check_path(bottleneck: Bottleneck, rtt_ms: float) -> None:
    """Check that Mahimahi can be this path.

    Raises
    ------
    InputError
        If it cannot.
    """
    check_rtt(rtt_ms, "mahimahi")
    with validation.within("bottlenecks[0]."):
        validation.one_of("qdisc", bottleneck.qdisc, QUEUES)
        options = QUEUES[bottleneck.qdisc]
        for name, value in bottleneck.qdisc_options:
            if name not in options:
                raise validation.unknown_key(f"qdisc_options.{name}", options)
            _, usual = options[name]
            ms = validation.Range(1, 10_000)
            validation.whole(f"qdisc_options.{name}", value, ms, example=usual)


def shells(  # noqa: PLR0913 - a path has that many parts, all by keyword
    bottleneck: Bottleneck,
    rtt_ms: float,
    *,
    link: Path,
    answers: Path,
    log: Path,
    direction: str = "up",
) -> list[list[str]]:
    """Return the command lines of the shells, the outermost first.

    Each is to be given, at its end, the command that it runs inside.

    Parameters
    ----------
    bottleneck, rtt_ms : Bottleneck, float
        What :func:`check_path` has passed.
    link, answers : Path
        Trace files of the bottleneck and of the way back.
    log : Path
        Where mm-link writes what happens at the bottleneck.
    direction : str
        Where the bottleneck is: ``"up"``, on the way out of the innermost shell, or ``"down"``.

    Returns
    -------
    list of list of str
        ``mm-delay``, ``mm-link`` and, if there are random losses, ``mm-loss`` before the queue.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ccbench import Bottleneck
    >>> link = Bottleneck(bandwidth_mbps=12, queue_packets=20, loss=0.01)
    >>> for shell in shells(link, 40, link=Path("up"), answers=Path("down"), log=Path("log")):
    ...     print(*shell)
    mm-delay 20
    mm-link up down --uplink-queue=droptail --uplink-queue-args=packets=20 --uplink-log=log --
    mm-loss uplink 0.01
    """
    is_up = direction == "up"
    side = f"{direction}link"
    delay = delay_shell(rtt_ms)
    traces = [str(path) for path in ((link, answers) if is_up else (answers, link))]
    queue = [
        f"--{side}-queue={_THEIR_NAMES.get(bottleneck.qdisc, bottleneck.qdisc)}",
        f"--{side}-queue-args={_queue_arguments(bottleneck)}",
        f"--{side}-log={log}",
    ]
    both = ["mm-link", *traces, *queue, "--"]
    if not bottleneck.loss:
        return [delay, both]
    loss = ["mm-loss", side, f"{bottleneck.loss:.12g}"]
    return [delay, both, loss] if is_up else [delay, loss, both]


def _queue_arguments(bottleneck: Bottleneck) -> str:
    given = dict(bottleneck.qdisc_options)
    own = (
        f"{theirs}={given.get(name, usual)}"
        for name, (theirs, usual) in QUEUES[bottleneck.qdisc].items()
    )
    assert bottleneck.queue_packets is not None
    limit = f"packets={bottleneck.queue_packets}"
    if bottleneck.qdisc == "bfifo":
        limit = f"bytes={bottleneck.queue_packets * (MTU_BYTES + TUN_HEADER_BYTES)}"
    return ",".join([limit, *own])
