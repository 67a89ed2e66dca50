# SPDX-License-Identifier: Apache-2.0
"""One scenario."""

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
    """Make sure that what is to be run is a Scenario, and no path or list of them."""
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
    """Run a scenario, or return what came of it the last time.

    If another process is running it just now for the same store, that one's result is awaited.

    Parameters
    ----------
    scenario : Scenario
        What to run.
    engine : str or Engine
        What runs it.
    store : Store or None
        Where finished runs are kept and looked up; None: nowhere.
    fresh : bool
        Whether to run even if the store has this run; the new one then takes its place.
    on_progress : callable, optional
        Is called with the seconds of the scenario that are done, several times a second. An
        exception that it raises ends the run.
    machine : Machine, optional
        What it may take of this machine; left out, what is free.

    Returns
    -------
    Run
        What happened.

    Raises
    ------
    InputError
        If the engine cannot run this scenario, or it takes more memory or scratch space than it
        may.
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
    """Do the work of :func:`run`, once that has found neither a fault nor a stored run."""
    if store is None:
        return _timed(scenario, engine, on_progress)

    def waiting() -> None:
        if on_progress is not None:
            on_progress(0.0)

    with store.claim(scenario, engine, waiting=waiting):
        if not fresh and (stored := store.get(scenario, engine)) is not None:
            return stored  # somebody else has made it meanwhile
        result = _timed(scenario, engine, on_progress)
        if not result.is_late:  # the next time may be better
            store.put(result, overwrite=fresh)
    return result


def _timed(scenario: Scenario, engine: Engine, on_progress: Progress | None) -> Run:
    """Run a scenario, and note how fast this machine is."""
    began_s = time.monotonic()
    result = engine.run(scenario, on_progress=on_progress)
    _speed.learn(engine.name, engine.needs(scenario).work, time.monotonic() - began_s)
    return result
