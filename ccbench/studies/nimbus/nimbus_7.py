# SPDX-License-Identifier: Apache-2.0
"""Alternating cross traffic (Goyal et al. 2022, Figure 7 and Table 1).

Choices left open by the paper: the levels of the cross traffic appear at the top of its graph, not
in its text, and the authors' published scripts do not contain them. According to the text, traffic
is elastic from 20 to 120 s, "elastic, inelastic, and a mix of the two"; it refers to 100 to 120,
140 to 160 and 160 to 180 s as parts; and since NimbusCC's 27.5 Mbit/s are 10 % below the fair
share, that share is 30.5 Mbit/s on average. The levels here change every 20 s and have this
average. Throughput is the mean over a region as a percentage of the region's mean fair share.

Two more choices are variants of BBR's runs. CUBIC flows are new in each step; in the first variant,
they stay as long as the number of flows allows. The link sends packets one by one; in the second,
link and delay have the clock of the authors' emulator, Mahimahi: eight packets every millisecond
(their file ``bw96.mahi``), and ACKs at the next millisecond. The third has both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Bottleneck, Flow
from ccbench.experiment.trace import Trace
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared, relative_to
from ccbench.studies.nimbus.measures import delays_ms
from ccbench.studies.nimbus.testbed import CCAS, LINK_MBPS, seeds, shared
from ccbench.studies.published import at_most, quantity, unbounded
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run
    from ccbench.studies.published import Published

_STEP_S = 20.0
#: Poisson traffic in Mbit/s and number of long CUBIC flows in each step.
_LEVELS = ((16, 0), (16, 1), (32, 2), (0, 4), (0, 3), (0, 1), (16, 0), (32, 0), (48, 0))
_INTERVAL_S = 1.0

#: Table 1: deviation of throughput from the fair share with elastic and inelastic traffic in
#: percent, and queueing delay with inelastic traffic in ms.
_TABLE_1 = {
    "nimbus": (-10, 0, 12),
    "nimbus_copa": (-15, -1, 14),
    "cubic": (12, 0, 78),
    "bbr": (61, -2, 56),
    "vegas": (-79, -15, 3),
    "copa": (-54, -19, 18),
    "vivace": (61, -2, 27),
}
#: The delay of both NimbusCC variants according to section 5.
_LOW_DELAY = at_most(15, "section 5")

#: Variants of BBR's runs, by whether CUBIC flows stay and whether there is Mahimahi's clock.
_VARIANTS = {
    "bbr, flows stay": (True, False),
    "bbr, clock of 1 ms": (False, True),
    "bbr, both": (True, True),
}
_CLOCK_MS = 1.0


@dataclass(frozen=True)
class Phase:
    """A phase of a schedule: Poisson traffic and a number of CUBIC flows from `start_s` on."""

    start_s: float
    poisson_mbps: float
    cubic_flows: int

    @property
    def is_elastic(self) -> bool:
        """Whether there are CUBIC flows."""
        return self.cubic_flows > 0

    def fair_share_mbps(self, link_mbps: float = LINK_MBPS) -> float:
        """Return the fair share of one additional backlogged flow.

        Examples
        --------
        >>> Phase(0, 32, 1).fair_share_mbps()
        32.0
        """
        return (link_mbps - self.poisson_mbps) / (1 + self.cubic_flows)


def phased(phases: Sequence[Phase], duration_s: float) -> tuple[Flow, ...]:
    """Return the flows of a schedule, with separate flows for each phase.

    Examples
    --------
    >>> flows = phased([Phase(0, 16, 0), Phase(20, 0, 2)], 40)
    >>> [(flow.kind, flow.count, flow.start_s, flow.stop_s) for flow in flows]
    [('poisson', 1, 0.0, 20.0), ('bulk', 2, 20.0, 40.0)]
    """
    flows = []
    ends = [*(phase.start_s for phase in phases[1:]), duration_s]
    for phase, stop_s in zip(phases, ends, strict=True):
        times: dict[str, Any] = {"start_s": phase.start_s, "stop_s": stop_s}
        if phase.poisson_mbps:
            flows.append(Flow(kind="poisson", rate_mbps=phase.poisson_mbps, **times))
        if phase.cubic_flows:
            flows.append(Flow(cca="cubic", count=phase.cubic_flows, **times))
    return tuple(flows)


def staying(phases: Sequence[Phase], duration_s: float) -> tuple[Flow, ...]:
    """Return the flows of a schedule whose CUBIC flows stay until there are too many of them.

    Examples
    --------
    >>> flows = staying([Phase(0, 16, 1), Phase(20, 0, 2), Phase(40, 0, 1)], 60)
    >>> [(flow.kind, flow.start_s, flow.stop_s) for flow in flows]
    [('poisson', 0.0, 20.0), ('bulk', 0.0, 60.0), ('bulk', 20.0, 40.0)]
    """
    poisson = [flow for flow in phased(phases, duration_s) if flow.kind == "poisson"]
    cubic: list[Flow] = []
    starts_s: list[float] = []
    for phase in (*phases, Phase(duration_s, 0, 0)):
        while len(starts_s) > phase.cubic_flows:
            cubic.append(Flow(cca="cubic", start_s=starts_s.pop(), stop_s=phase.start_s))
        starts_s += [phase.start_s] * (phase.cubic_flows - len(starts_s))
    return (*poisson, *sorted(cubic, key=lambda flow: flow.start_s))


def by_the_millisecond(scenario: Scenario) -> Scenario:
    """Return a scenario whose link and ACKs have Mahimahi's clock of one millisecond."""
    path = scenario.path
    (link,) = path.bottlenecks
    per_ms = round(link.mean_mbps * 1e3 / 8 / path.mtu_bytes)
    trace = Trace(name=f"{per_ms} packets per ms", opportunities_ms=(1,) * per_ms)
    slotted = Bottleneck(trace=trace, queue_packets=link.queue_packets)
    return replace(scenario, path=replace(path, bottlenecks=(slotted,), ack_batch_ms=_CLOCK_MS))


def phases(step_s: float) -> list[Phase]:
    """Return the schedule with steps of `step_s` seconds.

    Examples
    --------
    >>> elastic = [phase.fair_share_mbps() for phase in phases(20) if phase.is_elastic]
    >>> round(sum(elastic) / len(elastic), 1)
    30.5
    """
    return [Phase(i * step_s, *level) for i, level in enumerate(_LEVELS)]


def alternating(ccas: Sequence[str], *, quick: bool) -> tuple[Scenario, ...]:
    """Return a scenario with this cross traffic for each sender and seed."""
    step_s = 2.0 if quick else _STEP_S
    duration_s = step_s * len(_LEVELS)
    return tuple(
        shared(
            Flow(cca=cca),
            *phased(phases(step_s), duration_s),
            duration_s=duration_s,
            seed=seed,
            name=f"{cca}, alternating cross traffic",
        )
        for cca in ccas
        for seed in seeds(quick=quick)
    )


def _variants(*, quick: bool) -> tuple[Scenario, ...]:
    """Return the scenarios of BBR's variants; the flow's label names the variant."""
    variants = []
    for name, (flows_stay, has_clock) in _VARIANTS.items():
        for scenario in alternating(["bbr"], quick=quick):
            others = scenario.flows[1:]
            if flows_stay:
                step_s = scenario.duration_s / len(_LEVELS)
                others = staying(phases(step_s), scenario.duration_s)
            varied = replace(
                scenario,
                flows=(replace(scenario.flows[0], label=name), *others),
                name=f"{name}: {scenario.name}",
            )
            variants.append(by_the_millisecond(varied) if has_clock else varied)
    return tuple(variants)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    main = alternating([*CCAS, "vivace", "nimbus_copa"], quick=quick)
    return (*main, *_variants(quick=quick))


def over_time(run: Run) -> Rows:
    """Return a row per second with throughput, fair share, and queueing delay."""
    step_s = run.scenario.duration_s / len(_LEVELS)
    mbps = run.throughput(_INTERVAL_S)[0]
    delay = delays_ms(run)
    of_interval = np.ceil(delay.index.to_numpy() / _INTERVAL_S) * _INTERVAL_S
    waited = delay.groupby(of_interval).agg(["sum", "count"]).reindex(mbps.index, fill_value=0)
    step = np.ceil(mbps.index / step_s).astype(int) - 1
    schedule = phases(step_s)
    return [
        {
            "cca": run.scenario.flows[0].name,
            "seed": run.scenario.seed,
            "time_s": time_s,
            "is_elastic": schedule[i].is_elastic,
            "share_mbps": schedule[i].fair_share_mbps(),
            "mbps": mbps[time_s],
            "waited_ms": waited.loc[time_s, "sum"],
            "packets": waited.loc[time_s, "count"],
        }
        for time_s, i in zip(mbps.index, step, strict=True)
    ]


def regions(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per run with throughputs in percent and delays in ms.

    Parameters
    ----------
    table : DataFrame
        The rows of :func:`over_time` for several runs.

    Returns
    -------
    DataFrame
        Index ``cca`` and ``seed``; columns ``elastic_percent`` and ``inelastic_percent``,
        throughput relative to the fair share, ``delay_ms`` (inelastic traffic) and
        ``elastic_delay_ms``.
    """
    sums = table.groupby(["cca", "seed", "is_elastic"], sort=False)[
        ["mbps", "share_mbps", "waited_ms", "packets"]
    ].sum()
    percent = 100 * sums["mbps"] / sums["share_mbps"]
    delay = sums["waited_ms"] / sums["packets"]
    return pd.DataFrame(
        {
            "elastic_percent": percent.xs(key=True, level="is_elastic"),
            "inelastic_percent": percent.xs(key=False, level="is_elastic"),
            "delay_ms": delay.xs(key=False, level="is_elastic"),
            "elastic_delay_ms": delay.xs(key=True, level="is_elastic"),
        }
    )


def _conclude(table: pd.DataFrame) -> Findings:
    by_region = regions(table)
    quantities = (
        ("elastic_percent", "throughput ÷ the fair share, elastic traffic", "%"),
        ("inelastic_percent", "throughput ÷ the fair share, inelastic traffic", "%"),
        ("delay_ms", "mean queueing delay, inelastic traffic", "ms"),
    )
    comparisons = tuple(
        compared(f"{cca}: {words}", by_region.loc[cca, column], published, unit=unit)
        for cca in by_region.index.unique("cca")
        if cca in _TABLE_1
        for (column, words, unit), published in zip(quantities, _published(str(cca)), strict=True)
    )
    column, words, unit = quantities[0]
    variants = tuple(
        compared(
            f"{name}: {words}",
            by_region.loc[name, column],
            unbounded("variant", "Table 1"),
            unit=unit,
        )
        for name in by_region.index.unique("cca")
        if name in _VARIANTS
    )
    figure = draw(table[table["cca"].isin(_TABLE_1)])
    return Findings(table=table, figure=figure, comparisons=(*comparisons, *variants))


def _published(cca: str) -> tuple[Published, ...]:
    """Return Table 1's row of a sender, refined by the text."""
    *changes, delay_ms = _TABLE_1[cca]
    delay = quantity(delay_ms, "Table 1")
    if cca.startswith("nimbus"):
        delay = replace(
            delay,
            text=f"{delay_ms}, {_LOW_DELAY.text}",
            where=f"Table 1, {_LOW_DELAY.where}",
            high=min(delay.high, _LOW_DELAY.high),
        )
    return *(relative_to(change, "Table 1") for change in changes), delay


def draw(table: pd.DataFrame) -> Figure:
    """Draw the first seed of each sender."""
    ccas = list(table["cca"].unique())
    figure = Figure(figsize=(8, 2 * len(ccas)), layout="constrained")
    grid = figure.subplots(len(ccas), sharex=True, squeeze=False)[:, 0]
    for cca, axes in zip(ccas, grid, strict=True):
        rows = table[(table["cca"] == cca) & (table["seed"] == table["seed"].min())]
        axes.plot(rows["time_s"], rows["share_mbps"], color="k", drawstyle="steps")
        axes.plot(rows["time_s"], rows["mbps"], color="C0")
        axes.set_ylim(0, LINK_MBPS)
        axes.set_ylabel(f"{cca}\nMbit/s")
        delay = axes.twinx()
        delay.plot(rows["time_s"], rows["waited_ms"] / rows["packets"], ":", color="C3")
        delay.set_ylim(0, 110)
        delay.set_ylabel("delay (ms)", color="C3")
        axes.set_xlabel("time (s)" if cca == ccas[-1] else "")
    return figure


STUDY = Study(
    info=info("nimbus-7"),
    scenarios=_scenarios,
    measure=over_time,
    conclude=_conclude,
)
