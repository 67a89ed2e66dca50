# SPDX-License-Identifier: Apache-2.0
"""Metrics of a sweep: those of its runs, and harm. All but harm cover the whole run."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import pandas as pd

from ccbench import metrics
from ccbench.base import validation
from ccbench.harm import divided, measure
from ccbench.metrics import Metric, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ccbench.experiment.scenario import Scenario

__all__ = ["HARM", "METRICS", "harm_scenarios", "metrics_named"]


def _harm(solo: Part, competing: Part) -> pd.Series[float]:
    return pd.Series({"": measure(solo.run, competing.run).relative})


#: Relative harm of section 5.3.1 of Ware's thesis, from two runs (:func:`harm_scenarios`).
HARM = Metric(
    name="harm",
    quantity="relative harm",
    definition="relative harm to the groups of flows of --beta (Ware's thesis, section 5.3.1)",
    scope="run",
    needs_solo=True,
    of=_harm,
    limits=(None, None),
)

#: Metrics of sweeps by name: those of runs, and harm.
#:
#: :meta hide-value:
METRICS: Mapping[str, Metric] = MappingProxyType({**metrics.METRICS, HARM.name: HARM})


def metrics_named(names: Iterable[str]) -> tuple[Metric, ...]:
    """Return the metrics of some names, without duplicates.

    Raises
    ------
    InputError
        If a name is unknown, or there are no names.

    Examples
    --------
    >>> [metric.column for metric in metrics_named(["share", "sojourn_time"])]
    ['share', 'sojourn_time_ms']
    """
    allowed, step = "one or more names of metrics", 'write for example ["share"]'
    given = validation.several("metrics", names, allowed, step)
    if not given:
        raise validation.bad("metrics", [], allowed, step)
    return metrics.named(given, among=METRICS)


def harm_scenarios(scenario: Scenario, beta: tuple[int, ...]) -> tuple[Scenario, Scenario]:
    """Return the two scenarios that measure the harm to some groups of a scenario's flows.

    Parameters
    ----------
    scenario : Scenario
        Beta and alpha flows together.
    beta : tuple of int
        Positions of the groups that may be harmed, as in :func:`ccbench.harm.divided`.

    Returns
    -------
    solo, competing : Scenario
        The beta flows alone, and all flows. With noise that spreads the starts, the seed decides
        which side has the lower numbers; otherwise the beta flows are first.

    Raises
    ------
    InputError
        If a group does not exist, alpha or beta has no group, no bottleneck is on the path of all
        groups, or a change is one of an alpha flow, or waits for its event: the solo run
        lacks this flow.

    Examples
    --------
    >>> from ccbench import Bottleneck, Flow, NetworkPath, Scenario
    >>> link = Bottleneck(bandwidth_mbps=100, queue_bdp=1)
    >>> flows = (Flow(cca="cubic"), Flow(cca="bbr"))
    >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=40)
    >>> both = Scenario(flows=flows, path=path, duration_s=60)
    >>> [flow.cca for flow in harm_scenarios(both, beta=(1,))[0].flows]
    ['bbr']
    """
    experiment = divided(scenario, beta)
    for i in dict.fromkeys(beta or range(1, len(scenario.flows))):
        if scenario.flows[i].kind != "bulk":
            step = "choose another group with beta, or another metric, such as goodput or fct"
            raise validation.bad(
                f"flows.{i}.kind", scenario.flows[i].kind, '"bulk" for metric harm', step
            )
    solo, competing = experiment.scenarios
    return replace(solo, name=scenario.name), replace(competing, name=scenario.name)
