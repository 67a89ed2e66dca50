# SPDX-License-Identifier: Apache-2.0
"""The search: has scenarios run side by side, and keeps what comes out."""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench import emulate
from ccbench.errors import EngineError, InputError
from ccbench.harm import measure
from ccbench.raygen.report import Folder, throughput_figure
from ccbench.raygen.result import Evaluation, SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from concurrent.futures import Executor

    from ccbench.emulate import Engine, Store
    from ccbench.harm import Experiment
    from ccbench.raygen.config import SearchConfig
    from ccbench.raygen.strategy import Candidate
    from ccbench.run import Run
    from ccbench.scenario import Scenario

__all__ = ["Progress", "search"]

#: What it costs to start a run, as so many Mbit sent. It matters to the progress bar only.
_START_UP_MBIT = 2000.0

#: The table of results is written when this many seconds have passed since it was written last.
_WRITE_EVERY_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a search has come: sent at its start and whenever a run is finished.

    Attributes
    ----------
    done, planned : int
        Experiments.
    generation, generations : int
        The one being run, from 1, and how many there will be.
    fraction : float
        Share of the expected work that is done, 0 to 1. It never falls.
    best : Evaluation or None
        The most harmful so far.
    latest : Evaluation or None
        The one that just finished, if one did.
    """

    done: int
    planned: int
    generation: int
    generations: int
    fraction: float
    best: Evaluation | None
    latest: Evaluation | None


def search(  # noqa: PLR0913 - all but the settings are about where and how it runs
    config: SearchConfig,
    *,
    engine: str | Engine = "kernel",
    store: Store | None = emulate.DEFAULT_STORE,
    executor: Executor | None = None,
    jobs: int | None = None,
    output_dir: str | Path | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> SearchResult:
    """Search for the scenarios in which alpha harms beta most (Ware section 5.4).

    The result depends on `config` and the engine alone, not on the number of jobs nor on which run
    is finished first. As every run is kept in the store, a search that was interrupted goes on
    where it stopped when it is started again.

    Parameters
    ----------
    config : SearchConfig
        What to search for.
    engine, store, executor, jobs
        What runs the scenarios, where runs are kept, and how many run side by side: see
        :func:`ccbench.emulate.run_many`.
    output_dir : path, optional
        Folder for the results, see :mod:`ccbench.raygen.report`; it is kept up to date all the
        time. Left out, nothing is written.
    on_progress : callable, optional
        Gets a :class:`Progress` now and then.

    Returns
    -------
    SearchResult
        All experiments.

    Raises
    ------
    InputError
        If the engine cannot run such scenarios, or `output_dir` holds another search.
    EngineError
        If a run fails, or harm cannot be measured in it. What was finished before is kept.

    Examples
    --------
    >>> from ccbench.raygen import SearchConfig
    >>> config = SearchConfig(alpha="bbr", beta="cubic", budget=4, population=4, duration_s=2)
    >>> result = search(config, output_dir="bbr-cubic")  # doctest: +SKIP
    >>> result.worst(1)[0].experiment.describe()  # doctest: +SKIP
    """
    resolved = emulate.get_engine(engine) if isinstance(engine, str) else engine
    resolved.check(config.corner("high").competing)
    provenance = resolved.provenance()
    folder = None
    if output_dir is not None:
        folder = Folder(Path(output_dir), {"search": config.to_dict(), **provenance})
    running = _Search(
        config=config,
        run_many=partial(
            emulate.run_many, engine=engine, store=store, executor=executor, jobs=jobs
        ),
        folder=folder,
        on_progress=on_progress,
    )
    return SearchResult(config=config, evaluations=running.complete(), provenance=provenance)


class _Search:
    """A search under way."""

    def __init__(
        self,
        *,
        config: SearchConfig,
        run_many: Callable[[Sequence[Scenario]], Generator[tuple[int, Run], None, None]],
        folder: Folder | None,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._config = config
        self._run_many = run_many
        self._folder = folder
        self._on_progress = on_progress
        self._strategy = config.new_strategy()
        self._work = _Work(self._strategy.planned)
        self._generation = 0
        self._evaluations: list[Evaluation] = []
        self._best: Evaluation | None = None
        self._undrawn: tuple[Evaluation, Run, Run] | None = None
        self._written_s = -math.inf

    def complete(self) -> tuple[Evaluation, ...]:
        """Search until the budget is used up; return the evaluations in the order of proposal."""
        if self._folder is not None:
            self._folder.write_state(done=0, planned=self._strategy.planned)
        while candidates := self._strategy.ask():
            self._generation = candidates[0].generation
            self._evaluate(candidates)
            self._evaluations.sort(key=lambda evaluation: evaluation.number)
            self._strategy.tell([e.harm.relative for e in self._evaluations[-len(candidates) :]])
            self._write_generation()
        return tuple(self._evaluations)

    def _evaluate(self, candidates: Sequence[Candidate]) -> None:
        by_number = {candidate.number: candidate for candidate in candidates}
        pairs = _Pairs({c.number: self._config.experiment(c.chromosome) for c in candidates})
        # The longest first, so that no core waits for a long one when the generation ends. The two
        # runs of an experiment stay neighbours.
        scenarios = sorted(pairs.scenarios, key=_work_mbit, reverse=True)
        self._work.add(scenarios, experiments=len(candidates))
        self._report(None)
        with closing(self._run_many(scenarios)) as results:
            for i, run in results:
                self._work.finish(scenarios[i])
                complete = pairs.add(scenarios[i], run)
                for number, experiment, solo, competing in complete:
                    self._finish(by_number[number], experiment, solo, competing)
                if not complete:
                    self._report(None)

    def _finish(
        self, candidate: Candidate, experiment: Experiment, solo: Run, competing: Run
    ) -> None:
        try:
            harm = measure(solo, competing)
        except InputError as error:  # the runs are to blame, not what the user wrote
            raise EngineError(f"{experiment.describe()}: {error}") from error
        evaluation = Evaluation(
            number=candidate.number,
            generation=candidate.generation,
            parents=candidate.parents,
            genes=self._config.space.values(candidate.chromosome),
            experiment=experiment,
            harm=harm,
        )
        self._evaluations.append(evaluation)
        if self._best is None or evaluation.rank < self._best.rank:
            self._best = evaluation
            self._undrawn = (evaluation, solo, competing)
        self._write_now_and_then()
        self._report(evaluation)

    def _report(self, latest: Evaluation | None) -> None:
        self._on_progress(
            Progress(
                done=len(self._evaluations),
                planned=self._strategy.planned,
                generation=self._generation,
                generations=self._strategy.generations,
                fraction=self._work.fraction(),
                best=self._best,
                latest=latest,
            )
        )

    def _write_now_and_then(self) -> None:
        """Write the table, but not so often that it takes longer than the runs."""
        if self._folder is not None and time.monotonic() > self._written_s + _WRITE_EVERY_S:
            self._folder.write_results(self._evaluations)
            self._written_s = time.monotonic()

    def _write_generation(self) -> None:
        if self._folder is None:
            return
        self._folder.write_results(self._evaluations)
        self._folder.write_worst(self._evaluations)
        if self._undrawn is not None:
            self._folder.write_picture(throughput_figure(*self._undrawn))
            self._undrawn = None
        self._folder.write_state(done=len(self._evaluations), planned=self._strategy.planned)


class _Pairs:
    """Brings the runs together that an experiment needs; some runs belong to several."""

    def __init__(self, experiments: Mapping[int, Experiment]) -> None:
        self._experiments = experiments
        self._waiting: dict[Scenario, set[int]] = {}
        self._runs: dict[Scenario, Run] = {}
        for number, experiment in experiments.items():
            for scenario in (experiment.solo, experiment.competing):
                self._waiting.setdefault(scenario, set()).add(number)

    @property
    def scenarios(self) -> list[Scenario]:
        """What must be run, each scenario once."""
        return list(self._waiting)

    def add(self, scenario: Scenario, run: Run) -> list[tuple[int, Experiment, Run, Run]]:
        """Take a run; return the experiments that it completes, with their two runs."""
        self._runs[scenario] = run
        complete = []
        for number in sorted(self._waiting[scenario]):
            experiment = self._experiments[number]
            solo, competing = map(self._runs.get, (experiment.solo, experiment.competing))
            if solo is not None and competing is not None:
                complete.append((number, experiment, solo, competing))
        for number, experiment, _, _ in complete:
            for done in (experiment.solo, experiment.competing):
                self._waiting[done].remove(number)
                if not self._waiting[done]:
                    del self._runs[done]  # nobody needs it any more: runs are large
        return complete


class _Work:
    """Estimates how much of the search is done, from how long runs take, not from their number."""

    def __init__(self, planned: int) -> None:
        self._planned = planned
        self._proposed = 0
        self._known = 0.0
        self._done = 0.0
        self._shown = 0.0

    def add(self, scenarios: Sequence[Scenario], *, experiments: int) -> None:
        """Add a generation's runs."""
        self._proposed += experiments
        self._known += sum(map(_work_mbit, scenarios))

    def finish(self, scenario: Scenario) -> None:
        """Count a run as done."""
        self._done += _work_mbit(scenario)

    def fraction(self) -> float:
        """Return the share that is done, if generations to come are like those before them."""
        expected = self._known * self._planned / self._proposed
        self._shown = max(self._shown, self._done / expected)
        return self._shown


def _work_mbit(scenario: Scenario) -> float:
    """Estimate what a run costs: the packets that pass, and a start."""
    slowest = min(bottleneck.mean_mbps for bottleneck in scenario.bottlenecks)
    return _START_UP_MBIT + slowest * scenario.duration_s
