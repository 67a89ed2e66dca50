# SPDX-License-Identifier: Apache-2.0
"""Runs that belong together: several for each result, run side by side."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from ccbench.emulate._load import work_mbit

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from ccbench.base.errors import EngineError
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["Gathered", "RunMany", "gather"]

_Key = TypeVar("_Key")


class RunMany(Protocol):
    """:func:`ccbench.emulate.run_many` with its engine, store and workers."""

    def __call__(
        self, scenarios: Sequence[Scenario], *, on_failure: Callable[[int, EngineError], None]
    ) -> Generator[tuple[int, Run], None, None]:
        """Run the scenarios."""


@dataclass(frozen=True, kw_only=True)
class Gathered(Generic[_Key]):
    """The runs of one result.

    Attributes
    ----------
    key
        Which result.
    runs : tuple of Run
        One for each of its scenarios, in their order; empty if one failed.
    error : EngineError or None
        Why it failed; None if it did not.
    """

    key: _Key
    runs: tuple[Run, ...] = ()
    error: EngineError | None = None


def gather(
    needs: Mapping[_Key, Sequence[Scenario]],
    run_many: RunMany,
    *,
    on_run: Callable[[Scenario], None],
) -> Iterator[Gathered[_Key]]:
    """Run scenarios and yield each result's runs as soon as all are there, or one has failed.

    Parameters
    ----------
    needs : mapping
        The scenarios of each result, by keys of the caller's. Equal scenarios are run once.
    run_many : callable
        What runs them.
    on_run : callable
        Is called with each scenario that is done or has failed.

    Yields
    ------
    Gathered
        In the order in which they are complete. Runs are dropped when no result needs them any
        more, as they are large.

    Examples
    --------
    >>> needs = {"bbr": (experiment.solo, experiment.competing)}  # doctest: +SKIP
    >>> for one in gather(needs, run_many, on_run=print):  # doctest: +SKIP
    ...     print(one.key, one.runs)
    """
    waiting = _Waiting(needs)
    # The longest first, so that no core waits for a long one at the end. The runs of a result stay
    # neighbours.
    scenarios = sorted(waiting.scenarios, key=work_mbit, reverse=True)
    failed: list[tuple[Scenario, EngineError]] = []

    def on_failure(i: int, error: EngineError) -> None:
        failed.append((scenarios[i], error))

    def failures() -> Iterator[Gathered[_Key]]:
        while failed:
            scenario, error = failed.pop(0)
            on_run(scenario)
            yield from waiting.fail(scenario, error)

    with closing(run_many(scenarios, on_failure=on_failure)) as results:
        for i, run in results:
            yield from failures()
            on_run(scenarios[i])
            yield from waiting.add(scenarios[i], run)
    yield from failures()


class _Waiting(Generic[_Key]):
    """Results that are not complete, and the runs that they have."""

    def __init__(self, needs: Mapping[_Key, Sequence[Scenario]]) -> None:
        self._needs = {key: tuple(scenarios) for key, scenarios in needs.items()}
        self._waiting: dict[Scenario, list[_Key]] = {}
        self._runs: dict[Scenario, Run] = {}
        for key, scenarios in self._needs.items():
            for scenario in dict.fromkeys(scenarios):
                self._waiting.setdefault(scenario, []).append(key)

    @property
    def scenarios(self) -> list[Scenario]:
        """What must be run, each scenario once."""
        return list(self._waiting)

    def add(self, scenario: Scenario, run: Run) -> list[Gathered[_Key]]:
        """Take a run; return the results that it completes."""
        waiting = self._waiting[scenario]
        if waiting:  # those that did may all have been given up
            self._runs[scenario] = run
        complete = [
            Gathered(key=key, runs=tuple(self._runs[one] for one in self._needs[key]))
            for key in waiting
            if all(one in self._runs for one in self._needs[key])
        ]
        for result in complete:
            self._forget(result.key)
        return complete

    def fail(self, scenario: Scenario, error: EngineError) -> list[Gathered[_Key]]:
        """Give up the results that need a run that failed."""
        given_up = list(self._waiting[scenario])
        for key in given_up:
            self._forget(key)
        return [Gathered(key=key, error=error) for key in given_up]

    def _forget(self, key: _Key) -> None:
        """Drop the runs that no other result needs."""
        for scenario in dict.fromkeys(self._needs.pop(key)):
            self._waiting[scenario].remove(key)
            if not self._waiting[scenario]:
                self._runs.pop(scenario, None)
