# SPDX-License-Identifier: Apache-2.0
"""Majority vote of the labels of a server's traces (Ware, section 2.3.4)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ccbench.base import validation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["UNKNOWN", "vote"]

#: Label of a trace that is too far from every trace of the training set.
UNKNOWN = "unknown"


def vote(labels: Sequence[str], distances: Sequence[float]) -> str:
    """Return the most frequent label.

    In a tie, a CCA wins over unknown, then the CCA with the smallest distance, then the first.

    Parameters
    ----------
    labels : sequence of str
        The label of each trace: a CCA, or :data:`UNKNOWN`.
    distances : sequence of float
        The distance of each trace to the nearest trace of the training set.

    Raises
    ------
    InputError
        If there are no labels, or the number of distances differs.

    Examples
    --------
    >>> vote(["bbr", "unknown", "bbr", "vegas"], [1.0, 9.0, 2.0, 0.5])
    'bbr'
    >>> vote(["unknown", "unknown", "reno", "reno"], [9.0, 9.0, 2.0, 1.0])
    'reno'
    >>> vote(["cubic", "bic", "cubic", "bic"], [2.0, 0.5, 1.0, 3.0])
    'bic'
    """
    if not labels:
        raise validation.bad("labels", list(labels), "one or more", "classify a trace first")
    if len(distances) != len(labels):
        allowed = f"{len(labels)} numbers, the number of labels"
        raise validation.bad("distances", list(distances), allowed, "give one for each label")
    counts = Counter(labels)
    most = max(counts.values())
    tied = {label for label, count in counts.items() if count == most}
    candidates = tied - {UNKNOWN} or tied
    return min(
        (distance, i, label)
        for i, (label, distance) in enumerate(zip(labels, distances, strict=True))
        if label in candidates
    )[2]
