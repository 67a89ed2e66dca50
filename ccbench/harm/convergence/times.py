# SPDX-License-Identifier: Apache-2.0
"""Times of convergence of an experiment's flows, and the start of its measurement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.harm.convergence import _throughput
from ccbench.harm.convergence.algorithm import (
    DEFAULT_DETECTOR,
    Detector,
    convergence_steps,
    rolling_deviation,
)

if TYPE_CHECKING:
    from ccbench.harm.convergence.algorithm import Step

__all__ = ["Convergence", "FlowConvergence", "converged_at", "latest", "measured_from"]

#: What is ignored of a run that does not converge, in seconds (section 5.3.3.2).
SKIPPED_S = 60.0


@dataclass(frozen=True, kw_only=True, eq=False)
class FlowConvergence:
    """The steps of Algorithm 1 on one flow, as Figure 5.8 draws them.

    Attributes
    ----------
    deviation : Series
        Rolling standard deviation in Mbit/s, by the window's time in seconds.
    steps : tuple of Step
        The iterations; they count in windows.
    converged_at_s : float or None
        A time after the flow has converged, in seconds; None if it has not.
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
        The parameters.
    flows : tuple of FlowConvergence
        One per flow, in the order of the throughput's columns.

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
            ``Run.throughput(1.0)`` returns it. The thresholds were selected for intervals of 1 s.
        detector : Detector
            The parameters.

        Raises
        ------
        InputError
            `throughput` has no flows or no intervals, its intervals are not equally long, or a
            value in it is not finite.
        """
        _throughput.check(throughput)
        interval_s = _throughput.interval_s(throughput)
        window = max(2, round(detector.window_s / interval_s))
        named_by = 0 if detector.window_named_by == "start" else window
        first_s = float(throughput.index[0]) + (named_by - 1) * interval_s
        flows = []
        for flow in throughput.columns:
            values = throughput[flow].to_numpy(dtype=np.float64)
            deviation = rolling_deviation(values, window)
            steps = convergence_steps(deviation, detector)
            times_s = pd.Index(first_s + np.arange(deviation.size) * interval_s, name="time_s")
            converged = bool(steps) and steps[-1].converged
            flows.append(
                FlowConvergence(
                    deviation=pd.Series(deviation, times_s, name=flow),
                    steps=steps,
                    converged_at_s=float(times_s[steps[-1].breakpoint]) if converged else None,
                )
            )
        return cls(detector=detector, flows=tuple(flows))

    @property
    def times_s(self) -> pd.Series[float]:
        """Time of each flow's convergence, in seconds; NaN without convergence."""
        index = pd.Index([flow.deviation.name for flow in self.flows], name="flow")
        return pd.Series([flow.converged_at_s for flow in self.flows], index, dtype="float64")

    @property
    def converged_at_s(self) -> float | None:
        """A time after which all flows have converged, in seconds; None if one has not."""
        return latest(self.times_s)


def latest(times_s: pd.Series[float]) -> float | None:
    """Return the time when the last flow converged; None if any did not (NaN) (section 5.3.3.1).

    Examples
    --------
    >>> latest(pd.Series([20.0, 70.0])), latest(pd.Series([20.0, np.nan]))
    (70.0, None)
    """
    return None if times_s.isna().any() else float(times_s.max())


def converged_at(throughput: pd.DataFrame, detector: Detector = DEFAULT_DETECTOR) -> float | None:
    """Return a time after which all flows of an experiment have converged.

    Parameters
    ----------
    throughput : DataFrame
        As in :meth:`Convergence.of`.
    detector : Detector
        The parameters of Algorithm 1.

    Returns
    -------
    float or None
        The latest flow's time, in seconds: by default at least a window (60 s) before the end of
        the trace. None if one of the flows does not converge, as always in a trace that is hardly
        longer than that.

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

    The point of convergence if there is one, else 60 s (section 5.3.3.2). A run of less than 120 s
    has no minute to spare: its second half counts, from a whole second on.

    Examples
    --------
    >>> measured_from(70.0, 180.0), measured_from(None, 180.0), measured_from(None, 30.0)
    (70.0, 60.0, 15.0)
    """
    if converged_at_s is not None:
        return converged_at_s
    return min(SKIPPED_S, duration_s // 2)
