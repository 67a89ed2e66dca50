# SPDX-License-Identifier: Apache-2.0
"""Campaigns: many results, each from one or more runs, with one plan and one rule for failures.

A campaign resumes when it is started again, because finished runs are in the store.
"""

from __future__ import annotations

import itertools
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ccbench.base.errors import EngineError, InputError
from ccbench.base.failures import raise_failures
from ccbench.emulate._load import work_mbit
from ccbench.emulate._machine import Machine
from ccbench.emulate._run import DEFAULT_STORE
from ccbench.emulate._run_many import run_many
from ccbench.emulate._work import measured_s
from ccbench.emulate.progress import CampaignProgress, Tally
from ccbench.emulate.registry import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from ccbench.emulate.engine import Engine
    from ccbench.emulate.policies import Policy
    from ccbench.emulate.store import Store
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["Campaign", "CampaignPlan", "Gathered", "Outcome", "Repeated"]

_Key = TypeVar("_Key", bound="Hashable")
_Result = TypeVar("_Result")


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


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[_Result]):
    """The result of a measurement, or the error.

    Attributes
    ----------
    value : tuple
        The result; empty if a run failed, or could not be measured.
    is_exact : bool
        Whether every seed gives the same runs.
    error : EngineError or None
    """

    value: tuple[_Result, ...] = ()
    is_exact: bool = False
    error: EngineError | None = None

    @property
    def result(self) -> _Result:
        """The result, if there is no error."""
        return self.value[0]


@dataclass(frozen=True, kw_only=True)
class Repeated(Generic[_Result]):
    """Results of one case with several seeds.

    Attributes
    ----------
    results : tuple
        In the order of the seeds; if the case is exact, only that of the first seed.
    is_exact : bool
        Whether every seed gives the same runs:
        :attr:`Run.is_exact <ccbench.run.run.Run.is_exact>`.
    """

    results: tuple[_Result, ...]
    is_exact: bool

    def of(self, repetition: int) -> _Result:
        """Return the result of a repetition, from 0."""
        return self.results[0 if self.is_exact else repetition]


@dataclass(frozen=True, kw_only=True)
class CampaignPlan:
    """The extent and the expected cost of a campaign.

    Attributes
    ----------
    runs : int
        Number of distinct runs.
    stored : int
        Number of these runs in the store.
    virtual_hours : float
        Duration of all runs in hours of virtual time.
    core_hours : float
        Expected time of one core for the runs that are not stored, in hours.
    memory_bytes : int
        Memory that the largest run needs.
    """

    runs: int
    stored: int
    virtual_hours: float
    core_hours: float
    memory_bytes: int

    @staticmethod
    def total(plans: Iterable[CampaignPlan]) -> CampaignPlan:
        """Return the plan of several campaigns, one after the other."""
        own = tuple(plans)
        return CampaignPlan(
            runs=sum(plan.runs for plan in own),
            stored=sum(plan.stored for plan in own),
            virtual_hours=sum(plan.virtual_hours for plan in own),
            core_hours=sum(plan.core_hours for plan in own),
            memory_bytes=max((plan.memory_bytes for plan in own), default=0),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as a dictionary of plain values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True, eq=False)
class Campaign:
    """Engine, store and workers of many runs.

    Parameters
    ----------
    engine, store, executor, jobs, fresh
        As in :func:`ccbench.emulate.run_many`.
    on_progress : callable, optional
        Called with a :class:`~ccbench.emulate.progress.CampaignProgress` after each run. An
        exception that it raises ends the campaign.

    Examples
    --------
    >>> campaign = Campaign(jobs=2)  # doctest: +SKIP
    >>> needs = {"bbr": experiment.scenarios}  # doctest: +SKIP
    >>> for result in campaign.gathered(needs):  # doctest: +SKIP
    ...     print(result.key, result.runs)
    """

    engine: str | Engine = "kernel"
    store: Store | None = DEFAULT_STORE
    executor: Executor | None = None
    jobs: int | None = None
    fresh: bool = False
    on_progress: Callable[[CampaignProgress], None] | None = None
    _tally: Tally = field(default_factory=Tally, init=False, repr=False)

    def plan(self, needs: Mapping[_Key, Sequence[Scenario]]) -> CampaignPlan:
        """Return the extent of the runs and their expected cost, based on earlier runs.

        Without earlier runs on this machine, the speed is measured with part of a run.

        Raises
        ------
        InputError
            If the engine cannot run a scenario.
        """
        engine = resolve(self.engine)
        runs = list(dict.fromkeys(itertools.chain(*needs.values())))
        self.check(runs)
        missing = [run for run in runs if not self._has(run, engine)]
        machine = Machine.here()
        peaks = [engine.needs(run).peak_bytes(machine) for run in runs]
        return CampaignPlan(
            runs=len(runs),
            stored=len(runs) - len(missing),
            virtual_hours=sum(run.duration_s for run in runs) / 3600,
            core_hours=measured_s(missing, engine) / 3600,
            memory_bytes=round(max(peaks, default=0)),
        )

    def seeded(
        self,
        cases: Mapping[_Key, Callable[[int], Sequence[Scenario]]],
        seeds: Mapping[_Key, Sequence[int]],
    ) -> dict[tuple[_Key, int], tuple[Scenario, ...]]:
        """Return the needs of :meth:`repeated` for :meth:`plan`: at most so many runs.

        Repetitions of cases that stored runs prove to be exact are left out.
        """
        engine = resolve(self.engine)
        needs: dict[tuple[_Key, int], tuple[Scenario, ...]] = {}
        for key, scenarios in cases.items():
            first = tuple(scenarios(seeds[key][0]))
            several = seeds[key][:1] if self._is_exact(first, engine) else seeds[key]
            needs |= {(key, i): tuple(scenarios(seed)) for i, seed in enumerate(several)}
        return needs

    def _is_exact(self, scenarios: Sequence[Scenario], engine: Engine) -> bool:
        """Return whether stored runs prove that every seed gives the same ones."""
        if self.store is None or any(each.draws_at_random for each in scenarios):
            return False
        if not all(self._has(each, engine) for each in scenarios):
            return False
        stored = [self.store.get(each, engine) for each in scenarios]
        return all(run is not None and run.is_exact for run in stored)

    def check(self, scenarios: Iterable[Scenario]) -> None:
        """Check that the engine can run all scenarios.

        Raises
        ------
        InputError
            If it cannot.
        """
        engine = resolve(self.engine)
        for scenario in dict.fromkeys(scenarios):
            engine.check(scenario)

    def _has(self, run: Scenario, engine: Engine) -> bool:
        return self.store is not None and not self.fresh and self.store.has(run, engine)

    def expect(self, runs: int) -> CampaignProgress:
        """Expect so many runs after the planned ones, and return the present progress."""
        return self._tally.expect(runs)

    def gathered(self, needs: Mapping[_Key, Sequence[Scenario]]) -> Iterator[Gathered[_Key]]:
        """Run scenarios and yield the runs of each result once all are complete or one has failed.

        Parameters
        ----------
        needs : mapping
            The scenarios of each result by the caller's keys. Equal scenarios run once.

        Yields
        ------
        Gathered
            The results in the order of completion. Runs are large, and are dropped when no other
            result needs them.
        """
        waiting = _Waiting(needs)

        def report(scenario: Scenario) -> None:
            now = self._tally.finish(scenario)
            if self.on_progress is not None:
                self.on_progress(now)

        # Longest first, so that cores do not idle during a long last run. The sort is stable, so
        # the runs of a result stay adjacent.
        scenarios = sorted(waiting.scenarios, key=work_mbit, reverse=True)
        self._tally.add(scenarios)
        failed: list[tuple[Scenario, EngineError]] = []

        def on_failure(i: int, error: EngineError) -> None:
            failed.append((scenarios[i], error))

        def failures() -> Iterator[Gathered[_Key]]:
            while failed:
                scenario, error = failed.pop(0)
                report(scenario)
                yield from waiting.fail(scenario, error)

        runs = run_many(
            scenarios,
            engine=self.engine,
            executor=self.executor,
            jobs=self.jobs,
            store=self.store,
            fresh=self.fresh,
            on_failure=on_failure,
        )
        with closing(runs) as results:
            for i, run in results:
                yield from failures()
                report(scenarios[i])
                yield from waiting.add(scenarios[i], run)
        yield from failures()

    def measured(
        self,
        needs: Mapping[_Key, Sequence[Scenario]],
        measure: Callable[..., _Result],
        *,
        named: Callable[[_Key], str] = str,
    ) -> dict[_Key, _Result]:
        """Run scenarios, measure each result, and return all of them in the order of `needs`.

        Parameters
        ----------
        needs
            As in :meth:`gathered`.
        measure : callable
            Converts a key and its runs to a result.
        named : callable
            Returns the name of a result for errors.

        Raises
        ------
        EngineError
            If a run fails or cannot be measured. All others are finished and stored; the error
            names each failed result with its reason.
        """
        results = dict(self.streamed(needs, measure, named=named))
        return {key: results[key] for key in needs}

    def streamed(
        self,
        needs: Mapping[_Key, Sequence[Scenario]],
        measure: Callable[..., _Result],
        *,
        named: Callable[[_Key], str] = str,
    ) -> Iterator[tuple[_Key, _Result]]:
        """Yield each key with its result as soon as it is complete; see :meth:`measured`."""
        outcomes: dict[_Key, Outcome[Any]] = {}
        for key, outcome in self.outcomes(needs, measure):
            outcomes[key] = Outcome(error=outcome.error)
            if outcome.error is None:
                yield key, outcome.result
        _raise_failures(outcomes, needs, named)

    def repeated(
        self,
        cases: Mapping[_Key, Callable[[int], Sequence[Scenario]]],
        seeds: Mapping[_Key, Sequence[int]],
        measure: Callable[..., _Result],
        *,
        policy: Policy | None = None,
        named: Callable[[tuple[_Key, int]], str] = str,
    ) -> dict[_Key, Repeated[_Result]]:
        """Run and measure cases with several seeds each.

        A case without anything random runs with its first seed only, which every seed would repeat.

        Parameters
        ----------
        cases : mapping of callable
            The scenarios of each case with a seed.
        seeds : mapping
            The seeds of each case, enough for the policy.
        measure : callable
            Converts a pair of a case's key and the position of a seed, and the runs, to a result.
        policy : callable, optional
            Returns the number of repetitions of each case by the results so far, see
            :mod:`ccbench.emulate.policies`. Default: all seeds.
        named
            As in :meth:`measured`, of such pairs.

        Raises
        ------
        EngineError
            As in :meth:`measured`.
        """
        results: dict[_Key, list[_Result]] = {key: [] for key in cases}
        exact: set[_Key] = set()
        outcomes: dict[tuple[_Key, int], Outcome[_Result]] = {}
        while True:
            counts = {key: len(seeds[key]) for key in cases} if policy is None else policy(results)
            needs = {
                (key, i): tuple(cases[key](seeds[key][i]))
                for key, own in results.items()
                if key not in exact
                for i in range(len(own), counts[key])
            }
            random = {pair[0] for pair, own in needs.items() if any(map(_draws, own))}
            first = {pair: own for pair, own in needs.items() if pair[1] == 0 or pair[0] in random}
            needs = first or needs
            if not needs:
                break
            new = dict(self.outcomes(needs, measure))
            outcomes |= {pair: new[pair] for pair in needs}
            for pair in needs:
                if new[pair].error is not None:  # the others go on without this case
                    results.pop(pair[0], None)
                elif pair[0] in results:
                    results[pair[0]].append(new[pair].result)
            exact |= {
                key for key, i in needs if not i and key not in random and new[key, 0].is_exact
            }
        _raise_failures(outcomes, outcomes, named)
        return {
            key: Repeated(results=tuple(own), is_exact=key in exact) for key, own in results.items()
        }

    def outcomes(
        self,
        needs: Mapping[_Key, Sequence[Scenario]],
        measure: Callable[..., _Result],
    ) -> Iterator[tuple[_Key, Outcome[_Result]]]:
        """Yield each key with its result or error as soon as it is complete or has failed.

        Parameters
        ----------
        needs
            As in :meth:`gathered`.
        measure : callable
            Converts a key and its runs to a result.
        """
        for each in self.gathered(needs):
            outcome: Outcome[_Result] = Outcome(error=each.error)
            if each.error is None:
                try:
                    result = measure(each.key, *each.runs)
                    is_exact = all(run.is_exact for run in each.runs)
                    outcome = Outcome(value=(result,), is_exact=is_exact)
                except EngineError as error:
                    outcome = Outcome(error=error)
                except InputError as error:  # caused by the runs, not by the user's input
                    outcome = Outcome(error=EngineError(str(error)))
            yield each.key, outcome


def _raise_failures(
    outcomes: Mapping[_Key, Outcome[Any]],
    order: Mapping[_Key, object],
    named: Callable[[_Key], str],
) -> None:
    """Raise one error for all failed results, if any, in the given order."""
    failed = [(named(key), error) for key in order if (error := outcomes[key].error) is not None]
    raise_failures(failed, len(order), "are in the store")


def _draws(scenario: Scenario) -> bool:
    return scenario.draws_at_random


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
            Gathered(key=key, runs=tuple(map(self._run_of, self._needs[key])))
            for key in waiting
            if all(needed in self._runs for needed in self._needs[key])
        ]
        for result in complete:
            self._drop(result.key)
        return complete

    def _run_of(self, needed: Scenario) -> Run:
        """Return the run of a scenario, with its name and labels."""
        return self._runs[needed].named_as(needed)

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
