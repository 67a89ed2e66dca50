# SPDX-License-Identifier: Apache-2.0
"""How sure an answer is: the confidence in labels, fitted by cross-validation.

The trees of each fold have not seen the networks of its servers. Besides, each CCA is left out of
the training once, and one server in four is assumed to run such an unknown CCA.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ccbench.base.random_streams import stream
from ccbench.classify.evidence import FLOOR, Calibration, Evidence, best, size, unfinished
from ccbench.classify.reactions import Reactions, in_its_context

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from ccbench.classify.training import Sample

__all__ = ["CrossValidated", "calibrated", "confidences", "cross_validated"]

_FOLDS = 5
_MOST_RECORDINGS = 4
#: Servers of each CCA, fold and number of recordings.
_SERVERS = 40
#: Assumed share of servers with unknown CCAs.
_UNKNOWN_SHARE = 0.25
#: Greatest share of wrong labels of known CCAs, below, between and above these levels of noise.
_WRONG, _NOISE = 0.01, (0.1, 0.4)
#: The least of the limits: most answers below it would be wrong for unknown CCAs.
_LEAST = 0.7
#: Inverse strength of regularisation.
_REGULARISATION = 0.3
_DECIMALS = 6


class CrossValidated(NamedTuple):
    """Servers that were judged by trees which have not seen their networks.

    Attributes
    ----------
    ccas : tuple of str
        All CCAs.
    evidence : tuple of Evidence
        For the label of each server.
    is_right, is_known : numpy.ndarray of bool
        Whether the label is right, and whether the trees knew the server's CCA.
    folds : numpy.ndarray of int
        The fold of each server's networks.
    """

    ccas: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    is_right: npt.NDArray[np.bool_]
    is_known: npt.NDArray[np.bool_]
    folds: npt.NDArray[np.int64]

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """Weights of the servers, with which one in four runs an unknown CCA."""
        known, unknown = self.is_known.sum(), max((~self.is_known).sum(), 1)
        share = _UNKNOWN_SHARE / (1 - _UNKNOWN_SHARE) * known / unknown
        result: npt.NDArray[np.float64] = np.where(self.is_known, 1.0, share)
        return result

    @property
    def columns(self) -> npt.NDArray[np.float64]:
        """What the odds of each server are a weighted sum of: its terms, and one for each label."""
        labels = np.array([each.label for each in self.evidence])
        terms = np.array([each.terms() for each in self.evidence])
        result: npt.NDArray[np.float64] = np.hstack([terms, np.eye(len(self.ccas))[labels]])
        return result


def cross_validated(rows: Sequence[Sample]) -> CrossValidated:
    """Judge servers by trees that have not seen their networks, and some not their CCA.

    Parameters
    ----------
    rows : sequence of Sample
        Measurements of at least three CCAs on at least five networks, in any view.
    """
    ccas = sorted({row.cca for row in rows})
    paths = {name: i for i, name in enumerate(dict.fromkeys(row.variation.name for row in rows))}
    folds = np.array([paths[row.variation.name] % _FOLDS for row in rows])
    names = np.array([row.cca for row in rows])
    servers = []
    for fold in range(_FOLDS):
        left_out = [None, *(cca for i, cca in enumerate(ccas) if i % _FOLDS == fold)]
        for without in left_out:
            seen = np.flatnonzero((folds != fold) & (names != without))
            trained = [rows[i] for i in seen.tolist()]
            of = names == without if without else np.ones(len(rows), dtype=bool)
            tested = [rows[i] for i in np.flatnonzero((folds == fold) & of).tolist()]
            for each, cca in _servers(Reactions(trained, ccas, in_context=True), tested, fold):
                servers.append((each, ccas[each.label] == cca, without is None, fold))
    evidence, is_right, is_known, of_fold = zip(*servers, strict=True)
    return CrossValidated(
        tuple(ccas), evidence, np.array(is_right), np.array(is_known), np.array(of_fold)
    )


def _servers(
    reactions: Reactions, tested: Sequence[Sample], fold: int
) -> list[tuple[Evidence, str]]:
    """Return the evidence for servers, each of several recordings of one CCA."""
    values = np.stack([in_its_context(row) for row in tested])
    logs = np.log(reactions.probabilities(values) + FLOOR)
    ccas = reactions.ccas
    # Distances to the two labels that a row supports most suffice: few servers have another one.
    top = np.argsort(logs, axis=1)[:, ::-1][:, :3]
    apart = np.full(logs.shape, np.nan)
    noise = np.zeros(len(values))
    for i in range(len(values)):
        apart[i, top[i]], noise[i] = reactions.compare_with(values[i], [ccas[j] for j in top[i]])
    apart[~np.isfinite(apart)] = np.nan
    keys = np.array([f"{row.cca} {row.variant}" for row in tested])
    result = []
    rng = stream(fold, "servers")
    for key in np.unique(keys):
        own = np.flatnonzero(keys == key)
        paths = np.array([tested[i].variation.name for i in own.tolist()])
        for count in range(1, _MOST_RECORDINGS + 1):
            for _ in range(_SERVERS):
                chosen = rng.permutation(len(own))
                _, first = np.unique(paths[chosen], return_index=True)
                some = own[chosen[np.sort(first)[:count]]]
                label, second, log_ratio = best(logs[some])
                distances = apart[some, label]
                if np.isnan(distances).all():
                    continue
                evidence = Evidence(
                    label=label,
                    second=second,
                    log_ratio=log_ratio,
                    distance=float(np.nanmean(distances)),
                    noise=float(noise[some].mean()),
                    size=float(size(values[some]).mean()),
                    unfinished=float(unfinished(values[some]).mean()),
                    recordings=len(some),
                )
                result.append((evidence, tested[int(some[0])].cca))
    return result


def calibrated(servers: CrossValidated) -> Calibration:
    """Fit the confidence to all servers, and its least value for an answer."""
    columns = servers.columns
    fitted = _fitted(columns, servers.is_right, servers.weights)
    confidence = _probabilities(columns @ fitted)
    recordings = np.array([each.recordings for each in servers.evidence])
    level = np.digitize([each.noise for each in servers.evidence], _NOISE)
    may_answer = np.array([each.unfinished < 1 for each in servers.evidence])
    least = []
    for count in range(1, _MOST_RECORDINGS + 1):
        limit = _LEAST
        for of_level in range(len(_NOISE) + 1):
            cell = servers.is_known & (recordings == count) & (level == of_level)
            wrong = np.sort(confidence[cell & ~servers.is_right & may_answer])[::-1]
            allowed = max(1, int(_WRONG * cell.sum()))
            if len(wrong) > allowed:
                limit = max(limit, float(wrong[allowed]))
        least.append(round(limit, _DECIMALS))
    n_terms = columns.shape[1] - len(servers.ccas)
    return Calibration(
        ccas=servers.ccas,
        common=tuple(fitted[:n_terms].tolist()),
        own=tuple(fitted[n_terms:].tolist()),
        least=tuple(least),
    )


def confidences(servers: CrossValidated) -> npt.NDArray[np.float64]:
    """Return the confidence in the label of each server, fitted to those of the other folds.

    With these, the reliability is tested: of the labels with a confidence of 0.9, 90 % should be
    right.
    """
    columns = servers.columns
    result = np.zeros(len(columns))
    for fold in range(_FOLDS):
        own = servers.folds == fold
        fitted = _fitted(columns[~own], servers.is_right[~own], servers.weights[~own])
        result[own] = _probabilities(columns[own] @ fitted)
    return result


def _fitted(
    columns: npt.NDArray[np.float64],
    is_right: npt.NDArray[np.bool_],
    weights: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - most of a second

    model = LogisticRegression(C=_REGULARISATION, fit_intercept=False, max_iter=10_000)
    with threadpool_limits(1):  # several threads round differently
        fitted: npt.NDArray[np.float64] = model.fit(columns, is_right, weights).coef_[0]
    return fitted.round(_DECIMALS)


def _probabilities(odds: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    from scipy import special  # noqa: PLC0415 - an answer needs no scipy

    result: npt.NDArray[np.float64] = special.expit(odds)
    return result
