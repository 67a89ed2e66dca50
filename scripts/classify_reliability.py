# SPDX-License-Identifier: Apache-2.0
"""Draw the reliability diagram of the packaged training set.

    .venv/bin/python scripts/classify_reliability.py docs/images/classify-reliability.{png,svg}

For recordings in any view, by cross-validation (two minutes of one core): trees that have not seen
the networks of a server judge it, and the confidence is fitted to the servers of other networks.
One server in four runs a CCA that the trees do not know. Prints the share of right labels in each
range of the confidence, and the answers to one to four recordings in percent.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from ccbench import plots
from ccbench.base.figures import Figure
from ccbench.classify.calibration import CrossValidated, confidences, cross_validated
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.studies.style import finished, save_figure, style

EDGES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1)


def judged(servers: CrossValidated, least: tuple[float, ...]) -> pd.DataFrame:
    """Return the judgement of each server, given the least confidence of an answer."""
    evidence = pd.DataFrame(servers.evidence)
    table = pd.DataFrame(
        {
            "confidence": confidences(servers),
            "right": servers.is_right,
            "known": servers.is_known,
            "weight": servers.weights,
            "fold": servers.folds,
            "recordings": evidence["recordings"],
            # Windows that only grow have no answer.
            "may_answer": evidence["unfinished"] < 1,
        }
    )
    is_sure = table["confidence"] > np.take(least, table["recordings"] - 1)
    return table.assign(answered=is_sure & table["may_answer"])


def reliability(table: pd.DataFrame) -> pd.DataFrame:
    """Return mean confidence and share of right labels, also of the worst and best fold."""
    rows = []
    for interval, of_range in table.groupby(pd.cut(table["confidence"], EDGES), observed=True):
        folds = [weighted(one, "right") for _, one in of_range.groupby("fold")]
        rows.append(
            {
                "range": str(interval),
                "servers": len(of_range),
                "confidence": weighted(of_range, "confidence"),
                "right": weighted(of_range, "right"),
                "worst_fold": min(folds),
                "best_fold": max(folds),
            }
        )
    return pd.DataFrame(rows)


def answers(table: pd.DataFrame) -> pd.DataFrame:
    """Return the percentages of servers with a right and with a wrong answer."""
    rows = []
    for recordings, own in table.groupby("recordings"):
        known, unknown = own[own["known"]], own[~own["known"]]
        rows.append(
            {
                "recordings": recordings,
                "right": 100 * (known["answered"] & known["right"]).mean(),
                "wrong": 100 * (known["answered"] & ~known["right"]).mean(),
                "unknown CCAs with a label": 100 * unknown["answered"].mean(),
            }
        )
    return pd.DataFrame(rows)


def weighted(servers: pd.DataFrame, name: str) -> float:
    """Return a weighted mean."""
    return float(np.average(servers[name], weights=servers["weight"]))


def drawn(rows: pd.DataFrame) -> Figure:
    """Draw the share of right labels over the confidence."""
    figure = Figure(figsize=(1, 1), layout="constrained")
    axes = figure.subplots()
    axes.axline((0, 0), slope=1, color="grey", linewidth=0.8, linestyle="--", label="ideal")
    below, above = rows["right"] - rows["worst_fold"], rows["best_fold"] - rows["right"]
    axes.errorbar(
        100 * rows["confidence"],
        100 * rows["right"],
        yerr=100 * np.stack([below, above]),
        fmt="o-",
        capsize=2,
        label="servers on networks not seen in training",
    )
    axes.set_xlabel("confidence (%)")
    axes.set_ylabel("right labels (%)")
    axes.set_aspect("equal")
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    axes.grid(alpha=0.3)
    axes.legend()
    return finished(figure)


def main() -> None:
    """Print the table, and draw it if a path is given."""
    for path in sys.argv[1:]:
        plots.check_path(path)
    training_set = TrainingSet.load(PACKAGED)
    assert training_set.calibration is not None
    table = judged(cross_validated(training_set.windows), training_set.calibration.least)
    rows = reliability(table[table["may_answer"]])
    print(rows.round(3).to_string(index=False))
    print(answers(table).round(1).to_string(index=False))
    with style():
        figure = drawn(rows)
    for path in sys.argv[1:]:
        save_figure(figure, Path(path))


if __name__ == "__main__":
    main()
