# SPDX-License-Identifier: Apache-2.0
"""Several NimbusCC flows, alone and with others (Goyal et al. 2022, Figures 15 and 16).

NimbusCC with Vegas and the election of a pulser. Four flows start 120 s apart and last 480 s each.
In a second experiment, three flows share 192 Mbit/s with three CUBIC flows from 30 to 90 s, then
with constant traffic of 96 Mbit/s, so that their fair share is 96 Mbit/s in both phases. The first
20 s after each change are excluded. Jain's index covers the flows present in each second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared, farthest
from ccbench.studies.nimbus.measures import PULSERS, delays_ms
from ccbench.studies.nimbus.testbed import LINK_MBPS, seeds, shared
from ccbench.studies.published import at_most, exactly, fraction, similar, unbounded
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_CCA = "nimbus_vegas"
_APART_S = 120.0
_FLOWS = 4
#: The second experiment: number of flows, and ends of its phases as shares of the run.
_TOGETHER = 3
_TOGETHER_S = 150.0
_PHASES = (0.2, 0.6, 1.0)
_SETTLED_S = 20.0
_INTERVAL_S = 1.0
_ELECTION = {"elect": 1}


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    scale = 0.1 if quick else 1.0
    scenarios = []
    for seed in seeds(quick=quick):
        apart_s = scale * _APART_S
        flows = (
            Flow(cca=_CCA, start_s=i * apart_s, stop_s=(i + _FLOWS) * apart_s)
            for i in range(_FLOWS)
        )
        scenarios.append(
            shared(
                *flows,
                settings=_ELECTION,
                duration_s=(2 * _FLOWS - 1) * apart_s,
                seed=seed,
                name="4 flows that come and go",
            )
        )
        duration_s = scale * _TOGETHER_S
        begin_s, change_s, _ = (part * duration_s for part in _PHASES)
        scenarios.append(
            shared(
                Flow(cca=_CCA, count=_TOGETHER),
                Flow(cca="cubic", count=_TOGETHER, start_s=begin_s, stop_s=change_s),
                Flow(kind="cbr", rate_mbps=LINK_MBPS, start_s=change_s),
                settings=_ELECTION,
                link_mbps=2 * LINK_MBPS,
                duration_s=duration_s,
                seed=seed,
                name="3 flows and others",
            )
        )
    return tuple(scenarios)


def _measure(run: Run) -> Rows:
    table = run.scenario.flow_table()
    nimbus = table.index[table["cca"] == _CCA]
    throughput = run.throughput(_INTERVAL_S)[nimbus]
    delay = delays_ms(run) if len(table) == _FLOWS else delays_ms(run, int(nimbus[0]))
    of_interval = np.ceil(delay.index.to_numpy() / _INTERVAL_S) * _INTERVAL_S
    waited = delay.groupby(of_interval).mean().reindex(throughput.index)
    reported: dict[int, Any] = {
        int(flow): run.cca_info(int(flow)).reindex(throughput.index, method="ffill")
        for flow in nimbus
    }
    rows = []
    for time_s in throughput.index:
        active = [
            int(flow)
            for flow in nimbus
            if table["start_s"][flow] + _INTERVAL_S <= time_s <= table["stop_s"][flow]
        ]
        states = {flow: reported[flow].loc[time_s] for flow in active}
        rates = throughput.loc[time_s, active]
        rows.append(
            {
                "case": "alone" if len(table) == _FLOWS else "others",
                "seed": run.scenario.seed,
                "part": time_s / run.scenario.duration_s,
                "time_s": time_s,
                "flows": len(active),
                "since_change_s": _since_change(table, time_s),
                "mbps": float(rates.sum()),
                "jain": float(rates.sum() ** 2 / (len(active) * (rates**2).sum()))
                if active
                else 1.0,
                "delay_ms": waited[time_s],
                "pulsers": sum(state["role"] in PULSERS for state in states.values()),
                "competitive": sum(state["mode"] == "competitive" for state in states.values()),
            }
        )
    return rows


def _since_change(table: pd.DataFrame, time_s: float) -> float:
    """Return the time since a flow last started or stopped."""
    changes = pd.concat([table["start_s"], table["stop_s"]])
    return float(time_s - changes[changes < time_s].max())


def _conclude(table: pd.DataFrame) -> Findings:
    table = table[table["flows"] > 0]
    settled = table[table["since_change_s"] > min(_SETTLED_S, table["time_s"].max() / 50)]
    alone, others = (settled[settled["case"] == case] for case in ("alone", "others"))
    several = alone[alone["flows"] > 1].groupby("seed")
    elastic = others[others["part"].between(_PHASES[0], _PHASES[1])].groupby("seed")
    inelastic = others[others["part"] > _PHASES[1]].groupby("seed")
    phase, share = farthest(
        {
            "CUBIC flows": 100 * elastic["mbps"].mean() / LINK_MBPS,
            "constant traffic": 100 * inelastic["mbps"].mean() / LINK_MBPS,
        },
        100,
    )
    comparisons = (
        compared(
            "alone: Jain's index of the flows present",
            several["jain"].mean(),
            fraction(1, "section 7.4, Figure 15", text="share the link equally"),
            unit="",
        ),
        compared(
            "alone: time with more than one pulser",
            100 * several["pulsers"].agg(lambda x: (x > 1).mean()),
            exactly(0, "caption of Figure 15", text="at most one pulser at any time"),
        ),
        compared(
            "alone: time with a flow in competitive mode",
            100 * several["competitive"].agg(lambda x: (x > 0).mean()),
            at_most(50, "section 7.4, Figure 15", text="in delay-control mode most of the time"),
        ),
        compared(
            "alone: mean queueing delay",
            several["delay_ms"].mean(),
            unbounded("low", "section 7.4, Figure 15"),
            unit="ms",
        ),
        compared(
            f"against others: rate ÷ the fair share, the case that differs more ({phase})",
            share,
            similar(100, "caption of Figure 16", text="their fair share"),
        ),
        compared(
            "with constant traffic: time with a flow in competitive mode",
            100 * inelastic["competitive"].agg(lambda x: (x > 0).mean()),
            at_most(50, "section 7.4, Figure 16", text="in delay-controlling mode for most"),
        ),
        compared(
            "with constant traffic: mean queueing delay",
            inelastic["delay_ms"].mean(),
            unbounded("low", "section 7.4, Figure 16"),
            unit="ms",
        ),
    )
    return Findings(table=table, figure=_figure(table), comparisons=comparisons)


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(12, 5), layout="constrained")
    first = table[table["seed"] == table["seed"].min()]
    for (case, rows), (top, bottom) in zip(
        first.groupby("case"), figure.subplots(2, 2).T, strict=True
    ):
        top.plot(rows["time_s"], rows["mbps"])
        top.set_title(str(case))
        top.set_ylabel("all NimbusCC flows (Mbit/s)")
        bottom.plot(rows["time_s"], rows["delay_ms"])
        wrong = rows["competitive"] > 0
        bottom.fill_between(rows["time_s"], 0, 200, where=wrong, color="C3", alpha=0.2)
        bottom.set_ylim(0, 120)
        bottom.set_ylabel("queueing delay (ms)")
        bottom.set_xlabel("time (s)")
    return figure


STUDY = Study(
    info=info("nimbus-15"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
