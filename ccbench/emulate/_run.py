# SPDX-License-Identifier: Apache-2.0
"""Execution of one scenario."""

from __future__ import annotations

import logging
import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base import durable, validation
from ccbench.base.errors import InputError
from ccbench.emulate import _speed
from ccbench.emulate._machine import Machine
from ccbench.emulate.engine import CapturingEngine
from ccbench.emulate.registry import resolve
from ccbench.emulate.resources import check_room, size
from ccbench.emulate.store import Store
from ccbench.experiment.advice import advice
from ccbench.experiment.scenario import Scenario
from ccbench.run import conservation
from ccbench.run.captures import writer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ccbench.emulate.engine import Engine, Progress
    from ccbench.run.run import Run

__all__ = ["DEFAULT_STORE", "advise", "check_is_scenario", "make", "run"]

_log = logging.getLogger(__name__)

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
    capture: str | Path | None = None,
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
    capture : path, optional
        Where to write the headers of all packets: a file ``NAME.pcapng``, or a folder with a
        file for each point of the path. A stored run, which has none, is repeated. The engine must
        be a :class:`~ccbench.emulate.engine.CapturingEngine`.
    on_progress : callable, optional
        Called several times a second with the completed time of the scenario in seconds. An
        exception that it raises ends the run.
    machine : Machine, optional
        Available resources of this machine; by default those that are free.

    Raises
    ------
    InputError
        If the engine cannot run this scenario or capture packets, or the run exceeds the available
        memory or disk space.
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
    advise([scenario])
    needs, capture_path = engine.needs(scenario), None
    if capture is not None:
        capture_path = writer.check_path(capture, scenario)
        machine = machine or Machine.here()
        capture_bytes = _checked_capture_bytes(scenario, engine, capture_path, machine.scratch)
        needs = replace(needs, scratch_bytes=needs.scratch_bytes + capture_bytes)
    elif store is not None and not fresh and (stored := store.get(scenario, engine)) is not None:
        return stored
    check_room(needs, machine or Machine.here())
    return make(
        scenario,
        engine=engine,
        store=store,
        fresh=fresh,
        capture=capture_path,
        on_progress=on_progress,
    )


def advise(scenarios: Iterable[Scenario]) -> None:
    """Log the advice about some scenarios, stored or not, each line once."""
    for line in dict.fromkeys(line for scenario in scenarios for line in advice(scenario)):
        _log.warning("%s", line)


def _checked_capture_bytes(scenario: Scenario, engine: Engine, path: Path, scratch: Path) -> float:
    """Return the maximum size of a capture, after checking that there is room for it.

    A capture is written from records in the folder `scratch`, which are removed afterwards.
    """
    if not isinstance(engine, CapturingEngine):
        message = f"the engine {engine.name} cannot capture packets"
        raise InputError(f"{message}: use the engine kernel, or leave out the capture")
    needed = engine.capture_bytes(scenario)
    folder = durable.existing(path.absolute().parent)
    free = shutil.disk_usage(folder).free
    is_twice = folder.stat().st_dev == durable.existing(scratch).stat().st_dev
    if needed * (1 + is_twice) > free:
        until = f", twice as much until it is complete (records in {scratch})" if is_twice else ""
        raise InputError(
            f"the capture {path} takes up to {size(needed)}{until}, and {size(free)} are free in "
            f"{folder}: make room there, name another place, or lower duration_s or the bandwidth"
        )
    return needed


def make(  # noqa: PLR0913 - choices that are independent, all by keyword
    scenario: Scenario,
    *,
    engine: Engine,
    store: Store | None,
    fresh: bool,
    on_progress: Progress | None,
    capture: Path | None = None,
) -> Run:
    """Execute and store a run after the checks and the store lookup of :func:`run`."""
    if store is None:
        return _executed(scenario, engine, on_progress, capture)

    def waiting() -> None:
        if on_progress is not None:
            on_progress(0.0)

    with store.claim(scenario, engine, waiting=waiting):
        is_enough = not fresh and capture is None
        if is_enough and (stored := store.get(scenario, engine)) is not None:
            return stored  # by another process meanwhile
        result = _executed(scenario, engine, on_progress, capture)
        if not result.is_late:  # repeating a late run may help
            store.put(result, overwrite=fresh)
    return result


def _executed(
    scenario: Scenario, engine: Engine, on_progress: Progress | None, capture: Path | None
) -> Run:
    """Run a scenario and check the result.

    The machine's speed is recorded unless the run also captures packets.
    """
    if capture is not None:
        assert isinstance(engine, CapturingEngine)  # checked before
        result = engine.capture(scenario, capture, on_progress=on_progress)
        conservation.check(result)
        return result
    began_s = time.monotonic()
    result = engine.run(scenario, on_progress=on_progress)
    conservation.check(result)
    _speed.learn(engine.name, engine.needs(scenario).work, time.monotonic() - began_s)
    return result
