# SPDX-License-Identifier: Apache-2.0
"""Shape of a sender's window: its decreases, its growth between them, and its period.

The window is measured as the packets in flight (:mod:`.in_flight`), averaged over each *round*, the
base round-trip time to the nearest 20 ms. A decrease is a fall by more than 8 % within three
rounds, which is more than jitter changes, and ends with the smallest of the next eight rounds.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ccbench.classify.occupancy import STEP_S

if TYPE_CHECKING:
    import numpy.typing as npt

    from ccbench.classify.setting import Setting

__all__ = ["Decrease", "Shape", "decreases", "points_per_round", "rounds"]

#: A window falls if it is below this fraction of its value at most this number of rounds before.
_FALLS, _SOON = 0.92, 3
#: Maximum length of a decrease in rounds: losses of one overflow may take several to repair.
_LONGEST = 8
#: Share of the queue at which it is full.
_FULL = 0.9
#: Number of rounds over which growth is measured, early and late after a decrease.
_EARLY, _LATE = 4, 16


_Real = TypeVar("_Real", bound=np.floating[Any])


class Decrease(NamedTuple):
    """The rounds before and at the end of a decrease of the window."""

    before: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Measurements of a window's shape, for people.

    Parameters
    ----------
    decreases_per_minute : float
    factor : float or None
        Median of the window after a decrease as a fraction of that before, such as 0.7 for CUBIC.
    at_full_queue : float or None
        Share of the decreases that began with a full queue. Others are reactions to delay, to
        losses elsewhere, or to a timer.
    early_growth, late_growth : float or None
        Median growth in packets per base round-trip time, in the first 4 of them after a decrease
        and in the 12 thereafter; None if decreases are too frequent.
    period_s : float or None
        Median time between decreases in seconds.
    """

    decreases_per_minute: float
    factor: float | None
    at_full_queue: float | None
    early_growth: float | None
    late_growth: float | None
    period_s: float | None

    @classmethod
    def of(
        cls,
        occupancy: npt.NDArray[np.float32],
        in_flight: npt.NDArray[np.float32],
        setting: Setting,
    ) -> Shape:
        """Measure the shape of a trace.

        Parameters
        ----------
        occupancy : ndarray, shape (n_points,)
            The result of :func:`~ccbench.classify.occupancy.occupancy`.
        in_flight : ndarray, shape (n_points,)
            The result of :func:`~ccbench.classify.in_flight.in_flight`.
        setting : Setting
            The bottleneck of the observation.
        """
        window = rounds(in_flight, setting).mean(axis=1)
        round_s = points_per_round(setting) * STEP_S
        rounds_per_rtt = setting.rtt_ms / 1e3 / round_s
        fullest = rounds(occupancy, setting).max(axis=1)
        own = decreases(window)
        before = np.array([each.before for each in own], dtype=int)
        end = np.array([each.end for each in own], dtype=int)
        is_full = np.maximum(fullest[before], fullest[before + 1]) >= _FULL * setting.queue_packets
        return cls(
            decreases_per_minute=60 * len(own) / (len(in_flight) * STEP_S),
            factor=_median(window[end] / np.maximum(window[before], 1)),
            at_full_queue=float(is_full.mean()) if own else None,
            early_growth=_growth(window * rounds_per_rtt, before, end, 0, _EARLY),
            late_growth=_growth(window * rounds_per_rtt, before, end, _EARLY, _LATE),
            period_s=_median(np.diff(before) * round_s),
        )

    def to_dict(self) -> dict[str, float | None]:
        """Return JSON-able values."""
        return asdict(self)


def rounds(
    trace: npt.NDArray[_Real], setting: Setting, step_s: float = STEP_S
) -> npt.NDArray[_Real]:
    """Return a trace, with points every `step_s`, with a row for each base round-trip time.

    Returns
    -------
    ndarray, shape (n_rounds, n_points_per_round)

    Examples
    --------
    >>> from ccbench.classify.setting import SETTINGS
    >>> rounds(np.arange(9, dtype=np.float32), SETTINGS[0]).tolist()
    [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]
    """
    points = points_per_round(setting, step_s)
    count = len(trace) // points
    return trace[: count * points].reshape(count, points)


def decreases(window: npt.NDArray[np.floating]) -> list[Decrease]:
    """Return the decreases of a window.

    Parameters
    ----------
    window : ndarray, shape (n_rounds,)

    Examples
    --------
    >>> decreases(np.array([8, 9, 10, 7, 5, 6, 7], dtype=np.float32))
    [Decrease(before=2, end=4)]
    """
    result = []
    before = 0
    while before < len(window) - 1:
        following = window[before + 1 : before + 1 + _SOON]
        if following[0] < window[before] and following.min() < _FALLS * window[before]:
            end = before + 1 + int(window[before + 1 : before + 1 + _LONGEST].argmin())
            result.append(Decrease(before, end))
            before = end
        else:
            before += 1
    return result


def _growth(
    window: npt.NDArray[np.float32],
    before: npt.NDArray[np.int_],
    end: npt.NDArray[np.int_],
    first: int,
    last: int,
) -> float | None:
    """Return the median growth per round between two rounds after a decrease."""
    following = np.append(before, len(window) - 1)[1:]
    at = end[end + last <= following]
    return _median((window[at + last] - window[at + first]) / (last - first))


def points_per_round(setting: Setting, step_s: float = STEP_S) -> int:
    """Return the number of points in a round, at least 1."""
    return max(1, round(setting.rtt_ms / 1e3 / step_s))


def _median(values: npt.NDArray[np.floating]) -> float | None:
    return float(np.median(values)) if len(values) else None
