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
    from ccbench.experiment.scenario import Scenario

__all__ = [
    "JUDGEMENTS",
    "METHOD",
    "before",
    "conditions",
    "evidence",
    "facts",
    "failures",
    "found",
    "lead",
    "measured",
    "short",
    "shown",
    "tally",
    "where",
]

#: Words for judgements.
JUDGEMENTS: Mapping[Judgement, str] = {
    "better": "better",
    "like": "similar",
    "worse": "worse",
    "other": "different",
}

_METHOD = """
Each network ran with the candidate and with each baseline in its place, on the real TCP stack in
virtual time, several times with different seeds and noise. A value is the median over these runs,
followed by the 95 % interval of the median (order statistics) unless both ends are equal.

RFC 9743 sets no thresholds, and neither does this report: it compares. The candidate is better or
worse than a baseline if a Mann-Whitney test finds that their values differ by more than the
smallest difference that matters: a tenth of the baseline's value and, depending on the unit, 1 ms
or a twentieth of the round-trip time, 0.1 s or two round-trip times, 0.05 Mbit/s or 1 % of the
slowest link, 10 packets, or 1 percentage point. Otherwise it is similar. After Benjamini and
Hochberg's correction, at most 5 % of the differences in this report are expected to be by chance.

“Different” stands for a difference of which neither side is better, such as more
throughput for the candidate at the cost of others: what these lose is judged in rows of its own.

A definite failure is a median beyond a limit that no deployed algorithm should cross, and that no
baseline crosses in the same network; or a run that crashed.
"""

#: How values, judgements and failures come about, in paragraphs.
METHOD = tuple(" ".join(paragraph.split()) for paragraph in _METHOD.split("\n\n"))


def lead(evaluation: Evaluation) -> str:
    """Return the summary in a few sentences."""
    design = evaluation.design
    networks = len({cell.case.key for cell in evaluation.cells})
    measures, runs = counted(len(evaluation.cells), "measure"), counted(len(design.seeds), "run")
    parts = [f"{measures} in {counted(networks, 'network')}, {runs} of each."]
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
    """Return the numbers of judgements against a baseline, such as "2 better, 1 worse"."""
    numbers = count(cells, other)
    return ", ".join(
        f"{numbers[judgement]} {words}"
        for judgement, words in JUDGEMENTS.items()
        if numbers[judgement]
    )


def evidence(cells: Sequence[Cell], candidate: str) -> str:
    """Return how much was measured for a criterion, and how many bounds of its source are met."""
    networks = len({cell.case.key for cell in cells})
    measures = len({cell.title for cell in cells})
    numbers = counted(measures, "measure")
    if networks > 1:
        numbers += f", {counted(networks, 'network')}"
    bounded = [cell for cell in cells if cell.measure.bound]
    if not bounded:
        return numbers
    met = sum(cell.measure.is_met(cell.median(candidate)) for cell in bounded)
    return f"{numbers}; {met} of {counted(len(bounded), 'bound')} met"


def failures(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return the distinct definite failures of cells."""
    return tuple(dict.fromkeys(cell.failed.words for cell in cells if cell.failed is not None))


def where(cell: Cell) -> str:
    """Return the criterion, the network and the measure of a cell in words."""
    parts = (cell.case.criterion.title, cell.case.network.name, cell.title)
    return f"{cell.case.criterion.section} " + ", ".join(filter(None, parts))


def measured(cell: Cell) -> str:
    """Return what is measured in a cell, with the bound of the source, if any."""
    bound = cell.measure.bound
    return cell.title + (f" ({bound})" if bound else "")


def shown(cell: Cell, cca: str) -> str:
    """Return a median with its interval, such as "4.10 (3.95 to 4.22) Mbit/s"."""
    scale = cell.measure.scale
    value, low, high = (number * scale for number in (cell.median(cca), *cell.interval(cca)))
    missed = "" if cell.measure.is_met(cell.median(cca)) else ", not met"
    if math.isnan(value):
        return f"none{missed}"
    digits = _digits(value, cell.measure.unit)
    text, *ends = (f"{number:.{digits}f}" for number in (value, low, high))
    if ends[0] != ends[1] and math.isfinite(low) and math.isfinite(high):
        text += f" ({ends[0]} to {ends[1]})"
    return f"{text} {cell.measure.unit}".strip() + missed


def short(cell: Cell, cca: str) -> str:
    """Return a median without its interval, such as "4.10 Mbit/s"."""
    return _short(cell.median(cca), cell)


def before(cell: Cell) -> str:
    """Return the median of the version before, without its interval."""
    return _short(cell.median_before, cell)


def _short(median: float, cell: Cell) -> str:
    value = median * cell.measure.scale
    if math.isnan(value):
        return "none"
    return f"{value:.{_digits(value, cell.measure.unit)}f} {cell.measure.unit}".strip()


def found(evaluation: Evaluation, judgement: Judgement) -> tuple[Cell, ...]:
    """Return the cells in which the candidate is better, or worse, than every baseline."""
    return tuple(
        cell
        for cell in evaluation.cells
        if all(one.judgement == judgement for one in cell.comparisons)
    )


def conditions(scenario: Scenario) -> str:
    """Return the path and the duration of a scenario in words."""
    path, link = scenario.path, scenario.path.bottlenecks[0]
    packets = link.queue_packets or 0
    size = f"{counted(packets, 'packet')} ({packets / path.bdp_packets():.2g} BDP)"
    parts = [
        f"{link.mean_mbps:.4g} Mbit/s" + (" on average" if link.trace is not None else ""),
        f"round-trip time {path.rtt_ms:g} ms",
        f"{'drop-tail' if link.qdisc == 'droptail' else link.qdisc} queue of {size}",
    ]
    if link.loss:
        parts.append(f"{100 * link.loss:g} % random loss")
    if path.ecn:
        parts.append("accurate ECN" if path.ecn == "accecn" else "ECN")
    return ", ".join([*parts, f"{scenario.duration_s:g} s"])


def _digits(value: float, unit: str) -> int:
    """Return the decimals that show three digits of a value, or half a packet."""
    if value == 0 or unit == "packets":
        return int(value % 1 != 0)
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
        "extent": f"{design.extent}: {counted(len(cases), 'network')}, "
        f"{counted(len(seeds), 'run')} with each congestion control",
        "runs": f"{len(cases) * len(design.ccas) * len(seeds)}, {virtual_s / 3600:.1f} hours of "
        "virtual time",
        "seed": str(design.seed),
        "made by": f"ccbench {origin.get('ccbench', '')}, engine {origin.get('engine', '')} "
        f"{origin.get('engine_version', '')}",
        "kernel": f"Linux {origin['kernel_release']}" if "kernel_release" in origin else "",
        "modules": ", ".join(" ".join(pair) for pair in origin.get("modules", {}).items()),
    }
    return {name: text for name, text in found.items() if text}
