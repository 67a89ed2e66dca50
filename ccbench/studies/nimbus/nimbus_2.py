# SPDX-License-Identifier: Apache-2.0
"""Self-inflicted delay with elastic and inelastic cross traffic (Goyal et al. 2022, Figure 2).

A CUBIC flow shares the link with another CUBIC flow from 30 to 90 s and with constant traffic of
half the link from 90 to 150 s. The self-inflicted delay is the time that the link needs to send the
flow's own packets in the queue. The first 10 s of each phase are excluded. Link and queue are those
of the testbed, as the paper states no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared, farthest
from ccbench.studies.nimbus.testbed import LINK_MBPS, seeds, shared
from ccbench.studies.published import percentage, similar
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_DURATION_S = 150.0
_PHASES = (("elastic", 0.2, 0.6), ("inelastic", 0.6, 1.0))
_SETTLED = 1 / 15
_INTERVAL_S = 0.1
#: Share of the link and of the delay in percent stated in the text, for both phases.
_HALF = 50.0


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 15.0 if quick else _DURATION_S
    (_, first, second), _ = _PHASES
    cross = (
        Flow(cca="cubic", start_s=first * duration_s, stop_s=second * duration_s),
        Flow(kind="cbr", rate_mbps=LINK_MBPS / 2, start_s=second * duration_s),
    )
    return tuple(
        shared(Flow(cca="cubic"), *cross, duration_s=duration_s, seed=seed, name="cubic")
        for seed in seeds(quick=quick)
    )


def _measure(run: Run) -> Rows:
    duration_s = run.scenario.duration_s
    events = run.queue_events()
    # Change of the flow's own bytes in the queue with each event.
    sign = events["event"].map({"enqueue": 1, "dequeue": -1, "drop": -1}).astype(float).fillna(0)
    own = (sign * events["bytes"] * (events["flow"] == 0)).cumsum().to_numpy()
    both = {"own_ms": own, "total_ms": events["backlog_bytes"].to_numpy()}
    mbps = run.throughput(_INTERVAL_S)[0]
    last = np.searchsorted(events["time_ns"], mbps.index * 1e9, side="right") - 1
    delays = {name: queued[last] * 8e-3 / LINK_MBPS for name, queued in both.items()}
    return [
        {
            "seed": run.scenario.seed,
            "phase": next(
                (
                    name
                    for name, start, end in _PHASES
                    if (start + _SETTLED) * duration_s < time_s <= end * duration_s
                ),
                "",
            ),
            "time_s": time_s,
            "mbps": mbps[time_s],
            "own_ms": delays["own_ms"][i],
            "total_ms": delays["total_ms"][i],
        }
        for i, time_s in enumerate(mbps.index)
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    phases = table[table["phase"] != ""]
    means = phases.groupby(["phase", "seed"])[["mbps", "own_ms", "total_ms"]].mean()
    share = 100 * means["mbps"] / LINK_MBPS
    part = 100 * means["own_ms"] / means["total_ms"]
    off = 100 * (means["own_ms"]["elastic"] / means["own_ms"]["inelastic"] - 1)
    names = [name for name, _, _ in _PHASES]
    worst_share, shares = farthest({name: share[name] for name in names}, _HALF)
    worst_part, parts = farthest({name: part[name] for name in names}, _HALF)
    comparisons = (
        compared(
            f"CUBIC's share of the link, the phase that differs more ({worst_share} traffic)",
            shares,
            percentage(_HALF, "section 3.2"),
        ),
        compared(
            f"self-inflicted part of the delay, the phase that differs more ({worst_part} traffic)",
            parts,
            percentage(_HALF, "section 3.2", text="roughly half"),
        ),
        compared(
            "self-inflicted delay, elastic ÷ inelastic phase − 1",
            off,
            similar(0, "section 3.2", text="looks the same"),
        ),
    )
    return Findings(table=table, figure=_figure(table), comparisons=comparisons)


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(8, 5), layout="constrained")
    top, bottom = figure.subplots(2, sharex=True)
    rows = table[table["seed"] == table["seed"].min()]
    top.plot(rows["time_s"], rows["mbps"])
    top.set_ylabel("throughput (Mbit/s)")
    bottom.plot(rows["time_s"], rows["total_ms"], color="C1", label="total")
    bottom.plot(rows["time_s"], rows["own_ms"], color="C2", label="self-inflicted")
    bottom.set_ylabel("queueing delay (ms)")
    bottom.set_xlabel("time (s)")
    bottom.legend(fontsize="small")
    return figure


STUDY = Study(
    info=info("nimbus-2"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
