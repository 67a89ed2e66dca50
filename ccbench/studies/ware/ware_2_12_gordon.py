# SPDX-License-Identifier: Apache-2.0
"""Labels, data and time of Gordon (Ware 2024, Figures 2.12, 2.13a and 2.15).

:mod:`ccbench.studies.ware.gordon` measures the windows of traces, and
:mod:`ccbench.studies.ware.gordon_rules` labels them; a server's label is that of most of its
traces. Rows follow from each other: each of up to 50 round trips of a trace is a connection, whose
length depends on those before.

Here a server has three traces instead of 15, which only the seed of a jitter of ACKs distinguishes.
Data and time are those of 15.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.base.figures import Figure
from ccbench.classify.implementation import CCAS
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, exactly, quantity, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.gordon import SLOWER_FROM_PACKET, Probe, measured, next_probe
from ccbench.studies.ware.gordon_rules import UNKNOWN, label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_SEEDS = (1, 2, 3)
#: Traces of a server in the thesis.
_TRIALS = 15
_QUICK_CCAS, _QUICK_LAST = ("bbr", "reno"), 6

#: CCAs that share a label with another one.
_LABELS = {"veno": "vegas", "highspeed": "reno"}
_UNSUPPORTED = ("cdg", "hybla", "nv", "westwood")
_WRONG = "highspeed"
#: Unsupported CCAs that are unknown in the thesis.
_UNKNOWN_CCAS = ("cdg", "hybla", "nv")
_ACCURACY, _EFFICIENCY = "section 2.4.1", "section 2.4.2"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    if quick:
        return tuple(Probe(cca=cca, seed=1, last=_QUICK_LAST).scenario for cca in _QUICK_CCAS)
    return tuple(Probe(cca=cca, seed=seed).scenario for cca in CCAS for seed in _SEEDS)


def _follow_ups(run: Run) -> tuple[Scenario, ...]:
    probe = next_probe(run)
    return () if probe is None else (probe.scenario,)


def _measure(run: Run) -> Rows:
    probe, window = Probe.of(run.scenario), measured(run)
    return [
        {
            "cca": probe.cca,
            "seed": probe.seed,
            "round_trip": probe.round_trip,
            "window_packets": window.packets,
            "passed_packets": window.passed,
            "megabytes": window.megabytes,
            "seconds": window.seconds,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    traces = pd.DataFrame(
        [
            {
                "cca": cca,
                "seed": seed,
                "label": _label(rows),
                "megabytes": rows["megabytes"].sum(),
                "minutes": rows["seconds"].sum() / 60,
            }
            for (cca, seed), rows in table.groupby(["cca", "seed"])
        ]
    )
    servers = traces.groupby("cca")
    votes = servers["label"].agg(_vote)
    labelled = table.merge(traces[["cca", "seed", "label"]], on=["cca", "seed"])
    return Findings(
        table=labelled,
        figure=_figure(table, votes),
        comparisons=(
            *_labels(votes, traces),
            *_costs(_TRIALS * servers["megabytes"].mean(), _TRIALS * servers["minutes"].mean()),
        ),
    )


def _label(rows: pd.DataFrame) -> str:
    """Return the label of a trace."""
    slower = np.flatnonzero(rows["passed_packets"] >= SLOWER_FROM_PACKET)
    return label(rows["window_packets"].tolist(), int(slower[0]) if len(slower) else None)


def _vote(labels: Sequence[str]) -> str:
    """Return the label of most traces, and none if several have as many."""
    (first, most), *others = Counter(labels).most_common()
    return UNKNOWN if any(number == most for _, number in others) else first


def _labels(votes: pd.Series[str], traces: pd.DataFrame) -> tuple[Comparison, ...]:
    rights = votes.index.map(lambda cca: _LABELS.get(cca, cca)) == votes
    is_supported = ~votes.index.isin(_UNSUPPORTED)
    others = rights[is_supported & (votes.index != _WRONG)]
    by_cca = {str(cca): Counter(own["label"]) for cca, own in traces.groupby("cca")}
    in_words = "; ".join(
        f"{cca}: {', '.join(f'{name} {count}' for name, count in own.most_common())}"
        for cca, own in by_cca.items()
    )
    unknown = [votes.get(cca) == UNKNOWN for cca in _UNKNOWN_CCAS if cca in votes]
    return (
        Comparison(
            quantity="supported CCAs except HighSpeed with the right label",
            measured=100 * float(others.mean()),
            published=at_least(50, _ACCURACY, text="mostly accurate"),
            unit="%",
            note=f"{int(others.sum())} of {len(others)}. Traces: {in_words}.",
        ),
        Comparison(
            quantity="traces of HighSpeed with the right label",
            measured=float((traces.loc[traces["cca"] == _WRONG, "label"] == _LABELS[_WRONG]).sum()),
            published=exactly(0, _ACCURACY, text="all misclassified"),
        ),
        Comparison(
            quantity="CDG, Hybla and New Vegas: those that are unknown",
            measured=float(sum(unknown)),
            published=exactly(len(_UNKNOWN_CCAS), _ACCURACY, text="all"),
            unit="CCAs",
        ),
        Comparison(
            quantity="CCAs with a right label of their own",
            measured=float(sum(rights & ~votes.index.isin(_LABELS))),
            published=unbounded("not stated; 15 with CCAnalyzer", _ACCURACY),
            unit="CCAs",
        ),
    )


def _costs(megabytes: pd.Series[float], minutes: pd.Series[float]) -> tuple[Comparison, ...]:
    supported = megabytes.index.difference(list(_UNSUPPORTED))
    return (
        Comparison(
            quantity="data of 15 traces, mean over the supported CCAs",
            measured=float(megabytes[supported].mean()),
            published=quantity(456, _EFFICIENCY),
            unit="MB",
            note=f"Least {megabytes[supported].min():.0f} ({megabytes[supported].idxmin()}), most "
            f"{megabytes[supported].max():.0f} ({megabytes[supported].idxmax()}).",
        ),
        *(
            Comparison(
                quantity=f"time of 15 traces, {which} of the supported CCAs",
                measured=float(minutes[cca]),
                published=quantity(published, _EFFICIENCY),
                unit="min",
                note=f"It is {cca}.",
            )
            for which, cca, published in (
                ("shortest", str(minutes[supported].idxmin()), 2.6),
                ("longest", str(minutes[supported].idxmax()), 130),
            )
        ),
        Comparison(
            quantity="mean time ÷ the 2 minutes of CCAnalyzer",
            measured=float(minutes[supported].mean()) / 2,
            published=quantity(40, _EFFICIENCY),
        ),
    )


def _figure(table: pd.DataFrame, votes: pd.Series[str]) -> Figure:
    columns = min(5, len(votes))
    figure = Figure(figsize=(9, 1.9 * -(-len(votes) // columns)), layout="constrained")
    panels = figure.subplots(-(-len(votes) // columns), columns, squeeze=False, sharex=True)
    for axes in panels.flat[len(votes) :]:
        axes.set_visible(False)
    for axes, (cca, own) in zip(panels.flat, table.groupby("cca"), strict=False):
        for _, rows in own.groupby("seed"):
            axes.plot(rows["round_trip"], rows["window_packets"], ".-", linewidth=0.7, markersize=2)
        axes.set_title(f"{cca}: {votes[cca]}", fontsize="small")
        axes.grid(alpha=0.3)
    figure.supxlabel("round trip")
    figure.supylabel("window (packets)")
    return figure


STUDY = Study(
    info=info("ware-2.12-gordon"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
    follow_ups=_follow_ups,
)
