# SPDX-License-Identifier: Apache-2.0
"""Varying links and links with frame aggregation (Goyal et al. 2022, Table 3 and Figure 14).

The rate of a varying link is a random walk with steps of up to 20 Mbit/s per second; NimbusCC is
given its mean. An aggregating link follows the bottleneck and delivers the packets of each period
in one burst. Choices left open by the paper: the walk starts at 96 Mbit/s and stays between 24 and
168, with uniform steps; the status quo is CUBIC; the aggregating link has four times the
bottleneck's mean rate and a queue that never overflows. In the second half of Figure 14 it follows
the varying link.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.base.random_streams import stream
from ccbench.experiment.scenario import Bottleneck, Flow, Scenario
from ccbench.experiment.trace import OPPORTUNITY_BYTES, Trace
from ccbench.studies.abc.links import stepped
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared, relative_to
from ccbench.studies.nimbus.measures import judged
from ccbench.studies.nimbus.testbed import LINK_MBPS, cross_traffic, seeds, shared
from ccbench.studies.published import at_least, at_most, percentage, quantity, unbounded
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

_STEP_MBPS = 20.0
_WITHIN_MBPS = (24.0, 168.0)
_PERIODS_MS = (2, 4, 8, 16, 32)
_FAST = 4
_ROOM_PACKETS = 10_000
_STATUS_QUO = "cubic"
_TEXT = "section 7.3"
#: By cross traffic: change of throughput from the status quo and accuracy in percent, delay in ms.
_TABLE_3 = {"elastic": (-1, 103, 95), "inelastic": (-1, 70, 39)}


def random_walk(seed: int, seconds: int) -> Trace:
    """Return a link with rate changes of up to 20 Mbit/s per second.

    Examples
    --------
    >>> rates = np.array(random_walk(1, 60).rates_mbps(1.0))
    >>> bool(np.abs(np.diff(rates)).max() <= 20.1), bool(rates.min() >= 23.9)
    (True, True)
    """
    steps = stream(seed, "random walk").uniform(-_STEP_MBPS, _STEP_MBPS, seconds - 1)
    rates = [LINK_MBPS]
    for step in steps:
        rates.append(float(np.clip(rates[-1] + step, *_WITHIN_MBPS)))
    return stepped(rates, 1.0, name=f"random walk {seed}")


def aggregating(period_ms: int) -> Bottleneck:
    """Return a link that forwards the packets of each period in one burst.

    Examples
    --------
    >>> aggregating(2).mean_mbps
    384.0
    """
    packets = round(_FAST * LINK_MBPS * 1e3 * period_ms / (8 * OPPORTUNITY_BYTES))
    burst = Trace(name=f"bursts every {period_ms} ms", opportunities_ms=(period_ms,) * packets)
    return Bottleneck(trace=burst, queue_packets=_ROOM_PACKETS)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 16.0 if quick else 120.0
    periods_ms = _PERIODS_MS[::4] if quick else _PERIODS_MS
    scenarios = []
    for category in ("elastic", "inelastic"):
        for seed in seeds(quick=quick):
            walk = random_walk(seed, round(duration_s))
            for cca in ("nimbus", _STATUS_QUO):
                scenario = shared(
                    Flow(cca=cca),
                    *cross_traffic(category),
                    settings={"link_kbps": round(1e3 * walk.mean_mbps)},
                    duration_s=duration_s,
                    seed=seed,
                    name=f"{cca}, {category} traffic, varying link",
                )
                link = Bottleneck(
                    trace=walk, queue_packets=scenario.path.bottlenecks[0].queue_packets
                )
                scenario = replace(scenario, path=replace(scenario.path, bottlenecks=(link,)))
                scenarios.append(scenario)
                if cca != _STATUS_QUO:
                    scenarios += [_aggregated(scenario, period_ms) for period_ms in periods_ms]
            scenario = shared(
                Flow(cca="nimbus"),
                *cross_traffic(category),
                duration_s=duration_s,
                seed=seed,
                name=f"nimbus, {category} traffic",
            )
            scenarios += [_aggregated(scenario, period_ms) for period_ms in periods_ms]
    return tuple(scenarios)


def _aggregated(scenario: Scenario, period_ms: int) -> Scenario:
    """Return the scenario with an aggregating link after its bottleneck."""
    links = (*scenario.path.bottlenecks, aggregating(period_ms))
    return replace(
        scenario,
        path=replace(scenario.path, bottlenecks=links),
        name=f"{scenario.name}, aggregation over {period_ms} ms",
    )


def _measure(run: Run) -> Rows:
    links = run.scenario.path.bottlenecks
    period_ms = links[1].trace.opportunities_ms[0] if len(links) > 1 and links[1].trace else 0
    return [{"varies": links[0].trace is not None, "aggregation_ms": period_ms, **judged(run)}]


def _conclude(table: pd.DataFrame) -> Findings:
    varying = table[table["aggregation_ms"] == 0]
    all_bursts = table[table["aggregation_ms"] > 0]
    bursts = all_bursts[~all_bursts["varies"]]
    comparisons = []
    for cross, (change, delay_ms, accuracy) in _TABLE_3.items():
        rows = varying[varying["cross"] == cross]
        nimbus, usual = (
            rows[rows["cca"] == cca].set_index("seed") for cca in ("nimbus", _STATUS_QUO)
        )
        comparisons += [
            compared(
                f"varying link, {cross} traffic: throughput ÷ CUBIC's",
                100 * nimbus["mbps"] / usual["mbps"],
                relative_to(change, "Table 3"),
            ),
            compared(
                f"varying link, {cross} traffic: mean queueing delay",
                nimbus["delay_ms"],
                quantity(delay_ms, "Table 3"),
                unit="ms",
            ),
            compared(
                f"varying link, {cross} traffic: accuracy",
                nimbus["accuracy_percent"],
                percentage(accuracy, "Table 3"),
            ),
        ]
    mean = bursts.groupby(["aggregation_ms", "seed"])["accuracy_percent"].mean()
    short, longest = min(_PERIODS_MS), max(_PERIODS_MS)
    comparisons += [
        compared(
            f"accuracy, aggregation over {short} ms, both kinds of traffic",
            mean[short],
            unbounded("high", _TEXT),
        ),
        compared(
            f"accuracy, aggregation over {longest} ms minus that over {short} ms",
            mean[longest] - mean[short],
            at_most(0, _TEXT, text="drops drastically"),
        ),
    ]
    both = all_bursts[all_bursts["varies"]]
    mean = both.groupby(["cross", "aggregation_ms", "seed"])["accuracy_percent"].mean()
    elastic_percent = {
        "elastic": mean["elastic"][short],
        "inelastic": 100 - mean["inelastic"][short],
    }
    kind = min(elastic_percent, key=lambda cross: float(elastic_percent[cross].mean()))
    comparisons += [
        compared(
            f"varying link: called elastic, aggregation over {short} ms, lower of both ({kind})",
            elastic_percent[kind],
            at_least(50, _TEXT, text="tends to classify all traffic as elastic"),
            unit="% of the time",
        ),
        compared(
            f"varying link: accuracy, elastic traffic, aggregation over {longest} ms",
            mean["elastic"][longest],
            unbounded("poor", _TEXT),
        ),
    ]
    figure = Figure(figsize=(10, 4), layout="constrained")
    halves = figure.subplots(1, 2, sharey=True)
    for axes, rows, title in zip(halves, (bursts, both), ("fixed", "varies"), strict=True):
        rows.pivot_table("accuracy_percent", "aggregation_ms", "cross").plot(ax=axes, marker="o")
        axes.set_title(f"bottleneck's rate: {title}", fontsize="small")
        axes.set_xlabel("aggregation (ms)")
        axes.set_ylabel("accuracy (%)")
        axes.legend(fontsize="small", title=None)
    return Findings(table=table, figure=figure, comparisons=tuple(comparisons))


STUDY = Study(
    info=info("nimbus-14"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
