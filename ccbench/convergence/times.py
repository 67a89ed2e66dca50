# SPDX-License-Identifier: Apache-2.0
"""Times of convergence of an experiment's flows, and the start of the measurement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ccbench.convergence import _throughput
from ccbench.convergence.algorithm import (
    DEFAULT_DETECTOR,
    Detector,
    convergence_steps,
    rolling_deviation,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt
    import pandas as pd

    from ccbench.convergence.algorithm import Step

__all__ = [
    "Convergence",
    "FlowConvergence",
    "all_converged_at",
    "converged_at",
    "latest",
    "measured_from",
]

#: Ignored part of a run without convergence, in seconds (section 5.3.3.2).
SKIPPED_S = 60.0


@dataclass(frozen=True, kw_only=True, eq=False)
class FlowConvergence:
    """The steps of Algorithm 1 on one flow, as in Figure 5.8.

    Attributes
    ----------
    deviation : Series
        Rolling standard deviation in Mbit/s, indexed by the time of the window in seconds.
    steps : tuple of Step
        The iterations, whose indices are those of windows.
    converged_at_s : float or None
        A time after the convergence of the flow in seconds; None without convergence.
    """

    deviation: pd.Series[float]
    steps: tuple[Step, ...]
    converged_at_s: float | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Convergence:
    """The steps of Algorithm 1 on an experiment, flow by flow.

    Attributes
    ----------
    detector : Detector
    flows : tuple of FlowConvergence
        In the order of the columns of the throughput.

    Examples
    --------
    >>> convergence = Convergence.of(run.throughput(interval_s=1.0))  # doctest: +SKIP
    >>> [len(flow.steps) for flow in convergence.flows]  # doctest: +SKIP
    """

    detector: Detector
    flows: tuple[FlowConvergence, ...]

    @classmethod
    def of(cls, throughput: pd.DataFrame, detector: Detector = DEFAULT_DETECTOR) -> Convergence:
        """Run Algorithm 1.

        Parameters
        ----------
        throughput : DataFrame
            Mbit/s, one column per flow, indexed by the end of each interval in seconds, as
            ``Run.throughput(1.0)`` returns it. The thresholds are those for intervals of 1 s.
        detector : Detector

        Raises
        ------
        InputError
            If `throughput` has no flows or no intervals, its intervals differ in length, or a value
            is not finite.
        """
        import pandas as pd  # noqa: PLC0415 - not needed for arrays

        _throughput.check(throughput)
        ends_s, mbps = _throughput.arrays(throughput)
        flows = []
        for flow, trace in zip(throughput.columns, _traces(ends_s, mbps, detector), strict=True):
            index = pd.Index(trace.times_s, name="time_s")
            flows.append(
                FlowConvergence(
                    deviation=pd.Series(trace.deviation, index, name=flow),
                    steps=trace.steps,
                    converged_at_s=trace.converged_at_s,
                )
            )
        return cls(detector=detector, flows=tuple(flows))

    @property
    def times_s(self) -> pd.Series[float]:
        """A time after the convergence of each flow in seconds; NaN without convergence."""
        import pandas as pd  # noqa: PLC0415 - likewise

        index = pd.Index([flow.deviation.name for flow in self.flows], name="flow")
        return pd.Series([flow.converged_at_s for flow in self.flows], index, dtype="float64")

    @property
    def converged_at_s(self) -> float | None:
        """A time after the convergence of all flows in seconds; None without convergence."""
        return latest(self.times_s)


def latest(times_s: pd.Series[float]) -> float | None:
    """Return the latest of the flows' times of convergence; None if one is NaN (5.3.3.1).

    Examples
    --------
    >>> import pandas as pd
    >>> latest(pd.Series([20.0, 70.0])), latest(pd.Series([20.0, np.nan]))
    (70.0, None)
    """
    return None if times_s.isna().any() else float(times_s.max())


class _Trace(NamedTuple):
    """The deviation of a flow at some times, and the steps of Algorithm 1."""

    times_s: npt.NDArray[Any]
    deviation: npt.NDArray[np.float64]
    steps: tuple[Step, ...]

    @property
    def converged_at_s(self) -> float | None:
        """A time after the convergence in seconds; None without convergence."""
        is_converged = bool(self.steps) and self.steps[-1].converged
        return float(self.times_s[self.steps[-1].breakpoint]) if is_converged else None


def _traces(
    ends_s: npt.NDArray[np.float64], mbps: npt.NDArray[np.float64], detector: Detector
) -> Iterator[_Trace]:
    """Run Algorithm 1 on each flow; shapes (n_intervals,) and (n_intervals, n_flows)."""
    interval_s = _throughput.length_s(ends_s)
    on_link = detector.on_link(max(0.0, float(mbps.sum(axis=1).max())))
    window = max(2, round(detector.window_s / interval_s))
    offset = 0 if detector.window_named_by == "start" else window
    first_s = float(ends_s[0]) + (offset - 1) * interval_s
    for values in mbps.T:
        deviation = rolling_deviation(values, window)
        times_s = first_s + np.arange(deviation.size) * interval_s
        yield _Trace(times_s, deviation, convergence_steps(deviation, on_link))


def all_converged_at(
    ends_s: npt.NDArray[np.float64], mbps: npt.NDArray[np.float64]
) -> float | None:
    """Return the time of :func:`converged_at` for an array of throughput."""
    times_s = [trace.converged_at_s for trace in _traces(ends_s, mbps, DEFAULT_DETECTOR)]
    known = [time_s for time_s in times_s if time_s is not None]
    return max(known) if len(known) == len(times_s) else None


def converged_at(throughput: pd.DataFrame, detector: Detector = DEFAULT_DETECTOR) -> float | None:
    """Return a time after the convergence of all flows of an experiment.

    Parameters
    ----------
    throughput : DataFrame
        As in :meth:`Convergence.of`.
    detector : Detector

    Returns
    -------
    float or None
        The latest flow's time in seconds, by default at least a window (60 s) before the end of the
        trace. None if a flow does not converge, as always in a trace little longer than a window.

    Raises
    ------
    InputError
        As :meth:`Convergence.of`.

    Examples
    --------
    >>> converged_at(run.throughput(interval_s=1.0))  # doctest: +SKIP
    """
    return Convergence.of(throughput, detector).converged_at_s


def measured_from(converged_at_s: float | None, duration_s: float) -> float:
    """Return the start of the part of a run over which harm is computed, in seconds.

    It is the time of convergence or, without convergence, 60 s (section 5.3.3.2). For a run of less
    than 120 s, it is half of the run, rounded down to a whole second.

    Examples
    --------
    >>> measured_from(70.0, 180.0), measured_from(None, 180.0), measured_from(None, 30.0)
    (70.0, 60.0, 15.0)
    """
    if converged_at_s is not None:
        return converged_at_s
    return min(SKIPPED_S, duration_s // 2)
