# SPDX-License-Identifier: Apache-2.0
"""RAPID competing with CUBIC, BBR and Reno (Konda and Kaur, section III.B).

One flow of each on 1 Gbit/s, 60 ms and one bandwidth-delay product for 60 s; RAPID starts 5 s
later, and vice versa. The paper discusses NewReno transfers, and its RAPID has no tolerance for
noise; the other two CCAs, and the module's default tolerance, are variants. Relative harm is as in
Ware, section 5.3.1, over the last 30 s: 0 is an equal share, -0.5 no harm, 0.5 maximum harm.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow, Scenario
from ccbench.harm import relative_harm
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_most, unbounded
from ccbench.studies.rapid.links import (
    DEFAULTS,
    EXACT,
    MBPS,
    SMALL_BUFFERS,
    network,
    tolerance_of,
)
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from ccbench.run.run import Run

_WHERE = "section III.B"
_OTHERS = {"reno": "Reno", "cubic": "CUBIC", "bbr": "BBR"}
_RAPID = "rapid"
_DURATION_S, _HEAD_S = 60.0, 5.0
_QUICK_MBPS, _QUICK_PART = 50.0, 0.1


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    mbps, part = (_QUICK_MBPS, _QUICK_PART) if quick else (MBPS, 1.0)
    others = ("reno",) if quick else tuple(_OTHERS)
    alone = [flows for other in others for flows in ((other,), (other, other))]
    pairs = [pair for other in others for pair in ((other, _RAPID), (_RAPID, other))]
    cases: list[tuple[tuple[str, ...], Mapping[str, str]]] = [(flows, EXACT) for flows in alone]
    cases += [(pair, parameters) for parameters in (EXACT, DEFAULTS) for pair in pairs]
    return tuple(
        network(
            *(Flow(cca=cca, start_s=i * _HEAD_S * part) for i, cca in enumerate(flows)),
            mbps=mbps,
            duration_s=_DURATION_S * part,
            parameters=parameters,
            sysctls=SMALL_BUFFERS,
        )
        for flows, parameters in cases
    )


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    mbps = run.throughput(0.1).loc[scenario.duration_s / 2 :].mean()
    ccas = list(scenario.flow_table()["cca"])
    return [
        {
            "first": ccas[0],
            "second": ccas[1] if len(ccas) > 1 else "",
            "tolerance": tolerance_of(scenario) if _RAPID in ccas else math.nan,
            "first_mbps": float(mbps[0]),
            "second_mbps": float(mbps[1]) if len(ccas) > 1 else math.nan,
            "link_mbps": scenario.path.bottlenecks[0].mean_mbps,
            "queue_ms": run.queueing_delay_ms(),
            "drops": int(run.summary()["drops"].sum()),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    alone = table[table["second"] == ""].set_index("first")["first_mbps"]
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=tuple(
            comparison
            for other in _OTHERS
            for tolerance in (0, 64)
            if other in alone.index
            for comparison in _beside(table, other, tolerance, float(alone[other]))
        ),
    )


def _beside(
    table: pd.DataFrame, other: str, tolerance: int, alone_mbps: float
) -> tuple[Comparison, Comparison]:
    """Return the comparisons of RAPID's throughput with another CCA's, and its harm."""
    rows = table[table["tolerance"] == tolerance].set_index(["first", "second"])
    pair, late = (other, _RAPID), (_RAPID, other)
    other_mbps, rapid_mbps = (float(rows[name][pair]) for name in ("first_mbps", "second_mbps"))
    late_rapid_mbps, late_mbps = (float(rows[name][late]) for name in ("first_mbps", "second_mbps"))

    def harm(competing_mbps: float) -> float:
        return relative_harm(alone_mbps, min(competing_mbps, alone_mbps), n_alpha=1, n_beta=1)

    is_papers = other == "reno" and tolerance == 0
    lower = at_most(100, _WHERE, text="much lower") if is_papers else unbounded("variant", _WHERE)
    words = "quite non-intrusive" if is_papers else "variant"
    name = _OTHERS[other]
    return (
        Comparison(
            quantity=f"RAPID's throughput ÷ {name}'s, tolerance {tolerance}",
            measured=100 * rapid_mbps / other_mbps,
            published=lower,
            unit="%",
            note=f"RAPID first: {100 * late_rapid_mbps / late_mbps:.3g} %; "
            f"queue {rows['queue_ms'][pair]:.1f} ms",
        ),
        Comparison(
            quantity=f"relative harm of RAPID to {name}, tolerance {tolerance}",
            measured=harm(other_mbps),
            published=unbounded(words, _WHERE),
            note=f"{other_mbps:.0f} Mbit/s, alone {alone_mbps:.0f}; RAPID first: "
            f"{harm(late_mbps):+.2f}",
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(8, 6), layout="constrained")
    axes = figure.subplots()
    tolerances = table["tolerance"].map(", {:g}".format, na_action="ignore").fillna("")
    names = (table["first"] + " " + table["second"]).str.strip() + tolerances
    axes.barh(names, table["first_mbps"], label="first")
    axes.barh(names, table["second_mbps"].fillna(0), left=table["first_mbps"], label="second")
    axes.set_xlabel("throughput (Mbit/s); number: RAPID's tolerance")
    axes.legend()
    return figure


STUDY = Study(
    info=info("rapid-others"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
