# SPDX-License-Identifier: Apache-2.0
"""Progress of a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccbench.base.counts import counted
from ccbench.emulate.progress import CampaignProgress

if TYPE_CHECKING:
    from ccbench.raygen.evaluated import EvaluatedCandidate

__all__ = ["Progress"]


@dataclass(frozen=True, kw_only=True)
class Progress(CampaignProgress):
    """Progress of a search, reported at its start and after each run.

    The planned runs include those of later generations, as far as they are expected.

    Attributes
    ----------
    tried, networks, failed : int
        Numbers of completed, planned and failed scenarios; completed ones include failed ones.
    generation, generations : int
        Current generation, from 1, and total number.
    confirming : bool
        Whether the search is over, and the most harmful scenarios are run with fresh seeds.
    best : EvaluatedCandidate or None
        The most harmful scenario so far; a failed one only if all have failed. Its harm may
        decrease as it is measured again.
    """

    tried: int
    networks: int
    failed: int
    generation: int
    generations: int
    confirming: bool
    best: EvaluatedCandidate | None

    @property
    def stage(self) -> str:
        """The generation, or the confirmation."""
        if self.confirming:
            return "confirming the worst"
        return f"generation {self.generation}/{self.generations}"

    @property
    def state(self) -> str:
        """Numbers of networks and the greatest harm."""
        failed = f", {self.failed} failed" if self.failed else ""
        best = self.best
        harm = "" if best is None or best.error else f", harm up to {best.relative:+.3f}"
        return f"{self.tried}/{counted(self.networks, 'network')}{failed}{harm}"
