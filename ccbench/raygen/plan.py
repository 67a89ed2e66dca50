# SPDX-License-Identifier: Apache-2.0
"""What a search will do, and how long that will take: without doing it."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ccbench import emulate
from ccbench.raygen.measuring import work_mbit

if TYPE_CHECKING:
    from ccbench.emulate import Engine, Store
    from ccbench.raygen.config import SearchConfig

__all__ = ["Plan", "plan"]

#: How much of a run is made to see how fast this machine is: enough for the start not to matter.
_SAMPLE_MBIT = 4000.0


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
        The most runs: a solo and a competing one for each scenario and seed, and for the most
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
    """Say what a search will do, and measure for a moment how fast the engine is.

    Raises
    ------
    InputError
        If the engine cannot run such scenarios.

    Examples
    --------
    >>> from ccbench.raygen import SearchConfig
    >>> plan(SearchConfig(alpha="bbr", beta="cubic")).runs  # doctest: +SKIP
    630
    """
    resolved = emulate.resolve(engine)
    config.check(resolved)
    strategy = config.new_strategy()
    first = [
        config.experiment(candidate.chromosome, seed)
        for candidate in strategy.ask()
        for seed in config.seeds
    ]
    known = list(dict.fromkeys(s for e in first for s in (e.solo, e.competing)))
    # The one in the middle stands for all that make the machine slow or fast.
    typical = sorted(known, key=work_mbit)[len(known) // 2]
    started_s = max(flow.start_s for flow in typical.flows)
    enough_s = started_s + _SAMPLE_MBIT / typical.bottlenecks[0].mean_mbps
    stop_s = max(flow.stop_s or 0.0 for flow in typical.flows)
    sample = replace(typical, duration_s=min(max(enough_s, stop_s), typical.duration_s))
    before_s = time.monotonic()
    resolved.run(sample)
    s_per_mbit = (time.monotonic() - before_s) / work_mbit(sample)
    runs = config.most_runs
    # Later generations are taken to be like the first.
    mean_s = sum(scenario.duration_s for scenario in known) / len(known)
    mean_mbit = sum(map(work_mbit, known)) / len(known)
    stored = [s for s in known if store is not None and store.has(s, resolved)]
    left_mbit = runs * mean_mbit - sum(map(work_mbit, stored))
    return Plan(
        generations=strategy.sizes,
        scenarios=strategy.planned,
        runs=runs,
        stored=len(stored),
        virtual_hours=runs * mean_s / 3600,
        core_hours=left_mbit * s_per_mbit / 3600,
    )
