# SPDX-License-Identifier: Apache-2.0
"""The path of a scenario as nested Mahimahi shells.

A packet from the sender, which is innermost, passes ``mm-loss``, the queue and link of ``mm-link``,
and ``mm-delay``, and reaches the receiver outside. Packets in the other direction are only delayed,
or also pass a queue and link of ``mm-link``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.emulate.mahimahi.delay import check_rtt, delay_shell
from ccbench.emulate.mahimahi.rate import TUN_HEADER_BYTES
from ccbench.experiment.flow import MTU_BYTES
from ccbench.experiment.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from ccbench.experiment.bottleneck import Bottleneck

__all__ = [
    "ANSWERS",
    "DIRECTIONS",
    "QUEUES",
    "check_path",
    "check_way_back",
    "shells",
]

#: The supported qdiscs. For each option in a scenario: its name in mm-link, and the default, which
#: is Linux's.
QUEUES: Mapping[str, Mapping[str, tuple[str, int]]] = {
    "droptail": {},
    "bfifo": {},
    "codel": {"target_ms": ("target", 5), "interval_ms": ("interval", 100)},
    "pie": {"target_ms": ("qdelay_ref", 15), "max_burst_ms": ("max_burst", 150)},
}

#: Qdiscs with another name in mm-link, whose drop-tail queue counts packets or bytes.
_MM_LINK_NAMES = {"bfifo": "droptail"}

#: The link in the other direction, at 240 Mbit/s, on which packets without data are not queued.
ANSWERS = Trace(name="answers", opportunities_ms=(1,) * 20)

DIRECTIONS = ("down", "up")


def check_path(bottleneck: Bottleneck, rtt_ms: float) -> None:
    """Check that Mahimahi can emulate this path.

    Raises
    ------
    InputError
        If it cannot.
    """
    check_rtt(rtt_ms, "mahimahi")
    with validation.within("bottlenecks[0]."):
        _check_queue(bottleneck, QUEUES)


def check_way_back(bottleneck: Bottleneck) -> None:
    """Check that Mahimahi can emulate this bottleneck of the acknowledgements.

    Raises
    ------
    InputError
        If it cannot.
    """
    with validation.within("reverse_bottlenecks[0]."):
        _check_queue(bottleneck, ("droptail", "bfifo"))
        for name in ("loss", "trace"):
            if value := getattr(bottleneck, name):
                allowed = "left out with the engine mahimahi"
                raise validation.bad(name, value, allowed, "use the engine kernel")


def _check_queue(bottleneck: Bottleneck, supported: Collection[str]) -> None:
    """Check that a bottleneck's qdisc is one of `supported`, with options of mm-link."""
    validation.one_of("qdisc", bottleneck.qdisc, supported)
    options = QUEUES[bottleneck.qdisc]
    for name, value in bottleneck.qdisc_options:
        if not options:
            allowed = f"left out, as {bottleneck.qdisc} of mm-link has no options"
            raise validation.bad(f"qdisc_options.{name}", value, allowed, "remove it")
        if name not in options:
            raise validation.unknown_key(f"qdisc_options.{name}", options)
        _, default = options[name]
        ms = validation.Range(1, 10_000)
        validation.whole(f"qdisc_options.{name}", value, ms, example=default)


def shells(  # noqa: PLR0913 - independent parts of the path, by keyword
    bottleneck: Bottleneck,
    rtt_ms: float,
    *,
    link: Path,
    answers: Path,
    log: Path,
    direction: str = "up",
    way_back: tuple[Bottleneck, Path] | None = None,
) -> list[list[str]]:
    """Return the command lines of the shells, outermost first.

    The command that a shell runs must be appended to each.

    Parameters
    ----------
    bottleneck, rtt_ms : Bottleneck, float
        The path, accepted by :func:`check_path`.
    link, answers : Path
        Trace files of the links in the bottleneck's and in the other direction.
    log : Path
        mm-link's log file of the bottleneck.
    direction : str
        Direction of the bottleneck: ``"up"``, out of the innermost shell, or ``"down"``.
    way_back : tuple of Bottleneck and Path, optional
        The bottleneck in the other direction, and mm-link's log file of it.

    Returns
    -------
    list of list of str
        ``mm-delay``, ``mm-link`` and, for random losses, ``mm-loss`` before the queue.

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
    side, other = ("uplink", "downlink") if is_up else ("downlink", "uplink")
    delay = delay_shell(rtt_ms)
    traces = [str(path) for path in ((link, answers) if is_up else (answers, link))]
    queues = _queue(side, bottleneck, log)
    if way_back is not None:
        queues += _queue(other, *way_back)
    mm_link = ["mm-link", *traces, *queues, "--"]
    if not bottleneck.loss:
        return [delay, mm_link]
    loss = ["mm-loss", side, f"{bottleneck.loss:.12g}"]
    return [delay, mm_link, loss] if is_up else [delay, loss, mm_link]


def _queue(side: str, bottleneck: Bottleneck, log: Path) -> list[str]:
    return [
        f"--{side}-queue={_MM_LINK_NAMES.get(bottleneck.qdisc, bottleneck.qdisc)}",
        f"--{side}-queue-args={_queue_arguments(bottleneck)}",
        f"--{side}-log={log}",
    ]


def _queue_arguments(bottleneck: Bottleneck) -> str:
    given = dict(bottleneck.qdisc_options)
    options = (
        f"{argument}={given.get(name, default)}"
        for name, (argument, default) in QUEUES[bottleneck.qdisc].items()
    )
    assert bottleneck.queue_packets is not None
    limit = f"packets={bottleneck.queue_packets}"
    if bottleneck.qdisc == "bfifo":
        limit = f"bytes={bottleneck.queue_packets * (MTU_BYTES + TUN_HEADER_BYTES)}"
    return ",".join([limit, *options])
