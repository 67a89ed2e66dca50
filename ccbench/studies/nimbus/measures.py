# SPDX-License-Identifier: Apache-2.0
"""What the studies of Nimbus measure of a run: verdicts and how often they are right, and delay.

- **A verdict** is the mode that the sender is in, so Copa has one too: competitive says elastic.
- **Accuracy** is the part of the time in which the verdict is right, from 10 s on: a window of the
  FFT is 5 s long, and flows get as much to get going. Cross traffic is elastic if any byte in
  the window is of an elastic flow (section 3.2).
- **Queueing delay** is that of the sender's own packets. RTTs are it and the base RTT.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ccbench.elasticity.observed import observe
from ccbench.run import packets
from ccbench.studies.nimbus.testbed import category_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ccbench.run.run import Run

__all__ = [
    "SETTLED_S",
    "accuracy_percent",
    "delays_ms",
    "judged",
    "mode_accuracy_percent",
    "verdicts",
]

#: From when on a detector is judged.
SETTLED_S = 10.0

#: What senders that switch modes tell of it, and what it is in the TCP-competitive mode.
_COMPETITIVE = {"nimbus": ("mode", 0), "copa": ("default_mode", 0)}


def verdicts(run: Run, *, flows: Sequence[int] = (0,), link_mbps: float | None = None) -> Any:
    """Return what the judged sender can know of its cross traffic, and what is so.

    Returns
    -------
    DataFrame
        Index ``time_s``; columns ``elasticity``, ``is_elastic`` and ``elastic_share`` as in
        :class:`ccbench.elasticity.observed.Observation`; of a sender that has them, the first two
        are its own: its mode, and its η.
    """
    seen = observe(run, flows=flows, link_mbps=link_mbps).elasticity
    told = run.cca_info(flows[0])
    if is_competitive := _COMPETITIVE.get(run.scenario.flows[0].cca.partition("_")[0]):
        column, value = is_competitive
        own = told.reindex(seen.index, method="ffill")
        seen = seen.assign(is_elastic=own[column] == value, elasticity=own.get("eta", math.nan))
    return seen


def accuracy_percent(seen: pd.DataFrame, from_s: float = SETTLED_S) -> float:
    """Return in what part of the time the verdict is right, in percent, from some time on.

    Parameters
    ----------
    seen : DataFrame
        As :func:`verdicts` gives it.
    from_s : float
        In seconds.
    """
    late = seen[seen.index >= from_s]
    return 100 * float((late["is_elastic"] == (late["elastic_share"] > 0)).mean())


def mode_accuracy_percent(run: Run, from_s: float = SETTLED_S) -> float:
    """Return the accuracy where the cross traffic is the same throughout, without a log of packets.

    The truth is then what the scenario says: elastic if any of the others is a TCP flow.

    Parameters
    ----------
    run : Run
        One whose first flow tells its mode, NimbusCC or Copa.
    from_s : float
        In seconds.
    """
    column, competitive = _COMPETITIVE[run.scenario.flows[0].cca.partition("_")[0]]
    says_elastic = run.cca_info(0).loc[from_s:, column] == competitive
    return 100 * float((says_elastic == (category_of(run.scenario) != "inelastic")).mean())


def judged(run: Run, link_mbps: float | None = None) -> dict[str, Any]:
    """Return what most studies measure of a run: accuracy, throughput and delay.

    Parameters
    ----------
    run : Run
        One in the testbed.
    link_mbps : float, optional
        What is left out: the rate of its (first) bottleneck.
    """
    scenario = run.scenario
    return {
        "cca": scenario.flows[0].cca,
        "cross": category_of(scenario),
        "seed": scenario.seed,
        "accuracy_percent": accuracy_percent(verdicts(run, link_mbps=link_mbps)),
        "mbps": float(run.summary()["throughput_mbps"].iloc[0]),
        "delay_ms": float(delays_ms(run).mean()),
    }


def delays_ms(run: Run, flow: int = 0) -> pd.Series[float]:
    """Return what each packet of a flow waited, in ms; index ``time_s``, when it came."""
    passed = packets.delivered(run)
    mine = passed[passed["flow"] == flow]
    delay: pd.Series[float] = mine.set_index("arrival_s")["queueing_ms"].rename_axis("time_s")
    return delay
