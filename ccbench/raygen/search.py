# SPDX-License-Identifier: Apache-2.0
"""The search: runs proposed scenarios in parallel and collects their harm."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench import emulate
from ccbench.base import validation
from ccbench.base.errors import EngineError
from ccbench.emulate.progress import shown
from ccbench.raygen.config import SearchConfig
from ccbench.raygen.evaluated import EvaluatedCandidate
from ccbench.raygen.folder import CLAIMS_CSV, RESULTS_CSV, SIMPLEST_CSV, Folder
from ccbench.raygen.progress import Progress
from ccbench.raygen.result import SearchResult, claims_table, experiments_table
from ccbench.raygen.selection import CLAIMED, again, promising, safest
from ccbench.raygen.simplest import LEAST, simplest
from ccbench.raygen.strategy import (
    Candidate,
    ScreeningStrategy,
    Strategy,
    check_own,
    check_proposals,
)
from ccbench.raygen.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from ccbench.emulate import Campaign, Engine, Store
    from ccbench.emulate.campaign import Outcome
    from ccbench.emulate.progress import CampaignProgress
    from ccbench.harm import HarmResult
    from ccbench.raygen.space import Chromosome
    from ccbench.run.run import Run

__all__ = ["search"]

#: Minimum interval between two writes of the table of results, in seconds.
_WRITE_EVERY_S = 5.0


def search(  # noqa: PLR0913 - settings of the execution, all by keyword
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

    The result depends only on the settings and the engine, not on the number of jobs or the order
    in which runs finish. As runs are stored, an interrupted search continues when it is started
    again. A scenario whose runs fail is recorded with the reason, and repeated when the search is
    started again.

    With some strategies, the first runs are short (:class:`~ccbench.raygen.ScreeningStrategy`), and
    only the most harmful scenarios of a generation run at full length.

    Each scenario has its own seeds. After each generation, the most harmful scenarios are run with
    a further seed, and at the end the claims with fresh seeds: see :mod:`ccbench.raygen.selection`.
    With some objectives, the claims are then reduced to the simplest networks that still show them.

    Parameters
    ----------
    config : SearchConfig, optional
        Settings of the search; by default `settings`.
    strategy : str or Strategy, optional
        A new object of a user's strategy, which replaces that of `config`: its `sizes` are the
        budget, its `name` is part of the search's identity. Without `config`, also the name of a
        strategy.
    engine, store, executor, jobs
        See :func:`ccbench.emulate.run_many`.
    output_dir : path, optional
        Folder for the results, which is updated during the search, see
        :mod:`ccbench.raygen.folder`; by default nothing is written.
    on_progress : callable, optional
        Called with a :class:`Progress` from time to time; by default notebooks and terminals show
        a progress bar.
    **settings
        Fields of a :class:`SearchConfig`, as in ``search(alpha="bbr", beta="cubic", budget=300)``.

    Raises
    ------
    InputError
        If a setting is out of range, the engine cannot run the scenarios, or `output_dir` contains
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
        raise validation.bad("settings", given, "left out with config", "move them into config")
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
    campaign = emulate.Campaign(engine=resolved, store=store, executor=executor, jobs=jobs)
    with nullcontext(on_progress) if on_progress else shown("search") as report:
        running = _Search(
            config=config,
            strategy=strategy,
            campaign=campaign,
            folder=folder,
            on_progress=report,
        )
        evaluations, fresh = running.complete()
        simple = running.simplest(fresh) if config.maximised.is_shrunk else []
    result = SearchResult(
        config=config,
        experiments=experiments_table(config, evaluations),
        claims=claims_table(config, evaluations, fresh),
        simplest=claims_table(config, evaluations, simple),
        provenance=provenance,
        timelines={
            rank: claim.timeline
            for rank, claim in enumerate(sorted(fresh, key=lambda e: e.rank), start=1)
            if claim.timeline is not None
        },
    )
    if folder is not None:
        _write_claims(folder, result)
    return result


class _Search:
    """A running search."""

    def __init__(
        self,
        *,
        config: SearchConfig,
        strategy: Strategy,
        campaign: Campaign,
        folder: Folder | None,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._config = config
        self._campaign = replace(campaign, on_progress=self._report)
        self._folder = folder
        self._on_progress = on_progress
        self._strategy = strategy
        self._planned = sum(strategy.sizes)
        self._first_share = config.first_share_of(strategy)
        self._generation = 0
        self._confirming = False
        self._remaining = config.most_runs(strategy)
        self._evaluations: dict[Candidate, EvaluatedCandidate] = {}
        self._written_s = -math.inf

    def complete(self) -> tuple[list[EvaluatedCandidate], list[EvaluatedCandidate]]:
        """Run all generations and confirm the worst; return all and the fresh evaluations."""
        for size in self._strategy.sizes:
            candidates = self._strategy.ask()
            first = len(self._evaluations)
            check_proposals(candidates, self._config.space, first=first, size=size)
            if not self._generation:
                self._write()
            self._generation += 1
            self._evaluate(candidates)
            generation = [self._evaluations[candidate] for candidate in candidates]
            if all(evaluation.error for evaluation in self._evaluations.values()):
                raise EngineError(
                    f"all {len(generation)} scenarios of generation {self._generation} failed; the "
                    f"first: {generation[0].error}"
                )
            self._strategy.tell([evaluation.relative for evaluation in generation])
            long = len(candidates)
            if isinstance(self._strategy, ScreeningStrategy) and self._first_share < 1:
                long = again(long)
                self._extend(self._strategy.promoted(long))
            self._repeat_worst(again(long))
            self._write()
        self._confirming, self._remaining = True, 0
        worst = safest(self._evaluations.values(), CLAIMED)
        top = [evaluation.candidate for evaluation in worst]
        fresh = {candidate: self._config.fresh_seeds(candidate.number) for candidate in top}
        return list(self._evaluations.values()), list(self._evaluated(fresh, with_timeline=True))

    def simplest(self, claims: Sequence[EvaluatedCandidate]) -> list[EvaluatedCandidate]:
        """Reduce claims with significant harm, and run distinct results with fresh seeds."""
        fresh: dict[Candidate, tuple[int, ...]] = {}
        for claim in claims:
            if claim.error or not claim.harm.joint(len(claims)).low > LEAST:
                continue
            network = simplest(self._config, claim.candidate, claim.relative, self._harms)
            if network is not None and network not in {other.chromosome for other in fresh}:
                fresh[replace(claim.candidate, chromosome=network)] = claim.seeds
        return list(self._evaluated(fresh))

    def _harms(self, chromosome: Chromosome, seeds: Sequence[int]) -> Sequence[float]:
        """Return the harm of a network with each seed; nothing if a run fails."""
        candidate = Candidate(number=0, generation=0, chromosome=chromosome)
        (evaluation,) = self._evaluated({candidate: tuple(seeds)})
        return () if evaluation.error else evaluation.harm.values

    def _evaluate(self, candidates: Sequence[Candidate]) -> None:
        """Run a generation. Each distinct scenario is run once."""
        self._remaining -= 2 * len(candidates) * self._config.repeat
        evaluated = {
            candidate.chromosome: evaluation for candidate, evaluation in self._evaluations.items()
        }
        copies_of: dict[Chromosome, list[Candidate]] = defaultdict(list)
        for candidate in candidates:
            copies_of[candidate.chromosome].append(candidate)
        new = {
            copies[0]: self._config.seeds(chromosome)
            for chromosome, copies in copies_of.items()
            if chromosome not in evaluated
        }
        for chromosome in copies_of.keys() & evaluated.keys():
            self._record(copies_of[chromosome], evaluated[chromosome])
        for evaluation in self._evaluated(new, share=self._first_share):
            self._record(copies_of[evaluation.candidate.chromosome], evaluation)

    def _extend(self, candidates: Sequence[Candidate]) -> None:
        """Run scenarios at full length, and update the strategy."""
        self._remaining -= 2 * len(candidates) * self._config.repeat
        seeds = {each: self._config.seeds(each.chromosome) for each in candidates}
        for evaluation in self._evaluated(seeds):
            self._revise(evaluation)

    def _repeat_worst(self, count: int) -> None:
        """Run the most harmful scenarios with one more seed each, and update the strategy."""
        self._remaining -= 2 * count
        counts = promising(self._evaluations.values(), count, repeat=self._config.repeat)
        seeds = {
            candidate: self._config.seeds(candidate.chromosome, count)[-1:]
            for candidate, count in counts.items()
        }
        for more in self._evaluated(seeds):
            self._revise(self._evaluations[more.candidate].joined(more))

    def _revise(self, evaluation: EvaluatedCandidate) -> None:
        """Replace the evaluation of a candidate and its copies, also for the strategy."""
        chromosome = evaluation.candidate.chromosome
        copies = [other for other in self._evaluations if other.chromosome == chromosome]
        self._record(copies, evaluation)
        self._strategy.revise(dict.fromkeys(copies, evaluation.relative))

    def _evaluated(
        self,
        seeds: Mapping[Candidate, tuple[int, ...]],
        *,
        share: float = 1.0,
        with_timeline: bool = False,
    ) -> Iterator[EvaluatedCandidate]:
        """Run each candidate with its seeds; yield each evaluation when it is complete.

        The runs last for `share` of the duration.

        If `with_timeline`, evaluations that did not fail have the timeline of their first seed.
        """
        experiments = {
            (candidate, seed): self._config.experiment(candidate.chromosome, seed, share=share)
            for candidate, own in seeds.items()
            for seed in own
        }
        self._report(self._campaign.expect(self._remaining))
        objective = self._config.maximised
        timelines: dict[tuple[Candidate, int], Timeline] = {}

        def harm(key: tuple[Candidate, int], solo: Run, competing: Run) -> HarmResult:
            if not with_timeline or key[1] != seeds[key[0]][0]:
                return objective.measured(experiments[key], solo, competing)
            timelines[key] = Timeline.of(objective, experiments[key], solo, competing)
            return timelines[key].harm

        outcomes: dict[Candidate, dict[int, Outcome[HarmResult]]] = defaultdict(dict)
        needs = {key: experiment.scenarios for key, experiment in experiments.items()}
        for key, outcome in self._campaign.outcomes(needs, harm):
            candidate, seed = key
            outcomes[candidate][seed] = outcome
            own = seeds[candidate]
            if len(outcomes[candidate]) == len(own):
                in_order = [outcomes[candidate][each] for each in own]
                failed = [str(outcome.error) for outcome in in_order if outcome.error]
                yield EvaluatedCandidate(
                    candidate=candidate,
                    genes=self._config.space.values(candidate.chromosome),
                    experiment=experiments[candidate, own[0]],
                    seeds=own,
                    harms=tuple(outcome.result for outcome in in_order if outcome.value),
                    error=failed[0] if failed else "",
                    share=share,
                    timeline=None if failed else timelines.get((candidate, own[0])),
                )

    def _record(self, candidates: Iterable[Candidate], evaluation: EvaluatedCandidate) -> None:
        """Record the evaluation of equal candidates, and write the table from time to time."""
        for candidate in candidates:
            self._evaluations[candidate] = replace(evaluation, candidate=candidate)
            if time.monotonic() > self._written_s + _WRITE_EVERY_S:
                self._write()
            self._report(self._now)

    def _report(self, now: CampaignProgress) -> None:
        self._now = now
        evaluations = self._evaluations.values()
        self._on_progress(
            Progress(
                **asdict(now),
                tried=len(evaluations),
                networks=self._planned,
                failed=sum(bool(evaluation.error) for evaluation in evaluations),
                generation=self._generation,
                generations=len(self._strategy.sizes),
                confirming=self._confirming,
                best=min(evaluations, key=lambda e: e.rank, default=None),
            )
        )

    def _write(self) -> None:
        """Write all evaluations, unless the folder has more of the same search."""
        if self._folder is None or len(self._evaluations) < self._folder.done:
            return
        table = experiments_table(self._config, self._evaluations.values())
        self._folder.write_table(RESULTS_CSV, table)
        self._folder.write_state(done=len(self._evaluations), planned=self._planned)
        self._written_s = time.monotonic()


def _write_claims(folder: Folder, result: SearchResult) -> None:
    """Write the claims and the simplest networks, their scenarios, and the figure of the first."""
    # Imports matplotlib, which takes a second.
    from ccbench.raygen.figures import throughput_figure  # noqa: PLC0415

    folder.write_table(CLAIMS_CSV, result.claims)
    words = result.config.harm_words
    measured = result.claims[result.claims["error"] == ""]
    for claim in measured.to_dict("records"):
        experiment, title = result.claimed(claim["rank"]), result.describe(claim["number"])
        heading = f"One run of {title}; its mean {words} is {claim['relative_harm']:+.3f}"
        folder.write_scenarios(f"worst-{claim['rank']}", heading, experiment)
        if claim["rank"] == 1:
            folder.write_picture(throughput_figure(experiment, result.timelines[1], title=title))
    if result.config.maximised.is_shrunk:
        folder.write_table(SIMPLEST_CSV, result.simplest)
        for row in result.simplest[result.simplest["error"] == ""].to_dict("records"):
            experiment, title = (
                result.simplified(row["rank"]),
                result.describe_simplest(row["rank"]),
            )
            heading = f"One run of {title}; its mean {words} is {row['relative_harm']:+.3f}"
            folder.write_scenarios(f"simplest-{row['rank']}", heading, experiment)
    folder.write_timelines(result.timelines)
    folder.finish()
