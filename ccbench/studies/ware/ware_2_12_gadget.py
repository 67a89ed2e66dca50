# SPDX-License-Identifier: Apache-2.0
"""Labels, data and time of Inspector Gadget (Ware 2024, Figure 2.12 and section 2.4).

:mod:`ccbench.studies.ware.gadget` counts the windows. As in the thesis, a trace becomes a vector of
offsets, of each window after the timeout from that of the timeout, and a decision tree labels it:
of scikit-learn, with its defaults.

The thesis trains with servers of one cloud provider and tests with those of another one, or of the
same. Here the jitter of ACKs is 1 ms in training and for the same provider, and 20 ms for the other
one, a choice left open by the thesis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.base.figures import Figure
from ccbench.classify.implementation import CCAS
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_most, percentage
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware import gadget
from ccbench.studies.ware.traces import confusions

if TYPE_CHECKING:
    import numpy.typing as npt

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_TRAINING, _SAME, _OTHER = "training", "same provider", "another provider"
#: Jitter and seeds of the traces.
_SETS = {
    _TRAINING: (1.0, range(1, 6)),
    _SAME: (1.0, range(101, 111)),
    _OTHER: (20.0, range(101, 111)),
}
_QUICK_CCAS, _QUICK_ROUND_TRIPS = ("bbr", "cubic", "reno"), 12
#: Elements of a vector.
_LENGTH = gadget.ROUND_TRIPS - gadget.TIMED_OUT
_ACCURACY, _EFFICIENCY = "section 2.4.1", "section 2.4.2"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        gadget.connection(
            cca,
            seed,
            jitter_ms=jitter_ms,
            round_trips=_QUICK_ROUND_TRIPS if quick else gadget.ROUND_TRIPS,
        )
        for jitter_ms, seeds in _SETS.values()
        for cca in (_QUICK_CCAS if quick else CCAS)
        for seed in (seeds[:1] if quick else seeds)
    )


def _measure(run: Run) -> Rows:
    windows, scenario = gadget.windows(run), run.scenario
    (traces,) = (
        name
        for name, (jitter_ms, seeds) in _SETS.items()
        if jitter_ms == scenario.path.noise.reverse_jitter_ms and scenario.seed in seeds
    )
    return [
        {
            "traces": traces,
            "cca": scenario.flows[0].cca,
            "seed": scenario.seed,
            "windows_packets": windows.packets,
            "megabytes": windows.megabytes,
            "seconds": windows.seconds,
        }
    ]


def _vector(packets: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the offsets of a trace; its last one fills the vector."""
    offsets = packets[gadget.TIMED_OUT :] - packets[gadget.TIMED_OUT - 1]
    return np.pad(offsets, (0, _LENGTH - len(offsets)), mode="edge")


def _conclude(table: pd.DataFrame) -> Findings:
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 - a third of a second

    vectors = np.stack(table["windows_packets"].map(_vector).tolist())
    is_training = (table["traces"] == _TRAINING).to_numpy()
    tree = DecisionTreeClassifier(random_state=0)
    tree.fit(vectors[is_training], table.loc[is_training, "cca"])
    tests = table[~is_training].assign(label=tree.predict(vectors[~is_training]))
    right = 100 * (tests["label"] == tests["cca"]).groupby(tests["traces"]).mean()
    labels = tests[tests["traces"] == _OTHER]
    labelled = tests.assign(
        windows_packets=tests["windows_packets"].map(lambda own: " ".join(f"{n:g}" for n in own))
    )
    return Findings(
        table=labelled,
        figure=_figure(labels),
        comparisons=(
            *(
                Comparison(
                    quantity=f"{traces}: traces with the right label",
                    measured=float(right[traces]),
                    published=percentage(published, _ACCURACY),
                    unit="%",
                    note=confusions(own[own["label"] != own["cca"]], most=8),
                )
                for traces, published in ((_SAME, 100), (_OTHER, 73))
                for own in (tests[tests["traces"] == traces],)
            ),
            Comparison(
                quantity="data of a trace, largest",
                measured=float(tests["megabytes"].max()),
                published=at_most(gadget.MOST_BYTES / 1e6, _EFFICIENCY),
                unit="MB",
                note=f"Mean: {tests['megabytes'].mean():.2f} MB.",
            ),
            Comparison(
                quantity="time of a trace, longest",
                measured=float(tests["seconds"].max()),
                published=at_most(90, _EFFICIENCY),
                unit="s",
                note=f"Mean: {tests['seconds'].mean():.0f} s.",
            ),
        ),
    )


def _figure(labels: pd.DataFrame) -> Figure:
    counts = pd.crosstab(labels["cca"], labels["label"])
    figure = Figure(figsize=(6, 5.2), layout="constrained")
    axes = figure.subplots()
    axes.imshow(counts, cmap="Blues")
    axes.set_xticks(range(len(counts.columns)), counts.columns, rotation=60, fontsize="small")
    axes.set_yticks(range(len(counts.index)), counts.index, fontsize="small")
    for row, column in zip(*np.nonzero(counts.to_numpy()), strict=True):
        value = counts.to_numpy()[row, column]
        colour = "white" if 2 * value > counts.to_numpy().max() else "black"
        axes.text(column, row, str(value), ha="center", va="center", color=colour, fontsize="small")
    axes.set_xlabel("label")
    axes.set_ylabel("congestion control")
    return figure


STUDY = Study(
    info=info("ware-2.12-gadget"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
