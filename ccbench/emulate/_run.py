# SPDX-License-Identifier: Apache-2.0
"""Execution of one scenario."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.emulate import _speed
from ccbench.emulate._machine import Machine
from ccbench.emulate.registry import resolve
from ccbench.emulate.resources import check_room
from ccbench.emulate.store import Store
from ccbench.experiment.scenario import Scenario

if TYPE_CHECKING:
    from ccbench.emulate.engine import Engine, Progress
    from ccbench.run.run import Run

__all__ = ["DEFAULT_STORE", "check_is_scenario", "make", "run"]

#: The store in the user's cache folder.
DEFAULT_STORE: Store = Store()


def check_is_scenario(field: str, value: object) -> None:
    """Check that a value is a Scenario, and not a path or a list."""
    if not isinstance(value, Scenario):
        step = "load a file with Scenario.load(path); run_many takes a list of scenarios"
        raise validation.bad(field, value, "a Scenario", step)


def run(  # noqa: PLR0913 - choices that are independent, all by keyword
    scenario: Scenario,
    *,
    engine: str | Engine = "kernel",
    store: Store | None = DEFAULT_STORE,
    fresh: bool = False,
    on_progress: Progress | None = None,
    machine: Machine | None = None,
) -> Run:
    """Run a scenario, or return its stored run.

    If another process is executing the same run for the same store, wait for its result.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    engine : str or Engine
        The engine.
    store : Store or None
        Store for looking up and storing runs; None for no store.
    fresh : bool
        Whether to repeat a stored run and replace it.
    on_progress : callable, optional
        Called several times a second with the completed time of the scenario in seconds. An
        exception that it raises ends the run.
    machine : Machine, optional
        Available resources of this machine; by default those that are free.

    Raises
    ------
    InputError
        If the engine cannot run this scenario, or it exceeds the available memory or scratch space.
    MissingRequirement
        If the engine is not installed.
    EngineError
        If the run fails.

    Examples
    --------
    >>> run(Scenario.load("examples/bbr-vs-cubic.toml")).summary()  # doctest: +SKIP
    """
    check_is_scenario("scenario", scenario)
    engine = resolve(engine)
    engine.check(scenario)
    if store is not None and not fresh and (stored := store.get(scenario, engine)) is not None:
        return stored
    check_room(engine.needs(scenario), machine or Machine.here())
    return make(scenario, engine=engine, store=store, fresh=fresh, on_progress=on_progress)


def make(
    scenario: Scenario,
    *,
    engine: Engine,
    store: Store | None,
    fresh: bool,
    on_progress: Progress | None,
) -> Run:
    """Execute and store a run after the checks and the store lookup of :func:`run`."""
    if store is None:
        return _timed(scenario, engine, on_progress)

    def waiting() -> None:
        if on_progress is not None:
            on_progress(0.0)

    with store.claim(scenario, engine, waiting=waiting):
        if not fresh and (stored := store.get(scenario, engine)) is not None:
            return stored  # by another process meanwhile
        result = _timed(scenario, engine, on_progress)
        if not result.is_late:  # repeating a late run may help
            store.put(result, overwrite=fresh)
    return result


def _timed(scenario: Scenario, engine: Engine, on_progress: Progress | None) -> Run:
    """Run a scenario and record the machine's speed."""
    began_s = time.monotonic()
    result = engine.run(scenario, on_progress=on_progress)
    _speed.learn(engine.name, engine.needs(scenario).work, time.monotonic() - began_s)
    return result
