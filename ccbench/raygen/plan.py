# SPDX-License-Identifier: Apache-2.0
"""Plan of a search with its expected time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccbench import emulate

if TYPE_CHECKING:
    from ccbench.emulate import Engine, Store
    from ccbench.raygen.config import SearchConfig

__all__ = ["Plan", "plan"]


@dataclass(frozen=True, kw_only=True)
class Plan(emulate.CampaignPlan):
    """The extent and the expected cost of a search, at most.

    Runs are a solo and a competing run for each scenario and seed, including the further and fresh
    seeds; scenarios can share runs. Stored runs are those of the first generation, as later
    generations are not known yet.

    Attributes
    ----------
    generations : tuple of int
        Number of scenarios in each generation.
    scenarios : int
        Total number of scenarios.
    """

    generations: tuple[int, ...]
    scenarios: int


def plan(
    config: SearchConfig,
    *,
    engine: str | Engine = "kernel",
    store: Store | None = emulate.DEFAULT_STORE,
) -> Plan:
    """Plan a search, and estimate its time from previous runs on this machine.

    Without previous runs, part of a run is made.

    Raises
    ------
    InputError
        If the engine cannot run the scenarios.

    Examples
    --------
    >>> from ccbench.raygen import SearchConfig
    >>> plan(SearchConfig(alpha="bbr", beta="cubic")).runs  # doctest: +SKIP
    348
    """
    resolved = emulate.resolve(engine)
    config.check(resolved)
    strategy = config.new_strategy()
    share = config.first_share
    first = [
        config.experiment(candidate.chromosome, seed, share=share)
        for candidate in strategy.ask()
        for seed in config.seeds(candidate.chromosome)
    ]
    scenarios = list(dict.fromkeys(s for e in first for s in e.scenarios))
    pairs = config.most_pairs()
    known = emulate.Campaign(engine=resolved, store=store).plan({"": scenarios})
    # Later generations are assumed to resemble the first, and long runs its short ones.
    in_first = sum(2 * count * length / share for length, count in pairs.items())
    more = in_first / len(scenarios) - 1
    first_s = emulate.measured_s(scenarios, resolved)
    return Plan(
        generations=strategy.sizes,
        scenarios=sum(strategy.sizes),
        runs=config.most_runs(),
        stored=known.stored,
        virtual_hours=known.virtual_hours * (1 + more),
        core_hours=known.core_hours + more * first_s / 3600,
        memory_bytes=known.memory_bytes,
    )
