# SPDX-License-Identifier: Apache-2.0
"""Results of evaluations: values, comparisons and definite failures."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ccbench.evaluate.judgement import interval_of, median_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ccbench.evaluate.criterion import Criterion, Measure
    from ccbench.evaluate.design import Case, Design
    from ccbench.evaluate.earlier import Before
    from ccbench.evaluate.judgement import BaselineComparison, Judgement

__all__ = ["Cell", "Evaluation", "Failed", "count"]


@dataclass(frozen=True, kw_only=True)
class Failed:
    """A definite failure.

    Attributes
    ----------
    words : str
        What failed, such as ``starvation``; or the reason why runs failed.
    is_run : bool
        Whether runs failed: they crashed, or had no values.
    """

    words: str
    is_run: bool = False


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The values of one measure in one network.

    Attributes
    ----------
    case : Case
    measure : Measure
    values : mapping of str to tuple of float
        The value of each repetition, by congestion control.
    comparisons : tuple of BaselineComparison
        One for each baseline.
    failed : Failed or None
        The definite failure of the candidate that no baseline has, if any.
    change : BaselineComparison or None
        Comparison with the congestion control against which changes are named, if any.
    before : Before or None
        The values of that congestion control, and whether it has a definite failure, too.
    """

    case: Case
    measure: Measure
    values: Mapping[str, tuple[float, ...]]
    comparisons: tuple[BaselineComparison, ...]
    failed: Failed | None
    change: BaselineComparison | None = None
    before: Before | None = None

    @property
    def title(self) -> str:
        """What is measured, in words."""
        return self.case.criterion.title_of(self.measure)

    def median(self, cca: str) -> float:
        """Return the median of a congestion control; NaN if it has none."""
        return median_of(self.values[cca], self.measure.described)

    @property
    def median_before(self) -> float:
        """The median of the congestion control against which changes are named; NaN for none."""
        values = self.before.values if self.before else ()
        return median_of(values, self.measure.described)

    def interval(self, cca: str) -> tuple[float, float]:
        """Return the 95 % interval of the median; NaN where it has none."""
        return interval_of(self.values[cca], self.measure.described)

    @property
    def is_regression(self) -> bool:
        """Whether the candidate is worse than that before, or fails where that did not."""
        if self.change is None or self.before is None:
            return False
        return self.change.judgement == "worse" or (
            self.failed is not None and not self.before.failed
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as a dictionary of plain values."""
        return {
            "criterion": self.case.criterion.key,
            "network": self.case.network.name,
            "metric": self.measure.metric,
            "of": self.measure.of,
            "window_s": self.measure.window_s,
            "quantity": self.title,
            "unit": self.measure.described.unit,
            "values": dict(self.values),
            "medians": {cca: self.median(cca) for cca in self.values},
            "intervals": {cca: self.interval(cca) for cca in self.values},
            "comparisons": [asdict(one) for one in self.comparisons],
            "failure": asdict(self.failed) if self.failed else None,
            "change": asdict(self.change) if self.change else None,
            "median_before": self.median_before if self.before else None,
            "failed_before": self.before is not None and self.before.failed,
        }


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The result of an evaluation.

    Attributes
    ----------
    design : Design
    cells : tuple of Cell
        By case, then measure.
    errors : mapping of (str, str) to str
        Reason of the first failed run, by case and congestion control.
    unmeasured : mapping of str to str
        Reason why a case was not run, by case.
    series : mapping of (str, str) to mapping
        Throughput in Mbit/s over time of the flows of each label, of the first repetition, by case
        and congestion control; key ``time_s`` is the ends of the intervals.
    provenance : mapping
        Origin of the first run of the candidate.
    """

    design: Design
    cells: tuple[Cell, ...]
    errors: Mapping[tuple[str, str], str]
    unmeasured: Mapping[str, str]
    series: Mapping[tuple[str, str], Mapping[str, list[float]]]
    provenance: Mapping[str, Any]

    def of(self, criterion: Criterion) -> tuple[Cell, ...]:
        """Return the cells of a criterion."""
        return tuple(cell for cell in self.cells if cell.case.criterion.key == criterion.key)

    @property
    def failures(self) -> tuple[Cell, ...]:
        """The cells with a definite failure; of a failed run, that of its first measure."""
        found: dict[object, Cell] = {}
        for i, cell in enumerate(self.cells):
            if cell.failed is not None:
                found.setdefault(cell.case.key if cell.failed.is_run else i, cell)
        return tuple(found.values())

    @property
    def has_changes(self) -> bool:
        """Whether the evaluation names changes against another version."""
        return any(cell.change is not None for cell in self.cells)

    @property
    def regressions(self) -> tuple[Cell, ...]:
        """The cells in which the candidate is worse than the version before."""
        return tuple(cell for cell in self.cells if cell.is_regression)

    @property
    def unmeasured_criteria(self) -> Mapping[str, str]:
        """Reason of each criterion of which no network was run, by its key."""
        measured = {cell.case.criterion.key for cell in self.cells}
        return {
            case.criterion.key: self.unmeasured[case.key]
            for case in self.design.cases
            if case.key in self.unmeasured and case.criterion.key not in measured
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as a dictionary of plain values."""
        design = self.design
        unmeasured = self.unmeasured_criteria
        return {
            "candidate": design.candidate,
            "baselines": design.others,
            "against": design.against,
            "pack": {"name": design.pack.name, "source": design.pack.source},
            "extent": design.extent,
            "seeds": design.seeds,
            "criteria": [
                {
                    "name": one.key,
                    "section": one.section,
                    "title": one.title,
                    "obligation": one.obligation,
                    "question": one.question,
                    "counts": {other: dict(count(self.of(one), other)) for other in design.others},
                    "failures": [cell.failed.words for cell in self.of(one) if cell.failed],
                    "not_measured": unmeasured.get(one.key, ""),
                }
                for one in design.criteria
            ],
            "witnesses": [asdict(witness) for witness in design.witnesses],
            "cells": [cell.to_dict() for cell in self.cells],
            "errors": [
                {"case": case, "cca": cca, "reason": reason}
                for (case, cca), reason in self.errors.items()
            ],
            "not_measured": dict(self.unmeasured),
            "provenance": dict(self.provenance),
        }


def count(cells: Iterable[Cell], baseline: str) -> Counter[Judgement]:
    """Return the number of each judgement against a baseline."""
    return Counter(
        one.judgement for cell in cells for one in cell.comparisons if one.baseline == baseline
    )
