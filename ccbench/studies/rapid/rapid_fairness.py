# SPDX-License-Identifier: Apache-2.0
"""Several RAPID flows, which Konda and Kaur leave open (section V).

Flows share 1 Gbit/s and 60 ms for 60 s with RAPID's default parameters: two and four with
simultaneous starts; two with one starting 10 s later, also with zero tolerance for noise; four
starting 5 s apart; two with 60 and 120 ms. The second half of each run is measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow, Scenario
from ccbench.metrics import jain_index
from ccbench.studies.catalogue import info
from ccbench.studies.published import unbounded
from ccbench.studies.rapid.links import (
    DEFAULTS,
    EXACT,
    MBPS,
    RTT_MS,
    SMALL_BUFFERS,
    network,
)
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

_LEFT_OPEN = unbounded("left open", "section V")

_DURATION_S = 60.0
_QUICK_MBPS, _QUICK_PART = 50.0, 0.1
_TOGETHER = {"two at once": 2, "four at once": 4}
_LATE = {"one 10 s later": (0.0, 10.0), "one every 5 s": (0.0, 5.0, 10.0, 15.0)}
_UNLIKE = "60 and 120 ms"
_EXACT = "one 10 s later, no tolerance"
_CASES = (*_TOGETHER, *_LATE, _EXACT, _UNLIKE)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    mbps, part = (_QUICK_MBPS, _QUICK_PART) if quick else (MBPS, 1.0)
    rapid = "rapid"
    cases = {
        **{name: (Flow(cca=rapid, count=count),) for name, count in _TOGETHER.items()},
        **{
            name: tuple(Flow(cca=rapid, start_s=start * part) for start in starts)
            for name, starts in _LATE.items()
        },
        _EXACT: tuple(Flow(cca=rapid, start_s=start * part) for start in (0.0, 10.0)),
        _UNLIKE: (Flow(cca=rapid), Flow(cca=rapid, extra_rtt_ms=RTT_MS)),
    }
    return tuple(
        network(
            *flows,
            mbps=mbps,
            duration_s=_DURATION_S * part,
            parameters=EXACT if name == _EXACT else DEFAULTS,
            name=name,
            sysctls=SMALL_BUFFERS,
        )
        for name, flows in cases.items()
    )


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    half = run.throughput(0.1).loc[scenario.duration_s / 2 :].mean()
    link = scenario.path.bottlenecks[0].mean_mbps
    table = scenario.flow_table()
    return [
        {
            "case": scenario.name,
            "flow": flow,
            "start_s": float(table["start_s"][flow]),
            "rtt_ms": scenario.path.rtt_ms + float(table["extra_rtt_ms"][flow]),
            "mbps": float(half[flow]),
            "share_percent": 100 * float(half[flow]) / link,
            "jain": jain_index(half.to_numpy()),
            "queue_ms": run.queueing_delay_ms(),
            "drops": int(run.summary()["drops"].sum()),
        }
        for flow in table.index
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    cases = table.groupby("case")
    jain, used = cases["jain"].first(), cases["share_percent"].sum()

    def shares(case: str) -> str:
        part = table[table["case"] == case]
        each = ", ".join(f"{share:.3g}" for share in part["share_percent"])
        queue_ms, drops = part[["queue_ms", "drops"]].iloc[0]
        return f"shares {each} %; queue {queue_ms:.1f} ms, {drops:.0f} dropped"

    late = table[(table["start_s"] > 0) & (table["case"] != _EXACT)]
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            *(
                Comparison(
                    quantity=f"Jain's index, {case}",
                    measured=float(jain[case]),
                    published=_LEFT_OPEN,
                    note=shares(case),
                )
                for case in _CASES
            ),
            Comparison(
                quantity="largest share of a flow that came later",
                measured=float(late["share_percent"].max()),
                published=_LEFT_OPEN,
                unit="%",
            ),
            Comparison(
                quantity="least use of the link by all flows",
                measured=float(used.min()),
                published=_LEFT_OPEN,
                unit="%",
            ),
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    shares = table.pivot_table("share_percent", "case", "flow").reindex(list(_CASES))
    bottom = shares[0] * 0
    for flow in shares.columns:
        part = shares[flow].fillna(0)
        axes.barh(shares.index, part, left=bottom, label=f"flow {flow}")
        bottom = bottom + part
    axes.set_xlabel("share of the link (%)")
    axes.legend()
    return figure


STUDY = Study(
    info=info("rapid-fairness"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
