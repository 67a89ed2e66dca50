# SPDX-License-Identifier: Apache-2.0
"""Second stage for any recording: any part of a connection, any network, sampling and source.

The trees of :mod:`.reactions` are trained on parts of connections that begin anywhere, last 10 s or
more, are sampled or averaged, or show the sender's window only, on random networks. Each
measurement comes with the properties of its network and view.

The evidence of recordings adds up: the logarithms of their probabilities are added. The parts of
one connection are not independent, so that their mean counts as one recording. The confidence is
the probability that the label is right, by a logistic regression on the evidence, the distance to
the label's nearest measurements, the level of noise, the size of the network, the share of windows
that only grow, and the number of recordings. It is fitted to networks that the trees have not seen,
and to CCAs that were left out of their training: one server in four is assumed to run an unknown
CCA.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ccbench.base.random_streams import stream
from ccbench.classify.measurements import NAMES, in_byte
from ccbench.classify.reactions import Limit, Opinion, Reactions, in_its_context, logistic
from ccbench.classify.view import N_CONTEXT, PER_OCTAVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from ccbench.classify.trace import QueueTrace
    from ccbench.classify.training import Sample

__all__ = ["Calibration", "calibrated", "weighed"]

#: Added to each probability, so that one recording alone cannot exclude a CCA.
_FLOOR = 0.02
_FOLDS = 5
_MOST_RECORDINGS = 4
#: Servers of each CCA, fold and number of recordings by which the confidence is fitted.
_SERVERS = 40
#: Assumed share of servers with unknown CCAs.
_UNKNOWN_SHARE = 0.25
#: Greatest share of wrong labels of known CCAs, below, between and above these levels of noise.
_WRONG, _NOISE = 0.01, (0.1, 0.4)
#: Why recordings without any decrease have no answer.
_ONLY_GROWS = "the window only grows, as that of several CCAs: record until it falls"
#: The least of these limits: most answers below it would be wrong for unknown CCAs.
_LEAST = 0.7
#: Position of the share of windows that only grow among the terms of the evidence.
_UNFINISHED = 8
#: Standard deviation of a steady window in packets.
_STEADY = 2.0
#: Inverse strength of regularisation.
_REGULARISATION = 0.3
_DECIMALS = 6


class _Evidence(NamedTuple):
    """The evidence for the label of a server."""

    label: int
    second: int
    log_ratio: float
    distance: float
    noise: float
    size: float
    unfinished: float
    recordings: int

    def terms(self) -> tuple[float, ...]:
        """Return what the confidence is a weighted sum of."""
        share = 1 / self.recordings
        return (
            *(1.0, share, self.noise, self.size, self.size * share),
            *(self.log_ratio, self.log_ratio * share, self.log_ratio * self.noise),
            *(self.unfinished, self.log_ratio * self.unfinished),
            *(self.distance, self.distance * share, self.distance * self.noise),
        )


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The confidence in a label.

    Parameters
    ----------
    ccas : tuple of str
        The CCAs for which it was fitted.
    common : tuple of float
        The weights of the terms of the evidence, whose sum is the logarithm of the odds that the
        label is right.
    own : tuple of float
        What is added for each label.
    least : tuple of float
        The least confidence of an answer for each number of recordings, from 1; for more, the last
        one applies. At most 1 % of the servers with known CCAs get a wrong one, at any noise.
    """

    ccas: tuple[str, ...]
    common: tuple[float, ...]
    own: tuple[float, ...]
    least: tuple[float, ...]

    def confidence(self, evidence: _Evidence, label: str) -> float:
        """Return the probability that a label is right; 0 if the CCA was added later."""
        if label not in self.ccas:
            return 0.0
        odds = float(np.dot(self.common, evidence.terms())) + self.own[self.ccas.index(label)]
        return logistic(odds)


def weighed(
    reactions: Reactions, traces: Sequence[QueueTrace], calibration: Calibration
) -> Opinion:
    """Judge a server by the measurements of all its recordings.

    Parameters
    ----------
    reactions : Reactions
        The trees, trained in context.
    traces : sequence of QueueTrace
        A trace with measurements of each recording.
    calibration : Calibration
    """
    evidence = _evidence(reactions, [_rows(trace) for trace in traces])
    label, second = (reactions.ccas[i] for i in (evidence.label, evidence.second))
    return Opinion(
        label=label,
        second=second,
        confidence=calibration.confidence(evidence, label),
        distance=evidence.distance,
        noise=evidence.noise,
        limit=Limit(
            confidence=calibration.least[min(len(traces), len(calibration.least)) - 1],
            distance=None,
        ),
        doubt=_ONLY_GROWS if evidence.unfinished == 1 else "",
    )


def _rows(trace: QueueTrace) -> npt.NDArray[np.uint8]:
    """Return the values of each part of a connection."""
    own = in_its_context(trace)
    extra = own[len(trace.measured) :]
    return np.stack([own, *(np.append(measured, extra) for measured in trace.later)])


def _evidence(reactions: Reactions, recordings: Sequence[npt.NDArray[np.uint8]]) -> _Evidence:
    logs = np.stack(
        [np.log(reactions.probabilities(rows) + _FLOOR).mean(axis=0) for rows in recordings]
    )
    label, second, log_ratio = _best(logs)
    name = reactions.ccas[label]
    compared = [reactions.compare(rows, [name] * len(rows)) for rows in recordings]
    return _Evidence(
        label=label,
        second=second,
        log_ratio=log_ratio,
        distance=float(np.mean([distances.mean() for distances, _ in compared])),
        noise=float(np.mean([noise.mean() for _, noise in compared])),
        size=float(np.mean([_size(rows[:1])[0] for rows in recordings])),
        unfinished=float(np.mean([_unfinished(rows).mean() for rows in recordings])),
        recordings=len(recordings),
    )


def _size(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Return the size of the network of each row: its bandwidth-delay product, in octaves."""
    return rows[:, -N_CONTEXT] / PER_OCTAVE


def _unfinished(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Return whether each window only grows: without a decrease, many CCAs are alike."""
    decreases, spread = (rows[:, NAMES.index(name)] for name in ("decreases", "window_spread"))
    is_steady = spread <= in_byte("window_spread", np.log2(_STEADY))
    result: npt.NDArray[np.bool_] = (decreases == in_byte("decreases", 0)) & ~is_steady
    return result


def _best(logs: npt.NDArray[np.float64]) -> tuple[int, int, float]:
    """Return the two most probable CCAs, and the logarithm of their ratio."""
    total = logs.sum(axis=0)
    second, label = (int(i) for i in np.argsort(total, kind="stable")[-2:])
    return label, second, float(total[label] - total[second])


class _Judged(NamedTuple):
    """Rows of one fold, judged by trees that have not seen their networks."""

    cca: str
    logs: npt.NDArray[np.float64]
    distances: npt.NDArray[np.float64]
    noise: npt.NDArray[np.float64]


def calibrated(rows: Sequence[Sample]) -> Calibration:
    """Fit the confidence by cross-validation.

    Parameters
    ----------
    rows : sequence of Sample
        Measurements of at least three CCAs on at least five networks, in any view.
    """
    ccas = sorted({row.cca for row in rows})
    paths = {name: i for i, name in enumerate(dict.fromkeys(row.variation.name for row in rows))}
    folds = np.array([paths[row.variation.name] % _FOLDS for row in rows])
    names = np.array([row.cca for row in rows])
    terms, labels, is_right, is_known = [], [], [], []
    for fold in range(_FOLDS):
        left_out = [None, *(cca for i, cca in enumerate(ccas) if i % _FOLDS == fold)]
        for without in left_out:
            seen = np.flatnonzero((folds != fold) & (names != without))
            trained = [rows[i] for i in seen.tolist()]
            of = names == without if without else np.ones(len(rows), dtype=bool)
            tested = [rows[i] for i in np.flatnonzero((folds == fold) & of).tolist()]
            for evidence, cca in _servers(Reactions(trained, ccas, in_context=True), tested, fold):
                terms.append(evidence.terms())
                labels.append(evidence.label)
                is_right.append(ccas[evidence.label] == cca)
                is_known.append(without is None)
    return _fitted(
        tuple(ccas), np.array(terms), np.array(labels), np.array(is_right), np.array(is_known)
    )


def _servers(
    reactions: Reactions, tested: Sequence[Sample], fold: int
) -> list[tuple[_Evidence, str]]:
    """Return the evidence for servers, each of several recordings of one CCA."""
    values = np.stack([in_its_context(row) for row in tested])
    logs = np.log(reactions.probabilities(values) + _FLOOR)
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
                label, second, log_ratio = _best(logs[some])
                distances = apart[some, label]
                if np.isnan(distances).all():
                    continue
                evidence = _Evidence(
                    label=label,
                    second=second,
                    log_ratio=log_ratio,
                    distance=float(np.nanmean(distances)),
                    noise=float(noise[some].mean()),
                    size=float(_size(values[some]).mean()),
                    unfinished=float(_unfinished(values[some]).mean()),
                    recordings=len(some),
                )
                result.append((evidence, tested[int(some[0])].cca))
    return result


def _fitted(
    ccas: tuple[str, ...],
    terms: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int64],
    is_right: npt.NDArray[np.bool_],
    is_known: npt.NDArray[np.bool_],
) -> Calibration:
    from scipy import special  # noqa: PLC0415 - as below
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - most of a second

    share = _UNKNOWN_SHARE / (1 - _UNKNOWN_SHARE) * is_known.sum() / max((~is_known).sum(), 1)
    weights = np.where(is_known, 1.0, share)
    columns = np.hstack([terms, np.eye(len(ccas))[labels]])
    model = LogisticRegression(C=_REGULARISATION, fit_intercept=False, max_iter=10_000)
    with threadpool_limits(1):  # several threads round differently
        fitted = model.fit(columns, is_right, weights).coef_[0].round(_DECIMALS)
    confidence = special.expit(columns @ fitted)
    count = terms.shape[1]
    may_answer = terms[:, _UNFINISHED] < 1
    least = []
    for recordings in range(1, _MOST_RECORDINGS + 1):
        limit = _LEAST
        for level in range(len(_NOISE) + 1):
            own = np.isclose(terms[:, 1], 1 / recordings) & (
                np.digitize(terms[:, 2], _NOISE) == level
            )
            cell = is_known & own
            wrong = np.sort(confidence[cell & ~is_right & may_answer])[::-1]
            allowed = max(1, int(_WRONG * cell.sum()))
            if len(wrong) > allowed:
                limit = max(limit, float(wrong[allowed]))
        least.append(round(limit, _DECIMALS))
    return Calibration(
        ccas=ccas,
        common=tuple(fitted[:count].tolist()),
        own=tuple(fitted[count:].tolist()),
        least=tuple(least),
    )
