# SPDX-License-Identifier: Apache-2.0
"""Parallel runs grouped by the results that need them."""

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
    """:func:`ccbench.emulate.run_many` with bound engine, store and workers."""

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
        Key of the result.
    runs : tuple of Run
        The run of each of its scenarios, in order; empty if one failed.
    error : EngineError or None
        The error of a failed run, or None.
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
    """Run scenarios and yield the runs of each result once all are complete or one has failed.

    Parameters
    ----------
    needs : mapping
        The scenarios of each result by the caller's keys. Equal scenarios run once.
    run_many : callable
        Runs the scenarios.
    on_run : callable
        Called with each completed or failed scenario.

    Yields
    ------
    Gathered
        The results in the order of completion. Runs are large, and are dropped when no other result
        needs them.

    Examples
    --------
    >>> needs = {"bbr": (experiment.solo, experiment.competing)}  # doctest: +SKIP
    >>> for result in gather(needs, run_many, on_run=print):  # doctest: +SKIP
    ...     print(result.key, result.runs)
    """
    waiting = _Waiting(needs)
    # Longest first, so that cores do not idle during a long last run. The sort is stable, so the
    # runs of a result stay adjacent.
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
    """Incomplete results and their completed runs."""

    def __init__(self, needs: Mapping[_Key, Sequence[Scenario]]) -> None:
        self._needs = {key: tuple(scenarios) for key, scenarios in needs.items()}
        self._waiting: dict[Scenario, list[_Key]] = {}
        self._runs: dict[Scenario, Run] = {}
        for key, scenarios in self._needs.items():
            for scenario in dict.fromkeys(scenarios):
                self._waiting.setdefault(scenario, []).append(key)

    @property
    def scenarios(self) -> list[Scenario]:
        """The scenarios to run, each once."""
        return list(self._waiting)

    def add(self, scenario: Scenario, run: Run) -> list[Gathered[_Key]]:
        """Add a run and return the results that it completes."""
        waiting = self._waiting[scenario]
        if waiting:  # all results that need it may have failed
            self._runs[scenario] = run
        complete = [
            Gathered(key=key, runs=tuple(self._runs[needed] for needed in self._needs[key]))
            for key in waiting
            if all(needed in self._runs for needed in self._needs[key])
        ]
        for result in complete:
            self._drop(result.key)
        return complete

    def fail(self, scenario: Scenario, error: EngineError) -> list[Gathered[_Key]]:
        """Return the failed results that need a failed run."""
        failed = list(self._waiting[scenario])
        for key in failed:
            self._drop(key)
        return [Gathered(key=key, error=error) for key in failed]

    def _drop(self, key: _Key) -> None:
        """Drop a result, and its runs that no other result needs."""
        for scenario in dict.fromkeys(self._needs.pop(key)):
            self._waiting[scenario].remove(key)
            if not self._waiting[scenario]:
                self._runs.pop(scenario, None)
