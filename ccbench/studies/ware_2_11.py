# SPDX-License-Identifier: Apache-2.0
"""Who is called unknown when its CCA is not known (Ware 2024, Figure 2.11 and Table 2.3).

Each CCA in turn is left out of the packaged training set, and its traces are classified with the
packaged limits. These were chosen by other traces than those that are classified here. By its
formula the thesis's distances are sums along a path, of a number of points that it does not say;
ours are these for each point of a trace, in packets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ccbench.classify import dtw
from ccbench.classify.occupancy import DURATION_S, STEP_S
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.vote import UNKNOWN
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, Study
from ccbench.studies.ware_traces import SERVER, clean, labels, measure, votes

if TYPE_CHECKING:
    from ccbench.classify.threshold import Threshold

#: Table 2.3: the quantile of each setting.
_QUANTILES = {
    "5bw-85rtt-64q": 0.95,
    "5bw-130rtt-64q": 0.90,
    "10bw-85rtt-128q": 0.94,
    "10bw-130rtt-128q": 0.90,
}
#: Those that the thesis's vote gives a label although they are left out.
_TAKEN_FOR_OTHERS = ("bic", "cdg", "scalable")
_VOTED = "voted"
_WITHIN = (
    "The thesis takes three traces of a CCA, all of one kind. Ours differ on purpose, and a trace "
    "is near to some of them only: the same limit is a lower quantile."
)


def _conclude(table: pd.DataFrame) -> Findings:
    training = TrainingSet.load(PACKAGED)
    limits = {setting.name: limit for setting, limit in training.thresholds.items()}
    points = round(DURATION_S / STEP_S)
    parts = []
    for setting, own in table.groupby("setting", sort=False):
        samples = [one for one in training.samples if one.setting.name == setting]
        ccas = np.array([one.cca for one in samples])
        traces = [trace[:points] for trace in own["trace"]]
        distances = dtw.per_point(dtw.distances(traces, [one.trace for one in samples]), traces)
        distances[own["cca"].to_numpy()[:, None] == ccas] = np.inf  # it is left out
        nearest, distance = ccas[distances.argmin(axis=1)], distances.min(axis=1)
        label = labels(nearest, distance, limits[str(setting)].limits)
        parts.append(
            own[SERVER].assign(
                setting=setting, nearest=nearest, distance_packets=distance, label=label
            )
        )
    labelled = pd.concat(parts, ignore_index=True)
    return Findings(
        table=pd.concat([labelled, _votes(labelled)], ignore_index=True),
        figure=_figure(labelled),
        comparisons=(*_limits(limits), *_unknown(labelled), *_each(labelled)),
    )


def _votes(labelled: pd.DataFrame) -> pd.DataFrame:
    return votes(labelled).assign(setting=_VOTED)


def _limits(limits: dict[str, Threshold]) -> list[Comparison]:
    return [
        Comparison(
            what=f"Table 2.3, {name}: quantile of the distances within a CCA",
            ours=limits[name].quantile,
            published=f"{published:.2f}",
            accepted=(published - 0.05, published + 0.05),
            note=f"Its distance is {limits[name].distance:.2f} packets for each point. {_WITHIN}",
        )
        for name, published in _QUANTILES.items()
        if name in limits
    ]


def _unknown(labelled: pd.DataFrame) -> list[Comparison]:
    """Compare how often what is left out is unknown, by trace and by vote."""
    by_vote = _votes(labelled)
    return [
        Comparison(
            what=f"{words} of CCAs that are left out, called unknown",
            ours=100 * float((rows["label"] == UNKNOWN).mean()),
            published=published,
            accepted=(least, 100),
            unit="%",
        )
        for words, rows, published, least in (
            ("traces", labelled, "most", 50),
            ("votes", by_vote, "12 of 15 CCAs", 80),
        )
    ]


def _each(labelled: pd.DataFrame) -> list[Comparison]:
    """Compare for each CCA whether the vote calls it unknown."""
    return [
        Comparison(
            what=f"{cca} left out: votes that are unknown",
            ours=100 * float((own["label"] == UNKNOWN).mean()),
            published="a wrong label" if cca in _TAKEN_FOR_OTHERS else "unknown",
            accepted=(0, 50) if cca in _TAKEN_FOR_OTHERS else (50, 100),
            unit="%",
            note=_instead(own),
        )
        for cca, own in _votes(labelled).groupby("cca")
    ]


def _instead(votes: pd.DataFrame) -> str:
    counts = votes.loc[votes["label"] != UNKNOWN, "label"].value_counts()
    if not len(counts):
        return ""
    named = ", ".join(f"{label} {count}" for label, count in counts.items())
    return f"Of {len(votes)} votes: {named}."


def _figure(labelled: pd.DataFrame) -> Figure:
    every = pd.concat([labelled, _votes(labelled)])
    every["unknown"] = 100.0 * (every["label"] == UNKNOWN)
    settings = list(dict.fromkeys(every["setting"]))
    shares = every.pivot_table("unknown", "cca", "setting")[settings]
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(settings)
    for i, name in enumerate(settings):
        at = np.arange(len(shares)) + (i - (len(settings) - 1) / 2) * width
        axes.bar(at, shares[name], width, label=name, color="black" if name == _VOTED else f"C{i}")
    axes.set_xticks(range(len(shares)), shares.index, rotation=45, ha="right")
    axes.set_ylabel("called unknown (%)")
    figure.legend(loc="outside upper center", ncols=len(settings), fontsize="small")
    axes.grid(axis="y", alpha=0.3)
    return figure


STUDY = Study(
    about=about("ware-2.11"),
    scenarios=clean,
    measure=measure,
    conclude=_conclude,
)
