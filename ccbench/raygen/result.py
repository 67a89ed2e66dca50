# SPDX-License-Identifier: Apache-2.0
"""What a search finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ccbench.harm import Experiment, HarmResult
    from ccbench.raygen.config import SearchConfig
    from ccbench.scenario import Scenario

__all__ = ["Evaluation", "SearchResult", "frame", "worst"]

#: How many scenarios a report shows.
SHOWN = 5

#: Columns that a table for people does without.
_FOR_MACHINES = (
    *("number", "parents", "absolute_harm", "expected_harm", "jain"),
    *("from_s", "to_s", "solo_key", "competing_key"),
)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """An experiment that was made, and the harm in it.

    Attributes
    ----------
    number : int
        Position in the order of proposal, from 0.
    generation : int
        From 1.
    parents : tuple of int
        Numbers of those that it descends from; empty if it descends from none.
    genes : mapping
        Its values by the names of the genes.
    experiment : Experiment
        Its two scenarios.
    harm : HarmResult
        What their runs showed; ``harm.relative`` is the fitness.
    """

    number: int
    generation: int
    parents: tuple[int, ...]
    genes: Mapping[str, float]
    experiment: Experiment
    harm: HarmResult

    @property
    def rank(self) -> tuple[float, int]:
        """Sorts the most harmful first; of equal harm, the one that was proposed first."""
        return -self.harm.relative, self.number

    def row(self) -> dict[str, Any]:
        """Return everything in one flat row of plain values."""
        (bottleneck,) = self.experiment.competing.bottlenecks
        return {
            "number": self.number,
            "generation": self.generation,
            "parents": " ".join(map(str, self.parents)),
            "relative_harm": self.harm.relative,
            "absolute_harm": self.harm.absolute,
            "expected_harm": self.harm.expected,
            **self.genes,
            "queue_packets": bottleneck.queue_packets,
            "solo_mbps": self.harm.solo_mbps,
            "competing_mbps": self.harm.competing_mbps,
            "alpha_mbps": self.harm.alpha_mbps,
            "jain": self.harm.jain,
            "from_s": self.harm.from_s,
            "to_s": self.harm.to_s,
            "converged_at_s": self.harm.converged_at_s,
            "solo_key": self.experiment.solo.key(),
            "competing_key": self.experiment.competing.key(),
        }


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """All experiments of a search.

    Attributes
    ----------
    config : SearchConfig
        Its settings.
    evaluations : tuple of Evaluation
        In the order of proposal.
    provenance : mapping
        What made it: ccbench's version, the engine and its version.

    Examples
    --------
    >>> len(result.frame()) == result.config.planned  # doctest: +SKIP
    True
    >>> result.top_table()[["relative_harm", "bandwidth_mbps", "rtt_ms"]]  # doctest: +SKIP
    """

    config: SearchConfig
    evaluations: tuple[Evaluation, ...]
    provenance: Mapping[str, Any]

    def frame(self) -> pd.DataFrame:
        """Return one row per experiment: all that ``results.csv`` holds."""
        return frame(self.evaluations)

    def worst(self, n: int = SHOWN) -> tuple[Evaluation, ...]:
        """Return the `n` different scenarios in which alpha does most harm, the worst first."""
        return worst(self.evaluations, n)

    def top_table(self, n: int = SHOWN) -> pd.DataFrame:
        """Return the :meth:`worst` as a table for people, indexed by rank from 1."""
        table = frame(self.worst(n)).drop(columns=list(_FOR_MACHINES))
        return table.set_axis(pd.RangeIndex(1, len(table) + 1, name="rank"))

    def to_dict(self, n: int = SHOWN) -> dict[str, Any]:
        """Return settings, provenance and the :meth:`worst` as plain values (JSON-able)."""
        return {
            "config": self.config.to_dict(),
            "provenance": dict(self.provenance),
            "experiments": len(self.evaluations),
            "worst": [
                {
                    **evaluation.row(),
                    "description": evaluation.experiment.describe(),
                    "scenario": evaluation.experiment.competing.to_dict(),
                }
                for evaluation in self.worst(n)
            ],
        }


def frame(evaluations: Iterable[Evaluation]) -> pd.DataFrame:
    """Return one row per evaluation, see :meth:`Evaluation.row`; NaN where it did not converge."""
    table = pd.DataFrame([evaluation.row() for evaluation in evaluations])
    return table.astype({"converged_at_s": "float64"})  # also where nothing but None is in it


def worst(evaluations: Iterable[Evaluation], n: int) -> tuple[Evaluation, ...]:
    """Return the `n` most harmful evaluations of different scenarios, the worst first."""
    different: dict[Scenario, Evaluation] = {}
    for evaluation in sorted(evaluations, key=lambda e: e.rank):
        different.setdefault(evaluation.experiment.competing, evaluation)
    return tuple(different.values())[:n]
