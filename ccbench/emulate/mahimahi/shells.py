# SPDX-License-Identifier: Apache-2.0
"""The path of a scenario as Mahimahi's shells, one within another.

A packet of a sender, which sits innermost, passes ``mm-loss``, then the queue and the link of
``mm-link``, then ``mm-delay``, and is at the receiver, which sits outside. Answers pass all of them
the other way, where only the delay matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench import _validate
from ccbench.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ccbench.bottleneck import Bottleneck
    from ccbench.scenario import Scenario

__all__ = ["ANSWERS", "QUEUES", "check_path", "shells"]

#: mm-link's queues by the names of ours. For each, what a scenario calls an option, what mm-link
#: does, and the value if the scenario names none: Linux's.
QUEUES: Mapping[str, Mapping[str, tuple[str, int]]] = {
    "droptail": {},
    "codel": {"target_ms": ("target", 5), "interval_ms": ("interval", 100)},
    "pie": {"target_ms": ("qdelay_ref", 15), "max_burst_ms": ("max_burst", 150)},
}

#: The link of the answers, 240 Mbit/s: packets without data do not queue there.
ANSWERS = Trace(name="answers", opportunities_ms=(1,) * 20)

#: mm-delay takes whole milliseconds, once for each way.
_RTT_STEP_MS = 2


def check_path(scenario: Scenario) -> None:
    """Check that Mahimahi can be this path.

    Raises
    ------
    InputError
        If it cannot.
    """
    if len(scenario.bottlenecks) > 1:
        allowed, step = "one with the engine mahimahi", "remove some, or use the engine kernel"
        raise _validate.bad("bottlenecks", len(scenario.bottlenecks), allowed, step)
    if scenario.rtt_ms % _RTT_STEP_MS:
        nearest = max(1, round(scenario.rtt_ms / _RTT_STEP_MS)) * _RTT_STEP_MS
        allowed = "an even number with the engine mahimahi, whose mm-delay knows whole ms each way"
        raise _validate.bad("rtt_ms", scenario.rtt_ms, allowed, f"write for example {nearest}")
    (bottleneck,) = scenario.bottlenecks
    with _validate.within("bottlenecks[0]."):
        _validate.one_of("qdisc", bottleneck.qdisc, QUEUES)
        options = QUEUES[bottleneck.qdisc]
        for name, value in bottleneck.qdisc_options:
            if name not in options:
                raise _validate.unknown_key(f"qdisc_options.{name}", options)
            _, usual = options[name]
            ms = _validate.Range(1, 10_000)
            _validate.whole(f"qdisc_options.{name}", value, ms, example=usual)


def shells(scenario: Scenario, *, link: Path, answers: Path, log: Path) -> list[list[str]]:
    """Return the command lines of the shells, the outermost first.

    Each is to be given, at its end, the command that it runs inside.

    Parameters
    ----------
    scenario : Scenario
        One that :func:`check_path` has passed.
    link, answers : Path
        Trace files of the bottleneck and of the way back.
    log : Path
        Where mm-link writes what happens at the bottleneck.

    Returns
    -------
    list of list of str
        ``mm-delay``, ``mm-link`` and, if the scenario has random losses, ``mm-loss``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ccbench import Bottleneck, Flow, Scenario
    >>> bottleneck = Bottleneck(bandwidth_mbps=12, queue_packets=20, loss=0.01)
    >>> scenario = Scenario(flows=(Flow(),), bottlenecks=(bottleneck,), rtt_ms=40, duration_s=10)
    >>> for shell in shells(scenario, link=Path("up"), answers=Path("down"), log=Path("log")):
    ...     print(*shell)
    mm-delay 20
    mm-link up down --uplink-queue=droptail --uplink-queue-args=packets=20 --uplink-log=log --
    mm-loss uplink 0.01
    """
    (bottleneck,) = scenario.bottlenecks
    queue = [
        f"--uplink-queue={bottleneck.qdisc}",
        f"--uplink-queue-args={_queue_arguments(bottleneck)}",
        f"--uplink-log={log}",
    ]
    delay = ["mm-delay", f"{scenario.rtt_ms / _RTT_STEP_MS:.0f}"]
    loss = [["mm-loss", "uplink", f"{bottleneck.loss:.12g}"]] if bottleneck.loss else []
    return [delay, ["mm-link", str(link), str(answers), *queue, "--"], *loss]


def _queue_arguments(bottleneck: Bottleneck) -> str:
    given = dict(bottleneck.qdisc_options)
    own = (
        f"{theirs}={given.get(name, usual)}"
        for name, (theirs, usual) in QUEUES[bottleneck.qdisc].items()
    )
    return ",".join([f"packets={bottleneck.queue_packets}", *own])
