# SPDX-License-Identifier: Apache-2.0
"""Measurements of the Nimbus studies: verdicts, their accuracy, and delay.

- **A verdict** is the sender's current mode, so Copa has one too: its competitive mode means
  elastic.
- **Accuracy** is the share of time with a correct verdict, excluding the first 10 s: the FFT's
  window is 5 s long, and flows are given as much to reach their steady state. Cross traffic is
  elastic if any byte in the window belongs to an elastic flow (section 3.2).
- **Queueing delay** is the delay of the sender's own packets. RTTs are the sum of it and the base
  RTT.
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
    "PULSERS",
    "SETTLED_S",
    "accuracy_percent",
    "delays_ms",
    "judged",
    "mode_accuracy_percent",
    "verdicts",
]

#: Start of the evaluation of a detector in seconds.
SETTLED_S = 10.0

#: Roles of pulsers in NimbusCC's report, also of one that does not pulse at the moment.
PULSERS = ("pulser", "paused")

#: Field of a mode-switching sender's report, and its value in TCP-competitive mode.
_COMPETITIVE = {"nimbus": ("mode", "competitive"), "copa": ("default_mode", 0)}


def verdicts(run: Run, *, flows: Sequence[int] = (0,), link_mbps: float | None = None) -> Any:
    """Return the verdicts of the evaluated sender on its cross traffic, and the truth.

    Returns
    -------
    DataFrame
        Index ``time_s``; columns ``elasticity``, ``is_elastic`` and ``elastic_share`` as in
        :class:`ccbench.elasticity.observed.Observation`. If the sender reports its own mode and η,
        they replace the first two.
    """
    observed = observe(run, flows=flows, link_mbps=link_mbps).elasticity
    reported = run.cca_info(flows[0])
    if is_competitive := _COMPETITIVE.get(run.scenario.flows[0].cca.partition("_")[0]):
        column, value = is_competitive
        own = reported.reindex(observed.index, method="ffill")
        observed = observed.assign(
            is_elastic=own[column] == value, elasticity=own.get("eta", math.nan)
        )
    return observed


def accuracy_percent(observed: pd.DataFrame, from_s: float = SETTLED_S) -> float:
    """Return the percentage of time with a correct verdict from `from_s` on.

    Parameters
    ----------
    observed : DataFrame
        The result of :func:`verdicts`.
    from_s : float
        Start in seconds.
    """
    late = observed[observed.index >= from_s]
    return 100 * float((late["is_elastic"] == (late["elastic_share"] > 0)).mean())


def mode_accuracy_percent(run: Run, from_s: float = SETTLED_S) -> float:
    """Return the accuracy with constant cross traffic, without a log of packets.

    The scenario then determines the truth: elastic if any other flow is a TCP flow.

    Parameters
    ----------
    run : Run
        A run whose first flow reports its mode (NimbusCC or Copa).
    from_s : float
        Start in seconds.
    """
    column, competitive = _COMPETITIVE[run.scenario.flows[0].cca.partition("_")[0]]
    says_elastic = run.cca_info(0).loc[from_s:, column] == competitive
    return 100 * float((says_elastic == (category_of(run.scenario) != "inelastic")).mean())


def judged(run: Run, link_mbps: float | None = None) -> dict[str, Any]:
    """Return the common measurements of a run: accuracy, throughput and delay.

    Parameters
    ----------
    run : Run
        A run in the testbed.
    link_mbps : float, optional
        Link rate used by the detector; by default that of the (first) bottleneck.
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
    """Return the queueing delay of each packet of a flow in ms; index ``time_s``, its arrival."""
    delivered = packets.delivered(run)
    of_flow = delivered[delivered["flow"] == flow]
    delay: pd.Series[float] = of_flow.set_index("arrival_s")["queueing_ms"].rename_axis("time_s")
    return delay
