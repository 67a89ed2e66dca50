# SPDX-License-Identifier: Apache-2.0
"""Connections of Multipath TCP against TCP at one bottleneck: shares by number of subflows.

RFC 6356 couples the windows of subflows, so that a connection takes no more than one TCP flow from
a bottleneck that its subflows share. Linux has no such coupling: each subflow runs a congestion
control of TCP. The bounds follow from the text: a connection of n uncoupled subflows takes as much
as n TCP flows, n / (n + 1) against another one. For comparison, n TCP flows take its place.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import Flow
from ccbench.experiment.noise import typical
from ccbench.experiment.scenario import NetworkPath, Scenario
from ccbench.experiment.subflow import Subflow
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_most, percentage
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

_CCAS = ("reno", "cubic", "bbr")
_SUBFLOWS = (1, 2, 3, 4)
_SEEDS = 8
_MBPS, _RTT_MS = 20.0, 40.0
_LENGTH_S, _QUICK_S = 100.0, 5.0
#: Share of a run before the measurement.
_SETTLING = 0.2

_MULTIPATH, _TCP = "multipath", "tcp"
_UNCOUPLED = "RFC 6356, abstract"
_GOAL = "RFC 6356, section 2"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    seeds = range(1, 1 + (1 if quick else _SEEDS))
    return tuple(
        _scenario(cca, count, first, seed, _QUICK_S if quick else _LENGTH_S)
        for cca, count, first, seed in product(_CCAS, _SUBFLOWS, (_MULTIPATH, _TCP), seeds)
    )


def _scenario(cca: str, count: int, first: str, seed: int, duration_s: float) -> Scenario:
    link = Bottleneck(bandwidth_mbps=_MBPS, queue_bdp=1)
    flow = Flow(cca=cca, count=count)
    if first == _MULTIPATH:
        flow = Flow(cca=cca, subflows=(Subflow(),) * count)
    return Scenario(
        flows=(flow, Flow(cca=cca)),
        path=NetworkPath(bottlenecks=(link,), rtt_ms=_RTT_MS, noise=typical(rtt_ms=_RTT_MS)),
        duration_s=duration_s,
        seed=seed,
        queue_log="summary",
        name=f"{cca}, {count}, {first}",
    )


def _measure(run: Run) -> Rows:
    first, other = run.scenario.flows
    rates = run.throughput(interval_s=0.1)
    settled = rates[rates.index > _SETTLING * run.scenario.duration_s].mean()
    own = settled.iloc[: first.flow_count].sum()
    return [
        {
            "cca": other.cca,
            "subflows": first.flow_count,
            "first": _MULTIPATH if first.subflows else _TCP,
            "seed": run.scenario.seed,
            "share_percent": 100 * own / settled.sum(),
            "used_percent": 100 * settled.sum() / run.scenario.path.bottlenecks[0].mean_mbps,
        }
    ]


def _share(table: pd.DataFrame, cca: str, count: int, first: str = _MULTIPATH) -> Estimate:
    rows = table[(table["cca"] == cca) & (table["subflows"] == count) & (table["first"] == first)]
    return Estimate(rows["share_percent"])


def _conclude(table: pd.DataFrame) -> Findings:
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            *(
                Comparison(
                    quantity=f"{cca}, {count} subflow{'s' if count > 1 else ''}: share against TCP",
                    measured=_share(table, cca, count),
                    published=percentage(
                        100 * count / (count + 1), _UNCOUPLED, text=f"{count} of {count + 1} shares"
                    ),
                    unit="%",
                    note=f"{count} TCP flow{'s' if count > 1 else ''} in its place: "
                    f"{_share(table, cca, count, _TCP).mean:.1f} %.",
                )
                for cca, count in product(_CCAS, _SUBFLOWS)
            ),
            *(
                Comparison(
                    quantity=f"{cca}: largest share against TCP, of 1 to {max(_SUBFLOWS)} subflows",
                    measured=max(
                        (_share(table, cca, count) for count in _SUBFLOWS),
                        key=lambda share: share.mean,
                    ),
                    published=at_most(50, _GOAL, text="no more than one TCP flow"),
                    unit="%",
                )
                for cca in _CCAS
            ),
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    """Draw the shares by number of subflows, and those of as many TCP flows."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    ideal = [100 * count / (count + 1) for count in _SUBFLOWS]
    axes.plot(_SUBFLOWS, ideal, color="0.7", label="n / (n + 1)")
    axes.axhline(50, color="0.7", linestyle=":", label="RFC 6356")
    for i, (cca, first) in enumerate(product(_CCAS, (_MULTIPATH, _TCP))):
        shares = [_share(table, cca, count, first).mean for count in _SUBFLOWS]
        style = "o" if first == _MULTIPATH else "x"
        label = cca if first == _MULTIPATH else f"{cca}, n TCP flows"
        axes.plot(_SUBFLOWS, shares, style, color=f"C{i // 2}", label=label)
    axes.set_xticks(_SUBFLOWS)
    axes.set_xlabel("subflows (n)")
    axes.set_ylabel("share against one TCP flow (%)")
    axes.legend(fontsize="small")
    return figure


STUDY = Study(info=info("mptcp-shared"), scenarios=_scenarios, measure=_measure, conclude=_conclude)
