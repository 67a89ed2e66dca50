# SPDX-License-Identifier: Apache-2.0
"""RAPID beside CUBIC, BBR and Reno (Konda and Kaur, section III.B, and what it leaves open).

One flow of each on 1 Gbit/s, 60 ms and one bandwidth-delay product for 60 s, the other first by
5 s, and the other way round; RAPID's parameters are the default. Relative harm is as in Ware,
section 5.3.1, over the last 30 s: 0 is an equal share, -0.5 no harm, 0.5 all of it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ccbench.harm import relative_harm
from ccbench.scenario import Flow, Scenario
from ccbench.studies.catalogue import about
from ccbench.studies.rapid_links import MBPS, SMALL_BUFFERS, network
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run

_OTHERS = ("cubic", "bbr", "reno")
_DURATION_S, _HEAD_S = 60.0, 5.0
_QUICK_MBPS, _QUICK_PART = 50.0, 0.1


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    mbps, part = (_QUICK_MBPS, _QUICK_PART) if quick else (MBPS, 1.0)
    others = _OTHERS[:2] if quick else _OTHERS
    pairs = [
        pair
        for other in others
        for pair in ((other,), (other, "rapid"), ("rapid", other), (other, other))
    ]
    return tuple(
        network(
            *(Flow(cca=cca, start_s=i * _HEAD_S * part) for i, cca in enumerate(pair)),
            mbps=mbps,
            duration_s=_DURATION_S * part,
            exact=False,
            sysctls=SMALL_BUFFERS,
        )
        for pair in (("rapid",), *pairs)
    )


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    mbps = run.throughput(0.1).loc[scenario.duration_s / 2 :].mean()
    ccas = list(scenario.flow_table()["cca"])
    return [
        {
            "first": ccas[0],
            "second": ccas[1] if len(ccas) > 1 else "",
            "first_mbps": float(mbps[0]),
            "second_mbps": float(mbps[1]) if len(ccas) > 1 else math.nan,
            "link_mbps": scenario.bottlenecks[0].mean_mbps,
            "queue_ms": run.queueing_delay_ms(),
            "drops": int(run.summary()["drops"].sum()),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    rows = table.set_index(["first", "second"])
    others = [cca for cca in _OTHERS if (cca, "") in rows.index]

    def mbps(cca: str, pair: tuple[str, str]) -> float:
        return float(rows["first_mbps" if pair[0] == cca else "second_mbps"][pair])

    def harmed(cca: str, pair: tuple[str, str]) -> float:
        solo = float(rows["first_mbps"][(cca, "")])
        competing = min(mbps(cca, pair), solo)
        return relative_harm(solo, competing, n_alpha=1, n_beta=1)

    comparisons: list[Comparison] = []
    for other in others:
        pair, late = (other, "rapid"), ("rapid", other)
        same = float(rows["second_mbps"][(other, other)])
        comparisons += [
            Comparison(
                what=f"RAPID's share beside {other.upper()}",
                ours=100 * mbps("rapid", pair) / float(rows["link_mbps"][pair]),
                published="much lower than the other's",
                accepted=(0, 20),
                unit="%",
                note=f"{other.upper()} coming second: RAPID "
                f"{100 * mbps('rapid', late) / float(rows['link_mbps'][late]):.3g} %; "
                f"queue {rows['queue_ms'][pair]:.1f} ms",
            ),
            Comparison(
                what=f"relative harm of RAPID to {other.upper()}",
                ours=harmed(other, pair),
                published="quite non-intrusive",
                accepted=(-0.5, -0.4),
                note=f"{mbps(other, pair):.0f} Mbit/s, alone "
                f"{rows['first_mbps'][(other, '')]:.0f}; coming second "
                f"{harmed(other, late):+.2f}; beside another {other.upper()}, which comes "
                f"second, {rows['first_mbps'][(other, other)]:.0f} and {same:.0f}",
            ),
            Comparison(
                what=f"relative harm of {other.upper()} to RAPID",
                ours=harmed("rapid", late),
                published="left open",
                accepted=(-0.5, 0.5),
            ),
        ]
    return Findings(table=table, figure=_figure(table), comparisons=tuple(comparisons))


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    names = [f"{row.first} {row.second}".strip() for row in table.itertuples()]
    axes.barh(names, table["first_mbps"], label="first")
    axes.barh(names, table["second_mbps"].fillna(0), left=table["first_mbps"], label="second")
    axes.set_xlabel("throughput (Mbit/s)")
    axes.legend()
    return figure


STUDY = Study(
    about=about("rapid-others"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
