# SPDX-License-Identifier: Apache-2.0
"""Second stage of classification: a server's CCA by its reactions, on paths with loss and noise.

Loss and cross traffic shift a trace against all others, so that it is far from every training trace
(:mod:`.threshold`). Here randomised trees (extremely randomised trees of scikit-learn) compare the
:mod:`.measurements` of its reactions. They are trained on random paths with loss, cross traffic,
and neither (:func:`ccbench.classify.training.noisy_variation`).

The probabilities of a server's traces are combined. The most probable CCA is the label. Some CCAs
are alike under noise, so the confidence in a label depends on the CCA, the noise, and the ratio to
the next probability. An unknown CCA has an unusually small confidence, or an unusual distance to
the nearest measurements of the label. The limits of both depend on the level of noise, which is
estimated as that of the nearest measurements; that of the distance depends on the label too.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cache
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits  # scikit-learn needs it too

from ccbench.classify.trees import grown, key
from ccbench.classify.view import context

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from ccbench.classify.trace import QueueTrace
    from ccbench.classify.training import Sample, Variation
    from ccbench.classify.trees import Trees

__all__ = [
    "Limit",
    "Limits",
    "Opinion",
    "Reactions",
    "choose_limits",
    "in_its_context",
    "logistic",
    "noise_level",
    "opinion",
]

#: Added to each probability, so that one trace alone cannot exclude a CCA.
_FLOOR = 0.02
#: Logarithm of odds whose inverse is still a number.
_LEAST_ODDS = -700.0
_NONE: Mapping[str, Trees] = MappingProxyType({})
_FOLDS = 5
_BINS = 6
#: Largest number of traces with limits of their own.
_MOST_TRACES = 4
#: Traces of a CCA, and of any, whose measurements are the nearest; the range of a distance in one
#: measurement, in standard deviations, to which a step of the stored values is added.
_NEAREST, _NEAREST_OF_ALL, _FARTHEST, _STEPS = 3, 5, 3.0, 1.0
#: Greatest share of wrong labels, and the level of confidence in it.
_WRONG, _SURE = 0.01, 0.95
#: Inverse strength of regularisation of the confidence's weights.
_REGULARISATION = 1.0
#: Share of right labels given up to find unknown CCAs.
_GIVEN_UP = 0.02
#: Decimals of fitted limits: more would depend on the processor. Levels are not fitted, and each
#: rounding of one could move a server to the next bin.
_DECIMALS = 6
#: Loss with the least and the greatest level of noise, and cross traffic with the greatest.
_LEAST_LOSS, _MOST_LOSS, _MOST_CROSS_SHARE = 10**-4.5, 1e-2, 0.15


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The limits of a label at a level of noise.

    Parameters
    ----------
    confidence : float
        The least confidence: above it, at most 1 % of the labels are wrong (at a level of 95 %),
        and 98 % of the right labels are.
    distance : float or None
        The greatest distance; 98 % of the right labels are below it. None if the confidence depends
        on the distance already.
    """

    confidence: float
    distance: float | None


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Confidence in labels, and limits by noise, for each number of traces.

    Parameters
    ----------
    ccas : tuple of str
        The CCAs for which the limits were chosen.
    weights : tuple of tuple of tuple of float
        For each number of traces, from 1, and each CCA: a constant, the weight of the logarithm of
        the ratio of the two largest probabilities, and that of the level of noise. Their sum is the
        logarithm of the odds that the label is right.
    distances : tuple of tuple of tuple of float
        For each number of traces and each CCA: a constant, and the weight of the level of noise.
        Their sum is the greatest distance.
    levels : tuple of float
        The levels of noise between the bins, in ascending order.
    confidences : tuple of tuple of float
        For each number of traces, the least confidence in each bin.

    Notes
    -----
    For more traces than these, the values of the largest number apply.
    """

    ccas: tuple[str, ...]
    weights: tuple[tuple[tuple[float, float, float], ...], ...]
    distances: tuple[tuple[tuple[float, float], ...], ...]
    levels: tuple[float, ...]
    confidences: tuple[tuple[float, ...], ...]

    def of(self, label: str, level: float, n_traces: int) -> Limit:
        """Return the limit of a label; of a CCA that was added later, one that excludes all.

        Parameters
        ----------
        label : str
        level : float
            The level of noise.
        n_traces : int

        Examples
        --------
        >>> limits = Limits(
        ...     ccas=("a",),
        ...     weights=(((0, 1, 0),),),
        ...     distances=(((0.1, 0.5),),),
        ...     levels=(0.5,),
        ...     confidences=((0.6, 0.9),),
        ... )
        >>> limits.of("a", 0.2, 1), limits.of("a", 0.8, 4).confidence
        (Limit(confidence=0.6, distance=0.2), 0.9)
        """
        if label not in self.ccas:
            return Limit(confidence=1.0, distance=0.0)
        traces = min(n_traces, len(self.confidences)) - 1
        constant, of_noise = self.distances[traces][self.ccas.index(label)]
        of_bin = int(np.searchsorted(self.levels, level, side="right"))
        return Limit(
            confidence=self.confidences[traces][of_bin], distance=constant + of_noise * level
        )

    def confidence(self, label: str, log_ratio: float, level: float, n_traces: int) -> float:
        """Return the probability that a label is right; 0 if the CCA was added later.

        Parameters
        ----------
        label : str
            The most probable CCA.
        log_ratio : float
            Logarithm of its probability divided by the next one.
        level : float
            The level of noise.
        n_traces : int

        Examples
        --------
        >>> limits = Limits(
        ...     ccas=("a",), weights=(((0, 1, 0),),), distances=(), levels=(), confidences=()
        ... )
        >>> round(limits.confidence("a", np.log(3), 0.5, 1), 6)
        0.75
        """
        if label not in self.ccas:
            return 0.0
        own = self.weights[min(n_traces, len(self.weights)) - 1][self.ccas.index(label)]
        return logistic(own[0] + own[1] * log_ratio + own[2] * level)


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """The second stage's opinion of a server.

    Parameters
    ----------
    label, second : str
        The two most probable CCAs.
    confidence : float
        The probability that the label is right, if the CCA is a known one.
    distance : float
        The distance to its nearest measurements, in standard deviations.
    noise : float
        The estimated level of noise, from 0 (none) to 1 (1 % of loss, or 15 % of cross traffic).
    limit : Limit
        The limits of the label at this level.
    doubt : str
        Why the label is not the answer, whatever the confidence; empty if it may be.
    """

    label: str
    second: str
    confidence: float
    distance: float
    noise: float
    limit: Limit
    doubt: str = ""

    @property
    def is_confident(self) -> bool:
        """Whether the confidence excludes other known CCAs."""
        return not self.doubt and self.confidence > self.limit.confidence

    @property
    def is_near(self) -> bool:
        """Whether the distance is usual for this CCA."""
        return self.limit.distance is None or self.distance <= self.limit.distance

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Opinion:
        """Return the opinion of these values."""
        return cls(**{**values, "limit": Limit(**values["limit"])})


class Reactions:
    """The trees of a setting, or of all.

    Parameters
    ----------
    rows : sequence of Sample
        Measurements of the setting.
    ccas : sequence of str
        The columns of probabilities, in alphabetical order; a CCA without rows has zeros.
    in_context : bool
        Whether rows are of several settings and views, whose :func:`~ccbench.classify.view.context`
        is part of the values.
    known : mapping of str to Trees
        Trees that are grown already, by the :func:`~ccbench.classify.trees.key` of their rows.

    Attributes
    ----------
    ccas : tuple of str
    key : str
        The key of the rows.
    trees : Trees
    """

    def __init__(
        self,
        rows: Sequence[Sample],
        ccas: Sequence[str],
        *,
        in_context: bool = False,
        known: Mapping[str, Trees] = _NONE,
    ) -> None:
        self.ccas = tuple(ccas)
        values = np.stack([row.measured for row in rows])
        if in_context:
            contexts = np.stack([context(row.setting, row.view) for row in rows])
            values = np.hstack([values, contexts])
        names = np.array([row.cca for row in rows])
        self.key = key(values, names)
        self.trees = known[self.key] if self.key in known else grown(values, names)
        self._columns = np.searchsorted(self.ccas, self.trees.classes)
        self._scale = (values.std(axis=0) + _STEPS).astype(np.float32)
        self._scaled, self._names = values / self._scale, names
        self._levels = np.array([noise_level(row.variation) for row in rows])

    def probabilities(self, values: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
        """Return the probability of each CCA.

        Parameters
        ----------
        values : ndarray of uint8, shape (n_traces, n_measurements)

        Returns
        -------
        ndarray, shape (n_traces, n_ccas)
        """
        result = np.zeros((len(values), len(self.ccas)))
        result[:, self._columns] = self.trees.probabilities(values)
        return result

    def compare(
        self, values: npt.NDArray[np.uint8], ccas: Sequence[str]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Compare traces with their nearest measurements.

        Parameters
        ----------
        values : ndarray of uint8, shape (n_traces, n_measurements)
        ccas : sequence of str
            The CCA of each trace.

        Returns
        -------
        distances : ndarray, shape (n_traces,)
            The mean distance to the nearest measurements of this CCA, in standard deviations of a
            measurement, of which none counts more than three; infinite without measurements.
        noise : ndarray, shape (n_traces,)
            The mean level of noise of the nearest measurements of any CCA.
        """
        distances, noise = np.full(len(values), np.inf), np.zeros(len(values))
        for i, (value, cca) in enumerate(zip(values, ccas, strict=True)):
            (distances[i],), noise[i] = self.compare_with(value, [cca])
        return distances, noise

    def compare_with(
        self, value: npt.NDArray[np.uint8], ccas: Sequence[str]
    ) -> tuple[list[float], float]:
        """Compare a trace with the nearest measurements of several CCAs; see :meth:`compare`."""
        apart = self._scaled - value / self._scale
        np.abs(apart, out=apart)
        np.minimum(apart, _FARTHEST, out=apart)
        means = apart.mean(axis=1)
        noise = self._levels[np.argsort(means, kind="stable")[:_NEAREST_OF_ALL]].mean()
        own = [means[self._names == cca] for cca in ccas]
        return [
            float(np.sort(some)[:_NEAREST].mean()) if len(some) else np.inf for some in own
        ], float(noise)


def in_its_context(trace: QueueTrace) -> npt.NDArray[np.uint8]:
    """Return the measurements of a trace, and the properties on which they depend."""
    return np.append(trace.measured, context(trace.setting, trace.view))


@cache
def noise_level(variation: Variation) -> float:
    """Return the level of noise of a path, from 0 to 1: by its loss or its cross traffic.

    Examples
    --------
    >>> from ccbench.classify.training import Variation
    >>> noise_level(Variation(name="loss", loss=1e-2)), noise_level(Variation(name="calm"))
    (1.0, 0.0)
    >>> noise_level(Variation(name="shared", cross_share=0.06))
    0.4
    """
    by_loss = 0.0
    if variation.loss > _LEAST_LOSS:
        by_loss = np.log10(variation.loss / _LEAST_LOSS) / np.log10(_MOST_LOSS / _LEAST_LOSS)
    return float(min(1.0, max(by_loss, variation.cross_share / _MOST_CROSS_SHARE)))


def logistic(odds: float) -> float:
    """Return the probability whose odds have this logarithm.

    Examples
    --------
    >>> logistic(0), logistic(-1000) < 1e-300
    (0.5, True)
    """
    return 1 / (1 + math.exp(-max(odds, _LEAST_ODDS)))


def _combined(probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the probabilities of servers: the geometric mean of those of its traces.

    Parameters
    ----------
    probabilities : ndarray, shape (n_servers, n_traces, n_ccas)

    Returns
    -------
    ndarray, shape (n_servers, n_ccas)
    """
    product = np.exp(np.log(probabilities + _FLOOR).mean(axis=1))
    result: npt.NDArray[np.float64] = product / product.sum(axis=1, keepdims=True)
    return result


def _log_ratios(probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the logarithm of the largest probability of each server divided by the next one."""
    ordered = np.sort(probabilities, axis=1)
    ratios: npt.NDArray[np.float64] = np.log(ordered[:, -1] / ordered[:, -2])
    return ratios


def choose_limits(rows: Sequence[Sample]) -> Limits:
    """Choose the limits by cross-validation.

    Each path is judged by trees that have not seen it. A logistic regression on the results gives
    the confidence. Its limits are quantiles in each bin of the level of noise. A quantile
    regression of the distances on the noise gives the limit of each label. An unknown CCA has a
    smaller confidence and a larger distance; the 2 % of right labels beyond the limits are the
    price of finding it.

    Parameters
    ----------
    rows : sequence of Sample
        Measurements of at least two CCAs, on at least five paths.
    """
    from scipy import special  # noqa: PLC0415 - a tenth of a second

    ccas = sorted({row.cca for row in rows})
    paths = {name: i for i, name in enumerate(dict.fromkeys(row.variation.name for row in rows))}
    fold = np.array([paths[row.variation.name] % _FOLDS for row in rows])
    settings = list(dict.fromkeys(row.setting for row in rows))
    probabilities = np.zeros((len(rows), len(ccas)))
    noise, distances = np.zeros(len(rows)), np.zeros(len(rows))
    for setting in settings:
        own = np.array([row.setting == setting for row in rows])
        for held_out in range(_FOLDS):
            trained = [rows[i] for i in np.flatnonzero(own & (fold != held_out)).tolist()]
            tested = np.flatnonzero(own & (fold == held_out))
            if trained and len(tested):
                reactions = Reactions(trained, ccas)
                values = np.stack([rows[i].measured for i in tested.tolist()])
                probabilities[tested] = reactions.probabilities(values)
                own_ccas = [rows[i].cca for i in tested.tolist()]
                distances[tested], noise[tested] = reactions.compare(values, own_ccas)
    levels = np.quantile(noise, np.linspace(0, 1, _BINS + 1)[1:-1])
    servers: dict[tuple[str, ...], list[int]] = {}
    for i, row in enumerate(rows):
        servers.setdefault((row.cca, row.variant, row.variation.name, str(row.seed)), []).append(i)
    weights, farthest, least = [], [], []
    for n_traces in range(1, min(_MOST_TRACES, len(settings)) + 1):
        groups = [some for own in servers.values() for some in combinations(own, n_traces)]
        indices = np.array(groups, dtype=np.int64).reshape(-1, n_traces)
        joint = _combined(probabilities[indices])
        labels = joint.argmax(axis=1)
        is_right = np.array(ccas)[labels] == [rows[i].cca for i in indices[:, 0].tolist()]
        apart, noises = distances[indices].mean(axis=1), noise[indices].mean(axis=1)
        ratios = _log_ratios(joint)
        own_weights = _confidence_weights(labels, ratios, noises, is_right, len(ccas))
        constant, of_ratio, of_noise = own_weights[labels].T
        confidences = special.expit(constant + of_ratio * ratios + of_noise * noises)
        of_bin = np.digitize(noises, levels)
        bins = [of_bin == k for k in range(_BINS)]
        n_repeated = len(indices) / len(servers)
        weights.append(tuple((float(a), float(b), float(c)) for a, b, c in own_weights))
        farthest.append(_farthest(labels[is_right], apart[is_right], noises[is_right], len(ccas)))
        least.append(tuple(_least(confidences[own], is_right[own], n_repeated) for own in bins))
    return Limits(
        ccas=tuple(ccas),
        weights=tuple(weights),
        distances=tuple(farthest),
        levels=tuple(levels.tolist()),
        confidences=tuple(least),
    )


def opinion(
    reactions: Sequence[Reactions], values: Sequence[npt.NDArray[np.uint8]], limits: Limits
) -> Opinion:
    """Judge a server by the measurements of its traces.

    Parameters
    ----------
    reactions : sequence of Reactions
        The trees of the setting of each trace.
    values : sequence of ndarray of uint8, shape (n_measurements,)
        The measurements of each trace.
    limits : Limits
    """
    pairs = [(trees, value[None]) for trees, value in zip(reactions, values, strict=True)]
    joint = _combined(np.stack([trees.probabilities(value) for trees, value in pairs], axis=1))
    second, label = (reactions[0].ccas[i] for i in joint[0].argsort(kind="stable")[-2:].tolist())
    distances, noise = zip(*(trees.compare(value, [label]) for trees, value in pairs), strict=True)
    level = float(np.mean(noise))
    return Opinion(
        label=label,
        second=second,
        confidence=limits.confidence(label, float(_log_ratios(joint)[0]), level, len(pairs)),
        distance=float(np.mean(distances)),
        noise=level,
        limit=limits.of(label, level, len(pairs)),
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


def _farthest(
    labels: npt.NDArray[np.int64],
    distances: npt.NDArray[np.float64],
    noises: npt.NDArray[np.float64],
    n_ccas: int,
) -> tuple[tuple[float, float], ...]:
    """Return the constant and the weight of noise of the greatest distance of each label."""
    from sklearn.linear_model import QuantileRegressor  # noqa: PLC0415 - a third of a second

    model = QuantileRegressor(quantile=1 - _GIVEN_UP, alpha=0)
    result = []
    for cca in range(n_ccas):
        own = labels == cca
        line = (0.0, 0.0)
        if own.any():
            fitted = model.fit(noises[own][:, None], distances[own])
            line = (
                round(float(fitted.intercept_), _DECIMALS),
                round(float(fitted.coef_[0]), _DECIMALS),
            )
        result.append(line)
    return tuple(result)


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
