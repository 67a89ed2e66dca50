# SPDX-License-Identifier: Apache-2.0
"""Gordon's rules: the congestion control that follows from the windows of round trips.

The facts are those of the published program (``tcpClassify.py`` of NUS-SNL/Gordon), which has no
rule for Westwood. Its names for kinds of unknown senders, such as those that ignore losses, are
:data:`UNKNOWN` here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ccbench.studies.ware.gordon import LOSS_ABOVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["UNKNOWN", "label"]

#: The label of windows to which no rule applies.
UNKNOWN = "unknown"

#: Packets within which a window is near that of the loss.
_NEAR = 3


def label(windows: Sequence[int], slower_at: int | None = None) -> str:
    """Return the label of a trace by Gordon's rules.

    Parameters
    ----------
    windows : sequence of int
        The window of each round trip.
    slower_at : int, optional
        Index of the first round trip on the slower link.

    Returns
    -------
    str
        ``"cubic"``, ``"bic"``, ``"htcp"``, ``"scalable"``, ``"yeah"``, ``"illinois"``, ``"vegas"``
        (also Veno), ``"reno"`` (also HighSpeed), ``"bbr"``, or :data:`UNKNOWN`.

    Examples
    --------
    A window that is halved and grows by a packet per round trip:

    >>> label([10, 20, 40, 84, *range(42, 84)])
    'reno'
    """
    trace = _Trace.of(windows)
    if trace is None:
        return UNKNOWN
    if len(trace.steps):
        for name, applies in _RULES.items():
            if applies(trace):
                return name
    return "bbr" if _is_bbr(windows, slower_at) else UNKNOWN


@dataclass(frozen=True, kw_only=True)
class _Trace:
    """The windows after a loss, in the program's terms.

    `beta` is the window after the loss by that before; `steps` are the differences of the windows
    until they grow no more, `ratios` their quotients. Windows below, near and above that of the
    loss are `backoff`, `stable` and `probe`: of each, the longest uninterrupted part.
    """

    beta: float
    steps: npt.NDArray[np.float64]
    ratios: npt.NDArray[np.float64]
    backoff: npt.NDArray[np.float64]
    stable: npt.NDArray[np.float64]
    probe: npt.NDArray[np.float64]

    @classmethod
    def of(cls, windows: Sequence[int]) -> _Trace | None:
        """Return None for windows that do not show a loss."""
        sizes = np.asarray(windows, dtype=float)
        above = np.flatnonzero(sizes[:-2] > LOSS_ABOVE)
        if not len(above):
            return None
        lost = int(above[0])
        beta, later = (round(sizes[i + 1] / sizes[i], 1) for i in (lost, lost + 1))
        if beta >= 1 > later > 0:
            beta, lost = later, lost + 1
        is_above = np.minimum(sizes[1:], sizes[:-1]) > 10
        growing = 1 + np.flatnonzero((np.diff(sizes) > 0) & is_above)
        after = sizes[lost + 1 : growing[-1] + 1 if len(growing) else None]
        distance = after - sizes[lost]
        return cls(
            beta=beta,
            steps=np.diff(after),
            ratios=after[1:] / after[:-1],
            backoff=_longest(after, distance < -_NEAR),
            stable=_longest(after, np.abs(distance) <= _NEAR),
            probe=_longest(after, distance > _NEAR),
        )


def _longest(
    values: npt.NDArray[np.float64], is_part: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Return the first of the longest uninterrupted parts."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], is_part.astype(int), [0]))))
    begins, ends = edges[::2], edges[1::2]
    if not len(begins):
        return values[:0]
    longest = int(np.argmax(ends - begins))
    return values[begins[longest] : ends[longest]]


def _bends(part: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean slope of a part, and the sum of its second differences; NaN if too short."""
    if len(part) < 2:
        return math.nan, math.nan
    slope = np.gradient(part)
    return float(slope.mean()), float(np.gradient(slope).sum())


def _is_concave(part: npt.NDArray[np.float64]) -> bool:
    slope, bend = _bends(part)
    return slope >= 1.9 or (bend <= -2 and slope >= 2)


def _is_cubic(trace: _Trace) -> bool:
    if trace.beta >= 1 or not _is_concave(trace.backoff):
        return False
    if not len(trace.probe):
        return len(trace.stable) > 0 or len(trace.backoff) > 3
    slope, _ = _bends(trace.probe)
    return len(trace.stable) >= 3 and (len(trace.probe) <= 3 or slope > 1)


def _is_bic(trace: _Trace) -> bool:
    _, bend = _bends(trace.backoff)
    return trace.beta < 1 and not len(trace.probe) and bend <= -5


def _is_htcp(trace: _Trace) -> bool:
    is_long = len(trace.probe) > 3 and len(trace.backoff) > 7
    return trace.beta < 1 and len(trace.stable) < 3 and is_long


def _is_scalable(trace: _Trace) -> bool:
    ratio, step = float(trace.ratios.mean()), float(trace.steps.mean())
    return 0.8 <= trace.beta < 1 and round(ratio, 2) == 1.01 and round(step, 1) >= 1


def _is_yeah(trace: _Trace) -> bool:
    return 0.8 <= trace.beta < 1 and float(trace.steps.mean()) < 1


def _is_illinois(trace: _Trace) -> bool:
    return trace.beta == 0.7 and float(trace.steps.mean()) > 0.5


def _is_vegas(trace: _Trace) -> bool:
    return trace.beta <= 0.5 and round(float(trace.steps.mean()), 1) < 1


def _is_reno(trace: _Trace) -> bool:
    return round(float(trace.steps.mean()), 1) == 1


#: The rules, of which the first that applies counts.
_RULES = {
    "cubic": _is_cubic,
    "bic": _is_bic,
    "htcp": _is_htcp,
    "scalable": _is_scalable,
    "yeah": _is_yeah,
    "illinois": _is_illinois,
    "vegas": _is_vegas,
    "reno": _is_reno,
}


def _is_bbr(windows: Sequence[int], slower_at: int | None) -> bool:
    """Return whether windows are twice the bandwidth-delay product on the fast or slow link."""
    sizes = np.asarray(windows, dtype=float)
    level = sizes[1:-1][(sizes[1:-1] > 50) & (np.diff(sizes[:-1]) < 10)]
    near = [np.mean((level >= low) & (level <= high)) for low, high in ((100, 120), (65, 75))]
    if len(level) and sum(near) > 0.5:
        return True
    if slower_at is None:
        return False
    before = sizes[max(0, slower_at - 5) : slower_at]
    return int(((before >= 90) & (before <= 110)).sum()) > 2
