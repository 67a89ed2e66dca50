# SPDX-License-Identifier: Apache-2.0
"""Texts of an evaluation's report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ccbench.base.counts import counted
from ccbench.evaluate.evaluation import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ccbench.evaluate.evaluation import Cell, Evaluation
    from ccbench.evaluate.judgement import Judgement

__all__ = [
    "JUDGEMENTS",
    "METHOD",
    "evidence",
    "facts",
    "failures",
    "lead",
    "measured",
    "shown",
    "tally",
    "where",
]

#: Words for judgements.
JUDGEMENTS: Mapping[Judgement, str] = {
    "better": "better",
    "like": "like it",
    "worse": "worse",
    "other": "different",
}

METHOD = (
    "RFC 9743 sets no thresholds, so no criterion is passed. Each network ran with the candidate "
    "and with each baseline in its place, several times with different seeds and noise. Values are "
    "medians over these runs with 95 % intervals from order statistics. The candidate is better or "
    "worse than a baseline if it differs significantly by more than matters: by more than a tenth, "
    "and by more than matters in the unit on this path (Mann-Whitney test of this smallest "
    "difference; of all differences in this report, at most 5 % are expected to be by chance, "
    "after Benjamini and Hochberg). "
    "A definite failure is a value beyond a limit that no deployed algorithm should cross, and "
    "that no baseline crosses in the same network; or a run that crashed."
)


def lead(evaluation: Evaluation) -> str:
    """Return the summary in a few sentences."""
    design = evaluation.design
    networks = len({cell.case.key for cell in evaluation.cells})
    parts = [f"{counted(len(evaluation.cells), 'measure')} in {counted(networks, 'network')}."]
    failed = len(evaluation.failures)
    parts.append(f"{counted(failed, 'definite failure')}." if failed else "No definite failure.")
    parts += [
        f"Compared with {other}: {tally(evaluation.cells, other)}." for other in design.others
    ]
    if evaluation.has_changes:
        worse = len(evaluation.regressions)
        better = sum(
            cell.change is not None and cell.change.judgement == "better"
            for cell in evaluation.cells
        )
        parts.append(f"Against the version before: {better} better, {worse} worse.")
    return " ".join(parts)


def tally(cells: Sequence[Cell], other: str) -> str:
    """Return the numbers of judgements beside a baseline, such as "2 better, 1 worse"."""
    numbers = count(cells, other)
    return ", ".join(
        f"{numbers[judgement]} {words}"
        for judgement, words in JUDGEMENTS.items()
        if numbers[judgement]
    )


def evidence(cells: Sequence[Cell], candidate: str) -> str:
    """Return what was measured for a criterion, and how many bounds of its source are met."""
    networks = len({cell.case.key for cell in cells})
    measures = len({cell.measure.title for cell in cells})
    found = f"{counted(measures, 'measure')}, {counted(networks, 'network')}"
    bounded = [cell for cell in cells if cell.measure.bound]
    if not bounded:
        return found
    met = sum(cell.measure.is_met(cell.median(candidate)) for cell in bounded)
    return f"{found}; {met} of {counted(len(bounded), 'bound')} met"


def failures(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return the distinct definite failures of cells."""
    return tuple(dict.fromkeys(cell.failed.words for cell in cells if cell.failed is not None))


def where(cell: Cell) -> str:
    """Return the criterion, the network and the measure of a cell in words."""
    parts = (cell.case.criterion.title, cell.case.network.name, cell.measure.title)
    return f"{cell.case.criterion.section} " + ", ".join(filter(None, parts))


def measured(cell: Cell) -> str:
    """Return what is measured in a cell, with the bound of the source, if any."""
    bound = cell.measure.bound
    return cell.measure.title + (f" ({bound})" if bound else "")


def shown(cell: Cell, cca: str) -> str:
    """Return a median with its interval, such as "4.10 (3.95 to 4.22) Mbit/s"."""
    value, (low, high) = cell.median(cca), cell.interval(cca)
    missed = "" if cell.measure.is_met(value) else ", not met"
    if math.isnan(value):
        return f"none{missed}"
    digits = _digits(value)
    text = f"{value:.{digits}f}"
    if math.isfinite(low) and math.isfinite(high):
        text += f" ({low:.{digits}f} to {high:.{digits}f})"
    return f"{text} {cell.measure.described.unit}".strip() + missed


def _digits(value: float) -> int:
    """Return the decimals that show three digits of a value."""
    if value == 0:
        return 2
    return max(0, min(6, 2 - math.floor(math.log10(abs(value)))))


def facts(evaluation: Evaluation) -> dict[str, str]:
    """Return the settings and versions of an evaluation."""
    design, origin = evaluation.design, evaluation.provenance
    seeds = design.seeds
    cases = {cell.case.key: cell.case for cell in evaluation.cells}
    virtual_s = (
        sum(design.scenario(case, design.candidate).duration_s for case in cases.values())
        * len(design.ccas)
        * len(seeds)
    )
    found = {
        "criteria": f"{design.pack.title} ({design.pack.source})",
        "baselines": ", ".join(design.others),
        "version before": design.against,
        "extent": f"{design.extent}: {counted(len(cases), 'network')}, {len(seeds)} repetitions",
        "runs": f"{len(cases) * len(design.ccas) * len(seeds)}, {virtual_s / 3600:.1f} hours of "
        "virtual time",
        "seed": str(design.seed),
        "made by": f"ccbench {origin.get('ccbench', '')}, engine {origin.get('engine', '')} "
        f"{origin.get('engine_version', '')}",
        "kernel": f"Linux {origin['kernel_release']}" if "kernel_release" in origin else "",
        "modules": ", ".join(origin.get("modules", ())),
    }
    return {name: text for name, text in found.items() if text}
