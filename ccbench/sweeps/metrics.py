# SPDX-License-Identifier: Apache-2.0
"""Metrics of the runs of a sweep.

A metric has a value for each group of flows, for each bottleneck, or for the run. All metrics
except harm cover the whole run, including the start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.harm import METRICS as OF_FLOWS
from ccbench.harm import (
    achieved,
    check_shared,
    in_order,
    jain_index,
    measure,
    with_later_flows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ccbench.experiment.scenario import Change, Scenario
    from ccbench.harm import Metric
    from ccbench.run.run import Run

__all__ = ["METRICS", "SweepMetric", "harm_scenarios", "metrics_named"]

#: Objects for which a metric has values.
Scope: TypeAlias = Literal["group", "bottleneck", "run"]

_UNIT_SUFFIXES = {"": "", "Mbit/s": "_mbps", "MB": "_mb", "ms": "_ms", "s": "_s"}


@dataclass(frozen=True, kw_only=True)
class SweepMetric:
    """A metric of a sweep.

    Attributes
    ----------
    name : str
    quantity : str
        Name for axes and headings.
    unit : str
        Unit; empty for a share or an index.
    column : str
        Name of the table's column, with the unit.
    scope : "group", "bottleneck" or "run"
        Objects for which the metric has values.
    needs_solo : bool
        Whether the metric compares two runs, see :func:`harm_scenarios`.
    limits : (float, float or None)
        Limits of an axis; None: those of the data.
    of : callable
        Returns the values for a run, or for the solo and the competing run.
    """

    name: str
    quantity: str
    column: str
    scope: Scope
    of: Callable[..., Sequence[float]]
    unit: str = ""
    needs_solo: bool = False
    limits: tuple[float | None, float | None] = (0.0, None)

    def columns(self, values: int) -> list[str]:
        """Return the names of the metric's columns, with the numbers of several bottlenecks.

        Examples
        --------
        >>> METRICS["delay"].columns(2)
        ['queueing_delay_ms_0', 'queueing_delay_ms_1']
        """
        if self.scope != "bottleneck" or values == 1:
            return [self.column]
        return [f"{self.column}_{i}" for i in range(values)]


def metrics_named(names: Iterable[str]) -> tuple[SweepMetric, ...]:
    """Return the metrics of some names, without duplicates.

    Raises
    ------
    InputError
        If a name is unknown, or there are no names.

    Examples
    --------
    >>> [metric.column for metric in metrics_named(["share", "delay"])]
    ['share', 'queueing_delay_ms']
    """
    allowed = "one or more names of metrics"
    given = validation.several("metrics", names, allowed, 'write for example ["share"]')
    for name in given:
        validation.one_of("metric", name, METRICS)
    if not given:
        raise validation.bad("metrics", [], allowed, 'write for example ["share"]')
    return tuple(METRICS[name] for name in dict.fromkeys(given))


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
    >>> from ccbench import Bottleneck, Flow, Scenario
    >>> link = Bottleneck(bandwidth_mbps=100, queue_bdp=1)
    >>> flows = (Flow(cca="cubic"), Flow(cca="bbr"))
    >>> both = Scenario(flows=flows, bottlenecks=(link,), rtt_ms=40, duration_s=60)
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
    together = in_order(solo, others, noise=scenario.noise, seed=scenario.seed)
    before = 0 if together[: len(solo)] == solo else sum(flow.flow_count for flow in others)
    changes = _renumbered(scenario, chosen)
    return (
        replace(scenario, flows=solo, changes=changes),
        replace(scenario, flows=together, changes=with_later_flows(changes, before)),
    )


def _renumbered(scenario: Scenario, beta: Iterable[int]) -> tuple[Change, ...]:
    """Return the changes with the numbers that their flows have in a run of these groups."""
    if not scenario.changes:
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
    for i, change in enumerate(scenario.changes):
        new = change
        if new.when is not None:
            flow = renumbered(f"changes[{i}].when.flow", new.when.flow)
            new = replace(new, when=replace(new.when, flow=flow))
        if new.flow is not None:
            new = replace(new, flow=renumbered(f"changes[{i}].flow", new.flow))
        changes.append(new)
    return tuple(changes)


def _of_groups(metric: Metric) -> SweepMetric:
    """Return the metric of groups that corresponds to a metric of flows."""

    def of(run: Run) -> list[float]:
        values = achieved(run, [metric])[metric.name]
        groups = run.scenario.flow_table()["group"]
        return [
            metric.of_group(flow, values[groups == i]) for i, flow in enumerate(run.scenario.flows)
        ]

    quantity = {"fct": "flow completion time"}.get(metric.name, metric.name)
    return SweepMetric(
        name=metric.name,
        quantity=quantity,
        unit=metric.unit,
        column=f"{metric.name}{_UNIT_SUFFIXES[metric.unit]}",
        scope="group",
        of=of,
    )


def _share(run: Run) -> list[float]:
    throughput = METRICS["throughput"].of(run)
    total = sum(throughput)
    return [value / total if total else float("nan") for value in throughput]


def _jain(run: Run) -> list[float]:
    throughput = achieved(run, [OF_FLOWS["throughput"]])["throughput"]
    return [jain_index(throughput.to_numpy())]


def _harm(solo: Run, competing: Run) -> list[float]:
    return [measure(solo, competing).relative]


def _utilisation(run: Run) -> list[float]:
    return [run.utilisation(i) for i in range(len(run.scenario.links))]


def _delay(run: Run) -> list[float]:
    return [run.queueing_delay_ms(i) for i in range(len(run.scenario.links))]


def _table(*metrics: SweepMetric) -> Mapping[str, SweepMetric]:
    return MappingProxyType({metric.name: metric for metric in metrics})


#: Metrics by name. ``throughput`` and ``goodput`` are sums over a group's flows (means, for flows
#: of a given size); ``share`` is a group's share of the throughput of all groups. ``jain`` is
#: Jain's index of the throughputs of all single flows. ``harm`` is the relative harm of section
#: 5.3.1 of Ware's thesis. ``delay`` is the mean waiting time of packets in a bottleneck's queue.
#:
#: :meta hide-value:
METRICS: Mapping[str, SweepMetric] = _table(
    SweepMetric(
        name="share",
        quantity="share of the throughput",
        column="share",
        scope="group",
        of=_share,
        limits=(0.0, 1.0),
    ),
    *(_of_groups(metric) for metric in OF_FLOWS.values() if not metric.needs_queue_log),
    SweepMetric(
        name="harm",
        quantity="relative harm",
        column="relative_harm",
        scope="run",
        of=_harm,
        needs_solo=True,
        limits=(None, None),
    ),
    SweepMetric(
        name="jain",
        quantity="Jain's index",
        column="jain",
        scope="run",
        of=_jain,
        limits=(0.0, 1.0),
    ),
    SweepMetric(
        name="utilisation",
        quantity="utilisation",
        column="utilisation",
        scope="bottleneck",
        of=_utilisation,
        limits=(0.0, 1.0),
    ),
    SweepMetric(
        name="delay",
        quantity="queueing delay",
        unit="ms",
        column="queueing_delay_ms",
        scope="bottleneck",
        of=_delay,
    ),
)
