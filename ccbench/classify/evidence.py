# SPDX-License-Identifier: Apache-2.0
"""Second stage for any recording: any part of a connection, any network, sampling and source.

The trees of :mod:`.reactions` are trained on parts of connections that begin anywhere, last 10 s or
more, are sampled or averaged, or show the sender's window only, on random networks. Each
measurement comes with the properties of its network and view.

The evidence of recordings adds up: the logarithms of their probabilities are added. The parts of
one connection are not independent, so that their mean counts as one recording. The confidence is
the probability that the label is right, by a logistic regression on the evidence, the distance to
the label's nearest measurements, the level of noise, the size of the network, the share of windows
that only grow, and the number of recordings (:mod:`.calibration` fits it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ccbench.classify.measurements import NAMES, in_byte
from ccbench.classify.reactions import Limit, Opinion, Reactions, in_its_context, logistic
from ccbench.classify.view import N_CONTEXT, PER_OCTAVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from ccbench.classify.trace import QueueTrace

__all__ = ["FLOOR", "Calibration", "Evidence", "best", "size", "unfinished", "weighed"]

#: Added to each probability, so that one recording alone cannot exclude a CCA.
FLOOR = 0.02
#: Why recordings without any decrease have no answer.
_ONLY_GROWS = "the window only grows, as that of several CCAs: record until it falls"
#: Standard deviation of a steady window in packets.
_STEADY = 2.0


class Evidence(NamedTuple):
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

    def confidence(self, evidence: Evidence, label: str) -> float:
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
            familiarity=None,
        ),
        doubt=_ONLY_GROWS if evidence.unfinished == 1 else "",
    )


def _rows(trace: QueueTrace) -> npt.NDArray[np.uint8]:
    """Return the values of each part of a connection."""
    own = in_its_context(trace)
    extra = own[len(trace.measured) :]
    return np.stack([own, *(np.append(measured, extra) for measured in trace.later)])


def _evidence(reactions: Reactions, recordings: Sequence[npt.NDArray[np.uint8]]) -> Evidence:
    logs = np.stack(
        [np.log(reactions.probabilities(rows) + FLOOR).mean(axis=0) for rows in recordings]
    )
    label, second, log_ratio = best(logs)
    name = reactions.ccas[label]
    compared = [reactions.compare(rows, [name] * len(rows)) for rows in recordings]
    return Evidence(
        label=label,
        second=second,
        log_ratio=log_ratio,
        distance=float(np.mean([distances.mean() for distances, _ in compared])),
        noise=float(np.mean([noise.mean() for _, noise in compared])),
        size=float(np.mean([size(rows[:1])[0] for rows in recordings])),
        unfinished=float(np.mean([unfinished(rows).mean() for rows in recordings])),
        recordings=len(recordings),
    )


def size(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Return the size of the network of each row: its bandwidth-delay product, in octaves."""
    return rows[:, -N_CONTEXT] / PER_OCTAVE


def unfinished(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Return whether each window only grows: without a decrease, many CCAs are alike."""
    decreases, spread = (rows[:, NAMES.index(name)] for name in ("decreases", "window_spread"))
    is_steady = spread <= in_byte("window_spread", np.log2(_STEADY))
    result: npt.NDArray[np.bool_] = (decreases == in_byte("decreases", 0)) & ~is_steady
    return result


def best(logs: npt.NDArray[np.float64]) -> tuple[int, int, float]:
    """Return the two most probable CCAs, and the logarithm of their ratio."""
    total = logs.sum(axis=0)
    second, label = (int(i) for i in np.argsort(total, kind="stable")[-2:])
    return label, second, float(total[label] - total[second])
