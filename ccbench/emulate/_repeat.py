# SPDX-License-Identifier: Apache-2.0
"""Repetition of a scenario with several seeds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ccbench.emulate._run import DEFAULT_STORE, check_is_scenario
from ccbench.emulate.campaign import Campaign

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from ccbench.emulate.engine import Engine
    from ccbench.emulate.progress import CampaignProgress
    from ccbench.emulate.store import Store
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.repetition import RepeatedRun
    from ccbench.run.run import Run

__all__ = ["repeat"]


def repeat(  # noqa: PLR0913 - choices that are independent, all by keyword
    scenario: Scenario,
    count: int,
    *,
    engine: str | Engine = "kernel",
    executor: Executor | None = None,
    jobs: int | None = None,
    store: Store | None = DEFAULT_STORE,
    fresh: bool = False,
    on_run: Callable[[int, Run], None] | None = None,
    on_progress: Callable[[CampaignProgress], None] | None = None,
) -> RepeatedRun:
    """Run a scenario with several seeds and return the medians of the results.

    If nothing in the first run draws a random number, it is the only one.

    Parameters
    ----------
    scenario : Scenario
        The scenario; its seed is that of the first repetition.
    count : int
        Number of repetitions, 1 or more.
    engine, executor, jobs, store, fresh
        As in :func:`run_many`.
    on_run : callable, optional
        Called with the index of each repetition, from 0, and its run as soon as it is complete.
        Runs are not kept in memory.
    on_progress : callable, optional
        As in a :class:`~ccbench.emulate.Campaign`.

    Raises
    ------
    InputError
        If the engine cannot run this scenario, or `count` is below 1.
    EngineError
        If a run fails; no repetition is omitted.

    Examples
    --------
    >>> repeated = repeat(Scenario.load("examples/bbr-vs-cubic.toml"), 2)  # doctest: +SKIP
    >>> flows = repeated.estimates(lambda repetition: repetition.flows)  # doctest: +SKIP
    >>> print(flows.loc[0, "throughput_mbps"])  # doctest: +SKIP
    5... (... to ...)
    """
    # Avoids the import of pandas by users of other functions.
    from ccbench.run.repetition import RepeatedRun, Repetition, repetitions  # noqa: PLC0415

    check_is_scenario("scenario", scenario)
    seeds = [repetition.seed for repetition in repetitions(scenario, count)]
    execution: dict[str, Any] = {"engine": engine, "executor": executor, "jobs": jobs}
    campaign = Campaign(**execution, store=store, fresh=fresh, on_progress=on_progress)

    def measure(key: tuple[str, int], run: Run) -> Repetition:
        if on_run is not None:
            on_run(key[1], run)
        return Repetition.of(run)

    repeated = campaign.repeated(
        {"": lambda seed: (replace(scenario, seed=seed),)},
        {"": seeds},
        measure,
        named=lambda key: f"repetition {key[1]}",
    )[""]
    return RepeatedRun(scenario=scenario, repetitions=repeated.results)
