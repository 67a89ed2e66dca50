# SPDX-License-Identifier: Apache-2.0
"""Witnesses: the simplest networks that show the harm which a search has found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ccbench.base.estimate import Estimate
from ccbench.evaluate.criterion import Variant

if TYPE_CHECKING:
    from ccbench.evaluate.criterion import Criterion
    from ccbench.experiment.scenario import Scenario

__all__ = ["Witness"]


@dataclass(frozen=True, kw_only=True)
class Witness:
    """The result of a search for the worst network of a criterion.

    Attributes
    ----------
    criterion : str
        Key of the criterion.
    tried : int
        Number of networks that the search has tried.
    settings : tuple of (str, object)
        Settings of the simplest network that shows the harm, by their paths; empty if no network
        has harm that the fresh seeds confirm.
    duration_s : float
        The shortest duration that shows it.
    harm : tuple of float
        Relative harm in the repetitions of this network and duration.
    bound : float
        Relative harm that each simpler network must exceed.
    """

    criterion: str
    tried: int
    settings: tuple[tuple[str, Any], ...] = ()
    duration_s: float = 0.0
    harm: tuple[float, ...] = ()
    bound: float = 0.0

    @property
    def network(self) -> Variant:
        """The network for the criterion, at the criterion's own duration."""
        return Variant(
            name=f"worst of {self.tried} searched: {self._described}",
            settings=self.settings,
            quick=True,
        )

    @property
    def _described(self) -> str:
        values = dict(self.settings)
        flows = " against ".join(str(v) for name, v in self.settings if name.endswith("count"))
        return (
            f"{values['bottlenecks.0.bandwidth_mbps']:g} Mbit/s, {values['rtt_ms']:g} ms, "
            f"{values['bottlenecks.0.queue_bdp']:g} BDP, {flows}"
        )

    @property
    def words(self) -> str:
        """The result of the search in a sentence or two."""
        if not self.settings:
            return f"A search over {self.tried} networks found no harm that fresh seeds confirm."
        return (
            f"A search over {self.tried} networks found harm in {self._described}, after reduction "
            f"to the fewest flows and round numbers. {self.duration_s:g} s suffice to show it: "
            f"relative harm {Estimate(self.harm, of='median'):.2f}, the share of throughput that "
            "these flows lose, minus that under fair sharing."
        )

    def scenario(self, criterion: Criterion, cca: str, seed: int) -> Scenario:
        """Return the shortest scenario that shows it; the candidate's flows are the first."""
        found = criterion.scenario_of(self.network, cca, seed)
        flows = sorted(found.flows, key=lambda flow: flow.name == criterion.harmed)
        name = f"{criterion.title}, {self._described}"
        return replace(found, flows=tuple(flows), duration_s=self.duration_s, name=name)
