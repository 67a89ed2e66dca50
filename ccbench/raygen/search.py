# SPDX-License-Identifier: Apache-2.0
"""The search: has scenarios run side by side, and keeps what comes out."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench import emulate
from ccbench.base import validation
from ccbench.base.errors import EngineError
from ccbench.raygen.config import SearchConfig
from ccbench.raygen.evaluation import Evaluation
from ccbench.raygen.folder import CLAIMS_CSV, RESULTS_CSV, Folder
from ccbench.raygen.measuring import Measured, measured
from ccbench.raygen.progress import Progress, shown
from ccbench.raygen.result import SearchResult, claims_table, experiments_table
from ccbench.raygen.selection import CLAIMED, again, promising, safest
from ccbench.raygen.strategy import Strategy, check_own, check_proposals
from ccbench.raygen.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from ccbench.emulate import Engine, RunMany, Store
    from ccbench.experiment.scenario import Scenario
    from ccbench.raygen.space import Chromosome
    from ccbench.raygen.strategy import Candidate
    from ccbench.run.run import Run

__all__ = ["search"]

#: The table of results is written when this many seconds have passed since it was written last.
_WRITE_EVERY_S = 5.0


def search(  # noqa: PLR0913 - all but the settings are about where and how it runs
    config: SearchConfig | None = None,
    *,
    strategy: str | Strategy | None = None,
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

    Each scenario has seeds of its own. After each generation the most harmful ones are run with a
    further seed, and at the end the claims with fresh ones: see :mod:`ccbench.raygen.selection`.

    Parameters
    ----------
    config : SearchConfig, optional
        What to search for. Left out, `settings` are those of a :class:`SearchConfig`.
    strategy : str or Strategy, optional
        A strategy of one's own, at its beginning, which takes the place of the one of `config`:
        its `sizes` are the budget, its `name` is part of the search's identity. Without `config`
        also the name of a strategy.
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
    if isinstance(strategy, str):
        settings["strategy"] = strategy
    elif strategy is not None:
        check_own(strategy, settings)
    if config is None:
        config = SearchConfig(**settings)
    elif settings:
        given = ", ".join(settings)
        raise validation.bad("settings", given, "left out beside config", "put them into config")
    if strategy is None or isinstance(strategy, str):
        strategy = config.new_strategy()
    else:
        config = config.with_own(strategy)
    resolved = emulate.resolve(engine)
    config.check(resolved)
    provenance = resolved.provenance()
    folder = None
    if output_dir is not None:
        folder = Folder(Path(output_dir), {"search": config.to_dict(), **provenance})
    run_many = partial(emulate.run_many, engine=engine, store=store, executor=executor, jobs=jobs)

    def is_stored(scenario: Scenario) -> bool:
        return store is not None and store.has(scenario, resolved)

    with shown(on_progress) as report:
        running = _Search(
            config=config,
            strategy=strategy,
            run_many=run_many,
            work=Work(is_stored),
            folder=folder,
            on_progress=report,
        )
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

    def __init__(  # noqa: PLR0913 - the parts of a search, all by keyword
        self,
        *,
        config: SearchConfig,
        strategy: Strategy,
        run_many: RunMany,
        work: Work,
        folder: Folder | None,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._config = config
        self._run_many = run_many
        self._work = work
        self._folder = folder
        self._on_progress = on_progress
        self._strategy = strategy
        self._planned = sum(strategy.sizes)
        self._generation = 0
        self._confirming = False
        self._to_come = config.most_runs(strategy.sizes) // 2
        self._evaluations: dict[Candidate, Evaluation] = {}
        self._written_s = -math.inf

    def complete(self) -> tuple[list[Evaluation], list[Evaluation]]:
        """Search until the budget is used up, run the most harmful again, and return both."""
        self._write()
        while candidates := self._strategy.ask():
            self._generation += 1
            check_proposals(candidates, self._config.space, first=len(self._evaluations))
            self._try(candidates)
            generation = [self._evaluations[candidate] for candidate in candidates]
            if all(evaluation.error for evaluation in self._evaluations.values()):
                raise EngineError(
                    f"all {len(generation)} scenarios of generation {self._generation} failed; the "
                    f"first: {generation[0].error}"
                )
            self._strategy.tell([evaluation.relative for evaluation in generation])
            self._try_again(again(len(candidates)))
            self._write()
        self._confirming, self._to_come = True, 0
        top = [one.candidate for one in safest(self._evaluations.values(), CLAIMED)]
        fresh = {candidate: self._config.fresh_seeds(candidate.number) for candidate in top}
        return list(self._evaluations.values()), list(self._evaluated(fresh))

    def _try(self, candidates: Sequence[Candidate]) -> None:
        """Run a generation. Copies of a scenario that was tried are not run, nor each other."""
        self._to_come -= len(candidates) * self._config.repeat
        tried = {candidate.chromosome: one for candidate, one in self._evaluations.items()}
        alike: dict[Chromosome, list[Candidate]] = defaultdict(list)
        for candidate in candidates:
            alike[candidate.chromosome].append(candidate)
        new = {
            copies[0]: self._config.seeds(chromosome)
            for chromosome, copies in alike.items()
            if chromosome not in tried
        }
        for chromosome in alike.keys() & tried.keys():
            self._note(alike[chromosome], tried[chromosome])
        for evaluation in self._evaluated(new):
            self._note(alike[evaluation.candidate.chromosome], evaluation)

    def _try_again(self, count: int) -> None:
        """Run the most harmful scenarios with one more seed each, and tell the strategy."""
        self._to_come -= count
        chosen = promising(self._evaluations.values(), count, repeat=self._config.repeat)
        seeds = {}
        for evaluation in chosen:
            known, chromosome = len(evaluation.seeds), evaluation.candidate.chromosome
            seeds[evaluation.candidate] = self._config.seeds(chromosome, known + 1)[known:]
        for more in self._evaluated(seeds):
            joined = self._evaluations[more.candidate].joined(more)
            chromosome = more.candidate.chromosome
            alike = [one for one in self._evaluations if one.chromosome == chromosome]
            self._note(alike, joined)
            self._strategy.revise(dict.fromkeys(alike, joined.relative))

    def _evaluated(self, seeds: Mapping[Candidate, tuple[int, ...]]) -> Iterator[Evaluation]:
        """Run each candidate with its seeds; yield its evaluation as soon as it is complete."""
        experiments = {
            (candidate, seed): self._config.experiment(candidate.chromosome, seed)
            for candidate, own in seeds.items()
            for seed in own
        }
        self._work.add(experiments.values(), self._to_come)
        self._report()
        outcomes: dict[Candidate, dict[int, Measured[tuple[Candidate, int]]]] = defaultdict(dict)
        for one in measured(experiments, self._run_many, on_run=self._ran):
            candidate, seed = one.key
            outcomes[candidate][seed] = one
            own = seeds[candidate]
            if len(outcomes[candidate]) == len(own):
                in_order = [outcomes[candidate][each] for each in own]
                yield Evaluation(
                    candidate=candidate,
                    genes=self._config.space.values(candidate.chromosome),
                    experiment=experiments[candidate, own[0]],
                    seeds=own,
                    harms=tuple(one.harm for one in in_order if one.harm is not None),
                    error=next((one.error for one in in_order if one.error), ""),
                )

    def _note(self, candidates: Iterable[Candidate], evaluation: Evaluation) -> None:
        """Keep what was found out about equal candidates.

        The table is written too, but not so often that it takes long beside the runs.
        """
        for candidate in candidates:
            self._evaluations[candidate] = replace(evaluation, candidate=candidate)
            if time.monotonic() > self._written_s + _WRITE_EVERY_S:
                self._write()
            self._report()

    def _ran(self, scenario: Scenario) -> None:
        self._work.finish(scenario)
        self._report()

    def _report(self) -> None:
        found = self._evaluations.values()
        self._on_progress(
            Progress(
                done=len(found),
                planned=self._planned,
                failed=sum(bool(evaluation.error) for evaluation in found),
                generation=self._generation,
                generations=len(self._strategy.sizes),
                confirming=self._confirming,
                fraction=self._work.fraction(),
                left_s=self._work.left_s(),
                best=min(found, key=lambda e: e.rank, default=None),
            )
        )

    def _write(self) -> None:
        """Write all scenarios that were tried, unless the folder has more of the same."""
        if self._folder is None or len(self._evaluations) < self._folder.done:
            return
        table = experiments_table(self._config, self._evaluations.values())
        self._folder.write_table(RESULTS_CSV, table)
        self._folder.write_state(done=len(self._evaluations), planned=self._planned)
        self._written_s = time.monotonic()


def _write_claims(folder: Folder, result: SearchResult, run: Callable[[Scenario], Run]) -> None:
    """Write the claims, their scenarios, and the picture of the first."""
    # Importing what draws takes a second that searches without a folder should not wait for.
    from ccbench.raygen.figures import throughput_figure  # noqa: PLC0415

    folder.write_table(CLAIMS_CSV, result.claims)
    measured = result.claims[result.claims["error"] == ""]
    for claim in measured.to_dict("records"):
        experiment, title = result.claimed(claim["rank"]), result.describe(claim["number"])
        heading = f"One run of {title}; its mean relative harm is {claim['relative_harm']:+.3f}"
        folder.write_claim(claim["rank"], heading, experiment)
        if claim["rank"] == 1:
            runs = run(experiment.solo), run(experiment.competing)
            folder.write_picture(throughput_figure(experiment, *runs, title=title))
    folder.finish()
