# SPDX-License-Identifier: Apache-2.0
"""BBRv1 and BBRv3 against CUBIC over queue lengths (Ware 2024, Figures 5.3 and 5.4).

One flow of each on 100 Mbit/s and 100 ms. Both measures cover whole runs: the thesis explains an
index by the first 150 s of its run, and only discusses convergence after this example.

Choices left open by the thesis: it names queues of 2048 and 4096 packets only; here they are the
powers of two from 64 to 4096. Its flows share equally from 175 s on by PCC Vivace's definition,
which it quotes: within 25 % of the equal share for 5 s. Its BBRv3 was Google's, ours is written
from the IETF draft.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.convergence.rivals import near_fair_share
from ccbench.experiment.path import typical_path
from ccbench.harm import beta_groups, long_flows
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, fraction, quantity, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.harm import EXPERIMENT, measured
from ccbench.studies.ware.testbed import COLOURS, SEEDS, queue_axis

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

#: The CCAs whose harm is measured, and their names in the text.
_ALPHAS = {"bbr": "BBRv1", "bbr3": "BBRv3"}
#: The queue of Figure 5.4, and the queues in which Jain's index is lower for BBRv3.
_LONG_QUEUE = 4096
_LOWER_INDEX = (2048, _LONG_QUEUE)
#: The part of the run in which CUBIC is unfair to BBRv3.
_UNFAIR_S = 150.0
#: Columns of the measurement that are not in the table.
_UNLISTED = ["settled_harm", "early_share_percent", "fair_s", "throughput"]
_CAPTION, _TEXT, _LATER = "caption of Figure 5.4", "section 5.3.2", "section 5.3.3"


def _scenarios(*, quick: bool) -> tuple[tuple[Scenario, ...], ...]:
    return tuple(
        long_flows(
            alpha=alpha,
            beta="cubic",
            path=typical_path(bandwidth_mbps=100, rtt_ms=100, queue_packets=packets),
            duration_s=40 if quick else 300,
            seed=seed,
        ).scenarios
        for alpha in _ALPHAS
        for packets in ((256, 4096) if quick else (64, 128, 256, 512, 1024, 2048, 4096))
        for seed in (SEEDS[:1] if quick else SEEDS)
    )


def _measure(solo: Run, competing: Run) -> Rows:
    """Return a row with harm of the whole run and after convergence, and throughput over time."""
    scenario = competing.scenario
    (beta,) = beta_groups(scenario)
    throughput = competing.throughput(1.0)
    early = throughput[throughput.index <= _UNFAIR_S].sum()
    return [
        {
            **measured(solo, competing, whole=True),
            "alpha": scenario.flows[1 - beta].cca,
            "settled_harm": measured(solo, competing)["relative_harm"],
            "early_share_percent": 100 * early.iloc[beta] / early.sum(),
            # The time from which both flows have about half of the link, or NaN.
            "fair_s": near_fair_share(throughput).max(skipna=False),
            "throughput": throughput.set_axis([flow.cca for flow in scenario.flows], axis=1),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    table = table.sort_values(["alpha", *EXPERIMENT], ignore_index=True)
    pairs = table.drop(columns=_UNLISTED)
    long = table[table["queue_packets"] == _LONG_QUEUE].set_index("alpha")
    return Findings(
        table=pairs,
        figure=_figure(pairs, long),
        comparisons=(
            *_numbers("bbr", long, jain=0.988, relative=-0.060),
            *_numbers("bbr3", long, jain=0.874, relative=-0.194),
            *_statements(pairs, long.loc[["bbr3"]]),
        ),
    )


def _numbers(
    alpha: str, long: pd.DataFrame, *, jain: float, relative: float
) -> tuple[Comparison, ...]:
    """Return the comparisons with the caption of Figure 5.4."""
    name = _ALPHAS[alpha]
    return (
        Comparison(
            quantity=f"{name}: Jain's index, {_LONG_QUEUE} packets",
            measured=Estimate(long.loc[[alpha], "jain"]),
            published=fraction(jain, _CAPTION),
        ),
        Comparison(
            quantity=f"{name}: relative harm, {_LONG_QUEUE} packets",
            measured=Estimate(long.loc[[alpha], "relative_harm"]),
            published=fraction(relative, _CAPTION, text=f"{relative:.3f}"),
        ),
        Comparison(
            quantity=f"{name}: relative harm from convergence on, {_LONG_QUEUE} packets",
            measured=Estimate(long.loc[[alpha], "settled_harm"]),
            published=unbounded("variant", _CAPTION),
        ),
    )


def _statements(pairs: pd.DataFrame, long: pd.DataFrame) -> tuple[Comparison, ...]:
    """Return the comparisons with the text about BBRv3; `long` has its runs with the long queue."""
    less = _difference(pairs, "relative_harm")
    index = _difference(pairs, "jain")
    indices = {p: Estimate(index[p]) for p in _LOWER_INDEX if p in index}
    highest = max(indices, key=lambda packets: indices[packets].mean)
    each = ", ".join(f"{packets} packets: {of:.3f}" for packets, of in indices.items())
    reached = long["fair_s"].dropna()
    harms = {packets: Estimate(less[packets]) for packets in less}
    return (
        Comparison(
            quantity=f"Jain's index, BBRv3 minus BBRv1, largest of {_words(indices)} packets",
            measured=indices[highest],
            published=at_most(0, _TEXT, text="lower"),
            note=f"{each}.",
        ),
        Comparison(
            quantity=f"relative harm, BBRv3 minus BBRv1, {_LONG_QUEUE} packets",
            measured=harms[_LONG_QUEUE],
            published=at_most(0, _TEXT, text="BBRv3 is less harmful"),
        ),
        *(
            Comparison(
                quantity=f"relative harm, BBRv3 minus BBRv1, {packets} packets",
                measured=difference,
                published=unbounded("curves only", "Figure 5.3"),
            )
            for packets, difference in harms.items()
            if packets != _LONG_QUEUE
        ),
        Comparison(
            quantity=f"CUBIC's share against BBRv3, first 150 s, {_LONG_QUEUE} packets",
            measured=Estimate(long["early_share_percent"]),
            published=at_least(50, _TEXT, text="unfair to BBR for the first 150 s"),
            unit="%",
        ),
        Comparison(
            quantity=f"time of equal shares of CUBIC and BBRv3, {_LONG_QUEUE} packets",
            measured=Estimate(reached),
            published=quantity(175, _LATER, text="about 175"),
            unit="s",
            note=f"Reached in {len(reached)} of {len(long)} runs.",
        ),
    )


def _words(queues: dict[int, Estimate]) -> str:
    return " and ".join(map(str, queues))


def _difference(pairs: pd.DataFrame, column: str) -> dict[int, pd.Series[float]]:
    """Return a value for BBRv3 minus that for BBRv1, per seed, by queue length."""
    values = pairs.pivot_table(column, ["queue_packets", "seed"], "alpha")
    difference = values["bbr3"] - values["bbr"]
    return {int(packets): difference[packets] for packets in np.unique(pairs["queue_packets"])}


def _figure(pairs: pd.DataFrame, long: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 6), layout="constrained")
    panels = figure.subplot_mosaic([["jain", "relative_harm"], ["bbr", "bbr3"]])
    for column, label in (("jain", "Jain's index"), ("relative_harm", "relative harm to CUBIC")):
        axes = panels[column]
        for alpha, rows in pairs.groupby("alpha"):
            colour = COLOURS[str(alpha)]
            means = rows.groupby("queue_packets")[column].mean()
            axes.plot(rows["queue_packets"], rows[column], "o", color=colour, ms=3, alpha=0.4)
            axes.plot(means.index, means, color=colour, label=_ALPHAS[str(alpha)])
        queue_axis(axes, pairs["queue_packets"])
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    for alpha in _ALPHAS:
        _draw_long_queue(panels[alpha], long.loc[[alpha]])
    return figure


def _draw_long_queue(axes: Axes, runs: pd.DataFrame) -> None:
    """Draw throughput over time as in Figure 5.4."""
    throughput = runs.loc[runs["seed"] == 1, "throughput"].iloc[0]
    for cca in sorted(throughput, key="cubic".__eq__):  # CUBIC on top
        name = _ALPHAS.get(cca, "CUBIC")
        axes.plot(throughput[cca], color=COLOURS[cca], label=name, linewidth=1)
    axes.set_title(f"{_LONG_QUEUE} packets", fontsize="medium")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("throughput (Mbit/s)")
    axes.set_xlim(0, throughput.index[-1])
    axes.set_ylim(0, 100)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


STUDY = Study(
    info=info("ware-5.3"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
