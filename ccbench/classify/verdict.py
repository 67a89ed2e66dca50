# SPDX-License-Identifier: Apache-2.0
"""Classification of a server by the votes of its traces (Ware, section 2.3.4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base import validation
from ccbench.classify import dtw
from ccbench.classify.evidence import weighed
from ccbench.classify.reactions import opinion
from ccbench.classify.view import STANDARD
from ccbench.classify.vote import UNKNOWN, vote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ccbench.classify.reactions import Opinion
    from ccbench.classify.setting import Setting
    from ccbench.classify.trace import QueueTrace
    from ccbench.classify.training_set import TrainingSet

__all__ = ["TraceVerdict", "Verdict", "decided", "has_first_stage", "judge"]

#: Least ratio of the distances of two implementations that are told apart.
_CLEAR_RATIO = 1.25
#: Traces, and ratio of the distances to the second and to the nearest CCA, above which the limits
#: of distance do not overrule a confident second stage.
_SEVERAL, _FAR_BEYOND = 3, 2.5


@dataclass(frozen=True, kw_only=True)
class TraceVerdict:
    """The vote of one trace, and its reasons.

    Parameters
    ----------
    setting : Setting
        The bottleneck of the observation.
    label : str
        The nearest CCA, or unknown if its distance exceeds the threshold. Without distances, the
        label of the second stage by this trace alone.
    distances : mapping of str to float
        The distance to the nearest trace of each CCA, in packets per point and in ascending order;
        empty for views and settings that the first stage does not have.
    threshold : float or None
        Limit of the nearest CCA, in packets per point.
    """

    setting: Setting
    label: str
    distances: Mapping[str, float]
    threshold: float | None

    @classmethod
    def of(
        cls, setting: Setting, distances: Mapping[str, float], limits: Mapping[str, float]
    ) -> TraceVerdict:
        """Return the vote of a trace with these distances to CCAs with these limits.

        Examples
        --------
        >>> from ccbench.classify.setting import SETTINGS
        >>> limits = {"reno": 0.5, "cubic": 0.5}
        >>> TraceVerdict.of(SETTINGS[0], {"reno": 0.7, "cubic": 0.4}, limits).label
        'cubic'
        """
        ordered = dict(sorted(distances.items(), key=itemgetter(1)))
        nearest, distance = next(iter(ordered.items()))
        label = nearest if distance <= limits[nearest] else UNKNOWN
        return cls(setting=setting, label=label, distances=ordered, threshold=limits[nearest])

    @property
    def nearest(self) -> str:
        """The nearest CCA; empty without distances."""
        return next(iter(self.distances), "")

    @property
    def distance(self) -> float:
        """The distance to the nearest CCA; infinite without distances."""
        return self.distances.get(self.nearest, math.inf)

    @property
    def second(self) -> str:
        """The second-nearest CCA; empty if the training set has only one CCA."""
        return next(iter(list(self.distances)[1:]), "")

    @property
    def second_distance(self) -> float | None:
        """The distance to the second-nearest CCA, if there is one."""
        return self.distances.get(self.second)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        return {
            "setting": self.setting.name,
            "label": self.label,
            "nearest": self.nearest,
            "distance": self.distances.get(self.nearest),
            "second": self.second,
            "second_distance": self.second_distance,
            "threshold": self.threshold,
            "distances": dict(self.distances),
        }


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The CCA of a server, with the vote of each trace.

    Parameters
    ----------
    label : str
        A CCA, or unknown.
    traces : tuple of TraceVerdict
    variant : str
        The implementation of the CCA, such as ``"older than Linux 5.7"``; empty if the training set
        names none, or they cannot be told apart.
    reactions : Opinion, optional
        The second stage's opinion of all traces together.
    """

    label: str
    traces: tuple[TraceVerdict, ...]
    variant: str = ""
    reactions: Opinion | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        return {
            "label": self.label,
            "variant": self.variant,
            "traces": [trace.to_dict() for trace in self.traces],
            "reactions": None if self.reactions is None else self.reactions.to_dict(),
        }


def judge(traces: Sequence[QueueTrace], training_set: TrainingSet) -> Verdict:
    """Identify the CCA of a server.

    The first stage compares each trace with those of the training set, and the traces vote. The
    second stage (:mod:`.reactions`) judges their measurements together, and decides: its label
    must be confident, and either familiar, that of the vote, or clearly the nearest of all traces.
    The vote alone decides without measurements of all traces, and if its label is a CCA that was
    added to the training set after the limits of the second stage were chosen.

    If a trace has another view or another setting than those of the first stage, the second stage
    for any recording decides on all of them (:mod:`.evidence`).

    Parameters
    ----------
    traces : sequence of QueueTrace
    training_set : TrainingSet

    Raises
    ------
    InputError
        If there are no traces, or the training set has no samples of a setting.

    Examples
    --------
    >>> from ccbench.classify.training_set import PACKAGED, TrainingSet
    >>> training_set = TrainingSet.load(PACKAGED)
    >>> judge(training_set.samples[:1], training_set).label
    'bbr'
    """
    if not traces:
        raise validation.bad("traces", [], "one or more", "observe the server first")
    if not training_set.has_windows or all(
        has_first_stage(trace, training_set) for trace in traces
    ):
        verdicts = tuple(_judge_trace(trace, training_set) for trace in traces)
        return decided(verdicts, traces, training_set)
    return _added(traces, training_set) or _weighed(traces, training_set)


def has_first_stage(trace: QueueTrace, training_set: TrainingSet) -> bool:
    """Return whether the training set has traces of the same view and setting."""
    return trace.view == STANDARD and trace.setting in training_set.settings


def _added(traces: Sequence[QueueTrace], training_set: TrainingSet) -> Verdict | None:
    """Return the vote for a CCA that was added to the training set; None if it is for another."""
    assert training_set.calibration is not None
    added = set(training_set.ccas) - set(training_set.calibration.ccas)
    if not added or any(trace.setting not in training_set.settings for trace in traces):
        return None
    votes = tuple(_judge_trace(trace, training_set) for trace in traces)
    label = vote([each.label for each in votes], [each.distance for each in votes])
    return Verdict(label=label, traces=votes) if label in added else None


def _weighed(traces: Sequence[QueueTrace], training_set: TrainingSet) -> Verdict:
    """Decide by the evidence of recordings in any view."""
    trees, calibration = training_set.reactions_in_context, training_set.calibration
    assert calibration is not None

    def label(seen: Opinion) -> str:
        return seen.label if seen.is_confident else UNKNOWN

    votes = tuple(
        TraceVerdict(
            setting=trace.setting,
            label=label(weighed(trees, [trace], calibration)),
            distances={},
            threshold=None,
        )
        for trace in traces
    )
    seen = weighed(trees, traces, calibration)
    return Verdict(label=label(seen), traces=votes, reactions=seen)


def decided(
    votes: tuple[TraceVerdict, ...], traces: Sequence[QueueTrace], training_set: TrainingSet
) -> Verdict:
    """Decide on the CCA of a server whose traces have voted, as in :func:`judge`.

    Parameters
    ----------
    votes : tuple of TraceVerdict
        The votes of the first stage.
    traces : sequence of QueueTrace
        Their traces.
    training_set : TrainingSet
    """
    label = vote([each.label for each in votes], [each.distance for each in votes])
    second = _opinion(traces, training_set)
    limits = training_set.limits
    if second is not None and limits is not None and label in {UNKNOWN, *limits.ccas}:
        is_usual = second.is_familiar or second.label == label or _is_nearest(second.label, votes)
        is_known = second.is_confident and is_usual
        label = second.label if is_known else UNKNOWN
    variant = _variant(label, traces, training_set)
    return Verdict(label=label, variant=variant, traces=votes, reactions=second)


def _is_nearest(label: str, votes: Sequence[TraceVerdict]) -> bool:
    """Return whether a CCA is the nearest of several traces, and all others are far beyond it."""
    if len(votes) < _SEVERAL or any(each.nearest != label for each in votes):
        return False
    nearest = sum(each.distance for each in votes)
    return sum(each.second_distance or math.inf for each in votes) > _FAR_BEYOND * nearest


def _variant(label: str, traces: Sequence[QueueTrace], training_set: TrainingSet) -> str:
    """Return the implementation of a CCA that is clearly the nearest; empty if none is."""
    distances: dict[str, list[float]] = {}
    for trace in traces:
        own = [sample for sample in training_set.samples_of(trace.setting) if sample.cca == label]
        for variant in sorted({sample.variant for sample in own}):
            examples = [sample.points for sample in own if sample.variant == variant]
            nearest, _ = dtw.nearest([trace.points], examples)
            distances.setdefault(variant, []).append(float(nearest[0, 0]))
    ordered = [
        (sum(own), variant)
        for variant, own in sorted(distances.items())
        if variant and len(own) == len(traces)
    ]
    (least, first), (second, _) = sorted([*ordered, (math.inf, ""), (math.inf, "")])[:2]
    return first if second > _CLEAR_RATIO * least else ""


def _opinion(traces: Sequence[QueueTrace], training_set: TrainingSet) -> Opinion | None:
    """Return the second stage's opinion; None if it cannot have one of each trace."""
    limits = training_set.limits
    if limits is None or not all(len(trace.measured) for trace in traces):
        return None
    known = [training_set.reactions(trace.setting) for trace in traces]
    trees = [each for each in known if each is not None]
    if len(trees) < len(traces):
        return None
    return opinion(trees, [trace.measured for trace in traces], limits)


def _judge_trace(trace: QueueTrace, training_set: TrainingSet) -> TraceVerdict:
    own = training_set.samples_of(trace.setting)
    apart = dtw.distances([trace.points], [sample.points for sample in own])
    distances = dtw.per_point(apart, [trace.points])[0]
    labels = np.array([sample.cca for sample in own])
    named = {cca: float(distances[labels == cca].min()) for cca in sorted(set(labels.tolist()))}
    return TraceVerdict.of(trace.setting, named, training_set.thresholds[trace.setting].limits)
