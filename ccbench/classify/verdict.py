# SPDX-License-Identifier: Apache-2.0
"""Classification of a server by the votes of its traces (Ware, section 2.3.4)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base import validation
from ccbench.classify.vote import UNKNOWN, vote

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from ccbench.classify.setting import Setting
    from ccbench.classify.training_set import TrainingSet

__all__ = ["TraceVerdict", "Verdict", "judge"]


@dataclass(frozen=True, kw_only=True)
class TraceVerdict:
    """The vote of one trace.

    Parameters
    ----------
    setting : Setting
        The bottleneck of the observation.
    label : str
        The nearest CCA, or unknown if its distance exceeds the threshold.
    nearest, second : str
        The nearest and the second-nearest CCA; the second is empty if the training set has only one
        CCA.
    distance, second_distance : float
        Distances to the nearest traces of these CCAs, in packets per point.
    threshold : float
        Limit of the nearest CCA, in packets per point.
    """

    setting: Setting
    label: str
    nearest: str
    distance: float
    second: str
    second_distance: float
    threshold: float

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        second = None if math.isinf(self.second_distance) else self.second_distance
        return {**asdict(self), "setting": self.setting.name, "second_distance": second}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The CCA of a server, with the vote of each trace.

    Parameters
    ----------
    label : str
        A CCA, or unknown.
    traces : tuple of TraceVerdict
    """

    label: str
    traces: tuple[TraceVerdict, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        return {"label": self.label, "traces": [trace.to_dict() for trace in self.traces]}


def judge(traces: Sequence[tuple[Setting, npt.ArrayLike]], training_set: TrainingSet) -> Verdict:
    """Compare the traces of a server with those of a training set.

    Parameters
    ----------
    traces : sequence of (Setting, array_like of shape (n_points,))
        Traces of :func:`ccbench.classify.occupancy.occupancy`.
    training_set : TrainingSet

    Raises
    ------
    InputError
        If there are no traces, or the training set has no samples of a setting.

    Examples
    --------
    >>> from ccbench.classify.training_set import PACKAGED, TrainingSet
    >>> training_set = TrainingSet.load(PACKAGED)
    >>> judge([(training_set.settings[0], [0.0] * 1000)], training_set).label
    'unknown'
    """
    if not traces:
        raise validation.bad("traces", [], "one or more", "observe the server first")
    verdicts = tuple(_judge_trace(setting, trace, training_set) for setting, trace in traces)
    label = vote([each.label for each in verdicts], [each.distance for each in verdicts])
    return Verdict(label=label, traces=verdicts)


def _judge_trace(setting: Setting, trace: npt.ArrayLike, training_set: TrainingSet) -> TraceVerdict:
    classifier = training_set.classifier(setting)
    (scores,) = classifier.decision_function([trace])
    order = np.argsort(-scores, kind="stable")
    names = [*classifier.classes_[order].tolist(), ""]
    distances = [*(-scores[order]).tolist(), float("inf")]
    threshold = training_set.thresholds[setting].limits[names[0]]
    return TraceVerdict(
        setting=setting,
        label=names[0] if distances[0] <= threshold else UNKNOWN,
        nearest=names[0],
        distance=distances[0],
        second=names[1],
        second_distance=distances[1],
        threshold=threshold,
    )
