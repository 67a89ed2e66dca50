# SPDX-License-Identifier: Apache-2.0
"""Harm of one scenario over all seeds that it was run with."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ccbench.base.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.harm import Experiment, HarmResult
    from ccbench.raygen.gene import Value
    from ccbench.raygen.strategy import Candidate

__all__ = ["Evaluation"]

#: Parts of a harm whose means over the seeds a table has.
_MEANS = (
    *("solo_mbps", "competing_mbps", "alpha_mbps", "jain"),
    *("from_s", "to_s"),
)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A scenario that was proposed, and the harm in it.

    Attributes
    ----------
    candidate : Candidate
        What was proposed.
    genes : mapping
        Its values by the names of the genes.
    experiment : Experiment
        Its two scenarios, with the first seed.
    seeds : tuple of int
        What it was run with.
    harms : tuple of HarmResult
        What each seed showed; those that failed are missing.
    error : str
        Why it failed: the reason of the first seed that did; empty if none did.

    Notes
    -----
    A scenario that failed with one seed has failed: a mean over the others would be of what
    happens not to fail.
    """

    candidate: Candidate
    genes: Mapping[str, Value]
    experiment: Experiment
    seeds: tuple[int, ...]
    harms: tuple[HarmResult, ...]
    error: str = ""

    @cached_property
    def harm(self) -> Estimate:
        """Relative harm, a value for each seed; without any if the scenario failed."""
        return Estimate(() if self.error else (harm.relative for harm in self.harms))

    @property
    def relative(self) -> float:
        """Mean relative harm, the fitness; NaN if it failed."""
        return self.harm.mean

    def joined(self, more: Evaluation) -> Evaluation:
        """Return this evaluation with the seeds of another one of the same scenario added."""
        return replace(
            self,
            seeds=self.seeds + more.seeds,
            harms=self.harms + more.harms,
            error=self.error or more.error,
        )

    @property
    def rank(self) -> tuple[float, int]:
        """Sorts the most harmful first; of equal harm the first proposed, and failures last."""
        return math.inf if self.error else -self.relative, self.candidate.number

    @cached_property
    def row(self) -> dict[str, Any]:
        """Everything in one flat row of plain values."""
        (bottleneck,) = self.experiment.competing.bottlenecks
        return {
            "number": self.candidate.number,
            "generation": self.candidate.generation,
            "parents": _words(self.candidate.parents),
            **self._harm(),
            **self.genes,
            "queue_packets": bottleneck.queue_packets,
            **{name: self._mean(name) for name in _MEANS},
            "converged_at_s": self._converged_at_s(),
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
