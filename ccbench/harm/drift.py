# SPDX-License-Identifier: Apache-2.0
"""Trends of throughput that remain at the end of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ccbench.convergence.times import all_converged_at, measured_from
from ccbench.convergence.trend import changes_mbps
from ccbench.run import flow_analysis, intervals

if TYPE_CHECKING:
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
    changes_mbps : dict of int to float
        Change over this part of each flow with a trend.
    """

    from_s: float
    to_s: float
    changes_mbps: dict[int, float]

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
        split, starts_s = scenario.split_flows, scenario.starts_s()
        every = [split[i] for i in scenario.split_numbers()]
        flows = [i for i, flow in enumerate(every) if flow.kind == "bulk"]
        second_ns = intervals.interval_ns(_INTERVAL_S)
        if not flows or not is_steady or second_ns % intervals.sample_ns(scenario):
            return None
        to_s = math.floor(min(every[i].stop_s or scenario.duration_s for i in flows))
        ends_ns, mbps = flow_analysis.rates_mbps(run, "throughput_bytes", _INTERVAL_S)
        ends_s = ends_ns / intervals.NS
        ends_s, mbps = ends_s[ends_s <= to_s], mbps[ends_s <= to_s][:, flows]
        if not len(ends_s):
            return None
        settled_s = measured_from(all_converged_at(ends_s, mbps), to_s)
        from_s = max(settled_s, math.ceil(max(starts_s[i] for i in flows)))
        changes = zip(flows, changes_mbps(ends_s, mbps, from_s).tolist(), strict=True)
        found = {flow: mbps for flow, mbps in changes if mbps}
        return cls(from_s=from_s, to_s=to_s, changes_mbps=found) if found else None

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary (JSON-able)."""
        changes = [{"flow": f, "change_mbps": mbps} for f, mbps in self.changes_mbps.items()]
        return {"from_s": self.from_s, "to_s": self.to_s, "flows": changes}
