# SPDX-License-Identifier: Apache-2.0
"""Second stage of classification: a server's CCA by its reactions, on paths with loss and noise.

Loss and cross traffic shift a trace against all others, so that it is far from every training trace
(:mod:`.threshold`). Here randomised trees (extremely randomised trees of scikit-learn) compare the
:mod:`.measurements` of its reactions. They are trained on random paths with loss, cross traffic,
and neither (:func:`ccbench.classify.training.noisy_variation`).

The probabilities of a server's traces are combined. The most probable CCA is the label. Some CCAs
are alike under noise, so the confidence in a label depends on the CCA, the noise, and the ratio to
the next probability. The confidence excludes other known CCAs. Unknown CCAs have a small
*familiarity*, the probability that a label is right if the CCA may be unknown: it depends on the
probabilities and on the distance to the label (:mod:`.directions`), and is fitted to CCAs that were
left out of training. The level of noise is estimated as that of the nearest measurements.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.classify.columns import Samples
from ccbench.classify.directions import Directions
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
    "combined",
    "in_its_context",
    "log_ratios",
    "logistic",
    "noise_level",
    "opinion",
    "terms",
]

#: Added to each probability, so that one trace alone cannot exclude a CCA.
_FLOOR = 0.02
#: Logarithm of odds whose inverse is still a number.
_LEAST_ODDS = -700.0
_NONE: Mapping[str, Trees] = MappingProxyType({})
#: Traces of a CCA, and of any, whose measurements are the nearest; the range of a distance in one
#: measurement, in standard deviations, to which a step of the stored values is added.
_NEAREST, _NEAREST_OF_ALL, _FARTHEST, _STEPS = 3, 5, 3.0, 1.0
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
    familiarity : float or None
        The least familiarity; 98 % of the right and confident labels are above it. None if the
        confidence takes unknown CCAs into account already.
    """

    confidence: float
    familiarity: float | None


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
    terms : tuple of tuple of float
        For each number of traces, the weights of the terms whose sum is the logarithm of the odds
        that the label is right if the CCA may be unknown (:func:`terms`).
    familiarities : tuple of float
        For each number of traces, the least familiarity.
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
    terms: tuple[tuple[float, ...], ...]
    familiarities: tuple[float, ...]
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
        ...     terms=((),),
        ...     familiarities=(0.3,),
        ...     levels=(0.5,),
        ...     confidences=((0.6, 0.9),),
        ... )
        >>> limits.of("a", 0.2, 1), limits.of("a", 0.8, 4).confidence
        (Limit(confidence=0.6, familiarity=0.3), 0.9)
        """
        if label not in self.ccas:
            return Limit(confidence=1.0, familiarity=1.0)
        traces = min(n_traces, len(self.confidences)) - 1
        of_bin = int(np.searchsorted(self.levels, level, side="right"))
        return Limit(
            confidence=self.confidences[traces][of_bin], familiarity=self.familiarities[traces]
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
        ...     ccas=("a",),
        ...     weights=(((0, 1, 0),),),
        ...     terms=(),
        ...     familiarities=(),
        ...     levels=(),
        ...     confidences=(),
        ... )
        >>> round(limits.confidence("a", np.log(3), 0.5, 1), 6)
        0.75
        """
        if label not in self.ccas:
            return 0.0
        own = self.weights[min(n_traces, len(self.weights)) - 1][self.ccas.index(label)]
        return logistic(own[0] + own[1] * log_ratio + own[2] * level)

    def familiarity(self, label: str, own: npt.NDArray[np.float64], n_traces: int) -> float:
        """Return the probability that a label is right if the CCA may be unknown.

        Parameters
        ----------
        label : str
        own : ndarray, shape (n_terms,)
            The :func:`terms` of the server.
        n_traces : int
        """
        if label not in self.ccas:
            return 0.0
        return logistic(float(np.dot(self.terms[min(n_traces, len(self.terms)) - 1], own)))


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """The second stage's opinion of a server.

    Parameters
    ----------
    label, second : str
        The two most probable CCAs.
    confidence : float
        The probability that the label is right, if the CCA is a known one.
    familiarity : float or None
        The probability that the label is right if the CCA may be unknown; None if this is the
        confidence.
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
    familiarity: float | None = None
    distance: float
    noise: float
    limit: Limit
    doubt: str = ""

    @property
    def is_confident(self) -> bool:
        """Whether the confidence excludes other known CCAs."""
        return not self.doubt and self.confidence > self.limit.confidence

    @property
    def is_familiar(self) -> bool:
        """Whether the familiarity excludes unknown CCAs."""
        if self.familiarity is None or self.limit.familiarity is None:
            return True
        return self.familiarity >= self.limit.familiarity

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
        samples = Samples.of(rows)
        values = samples.measurements()
        if in_context:
            values = np.hstack([values, samples.mapped(context, "setting", "view")])
        names = samples.mapped(str, "cca")
        self.key = key(values, names)
        self.trees = known[self.key] if self.key in known else grown(values, names)
        self._columns = np.searchsorted(self.ccas, self.trees.classes)
        self._scale = (values.std(axis=0) + _STEPS).astype(np.float32)
        self._scaled, self._names = values / self._scale, names
        self._values = values
        self._levels = samples.mapped(noise_level, "variation")

    @cached_property
    def directions(self) -> Directions:
        """The directions in which the CCAs of the rows differ."""
        return Directions(self._values, self._names.tolist(), self._levels)

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

    def levels(self, values: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
        """Return the level of noise of each trace, as :meth:`compare` does."""
        return np.array([self.compare_with(value, [])[1] for value in values])

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


def combined(probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
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


def log_ratios(probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the logarithm of the largest probability of each server divided by the next one."""
    ordered = np.sort(probabilities, axis=1)
    ratios: npt.NDArray[np.float64] = np.log(ordered[:, -1] / ordered[:, -2])
    return ratios


def terms(
    probabilities: npt.NDArray[np.float64],
    distances: npt.NDArray[np.float64],
    noise: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return what the odds that a label is familiar are a weighted sum of.

    Parameters
    ----------
    probabilities : ndarray, shape (n_servers, n_traces, n_ccas)
    distances, noise : ndarray, shape (n_servers,)
        The distance to the label, and the level of noise.

    Returns
    -------
    ndarray, shape (n_servers, n_terms)
        A constant, the ratio to the next probability, the mean probability in the traces (both as
        logarithms), the entropy, and the distance; and each of them times the level of noise.
    """
    joint = combined(probabilities)
    own = np.take_along_axis(probabilities, joint.argmax(axis=1)[:, None, None], axis=2)[..., 0]
    columns = np.stack(
        [
            np.ones(len(joint)),
            log_ratios(joint),
            np.log(own + _FLOOR).mean(axis=1),
            -(joint * np.log(joint)).sum(axis=1),
            distances,
        ],
        axis=1,
    )
    return np.hstack([columns, columns * noise[:, None]])


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
    probabilities = np.stack([trees.probabilities(value) for trees, value in pairs], axis=1)
    joint = combined(probabilities)
    second, label = (reactions[0].ccas[i] for i in joint[0].argsort(kind="stable")[-2:].tolist())
    distance = float(np.mean([trees.directions.distances(value, label) for trees, value in pairs]))
    level = float(np.mean([trees.levels(value) for trees, value in pairs]))
    (own,) = terms(probabilities, np.array([distance]), np.array([level]))
    return Opinion(
        label=label,
        second=second,
        confidence=limits.confidence(label, float(log_ratios(joint)[0]), level, len(pairs)),
        familiarity=limits.familiarity(label, own, len(pairs)),
        distance=distance,
        noise=level,
        limit=limits.of(label, level, len(pairs)),
    )
