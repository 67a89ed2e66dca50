# SPDX-License-Identifier: Apache-2.0
"""Repetition of a scenario with several seeds."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from ccbench.emulate._run import DEFAULT_STORE, check_is_scenario
from ccbench.emulate._run_many import run_many

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from ccbench.emulate.engine import Engine
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
) -> RepeatedRun:
    """Run a scenario with several seeds and return the medians of the results.

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
    6... (... to ...)
    """
    # Avoids the import of pandas by users of other functions.
    from ccbench.run.repetition import RepeatedRun, Repetition, repetitions  # noqa: PLC0415

    check_is_scenario("scenario", scenario)
    completed: dict[int, Repetition] = {}
    results = run_many(
        repetitions(scenario, count),
        engine=engine,
        executor=executor,
        jobs=jobs,
        store=store,
        fresh=fresh,
    )
    with closing(results):
        for i, run in results:
            completed[i] = Repetition.of(run)
            if on_run is not None:
                on_run(i, run)
    return RepeatedRun(scenario=scenario, repetitions=tuple(completed[i] for i in range(count)))
