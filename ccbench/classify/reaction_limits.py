# SPDX-License-Identifier: Apache-2.0
"""Choice of the limits of the second stage, by cross-validation."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ccbench.classify.reactions import Limits, Reactions, combined, log_ratios, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from ccbench.classify.training import Sample

__all__ = ["HeldOut", "Judged", "choose_limits", "familiarity_weights", "held_out"]

_FOLDS = 5
_BINS = 6
#: Largest number of traces with limits of their own.
_MOST_TRACES = 4
#: Greatest share of wrong labels, and the level of confidence in it.
_WRONG, _SURE = 0.01, 0.95
#: Inverse strength of regularisation of the weights.
_REGULARISATION = 1.0
#: Share of right labels given up to find unknown CCAs.
_GIVEN_UP = 0.02
#: Decimals of fitted limits: more would depend on the processor. Levels are not fitted, and each
#: rounding of one could move a server to the next bin.
_DECIMALS = 6


class Judged(NamedTuple):
    """What trees that have not seen a row's path, and perhaps not its CCA, say about each row."""

    probabilities: npt.NDArray[np.float64]
    distances: npt.NDArray[np.float64]
    noise: npt.NDArray[np.float64]

    @classmethod
    def nothing(cls, n_rows: int, n_ccas: int) -> Judged:
        """Return values to be filled."""
        shape = n_rows, n_ccas
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(n_rows))

    def fill(self, indices: npt.NDArray[np.int64], tested: Sequence[Sample], by: Reactions) -> None:
        """Judge some rows."""
        values = np.stack([row.measured for row in tested])
        self.probabilities[indices] = by.probabilities(values)
        for i, cca in enumerate(by.ccas):
            self.distances[indices, i] = by.directions.distances(values, cca)
        self.noise[indices] = by.levels(values)

    def terms(self, groups: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the terms of servers with these rows, shape (n_servers, n_traces)."""
        probabilities = self.probabilities[groups]
        labels = combined(probabilities).argmax(axis=1)
        distances = self.distances[groups, labels[:, None]].mean(axis=1)
        return terms(probabilities, distances, self.noise[groups].mean(axis=1))


class HeldOut(NamedTuple):
    """Rows as judged by trees that have not seen them.

    Attributes
    ----------
    ccas : tuple of str
    names : ndarray of str
        The CCA of each row.
    servers : tuple of tuple of int
        The rows of each server, one of a setting.
    known, unknown : Judged
        By trees that know the CCA of a row, and by those that do not.
    is_left_out : ndarray of bool
        The rows that have been judged by trees that do not know their CCA.
    """

    ccas: tuple[str, ...]
    names: npt.NDArray[np.str_]
    servers: tuple[tuple[int, ...], ...]
    known: Judged
    unknown: Judged
    is_left_out: npt.NDArray[np.bool_]

    def groups(self, n_traces: int) -> npt.NDArray[np.int64]:
        """Return rows of each server, in all combinations; shape (n_groups, n_traces)."""
        groups = [some for own in self.servers for some in combinations(own, n_traces)]
        return np.array(groups, dtype=np.int64).reshape(-1, n_traces)

    def is_right(self, groups: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return whether the label of each group is right."""
        labels = combined(self.known.probabilities[groups]).argmax(axis=1)
        result: npt.NDArray[np.bool_] = np.array(self.ccas)[labels] == self.names[groups[:, 0]]
        return result


def held_out(rows: Sequence[Sample]) -> HeldOut:
    """Judge each path by trees that have not seen it, and each CCA on some by trees without it.

    Parameters
    ----------
    rows : sequence of Sample
        Measurements of at least two CCAs, on at least five paths.
    """
    ccas = sorted({row.cca for row in rows})
    names = np.array([row.cca for row in rows])
    paths = {name: i for i, name in enumerate(dict.fromkeys(row.variation.name for row in rows))}
    fold = np.array([paths[row.variation.name] % _FOLDS for row in rows])
    known, unknown = (Judged.nothing(len(rows), len(ccas)) for _ in range(2))
    # Each CCA is left out in one fold.
    is_left_out = np.array([ccas.index(name) % _FOLDS for name in names]) == fold
    for setting, number in product(dict.fromkeys(row.setting for row in rows), range(_FOLDS)):
        own = np.array([row.setting == setting for row in rows])
        is_tested, is_trained = own & (fold == number), own & (fold != number)
        left_out = sorted(set(names[is_tested & is_left_out].tolist()))
        for without in (None, *left_out):
            trained = np.flatnonzero(is_trained & (names != without))
            tested = np.flatnonzero(is_tested & (names == without) if without else is_tested)
            if len(trained) and len(tested):
                by = Reactions([rows[i] for i in trained.tolist()], ccas)
                into = unknown if without else known
                into.fill(tested, [rows[i] for i in tested.tolist()], by)
    servers: dict[tuple[str, ...], list[int]] = {}
    for i, row in enumerate(rows):
        servers.setdefault((row.cca, row.variant, row.variation.name, str(row.seed)), []).append(i)
    return HeldOut(
        tuple(ccas), names, tuple(map(tuple, servers.values())), known, unknown, is_left_out
    )


def choose_limits(rows: Sequence[Sample]) -> Limits:
    """Choose the limits by cross-validation (:func:`held_out`).

    A logistic regression on the results gives the confidence. Its limits are quantiles in each bin
    of the level of noise. Another one, also on the results of CCAs that were left out, gives the
    familiarity, whose limit is a quantile: the 2 % of right labels below it are the price of
    finding unknown CCAs.

    Parameters
    ----------
    rows : sequence of Sample
        Measurements of at least two CCAs, on at least five paths.
    """
    from scipy import special  # noqa: PLC0415 - a tenth of a second

    judged = held_out(rows)
    known, ccas = judged.known, judged.ccas
    n_settings = len({row.setting for row in rows})
    levels = np.quantile(known.noise, np.linspace(0, 1, _BINS + 1)[1:-1])
    weights, of_terms, familiarities, least = [], [], [], []
    for n_traces in range(1, min(_MOST_TRACES, n_settings) + 1):
        indices = judged.groups(n_traces)
        joint = combined(known.probabilities[indices])
        labels = joint.argmax(axis=1)
        is_right = judged.is_right(indices)
        noises = known.noise[indices].mean(axis=1)
        ratios = log_ratios(joint)
        own_weights = _confidence_weights(labels, ratios, noises, is_right, len(ccas))
        constant, of_ratio, of_noise = own_weights[labels].T
        confidences = special.expit(constant + of_ratio * ratios + of_noise * noises)
        of_bin = np.digitize(noises, levels)
        bins = [of_bin == k for k in range(_BINS)]
        n_repeated = len(indices) / len(judged.servers)
        weights.append(tuple((float(a), float(b), float(c)) for a, b, c in own_weights))
        least.append(tuple(_least(confidences[own], is_right[own], n_repeated) for own in bins))
        of_known = known.terms(indices)
        of_unknown = judged.unknown.terms(indices[judged.is_left_out[indices[:, 0]]])
        fitted = familiarity_weights(of_known, is_right, of_unknown)
        is_counted = is_right & (confidences > np.take(least[-1], of_bin))
        familiarity = special.expit(of_known[is_counted] @ fitted)
        of_terms.append(tuple(fitted.tolist()))
        lost = float(np.quantile(familiarity, _GIVEN_UP)) if len(familiarity) else 1.0
        familiarities.append(round(lost, _DECIMALS))
    return Limits(
        ccas=tuple(ccas),
        weights=tuple(weights),
        terms=tuple(of_terms),
        familiarities=tuple(familiarities),
        levels=tuple(levels.tolist()),
        confidences=tuple(least),
    )


def _confidence_weights(
    labels: npt.NDArray[np.int64],
    ratios: npt.NDArray[np.float64],
    noises: npt.NDArray[np.float64],
    is_right: npt.NDArray[np.bool_],
    n_ccas: int,
) -> npt.NDArray[np.float64]:
    """Return the constant and the weights of ratio and noise for each label; shape (n_ccas, 3).

    Each is the sum of a common one and of one of the label, which regularisation keeps small where
    there are few examples.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - a third of a second

    if is_right.all() or not is_right.any():
        return np.tile([0.0, 1.0, 0.0], (n_ccas, 1))
    of_label = np.eye(n_ccas)[labels]
    parts = [column[:, None] for column in (np.ones(len(labels)), ratios, noises)]
    columns = np.hstack([*parts, *(part * of_label for part in parts)])
    model = LogisticRegression(C=_REGULARISATION, fit_intercept=False, max_iter=10_000)
    with threadpool_limits(1):  # several threads round differently
        fitted = model.fit(columns, is_right).coef_[0]
    common, own = fitted[:3], fitted[3:].reshape(3, n_ccas).T
    weights: npt.NDArray[np.float64] = (common + own).round(_DECIMALS)
    return weights


def familiarity_weights(
    of_known: npt.NDArray[np.float64],
    is_right: npt.NDArray[np.bool_],
    of_unknown: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the weights of the terms, if half of the servers run unknown CCAs."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - a third of a second

    if not len(of_unknown) or not is_right.any():
        return np.zeros(of_known.shape[1])
    columns = np.concatenate([of_known, of_unknown])
    is_familiar = np.concatenate([is_right, np.zeros(len(of_unknown), dtype=bool)])
    share = len(of_known) / len(of_unknown)
    counted = np.concatenate([np.ones(len(of_known)), np.full(len(of_unknown), share)])
    model = LogisticRegression(C=_REGULARISATION, fit_intercept=False, max_iter=10_000)
    with threadpool_limits(1):  # several threads round differently
        fitted = model.fit(columns, is_familiar, counted).coef_[0]
    weights: npt.NDArray[np.float64] = fitted.round(_DECIMALS)
    return weights


def _least(
    confidences: npt.NDArray[np.float64], is_right: npt.NDArray[np.bool_], n_repeated: float
) -> float:
    """Return the least confidence of the servers in one bin, each of which occurs repeatedly."""
    if not is_right.any():
        return 1.0
    wrong = np.sort(confidences[~is_right])[::-1]
    allowed = int(_allowed(_WRONG * len(confidences) / n_repeated) * n_repeated)
    clear = float(wrong[allowed]) if len(wrong) > allowed else 0.0
    least = max(clear, float(np.quantile(confidences[is_right], _GIVEN_UP)))
    return round(least, _DECIMALS)


def _allowed(limit: float) -> int:
    """Return the largest Poisson count whose upper confidence limit is at most this limit.

    Examples
    --------
    >>> _allowed(2.9), _allowed(3.0), _allowed(10.6)
    (0, 0, 5)
    """
    from scipy import special  # noqa: PLC0415 - a tenth of a second

    count = 0
    while special.gammaincinv(count + 2, _SURE) <= limit:
        count += 1
    return count
