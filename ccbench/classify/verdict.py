# SPDX-License-Identifier: Apache-2.0
"""The CCA of a server, from its traces, with the evidence (Ware, section 2.3.4)."""

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
        Where it was observed.
    label : str
        The nearest CCA, or unknown if that is too far.
    nearest, second : str
        The nearest CCA and the next one; the second is empty if only one is known.
    distance, second_distance : float
        How far they are, in packets per point.
    threshold : float
        Beyond which a trace of the nearest CCA is too far.
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
        Its CCA, or unknown.
    traces : tuple of TraceVerdict
        The votes.
    """

    label: str
    traces: tuple[TraceVerdict, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        return {"label": self.label, "traces": [trace.to_dict() for trace in self.traces]}


def judge(traces: Sequence[tuple[Setting, npt.ArrayLike]], known: TrainingSet) -> Verdict:
    """Compare the traces of a server with those of a training set.

    Parameters
    ----------
    traces : sequence of (Setting, array_like of shape (n_points,))
        As :func:`ccbench.classify.occupancy.occupancy` gives them.
    known : TrainingSet
        What they are compared with.

    Raises
    ------
    InputError
        If there are none, or the training set has no samples of a setting.

    Examples
    --------
    >>> from ccbench.classify.training_set import PACKAGED, TrainingSet
    >>> known = TrainingSet.load(PACKAGED)
    >>> judge([(known.settings[0], [0.0] * 1000)], known).label
    'unknown'
    """
    if not traces:
        raise validation.bad("traces", [], "one or more", "observe the server first")
    verdicts = tuple(_judge_one(setting, trace, known) for setting, trace in traces)
    label = vote([one.label for one in verdicts], [one.distance for one in verdicts])
    return Verdict(label=label, traces=verdicts)


def _judge_one(setting: Setting, trace: npt.ArrayLike, known: TrainingSet) -> TraceVerdict:
    classifier = known.classifier(setting)
    (nearness,) = classifier.decision_function([trace])
    order = np.argsort(-nearness, kind="stable")
    names = [*classifier.classes_[order].tolist(), ""]
    distances = [*(-nearness[order]).tolist(), float("inf")]
    threshold = known.thresholds[setting].limits[names[0]]
    return TraceVerdict(
        setting=setting,
        label=names[0] if distances[0] <= threshold else UNKNOWN,
        nearest=names[0],
        distance=distances[0],
        second=names[1],
        second_distance=distances[1],
        threshold=threshold,
    )
