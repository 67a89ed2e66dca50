# SPDX-License-Identifier: Apache-2.0
"""From one label for each setting to one for the server (Ware, section 2.3.4)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ccbench.base import validation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["UNKNOWN", "vote"]

#: The label of a trace that is far from all of the training set.
UNKNOWN = "unknown"


def vote(labels: Sequence[str], distances: Sequence[float]) -> str:
    """Return the label that most traces have.

    A tie between unknown and CCAs goes to the CCAs, and one between CCAs to the one whose trace is
    nearest to the training set; of equally near ones to the first.

    Parameters
    ----------
    labels : sequence of str
        One for each trace: a CCA, or :data:`UNKNOWN`.
    distances : sequence of float
        From each trace to the nearest one of the training set.

    Raises
    ------
    InputError
        If there are no labels, or not as many distances.

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
        allowed = f"{len(labels)} numbers, as there are labels"
        raise validation.bad("distances", list(distances), allowed, "give one for each label")
    counts = Counter(labels)
    most = max(counts.values())
    tied = {label for label, count in counts.items() if count == most}
    known = tied - {UNKNOWN} or tied
    return min(
        (distance, place, label)
        for place, (label, distance) in enumerate(zip(labels, distances, strict=True))
        if label in known
    )[2]
