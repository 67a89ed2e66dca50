# SPDX-License-Identifier: Apache-2.0
"""Plan of a search with its expected time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ccbench import emulate

if TYPE_CHECKING:
    from ccbench.emulate import Engine, Store
    from ccbench.raygen.config import SearchConfig

__all__ = ["Plan", "plan"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The number of runs of a search and their expected time.

    Attributes
    ----------
    generations : tuple of int
        Number of scenarios in each generation.
    scenarios : int
        Total number of scenarios.
    runs : int
        Maximum number of runs: a solo and a competing run for each scenario and seed, including the
        further and fresh seeds. Scenarios can share runs.
    stored : int
        Number of stored runs of the first generation; later generations are not known yet.
    virtual_hours : float
        Length of all runs in hours of virtual time: their duration in real time.
    core_hours : float
        Expected time of the runs that are not stored on one core, in hours.
    """

    generations: tuple[int, ...]
    scenarios: int
    runs: int
    stored: int
    virtual_hours: float
    core_hours: float

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as a dictionary of plain values."""
        return asdict(self)


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
    750
    """
    resolved = emulate.resolve(engine)
    config.check(resolved)
    strategy = config.new_strategy()
    first = [
        config.experiment(candidate.chromosome, seed)
        for candidate in strategy.ask()
        for seed in config.seeds(candidate.chromosome)
    ]
    scenarios = list(dict.fromkeys(s for e in first for s in e.scenarios))
    runs = config.most_runs()
    # Later generations are assumed to resemble the first.
    mean_s = sum(scenario.duration_s for scenario in scenarios) / len(scenarios)
    mean_run_s = emulate.measured_s(scenarios, resolved) / len(scenarios)
    stored = [s for s in scenarios if store is not None and store.has(s, resolved)]
    left_s = runs * mean_run_s - emulate.measured_s(stored, resolved)
    return Plan(
        generations=strategy.sizes,
        scenarios=sum(strategy.sizes),
        runs=runs,
        stored=len(stored),
        virtual_hours=runs * mean_s / 3600,
        core_hours=left_s / 3600,
    )
