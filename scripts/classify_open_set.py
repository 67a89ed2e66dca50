# SPDX-License-Identifier: Apache-2.0
"""Draw right answers over labels of unknown CCAs, of the packaged training set.

    .venv/bin/python scripts/classify_open_set.py docs/images/classify-open-set.{png,svg}

By cross-validation (two minutes of one core), for servers with four traces: trees that have not
seen the path of a server judge it, and trees that do not know its CCA either. The weights of the
familiarity for a CCA that is left out are fitted to the others. The curves are of its limit; the
points are that of the training set, whose limit of the confidence applies to all.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from ccbench import plots
from ccbench.base.figures import Figure
from ccbench.classify.reaction_limits import familiarity_weights, held_out
from ccbench.classify.reactions import combined, log_ratios
from ccbench.classify.setting import SETTINGS
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.studies.style import finished, save_figure, style

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ccbench.classify.reactions import Limits
    from ccbench.classify.training import Variation

N_TRACES = 4
LEAST_LOSS, LEAST_SHARE = 3e-4, 0.03
KINDS: dict[str, Callable[[Variation], bool]] = {
    "clean": lambda path: path.loss <= LEAST_LOSS and path.cross_share <= LEAST_SHARE,
    "cross traffic of 3 to 15 %": lambda path: (
        path.loss <= LEAST_LOSS and path.cross_share > LEAST_SHARE
    ),
    "loss of 0.03 to 1 %": lambda path: path.loss > LEAST_LOSS and path.cross_share <= LEAST_SHARE,
}


def confident(limits: Limits, probabilities: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return whether the label of each server is confident."""
    joint = combined(probabilities)
    ratios = log_ratios(joint)
    return np.array(
        [
            limits.confidence(limits.ccas[label], ratio, level, N_TRACES)
            > limits.of(limits.ccas[label], level, N_TRACES).confidence
            for label, ratio, level in zip(joint.argmax(axis=1), ratios, noise, strict=True)
        ]
    )


def main() -> None:
    """Print the shares at the limit of the training set, and draw the curves if a path is given."""
    for path in sys.argv[1:]:
        plots.check_path(path)
    packaged = TrainingSet.load(PACKAGED)
    limits = packaged.limits
    assert limits is not None
    every = (*packaged.noisy, *packaged.samples)
    rows = [row for row in every if len(row.measured) and row.setting in SETTINGS]
    judged = held_out(rows)
    groups = judged.groups(N_TRACES)
    names = judged.names[groups[:, 0]]
    is_left_out = judged.is_left_out[groups[:, 0]]
    of_known = judged.known.terms(groups)
    of_unknown = judged.unknown.terms(groups[is_left_out])
    may_answer, may_be_named = (
        confident(limits, own.probabilities[some], own.noise[some].mean(axis=1))
        for own, some in ((judged.known, groups), (judged.unknown, groups[is_left_out]))
    )
    is_right = judged.is_right(groups)
    own_terms = np.array(limits.terms[N_TRACES - 1])
    known = np.where(is_right & may_answer, special.expit(of_known @ own_terms), -1)
    unknown = np.zeros(len(of_unknown))
    for cca in judged.ccas:
        others, own = names != cca, names[is_left_out] == cca
        weights = familiarity_weights(of_known[others], is_right[others], of_unknown[~own])
        unknown[own] = special.expit(of_unknown[own] @ weights)
    unknown[~may_be_named] = -1
    paths = [rows[i].variation for i in groups[:, 0].tolist()]
    limit = limits.familiarities[N_TRACES - 1]
    curves = {}
    for kind, is_of_kind in KINDS.items():
        own = np.array([is_of_kind(path) for path in paths])
        right, named = known[own], unknown[own[is_left_out]]
        shares = [
            (100 * np.mean(named >= least), 100 * np.mean(right >= least))
            for least in (limit, *np.linspace(0, 1, 201))
        ]
        print(f"{kind}: {shares[0][1]:.1f} % right, {shares[0][0]:.1f} % of unknown CCAs named")
        curves[kind] = np.array(shares)
    with style():
        figure = drawn(curves)
    for path in sys.argv[1:]:
        save_figure(figure, Path(path))


def drawn(curves: dict[str, NDArray[np.float64]]) -> Figure:
    """Draw right answers over labels of unknown CCAs: a point at the limit, and a curve."""
    figure = Figure(figsize=(4.2, 3.2), layout="constrained")
    axes = figure.subplots()
    for (kind, shares), line, marker in zip(curves.items(), ("-", "--", "-."), "os^", strict=True):
        (curve,) = axes.plot(*shares[1:].T, line, label=kind)
        axes.plot(*shares[0], marker, color=curve.get_color())
    axes.axvline(5, color="grey", linewidth=0.8, linestyle=":", label="goal")
    axes.set_xlabel("unknown CCAs with a label (%)")
    axes.set_ylabel("right answers (%)")
    axes.set_xlim(0, 50)
    axes.set_ylim(0, 101)
    axes.grid(alpha=0.3)
    axes.legend()
    return finished(figure)


if __name__ == "__main__":
    main()
