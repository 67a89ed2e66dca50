# SPDX-License-Identifier: Apache-2.0
"""The search: has scenarios run side by side, and keeps what comes out."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench import _validate, emulate
from ccbench.errors import EngineError
from ccbench.raygen.config import CLAIMED, SearchConfig
from ccbench.raygen.evaluation import Evaluation
from ccbench.raygen.folder import CLAIMS_CSV, RESULTS_CSV, Folder
from ccbench.raygen.measuring import Measured, measured, work_mbit
from ccbench.raygen.result import SearchResult, claims_table, experiments_table, worst
from ccbench.raygen.show import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from concurrent.futures import Executor

    from ccbench.emulate import Engine, Store
    from ccbench.harm import Experiment
    from ccbench.raygen.measuring import RunMany
    from ccbench.raygen.strategy import Candidate
    from ccbench.run import Run
    from ccbench.scenario import Scenario

__all__ = ["Progress", "search"]

#: The table of results is written when this many seconds have passed since it was written last.
_WRITE_EVERY_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a search has come: sent at its start and whenever a run is finished.

    Attributes
    ----------
    done, planned, failed : int
        Scenarios that were tried, that will be, and that were tried and failed.
    generation, generations : int
        The one being run, from 1, and how many there will be.
    confirming : bool
        Whether all were tried, and the most harmful are run again with fresh seeds.
    fraction : float
        Share of the expected work that is done, 0 to 1. It never falls.
    best : Evaluation or None
        The most harmful so far; one that failed only if all have.
    """

    done: int
    planned: int
    failed: int
    generation: int
    generations: int
    confirming: bool
    fraction: float
    best: Evaluation | None


def search(  # noqa: PLR0913 - all but the settings are about where and how it runs
    config: SearchConfig | None = None,
    *,
    engine: str | Engine = "kernel",
    store: Store | None = emulate.DEFAULT_STORE,
    executor: Executor | None = None,
    jobs: int | None = None,
    output_dir: str | Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    **settings: Any,
) -> SearchResult:
    """Search for the scenarios in which alpha harms beta most (Ware section 5.4).

    The result depends on the settings and the engine alone, not on the number of jobs nor on which
    run is finished first. As every run is kept in the store, a search that was interrupted goes on
    where it stopped when it is started again. A scenario whose runs fail is noted with the reason,
    and tried again if the search is started again.

    Parameters
    ----------
    config : SearchConfig, optional
        What to search for. Left out, `settings` are those of a :class:`SearchConfig`.
    engine, store, executor, jobs
        What runs the scenarios, where runs are kept, and how many run side by side: see
        :func:`ccbench.emulate.run_many`.
    output_dir : path, optional
        Folder for the results, see :mod:`ccbench.raygen.folder`; it is kept up to date all the
        time. Left out, nothing is written.
    on_progress : callable, optional
        Gets a :class:`Progress` now and then. Left out, a bar is shown in notebooks and terminals.
    **settings
        As in ``search(alpha="bbr", beta="cubic", budget=300)``.

    Returns
    -------
    SearchResult
        All experiments, and the claims.

    Raises
    ------
    InputError
        If a setting is out of range, the engine cannot run such scenarios, or `output_dir` holds
        another search.
    EngineError
        If all scenarios of the first generation fail.

    Examples
    --------
    >>> small = {"budget": 4, "population": 4, "duration_s": 2}
    >>> result = search(alpha="bbr", beta="cubic", **small)  # doctest: +SKIP
    >>> len(result.experiments), len(result.claims)  # doctest: +SKIP
    (4, 4)
    """
    if config is None:
        config = SearchConfig(**settings)
    elif settings:
        given = ", ".join(settings)
        raise _validate.bad("settings", given, "left out beside config", "put them into config")
    resolved = emulate.resolve(engine)
    config.check(resolved)
    provenance = resolved.provenance()
    folder = None
    if output_dir is not None:
        folder = Folder(Path(output_dir), {"search": config.to_dict(), **provenance})
    run_many = partial(emulate.run_many, engine=engine, store=store, executor=executor, jobs=jobs)
    with shown(on_progress) as report:
        running = _Search(config=config, run_many=run_many, folder=folder, on_progress=report)
        evaluations, fresh = running.complete()
    result = SearchResult(
        config=config,
        experiments=experiments_table(config, evaluations),
        claims=claims_table(config, evaluations, fresh),
        provenance=provenance,
    )
    if folder is not None:
        _write_claims(folder, result, partial(emulate.run, engine=engine, store=store))
    return result


class _Search:
    """A search under way."""

    def __init__(
        self,
        *,
        config: SearchConfig,
        run_many: RunMany,
        folder: Folder | None,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._config = config
        self._run_many = run_many
        self._folder = folder
        self._on_progress = on_progress
        self._strategy = config.new_strategy()
        self._work = _Work(config.most_runs // 2)
        self._generation = 0
        self._confirming = False
        self._evaluations: list[Evaluation] = []
        self._failed = 0
        self._best: Evaluation | None = None
        self._written_s = -math.inf

    def complete(self) -> tuple[list[Evaluation], list[Evaluation]]:
        """Search until the budget is used up, run the most harmful again, and return both."""
        self._write()
        while candidates := self._strategy.ask():
            self._generation = candidates[0].generation
            generation = self._evaluated(candidates, self._config.seeds, self._evaluations)
            if self._failed == len(self._evaluations):  # a later one may be of a single scenario
                raise EngineError(
                    f"all {len(generation)} scenarios of generation {self._generation} failed; the "
                    f"first: {generation[0].error}"
                )
            self._strategy.tell([evaluation.relative for evaluation in generation])
            self._write()
        self._confirming = True
        top = [evaluation.candidate for evaluation in worst(self._evaluations, CLAIMED)]
        return self._evaluations, self._evaluated(top, self._config.fresh_seeds, [])

    def _evaluated(
        self, candidates: Sequence[Candidate], seeds: tuple[int, ...], found: list[Evaluation]
    ) -> list[Evaluation]:
        """Run candidates, each with all seeds; put each into `found` when it is done.

        Returns those of `candidates`, in their order.
        """
        experiments = {
            (candidate.number, seed): self._config.experiment(candidate.chromosome, seed)
            for candidate in candidates
            for seed in seeds
        }
        self._work.add(experiments.values())
        self._report()
        waiting = {candidate.number: candidate for candidate in candidates}
        outcomes: dict[int, list[Measured[tuple[int, int]]]] = defaultdict(list)
        done = {}
        for one in measured(experiments, self._run_many, on_run=self._ran):
            number, _ = one.key
            outcomes[number].append(one)
            if len(outcomes[number]) == len(seeds):
                in_order = sorted(outcomes.pop(number), key=lambda one: one.key)
                done[number] = Evaluation(
                    candidate=waiting[number],
                    genes=self._config.space.values(waiting[number].chromosome),
                    experiment=experiments[number, seeds[0]],
                    seeds=seeds,
                    harms=tuple(one.harm for one in in_order if one.harm is not None),
                    error=next((one.error for one in in_order if one.error), ""),
                )
                found.append(done[number])
                self._note(done[number])
        return [done[candidate.number] for candidate in candidates]

    def _note(self, evaluation: Evaluation) -> None:
        """Keep count, and write the table, but not so often that it takes long beside the runs."""
        if not self._confirming:
            self._failed += bool(evaluation.error)
            self._best = min(self._best or evaluation, evaluation, key=lambda e: e.rank)
        if time.monotonic() > self._written_s + _WRITE_EVERY_S:
            self._write()
        self._report()

    def _ran(self, scenario: Scenario) -> None:
        self._work.finish(scenario)
        self._report()

    def _report(self) -> None:
        self._on_progress(
            Progress(
                done=len(self._evaluations),
                planned=self._strategy.planned,
                failed=self._failed,
                generation=self._generation,
                generations=self._strategy.generations,
                confirming=self._confirming,
                fraction=self._work.fraction(),
                best=self._best,
            )
        )

    def _write(self) -> None:
        """Write all scenarios that were tried, unless the folder has more of the same."""
        if self._folder is None or len(self._evaluations) < self._folder.done:
            return
        table = experiments_table(self._config, self._evaluations)
        self._folder.write_table(RESULTS_CSV, table)
        self._folder.write_state(done=len(self._evaluations), planned=self._strategy.planned)
        self._written_s = time.monotonic()


def _write_claims(folder: Folder, result: SearchResult, run: Callable[[Scenario], Run]) -> None:
    """Write the claims, their scenarios, and the picture of the first."""
    # Importing what draws takes a second that searches without a folder should not wait for.
    from ccbench.raygen.figures import throughput_figure  # noqa: PLC0415

    folder.write_table(CLAIMS_CSV, result.claims)
    measured = result.claims[result.claims["error"] == ""]
    for claim in measured.to_dict("records"):
        experiment = result.claimed(claim["rank"])
        folder.write_claim(claim["rank"], claim["relative_harm"], experiment)
        if claim["rank"] == 1:
            folder.write_picture(
                throughput_figure(experiment, run(experiment.solo), run(experiment.competing))
            )
    folder.finish()


class _Work:
    """Estimates how much of the search is done, from how long runs take, not from their number.

    Parameters
    ----------
    planned : int
        Experiments to be made in all.
    """

    def __init__(self, planned: int) -> None:
        self._planned = planned
        self._proposed = 0
        self._known = 0.0
        self._done = 0.0
        self._shown = 0.0

    def add(self, experiments: Collection[Experiment]) -> None:
        """Add a generation's runs, each different one once."""
        self._proposed += len(experiments)
        scenarios = {scenario for e in experiments for scenario in (e.solo, e.competing)}
        self._known += sum(map(work_mbit, scenarios))

    def finish(self, scenario: Scenario) -> None:
        """Count a run as done."""
        self._done += work_mbit(scenario)

    def fraction(self) -> float:
        """Return the share that is done, if generations to come are like those before them."""
        expected = self._known * max(self._planned / self._proposed, 1.0)
        self._shown = max(self._shown, self._done / expected)
        return self._shown
