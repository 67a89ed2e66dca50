# SPDX-License-Identifier: Apache-2.0
"""Metrics of a sweep: those of its runs, and harm. All but harm cover the whole run."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import pandas as pd

from ccbench import metrics
from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.harm import check_shared, in_order, measure, with_later_flows
from ccbench.metrics import Metric, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ccbench.experiment.scenario import Change, Scenario

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
        Positions of the groups that may be harmed. All others are alpha.

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
    count = len(scenario.flows)
    if count == 1:
        raise InputError(
            "metric harm needs two groups of flows, those that may be harmed and those that harm, "
            "but this scenario has one: add a [[flows]] table, or choose another metric"
        )
    last = validation.Range(0, count - 1)
    chosen = dict.fromkeys(validation.whole("beta", group, last, example=0) for group in beta)
    if not 0 < len(chosen) < count:
        allowed = f"one or more of the {count} groups of flows, but not all of them"
        raise validation.bad("beta", list(beta), allowed, "leave some for alpha, which harms")
    for i in chosen:
        if scenario.flows[i].kind != "bulk":
            step = "choose another group with beta, or another metric, such as goodput or fct"
            raise validation.bad(
                f"flows.{i}.kind", scenario.flows[i].kind, '"bulk" for metric harm', step
            )
    check_shared(scenario)
    solo = tuple(scenario.flows[i] for i in chosen)
    others = tuple(scenario.flows[i] for i in range(count) if i not in chosen)
    together = in_order(solo, others, noise=scenario.path.noise, seed=scenario.seed)
    before = 0 if together[: len(solo)] == solo else sum(flow.flow_count for flow in others)
    changes = _renumbered(scenario, chosen)
    return (
        replace(scenario, flows=solo, path=replace(scenario.path, changes=changes)),
        replace(
            scenario,
            flows=together,
            path=replace(scenario.path, changes=with_later_flows(changes, before)),
        ),
    )


def _renumbered(scenario: Scenario, beta: Iterable[int]) -> tuple[Change, ...]:
    """Return the changes with the numbers that their flows have in a run of these groups."""
    if not scenario.path.changes:
        return ()
    groups = scenario.flow_table()["group"].to_numpy()
    order = [int(flow) for group in beta for flow in (groups == group).nonzero()[0]]
    numbers = {flow: number for number, flow in enumerate(order)}

    def renumbered(place: str, flow: int) -> int:
        if flow in numbers:
            return numbers[flow]
        allowed = "a flow of beta for metric harm, as one of its runs has no others"
        raise validation.bad(place, flow, allowed, "name a flow of beta, or remove the change")

    changes = []
    for i, change in enumerate(scenario.path.changes):
        new = change
        if new.when is not None:
            flow = renumbered(f"changes[{i}].when.flow", new.when.flow)
            new = replace(new, when=replace(new.when, flow=flow))
        if new.flow is not None:
            new = replace(new, flow=renumbered(f"changes[{i}].flow", new.flow))
        changes.append(new)
    return tuple(changes)
