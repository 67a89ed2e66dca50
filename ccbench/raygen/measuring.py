# SPDX-License-Identifier: Apache-2.0
"""Has experiments run side by side, and measures harm as soon as both runs of one are there."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from ccbench.errors import EngineError, InputError
from ccbench.harm import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from ccbench.harm import Experiment, HarmResult
    from ccbench.run import Run
    from ccbench.scenario import Scenario

__all__ = ["Measured", "RunMany", "measured", "work_mbit"]

_Key = TypeVar("_Key")

#: What it costs to start a run, as so many Mbit sent.
_START_UP_MBIT = 500.0


class RunMany(Protocol):
    """:func:`ccbench.emulate.run_many` with its engine, store and workers."""

    def __call__(
        self, scenarios: Sequence[Scenario], *, on_failure: Callable[[int, EngineError], None]
    ) -> Generator[tuple[int, Run], None, None]:
        """Run the scenarios."""


@dataclass(frozen=True, kw_only=True)
class Measured(Generic[_Key]):
    """What became of an experiment.

    Attributes
    ----------
    key
        Which it is.
    harm : HarmResult or None
        The harm; None if it failed.
    error : str
        Why it failed; empty if it did not.
    """

    key: _Key
    harm: HarmResult | None = None
    error: str = ""


def measured(
    experiments: Mapping[_Key, Experiment],
    run_many: RunMany,
    *,
    on_run: Callable[[Scenario], None],
) -> Iterator[Measured[_Key]]:
    """Run experiments and yield each as soon as it is complete, or cannot be any more.

    Parameters
    ----------
    experiments : mapping
        By keys of the caller's.
    run_many : callable
        What runs their scenarios; equal ones are run once.
    on_run : callable
        Is called with each scenario that is done or has failed.
    """
    pairs = _Pairs(experiments)
    # The longest first, so that no core waits for a long one at the end. The two runs of an
    # experiment stay neighbours.
    scenarios = sorted(pairs.scenarios, key=work_mbit, reverse=True)
    failed: list[tuple[Scenario, EngineError]] = []

    def on_failure(i: int, error: EngineError) -> None:
        failed.append((scenarios[i], error))

    def failures() -> Iterator[Measured[_Key]]:
        while failed:
            scenario, error = failed.pop(0)
            on_run(scenario)
            yield from pairs.fail(scenario, error)

    with closing(run_many(scenarios, on_failure=on_failure)) as results:
        for i, run in results:
            yield from failures()
            on_run(scenarios[i])
            yield from pairs.add(scenarios[i], run)
    yield from failures()


def work_mbit(scenario: Scenario) -> float:
    """Estimate what a run costs: the data that passes, and a start."""
    slowest = min(bottleneck.mean_mbps for bottleneck in scenario.bottlenecks)
    first_s = min(flow.start_s for flow in scenario.flows)  # until then time passes at no cost
    return _START_UP_MBIT + slowest * (scenario.duration_s - first_s)


class _Pairs(Generic[_Key]):
    """Brings the runs together that an experiment needs; some runs belong to several."""

    def __init__(self, experiments: Mapping[_Key, Experiment]) -> None:
        self._experiments = dict(experiments)
        self._waiting: dict[Scenario, list[_Key]] = {}
        self._runs: dict[Scenario, Run] = {}
        for key, experiment in experiments.items():
            for scenario in (experiment.solo, experiment.competing):
                self._waiting.setdefault(scenario, []).append(key)

    @property
    def scenarios(self) -> list[Scenario]:
        """What must be run, each scenario once."""
        return list(self._waiting)

    def add(self, scenario: Scenario, run: Run) -> list[Measured[_Key]]:
        """Take a run; return the experiments that it completes."""
        waiting = self._waiting[scenario]
        if waiting:  # those that did may all have been given up
            self._runs[scenario] = run
        complete = []
        for key in waiting:
            experiment = self._experiments[key]
            solo, competing = map(self._runs.get, (experiment.solo, experiment.competing))
            if solo is not None and competing is not None:
                complete.append((key, experiment, solo, competing))
        for key, *_ in complete:
            self._forget(key)
        return [_measured(*of_one) for of_one in complete]

    def fail(self, scenario: Scenario, error: EngineError) -> list[Measured[_Key]]:
        """Give up the experiments that need a run that failed."""
        given_up = list(self._waiting[scenario])
        for key in given_up:
            self._forget(key)
        return [Measured(key=key, error=str(error)) for key in given_up]

    def _forget(self, key: _Key) -> None:
        """Drop the runs that nobody needs any more: they are large."""
        experiment = self._experiments.pop(key)
        for scenario in (experiment.solo, experiment.competing):
            self._waiting[scenario].remove(key)
            if not self._waiting[scenario]:
                self._runs.pop(scenario, None)


def _measured(key: _Key, experiment: Experiment, solo: Run, competing: Run) -> Measured[_Key]:
    try:
        return Measured(key=key, harm=measure(solo, competing, experiment.measured_s))
    except InputError as error:  # the runs are to blame, not what the user wrote
        return Measured(key=key, error=str(error))
