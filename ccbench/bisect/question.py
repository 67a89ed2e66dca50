# SPDX-License-Identifier: Apache-2.0
"""Questions to each version: whether the run, a metric or a criterion has changed."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ccbench.base.errors import InputError
from ccbench.base.estimate import Estimate
from ccbench.base.random_streams import repetition_seeds
from ccbench.emulate import Campaign
from ccbench.emulate.policies import looks, until_decided
from ccbench.evaluate import evaluator
from ccbench.evaluate.earlier import Earlier
from ccbench.evaluate.report import save
from ccbench.evaluate.report.words import shown, where
from ccbench.metrics import Part, least_log
from ccbench.run.difference import difference

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ccbench.bisect.search import Verdict
    from ccbench.emulate import CampaignPlan
    from ccbench.evaluate import Cell, Design, Evaluation, Measure
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.difference import Difference
    from ccbench.run.run import Run

__all__ = ["CriterionQuestion", "MetricQuestion", "Question", "RunQuestion"]

#: Repetitions of the first look at a metric, the fewest with an interval.
_FEWEST = 6


class Question(Protocol):
    """A question, to which each version has an answer."""

    def plan(self, **campaign: Any) -> CampaignPlan:
        """Return the extent and the expected cost of an answer."""

    def ask(self, **campaign: Any) -> Any:
        """Run a version, and return the answer.

        Raises
        ------
        InputError
            If the engine cannot run it.
        EngineError
            If a run fails.
        """

    def after_good(self, answer: Any) -> Question:
        """Return the question that compares with the answer of the good version."""

    def after_bad(self, answer: Any) -> Question:
        """Return the question that tells the good version from the bad one, by its answer.

        Raises
        ------
        InputError
            If their answers are alike.
        """

    def verdict(self, answer: Any) -> Verdict:
        """Return the verdict on a version."""

    def words(self, answer: Any) -> str:
        """Return an answer in words."""

    def values(self, answer: Any) -> tuple[float, ...]:
        """Return the numbers of an answer, if any."""

    def save(self, folder: Path, **campaign: Any) -> None:
        """Save the runs or the report of a version to a folder."""


class RunAnswer(NamedTuple):
    """The run of a version, and its difference from that of the good version, if there is one."""

    run: Run
    difference: Difference | None


@dataclass(frozen=True)
class RunQuestion:
    """Whether the run differs from that of the good version.

    Attributes
    ----------
    scenario : Scenario
    good : Run, optional
        The run of the good version.
    """

    scenario: Scenario
    good: Run | None = None

    def plan(self, **campaign: Any) -> CampaignPlan:
        """Return the plan of one run."""
        return Campaign(**campaign).plan({"": (self.scenario,)})

    def _run(self, **campaign: Any) -> Run:
        runs: dict[str, Run] = Campaign(**campaign).measured(
            {"": (self.scenario,)}, lambda _key, run: run
        )
        return runs[""]

    def ask(self, **campaign: Any) -> RunAnswer:
        """Return the run with its difference from that of the good version."""
        run = self._run(**campaign)
        return RunAnswer(run, None if self.good is None else difference(self.good, run))

    def after_good(self, answer: RunAnswer) -> RunQuestion:
        """Compare with this run."""
        return replace(self, good=answer.run)

    def after_bad(self, answer: RunAnswer) -> RunQuestion:
        """Check that this run differs."""
        if self.verdict(answer) == "good":
            raise InputError(
                "the run of the bad version is that of the good one, byte for byte: choose "
                "another scenario, or other versions"
            )
        return self

    def verdict(self, answer: RunAnswer) -> Verdict:
        """Return whether a run is alike."""
        return "good" if answer.difference is None or answer.difference.is_alike else "bad"

    def words(self, answer: RunAnswer) -> str:
        """Return the time from which a run differs."""
        found = answer.difference
        if found is None:
            return "the reference"
        if found.is_alike:
            return "alike"
        if found.time_ns is None:
            return f"differs: {', '.join(found.tables)}"
        return f"differs from {found.time_ns / 1e9:.9f} s"

    def values(self, answer: RunAnswer) -> tuple[float, ...]:  # noqa: ARG002 - of the protocol
        """Return none."""
        return ()

    def save(self, folder: Path, **campaign: Any) -> None:
        """Save the run."""
        self._run(**campaign).save(folder)


@dataclass(frozen=True, kw_only=True)
class MetricQuestion:
    """Whether a metric is on the other side of a bound.

    Attributes
    ----------
    scenario : Scenario
    measure : Measure
    repetitions : int
        Most runs of a version. Fewer do if the interval of the median excludes the bound.
    bound : float, optional
        Default: the middle between the medians of the good and the bad version.
    good_is_above : bool
        Whether good versions are above the bound; without a bound, the ends determine it.
    good : tuple of float
        The values of the good version.
    """

    scenario: Scenario
    measure: Measure
    repetitions: int = 12
    bound: float | None = None
    good_is_above: bool = False
    good: tuple[float, ...] = ()

    @property
    def _seeds(self) -> tuple[int, ...]:
        return repetition_seeds(self.scenario.seed, self.repetitions)

    def _of(self, seed: int) -> tuple[Scenario]:
        log = least_log((self.measure.described,))
        return (replace(self.scenario, seed=seed, queue_log=log),)

    def plan(self, **campaign: Any) -> CampaignPlan:
        """Return the plan of all repetitions."""
        own = Campaign(**campaign)
        return own.plan(own.seeded({"": self._of}, {"": self._seeds}))

    def ask(self, **campaign: Any) -> tuple[float, ...]:
        """Return the values of the repetitions."""
        policy = None
        if self.bound is not None:
            first = min(_FEWEST, self.repetitions)
            policy = until_decided(self.bound, tuple, looks(first, self.repetitions))
        found = Campaign(**campaign).repeated(
            {"": self._of},
            {"": self._seeds},
            lambda _key, run: self.measure.value(Part(run, self.measure.window_s)),
            policy=policy,
        )
        return found[""].results

    def after_good(self, answer: tuple[float, ...]) -> MetricQuestion:
        """Check that this value is good, if there is a bound."""
        if self.bound is not None and self.verdict(answer) != "good":
            raise InputError(self._wrong("good", answer))
        return replace(self, good=answer)

    def after_bad(self, answer: tuple[float, ...]) -> MetricQuestion:
        """Check that this value is bad; without a bound, choose the one in the middle."""
        if self.bound is not None:
            if self.verdict(answer) != "bad":
                raise InputError(self._wrong("bad", answer))
            return self
        ends = [statistics.median(values) for values in (self.good, answer)]
        middle = replace(self, bound=sum(ends) / 2, good_is_above=ends[0] > ends[1])
        if (middle.verdict(self.good), middle.verdict(answer)) != ("good", "bad"):
            raise InputError(
                f"{self.measure.title()} is {self.words(self.good)} of the good version and "
                f"{self.words(answer)} of the bad one, which do not differ significantly: raise "
                "--repeat, or choose another metric, scenario or version"
            )
        return middle

    def _wrong(self, version: str, values: tuple[float, ...]) -> str:
        side = "above" if self.good_is_above == (version == "good") else "below"
        return (
            f"{self.measure.title()} is {self.words(values)} of the {version} version, which is "
            f"not significantly {side} {self.bound:g}: choose another bound or version, or raise "
            "--repeat"
        )

    def verdict(self, answer: tuple[float, ...]) -> Verdict:
        """Return the side of the bound; skipped if the interval contains it."""
        assert self.bound is not None
        low, high = _interval(answer)
        if low > self.bound or high < self.bound:
            return "good" if (low > self.bound) == self.good_is_above else "bad"
        return "skipped"

    def words(self, answer: tuple[float, ...]) -> str:
        """Return the median with its interval."""
        unit = self.measure.described.unit
        return f"{Estimate(answer, of='median'):.4g} {unit}".strip()

    def values(self, answer: tuple[float, ...]) -> tuple[float, ...]:
        """Return the value of each repetition."""
        return answer

    def save(self, folder: Path, **campaign: Any) -> None:
        """Save the run of the first repetition, with its queue log."""
        RunQuestion(replace(self.scenario, queue_log=True)).save(folder, **campaign)


@dataclass(frozen=True)
class CriterionQuestion:
    """Whether an evaluation finds a version worse than the good one, or a failure.

    Attributes
    ----------
    design : Design
    good : Earlier, optional
        The evaluation of the good version.
    """

    design: Design
    good: Earlier | None = None

    def plan(self, **campaign: Any) -> CampaignPlan:
        """Return the plan of an evaluation."""
        return evaluator.plan(self.design, **campaign)

    def ask(self, **campaign: Any) -> Evaluation:
        """Return the evaluation."""
        return evaluator.evaluate(self.design, earlier=self.good, **campaign)

    def after_good(self, answer: Evaluation) -> CriterionQuestion:
        """Compare with this evaluation."""
        return replace(self, good=Earlier.of_document(answer.to_dict()))

    def after_bad(self, answer: Evaluation) -> CriterionQuestion:
        """Check that this evaluation is worse."""
        if self.verdict(answer) == "good":
            raise InputError(
                "the evaluation of the bad version is not worse than that of the good one: choose "
                "another criterion, or other versions"
            )
        return self

    def verdict(self, answer: Evaluation) -> Verdict:
        """Return whether anything is worse."""
        return "bad" if answer.regressions else "good"

    def words(self, answer: Evaluation) -> str:
        """Return what is worse, or the definite failures."""
        cca = self.design.candidate
        texts = (
            f"{self._where(cell)}: "
            + (cell.failed.words if cell.failed else f"worse, {shown(cell, cca)}")
            for cell in answer.regressions or answer.failures
        )
        return "\n".join(dict.fromkeys(texts)) or "no definite failure, nothing worse"

    def _where(self, cell: Cell) -> str:
        """Return what distinguishes a cell from others."""
        if len(self.design.criteria) > 1:
            return where(cell)
        return ", ".join(filter(None, (cell.case.network.name, cell.title)))

    def values(self, answer: Evaluation) -> tuple[float, ...]:  # noqa: ARG002 - of the protocol
        """Return none: the report has them."""
        return ()

    def save(self, folder: Path, **campaign: Any) -> None:
        """Save the report."""
        save(self.ask(**campaign), folder)


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the interval of the median; of equal values, the value itself."""
    if len(set(values)) == 1:
        return values[0], values[0]
    return Estimate(values, of="median").interval
