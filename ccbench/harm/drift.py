# SPDX-License-Identifier: Apache-2.0
"""Trends of throughput that remain at the end of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ccbench.convergence import converged_at, measured_from, trends
from ccbench.run import intervals

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

__all__ = ["Drift"]

#: The interval of throughput in seconds for which the detector's thresholds are.
_INTERVAL_S = 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Drift:
    """Trends of the throughput of long flows after convergence.

    Attributes
    ----------
    from_s, to_s : float
        The part of the run that was tested, in seconds.
    changes_mbps : Series
        Change over this part of each flow with a trend; index ``flow``.
    """

    from_s: float
    to_s: float
    changes_mbps: pd.Series[float]

    @classmethod
    def of(cls, run: Run) -> Drift | None:
        """Return the trends that remain after the convergence of a run's long flows.

        The tested part starts at convergence (:func:`~ccbench.convergence.measured_from`) or,
        if that is later, when the last flow with data at all times starts. It ends when the first
        of them stops.

        Parameters
        ----------
        run : Run
            The run.

        Returns
        -------
        Drift or None
            None without a trend; if the part is shorter than a minute; or if the path changes
            during the run, and throughput with it.

        Examples
        --------
        >>> Drift.of(run)  # doctest: +SKIP
        """
        scenario = run.scenario
        is_steady = not (scenario.path.changes or scenario.path.rtt_trace)
        flows = scenario.flow_table().query("kind == 'bulk'")
        second_ns = intervals.interval_ns(_INTERVAL_S)
        if flows.empty or not is_steady or second_ns % intervals.sample_ns(scenario):
            return None
        to_s = math.floor(flows["stop_s"].min())
        throughput = run.throughput(_INTERVAL_S)[flows.index]
        throughput = throughput[throughput.index <= to_s]
        if throughput.empty:
            return None
        settled_s = measured_from(converged_at(throughput), to_s)
        from_s = max(settled_s, math.ceil(flows["start_s"].max()))
        changes_mbps = trends(throughput, from_s)
        if not changes_mbps.any():
            return None
        return cls(from_s=from_s, to_s=to_s, changes_mbps=changes_mbps[changes_mbps != 0])

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary (JSON-able)."""
        changes = [{"flow": f, "change_mbps": mbps} for f, mbps in self.changes_mbps.items()]
        return {"from_s": self.from_s, "to_s": self.to_s, "flows": changes}
