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
import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.convergence.rivals import near_fair_share
from ccbench.experiment.path import typical_path
from ccbench.harm import long_flows
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, fraction, quantity, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware import harm
from ccbench.studies.ware.testbed import COLOURS, SEEDS, queue_axis

if TYPE_CHECKING:
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
_CAPTION, _TEXT, _LATER = "caption of Figure 5.4", "section 5.3.2", "section 5.3.3"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return harm.scenarios_of(
        long_flows(
            alpha=alpha,
            beta="cubic",
            path=typical_path(bandwidth_mbps=100, rtt_ms=100, queue_packets=packets),
            duration_s=40 if quick else 300,
            seed=seed,
        )
        for alpha in _ALPHAS
        for packets in ((256, 4096) if quick else (64, 128, 256, 512, 1024, 2048, 4096))
        for seed in (SEEDS[:1] if quick else SEEDS)
    )


def _measure(run: Run) -> Rows:
    (alpha,) = {flow.cca for flow in run.scenario.flows} - {"cubic"} or {""}
    return [{**row, "alpha": alpha} for row in harm.measure(run)]


def _harms(table: pd.DataFrame, *, whole: bool) -> pd.DataFrame:
    """Return the harm of each experiment."""
    return pd.concat(
        [
            harm.harms(table[table["alpha"].isin(["", alpha])], whole=whole).assign(alpha=alpha)
            for alpha in _ALPHAS
        ],
        ignore_index=True,
    )


def _conclude(table: pd.DataFrame) -> Findings:
    pairs = _harms(table, whole=True)
    long = pairs[pairs["queue_packets"] == _LONG_QUEUE].set_index("alpha")
    settled = _harms(table[table["queue_packets"] == _LONG_QUEUE], whole=False).set_index("alpha")
    return Findings(
        table=pairs,
        figure=_figure(pairs, table),
        comparisons=(
            *_numbers("bbr", long, settled, jain=0.988, relative=-0.060),
            *_numbers("bbr3", long, settled, jain=0.874, relative=-0.194),
            *_statements(table, pairs),
        ),
    )


def _numbers(
    alpha: str, long: pd.DataFrame, settled: pd.DataFrame, *, jain: float, relative: float
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
            quantity="the same, from convergence on",
            measured=Estimate(settled.loc[[alpha], "relative_harm"]),
            published=unbounded("variant", _CAPTION),
        ),
    )


def _statements(table: pd.DataFrame, pairs: pd.DataFrame) -> tuple[Comparison, ...]:
    """Return the comparisons with the text about BBRv3."""
    less = _difference(pairs, "relative_harm")
    index = _difference(pairs, "jain")
    indices = {p: Estimate(index[p]) for p in _LOWER_INDEX if p in index}
    highest = max(indices, key=lambda packets: indices[packets].mean)
    each = ", ".join(f"{packets} packets: {of:.3f}" for packets, of in indices.items())
    fair_s = _fair_share_s(table)
    reached = fair_s.dropna()
    harms = {packets: Estimate(less[packets]) for packets in less}
    return (
        Comparison(
            quantity=f"Jain's index, BBRv3 less BBRv1, largest of {_words(indices)} packets",
            measured=indices[highest],
            published=at_most(0, _TEXT, text="lower"),
            note=f"{each}.",
        ),
        Comparison(
            quantity=f"relative harm, BBRv3 less BBRv1, {_LONG_QUEUE} packets",
            measured=harms[_LONG_QUEUE],
            published=at_most(0, _TEXT, text="BBRv3 is less harmful"),
        ),
        *(
            Comparison(
                quantity=f"the same, {packets} packets",
                measured=difference,
                published=unbounded("curves only", "Figure 5.3"),
            )
            for packets, difference in harms.items()
            if packets != _LONG_QUEUE
        ),
        Comparison(
            quantity=f"CUBIC's share beside BBRv3, first 150 s, {_LONG_QUEUE} packets",
            measured=Estimate(_early_share(table)),
            published=at_least(50, _TEXT, text="unfair to BBR for the first 150 s"),
            unit="%",
        ),
        Comparison(
            quantity=f"time of equal shares of CUBIC and BBRv3, {_LONG_QUEUE} packets",
            measured=Estimate(reached),
            published=quantity(175, _LATER, text="about 175"),
            unit="s",
            note=f"Reached in {len(reached)} of {len(fair_s)} runs.",
        ),
    )


def _words(queues: dict[int, Estimate]) -> str:
    return " and ".join(map(str, queues))


def _difference(pairs: pd.DataFrame, column: str) -> dict[int, pd.Series[float]]:
    """Return a value for BBRv3 less that for BBRv1, per seed, by queue length."""
    values = pairs.pivot_table(column, ["queue_packets", "seed"], "alpha")
    difference = values["bbr3"] - values["bbr"]
    return {int(packets): difference[packets] for packets in np.unique(pairs["queue_packets"])}


def _long_runs(table: pd.DataFrame, alpha: str) -> pd.DataFrame:
    return table[(table["queue_packets"] == _LONG_QUEUE) & (table["alpha"] == alpha)]


def _early_share(table: pd.DataFrame) -> pd.Series[float]:
    """Return CUBIC's share in percent beside BBRv3 in the first 150 s, per seed."""
    runs = _long_runs(table, "bbr3")
    early = runs[runs["time_s"] <= _UNFAIR_S].pivot_table("mbps", "seed", "is_beta", aggfunc="sum")
    share: pd.Series[float] = 100 * early[True] / early.sum(axis=1)
    return share


def _fair_share_s(table: pd.DataFrame) -> pd.Series[float]:
    """Return the time from which both flows have about half of the link, per seed, or NaN."""
    runs = _long_runs(table, "bbr3")
    return pd.Series(
        {
            seed: near_fair_share(run.pivot_table("mbps", "time_s", "flow")).max(skipna=False)
            for seed, run in runs.groupby("seed")
        }
    )


def _figure(pairs: pd.DataFrame, table: pd.DataFrame) -> Figure:
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
        _draw_long_queue(panels[alpha], table, alpha)
    return figure


def _draw_long_queue(axes: Axes, table: pd.DataFrame, alpha: str) -> None:
    """Draw throughput over time as in Figure 5.4."""
    runs = _long_runs(table, alpha)
    run = runs[runs["seed"] == 1]
    for is_beta, rows in run.groupby("is_beta"):
        cca, name = ("cubic", "CUBIC") if is_beta else (alpha, _ALPHAS[alpha])
        axes.plot(rows["time_s"], rows["mbps"], color=COLOURS[cca], label=name, linewidth=1)
    axes.set_title(f"{_LONG_QUEUE} packets", fontsize="medium")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("throughput (Mbit/s)")
    axes.set_xlim(0, np.nanmax(run["time_s"]))
    axes.set_ylim(0, 100)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


STUDY = Study(
    info=info("ware-5.3"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
