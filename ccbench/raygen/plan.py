# SPDX-License-Identifier: Apache-2.0
"""What a search will do, and how long that will take: without doing it."""

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
    """What a search will do.

    Attributes
    ----------
    generations : tuple of int
        How many scenarios each generation tries.
    scenarios : int
        How many that are in all.
    runs : int
        The most runs: a solo and a competing one for each scenario and seed, with those of the most
        harmful ones that are run again. Scenarios that are alike in some way share runs.
    stored : int
        How many runs of the first generation, which alone is known, the store has.
    virtual_hours : float
        Length of all runs in hours of their own time; in real time they would take so long.
    core_hours : float
        How long one core is expected to take for those that are not stored, in hours.
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
    """Say what a search will do, and how long it takes by the runs that this machine has made.

    If it has made none, it makes part of one.

    Raises
    ------
    InputError
        If the engine cannot run such scenarios.

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
    known = list(dict.fromkeys(s for e in first for s in (e.solo, e.competing)))
    runs = config.most_runs()
    # Later generations are taken to be like the first.
    mean_s = sum(scenario.duration_s for scenario in known) / len(known)
    mean_run_s = emulate.measured_s(known, resolved) / len(known)
    stored = [s for s in known if store is not None and store.has(s, resolved)]
    left_s = runs * mean_run_s - emulate.measured_s(stored, resolved)
    return Plan(
        generations=strategy.sizes,
        scenarios=sum(strategy.sizes),
        runs=runs,
        stored=len(stored),
        virtual_hours=runs * mean_s / 3600,
        core_hours=left_s / 3600,
    )
