# SPDX-License-Identifier: Apache-2.0
"""Harm of one scenario over all its seeds."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ccbench.base.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.harm import HarmResult
    from ccbench.raygen.gene import Value
    from ccbench.raygen.objective import Case
    from ccbench.raygen.strategy import Candidate
    from ccbench.raygen.timeline import Timeline

__all__ = ["EvaluatedCandidate"]

#: Parts of a harm that a table has as means over the seeds.
_MEANS = (
    *("solo_mbps", "competing_mbps", "alpha_mbps", "jain"),
    *("from_s", "to_s"),
)


@dataclass(frozen=True, kw_only=True)
class EvaluatedCandidate:
    """A proposed scenario and its harm.

    Attributes
    ----------
    candidate : Candidate
    genes : mapping
        Values by the names of the genes.
    experiment : Experiment
        The two scenarios with the first seed.
    seeds : tuple of int
        Seeds of the runs.
    harms : tuple of HarmResult
        Harm of each seed that did not fail.
    error : str
        Reason of the first seed that failed; empty if none failed.
    share : float
        Length of the runs as a share of the search's duration: below 1 for the first runs of a
        :class:`~ccbench.raygen.strategy.ScreeningStrategy`.
    timeline : Timeline, optional
        Throughput over time with the first seed, of a claim that did not fail.

    Notes
    -----
    A scenario that fails with one seed counts as failed, as the mean over the other seeds would be
    biased.
    """

    candidate: Candidate
    genes: Mapping[str, Value]
    experiment: Case
    seeds: tuple[int, ...]
    harms: tuple[HarmResult, ...]
    error: str = ""
    share: float = 1.0
    timeline: Timeline | None = None

    @cached_property
    def harm(self) -> Estimate:
        """Relative harm of each seed; without values if the scenario failed."""
        return Estimate(() if self.error else (harm.relative for harm in self.harms))

    @property
    def relative(self) -> float:
        """Mean relative harm, the fitness; NaN if the scenario failed."""
        return self.harm.mean

    def joined(self, more: EvaluatedCandidate) -> EvaluatedCandidate:
        """Return this evaluation with the seeds of another evaluation of the same scenario."""
        return replace(
            self,
            seeds=self.seeds + more.seeds,
            harms=self.harms + more.harms,
            error=self.error or more.error,
        )

    @property
    def rank(self) -> tuple[float, float, int]:
        """Sort key: long runs first, then descending harm and order of proposal; failures last."""
        if self.error:
            return math.inf, 0.0, self.candidate.number
        return -self.share, -self.relative, self.candidate.number

    @cached_property
    def row(self) -> dict[str, Any]:
        """Flat row of plain values."""
        bottleneck = self.experiment.path.bottlenecks[0]
        return {
            "number": self.candidate.number,
            "generation": self.candidate.generation,
            "parents": _words(self.candidate.parents),
            **self._harm(),
            **self.genes,
            "queue_packets": bottleneck.queue_packets,
            **{name: self._mean(name) for name in _MEANS},
            "converged_at_s": self._converged_at_s(),
            "duration_share": self.share,
            "repetitions": len(self.seeds),
            "seeds": _words(self.seeds),
            "error": self.error,
            "solo_key": self.experiment.solo.key(),
            "competing_key": self.experiment.competing.key(),
        }

    def _harm(self) -> dict[str, float]:
        return {
            "relative_harm": self.relative,
            "relative_harm_sd": self.harm.deviation,
            "relative_harm_min": min(self.harm.values, default=math.nan),
            "relative_harm_max": max(self.harm.values, default=math.nan),
            "absolute_harm": self._mean("absolute"),
            "expected_harm": self._mean("expected"),
        }

    def _mean(self, name: str) -> float:
        if self.error:
            return math.nan
        return statistics.fmean(getattr(harm, name) for harm in self.harms)

    def _converged_at_s(self) -> float:
        """Return the latest time of convergence; NaN if a run did not converge."""
        times = [harm.converged_at_s for harm in self.harms]
        if self.error or None in times:
            return math.nan
        return max(time for time in times if time is not None)


def _words(numbers: tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))
