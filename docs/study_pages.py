# SPDX-License-Identifier: Apache-2.0
"""Write tables and figures of the studies' pages from the studies' results: ``make pages``.

``ccbench study run NAME`` writes ``studies/results/NAME.json``; ``studies/figures.csv`` lists
all figures and tables of the publications. A page has a place (``places.py``) for each table:
``results: NAME ...``, ``builds`` (the builds, runs and hours of the page's studies), ``summary``
(counts by publication), ``totals`` (runs and hours of all studies) or ``figures`` (all figures with
their states); and for figures, which ``study_figures.py`` draws: ``agreement: PAGE`` (the numbers
of all studies of that page) or ``drawn: NAME ...``, with captions.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import places
import study_figures

from ccbench import studies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = [
    "PublishedFigure",
    "explained",
    "filled",
    "pages",
    "placed",
    "published_figures",
    "results",
]

STUDIES = Path(__file__).with_name("studies")

#: A study's JSON file.
Result: TypeAlias = "Mapping[str, Any]"

#: The state of a figure's studies, or the reason why there are none.
_AGREES, _DIFFERS, _DIRECTION = "agrees", "differs", "direction only"
_NO_NUMBER, _NOT_RUN = "no number stated", "not run yet"
_OTHERS, _HARDWARE = "needs other people's servers", "needs hardware"
_NOT_BUILT = "not built"
#: The order in which they are counted.
_STATES = (_AGREES, _DIFFERS, _DIRECTION, _NO_NUMBER, _NOT_RUN, _OTHERS, _HARDWARE, _NOT_BUILT)
_NO_PUBLICATION = "no publication"

#: Engines of results that are not of the virtual kernel.
_ENGINES = {
    "bfc": "the data-centre simulator",
    "model": "models alone",
    "mahimahi": "Mahimahi in real time",
}
#: What studies on Mahimahi also run on; their results do not record its build.
_REFERENCE = "the virtual kernel"

#: Rows of an overview.
_MOST_STUDIES = 10


@dataclass(frozen=True)
class PublishedFigure:
    """A figure or table of a publication.

    Parameters
    ----------
    publication, figure, what : str
        Where it is and what it shows.
    studies : tuple of str
        The studies that reproduce it.
    state : str
        Why there is none: ``"other servers"``, ``"hardware"`` or ``"not built"``; empty if there is
        one.
    reason : str
        What one would take.
    """

    publication: str
    figure: str
    what: str
    studies: tuple[str, ...]
    state: str
    reason: str


def pages() -> list[Path]:
    """Return the pages with places for tables."""
    return [path for path in sorted(STUDIES.glob("*.md")) if places.names(_text(path))]


def results() -> dict[str, Result]:
    """Return the results of all studies by name, in the order of the files."""
    documents = (json.loads(_text(path)) for path in sorted((STUDIES / "results").glob("*.json")))
    return {result["study"]: result for result in documents}


def published_figures() -> list[PublishedFigure]:
    """Return all figures and tables of the publications, in order."""
    with (STUDIES / "figures.csv").open(encoding="utf-8", newline="") as file:
        return [
            PublishedFigure(**{**row, "studies": tuple(row["studies"].split())})  # type: ignore[arg-type]
            for row in csv.DictReader(file)
        ]


def filled(text: str, of: Mapping[str, Result], figures: Sequence[PublishedFigure]) -> str:
    """Return a page with its tables filled in from the results and the published figures."""
    return places.filled(
        text,
        {
            "results": lambda names: _comparisons(names.split(), of),
            "builds": lambda: _builds(
                of[name] for name in studies.names() if name in placed(text) & of.keys()
            ),
            "summary": lambda: _summary(of.values()),
            "totals": lambda: _totals(of.values()),
            "figures": lambda: _inventory(figures, of),
            "agreement": lambda page: _agreement(page, names_of_results(text), of),
            "drawn": lambda names: "\n\n".join(_drawn(of[name]) for name in names.split()),
        },
    )


def names_of_results(page: str) -> list[str]:
    """Return the names of the studies whose results have a place on a page, in order."""
    return [
        study
        for place in places.names(page)
        if place.startswith("results: ")
        for study in place.split()[1:]
    ]


def _agreement(page: str, names: Sequence[str], of: Mapping[str, Result]) -> str:
    """Return the figure of the numbers of a page, with its caption."""
    compared = [
        each
        for name in names
        if name in of
        for each in of[name]["comparisons"]
        if each["kind"] == "number" and each["verdict"] != "not compared"
    ]
    drawn = [each for name in names if name in of for each in study_figures.numbers_of(of[name])]
    agree, all_agree = (
        sum(each["verdict"] == "agrees" for each in some) for some in (drawn, compared)
    )
    are, agrees = ("is", "agrees") if agree == 1 else ("are", "agree")
    alt = f"{agree} of {len(drawn)} drawn numbers {are} in the range of agreement"
    file = f"../images/studies/{study_figures.agreement_name(page)}.png"
    sentences = [
        (
            f"{agree} of {len(drawn)} drawn numbers {are} in the grey range from 0 to 1, and "
            f"[{agrees}](index.md#rules-of-comparison) with the publication."
        ),
        "Lines are 95 % confidence intervals; numbers beyond the axis are drawn at its ends.",
    ]
    if left_out := len(compared) - len(drawn):
        numbers, those = ("counts and other numbers", "them") if left_out > 1 else ("number", "it")
        sentences.append(
            f"Left out: {left_out} {numbers} without a scale, which must be equal to agree. With "
            f"{those}, {all_agree} of {len(compared)} agree."
        )
    return f"![{alt}]({file})\n\n*{' '.join(sentences)}*"


#: Numbers of a caption.
_MOST_NUMBERS = 3


def _drawn(result: Result) -> str:
    """Return the figure of a study, with what the publication states about it."""
    title = result["title"]
    stated = [each for each in result["comparisons"] if each["kind"] != "unbounded"]
    stated.sort(key=lambda each: each["kind"] != "number")
    shown = [
        f"{each['quantity']} = {_measured(each)}{_unit(each)} (published: {each['published']})"
        for each in stated[:_MOST_NUMBERS]
    ]
    source = f"{result['publication']}, {result['part']}: {title}"
    caption = f"*{source}. Measured: {'; '.join(shown)}.*"
    return f"![{title}](../images/studies/{result['study']}.png)\n\n{caption}"


def _unit(comparison: Mapping[str, Any]) -> str:
    return f" {comparison['unit']}" if comparison["unit"] else ""


def explained(page: str) -> set[str]:
    """Return the names of the studies in the bold beginnings of a page's paragraphs."""
    return {
        name
        for paragraph in re.findall(r"^\*\*(.*?)\*\*", page, re.MULTILINE | re.DOTALL)
        for name in re.findall(r"`([a-z][a-z0-9]*(?:-[\w.-]+)?)`", paragraph)
    }


def _comparisons(names: Sequence[str], of: Mapping[str, Result]) -> str:
    shown = [of[name] for name in names if name in of]
    compared, others = (_selected(shown, is_compared=is_compared) for is_compared in (True, False))
    parts = []
    if compared:
        table = _table(compared, ("verdict", "measured", "published", "stated in"), _compared_cells)
        if (count := sum(len(result["comparisons"]) for result in compared)) > places.MOST_ROWS:
            parts.append(_overview(compared))
            table = places.collapsible(f"All {count} comparisons", table)
        parts.append(table)
    if others:
        table = _table(others, ("measured", "published"), _cells)
        count = sum(len(result["comparisons"]) for result in others)
        parts.append(
            places.collapsible(f"Measured, without a published number to compare ({count})", table)
        )
    missing = ", ".join(f"`{name}`" for name in names if name not in of)
    if missing:
        parts.append(f"Not run with this version yet: {missing}.")
    return "\n\n".join(parts)


def _selected(of: Iterable[Result], *, is_compared: bool) -> list[Result]:
    """Return the results with only the comparisons that have a verdict, or that have none."""
    chosen = (
        {
            **result,
            "comparisons": [
                comparison
                for comparison in result["comparisons"]
                if (comparison["verdict"] != "not compared") == is_compared
            ],
        }
        for result in of
    )
    return [result for result in chosen if result["comparisons"]]


def _table(
    of: Iterable[Result],
    heads: Sequence[str],
    cells: Callable[[Mapping[str, Any]], Sequence[str]],
) -> str:
    """Return a table with a row for each comparison; studies are named in their first rows."""
    lines = [f"| {' | '.join(('study', 'quantity', *heads))} |", "| --- " * (2 + len(heads)) + "|"]
    for result in of:
        name = f"`{result['study']}`"
        for comparison in result["comparisons"]:
            quantity, unit = comparison["quantity"], comparison["unit"]
            row = (name, f"{quantity} ({unit})" if unit else quantity, *cells(comparison))
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
            name = ""
    return "\n".join(lines)


def _compared_cells(comparison: Mapping[str, Any]) -> Sequence[str]:
    return (_verdict(comparison), *_cells(comparison), comparison["where"])


def _cells(comparison: Mapping[str, Any]) -> Sequence[str]:
    return _measured(comparison), comparison["published"]


def _overview(of: Sequence[Result]) -> str:
    """Return a short table of verdicts by study, those with most differences first."""
    counts = {f"`{result['study']}`": _counts([result]) for result in of}
    rows = sorted(counts.items(), key=lambda item: -_differing(item[1]))
    if len(rows) > _MOST_STUDIES:
        others = rows[_MOST_STUDIES - 1 :]
        rows = rows[: _MOST_STUDIES - 1]
        rows.append((f"{len(others)} others", sum((count for _, count in others), Counter())))
    return "\n".join(
        [
            "| study | numbers that agree | directions that agree |",
            "| --- | ---: | ---: |",
            *(f"| {name} | {' | '.join(_agreeing(count))} |" for name, count in rows),
        ]
    )


def _measured(comparison: Mapping[str, Any]) -> str:
    value, half_width = comparison["measured"], comparison["half_width"]
    if value is None:
        return "none"
    if n_cases := comparison.get("n_cases"):
        ends = comparison["interval"]
        interval = "" if ends is None else f"{_number(ends[0])} to {_number(ends[1])}, "
        return f"{_number(value)} ({interval}of {n_cases})"
    shown = _number(value)
    return shown if half_width is None else f"{shown} ± {_number(half_width, digits=2)}"


def _number(value: float, digits: int = 3) -> str:
    """Return a number with a few digits, and never with a power of ten."""
    return f"{value:,.0f}" if abs(round(value)) >= 10**digits else f"{value:.{digits}g}"


def _verdict(comparison: Mapping[str, Any]) -> str:
    verdict: str = comparison["verdict"]
    words = ["**differs**" if verdict == "differs" else verdict]
    if verdict == "differs" and not comparison["significant"]:
        words.append("not significantly")
    if comparison["kind"] == "direction":
        words.append("direction only")
    return ", ".join(words)


def _summary(of: Iterable[Result]) -> str:
    by_publication: dict[str, list[Result]] = {}
    for result in of:
        by_publication.setdefault(result["publication"], []).append(result)
    lines = [
        "| publication | studies | numbers that agree | directions that agree | not compared |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    total: Counter[tuple[str, str]] = Counter()
    for publication, several in by_publication.items():
        counts = _counts(several)
        lines.append(_counted(publication, len(several), counts))
        if publication != _NO_PUBLICATION:
            total += counts
    of_papers = sum(map(len, by_publication.values())) - len(
        by_publication.get(_NO_PUBLICATION, ())
    )
    return "\n".join([*lines, _counted("all publications", of_papers, total)])


def _engines(result: Result) -> list[str]:
    """Return what a study ran on, each with an equal part of its runs."""
    provenance = result["provenance"]
    engines = [
        f"Linux {engine['kernel_release']}, `{engine['kernel_build']}`"
        if engine["engine"] == "kernel"
        else _ENGINES[engine["engine"]]
        for engine in provenance.get("engines", [provenance])
    ]
    return [*engines, _REFERENCE] if _ENGINES["mahimahi"] in engines else engines


def _hours(hours: float) -> str:
    """Return a time in hours, in seconds if it is short."""
    return f"{hours:,.1f}" if hours >= 0.05 else f"{3600 * hours:.0f} s"  # noqa: PLR2004


def _builds(of: Iterable[Result]) -> str:
    """Return a table of builds, with studies, runs and hours, and the modules that differ."""
    by_build: dict[str, list[tuple[str, int]]] = {}
    digests: dict[str, set[str]] = {}
    for result in of:
        engines = _engines(result)
        for engine in engines:
            by_build.setdefault(engine, []).append((result["study"], len(engines)))
        modules = result["provenance"].get("modules", {})
        for module, digest in dict(modules).items() if isinstance(modules, dict) else ():
            digests.setdefault(module, set()).add(digest)
    time = "hours" if _ENGINES["mahimahi"] in by_build else "hours in virtual time"
    lines = [f"| build | studies | runs | {time} |", "| --- | --- | ---: | ---: |"]
    for engine, own in sorted(by_build.items(), key=lambda item: -len(item[1])):
        extents = [(_extent([name]), engines) for name, engines in own]
        runs = sum(extent[0] // engines for extent, engines in extents)
        hours = sum(extent[1] / engines for extent, engines in extents)
        listed = " ".join(f"`{name}`" for name, _ in own)
        lines.append(f"| {engine} | {listed} | {runs:,} | {_hours(hours)} |")
    changed = ", ".join(f"`{name}`" for name in sorted(digests) if len(digests[name]) > 1)
    after = f"Modules that changed between these runs: {changed}." if changed else ""
    return "\n\n".join(filter(None, ["\n".join(lines), after]))


def _extent(names: Iterable[str]) -> tuple[int, float]:
    """Return the runs of studies, and their hours in virtual time."""
    entries = [studies.info(name) for name in names]
    return sum(entry.runs for entry in entries), sum(entry.virtual_s for entry in entries) / 3600


def _totals(of: Iterable[Result]) -> str:
    """Return a sentence on what all studies ran on."""
    names: dict[str, list[str]] = {}
    for result in of:
        engines = _engines(result)
        is_kernel = any("Linux" in engine for engine in engines)
        kind = "the virtual kernel" if is_kernel else " and ".join(engines)
        names.setdefault(kind, []).append(result["study"])
    parts = []
    for kind, own in names.items():
        runs, hours = _extent(own)
        time = "hours" if _ENGINES["mahimahi"] in kind else "hours in virtual time"
        extent = f" ({runs:,} runs, {hours:,.0f} {time})" if hours >= 1 else ""
        parts.append(f"{len(own)} on {kind}{extent}")
    listed = ", ".join(parts).replace(" on ", " ran on ", 1)
    return f"Of {sum(map(len, names.values()))} studies, {listed}."


def _counts(of: Iterable[Result]) -> Counter[tuple[str, str]]:
    """Return the number of comparisons by kind and verdict."""
    return Counter(
        (comparison["kind"], comparison["verdict"])
        for result in of
        for comparison in result["comparisons"]
    )


def _counted(title: str, studies: int, counts: Counter[tuple[str, str]]) -> str:
    """Return a row of the summary."""
    agree = " | ".join(_agreeing(counts))
    return f"| {title} | {studies} | {agree} | {counts['unbounded', 'not compared']} |"


def _agreeing(counts: Counter[tuple[str, str]]) -> list[str]:
    """Return how many of the numbers and of the directions agree."""
    of_kinds = (
        (counts[kind, "agrees"], counts[kind, "differs"]) for kind in ("number", "direction")
    )
    return [f"{agree} of {agree + differ}" if agree + differ else "–" for agree, differ in of_kinds]


def _differing(counts: Counter[tuple[str, str]]) -> int:
    return counts["number", "differs"] + counts["direction", "differs"]


def _inventory(figures: Sequence[PublishedFigure], of: Mapping[str, Result]) -> str:
    parts = []
    states = Counter(_state(figure, of)[0] for figure in figures)
    counted = ", ".join(f"{state} {states[state]}" for state in _STATES if states[state])
    parts.append(f"States of the {len(figures)} figures and tables: {counted}.")
    for publication in dict.fromkeys(figure.publication for figure in figures):
        lines = ["| figure | what it shows | studies | state |", "| --- | --- | --- | --- |"]
        for figure in figures:
            if figure.publication == publication:
                state, more = _state(figure, of)
                names = " ".join(f"`{name}`" for name in figure.studies)
                words = f"{state}: {more}" if more else state
                lines.append(f"| {figure.figure} | {figure.what} | {names} | {words} |")
        parts += [f"## {publication}", *_folded(publication, lines, figures, of)]
    return "\n\n".join(parts)


def _folded(
    publication: str,
    lines: Sequence[str],
    figures: Iterable[PublishedFigure],
    of: Mapping[str, Result],
) -> list[str]:
    """Return the table of a publication; a long one is collapsed below the counts of its states."""
    table = "\n".join(lines)
    if (count := len(lines) - 2) <= places.MOST_ROWS:
        return [table]
    states = Counter(_state(one, of)[0] for one in figures if one.publication == publication)
    rows = [f"| {state} | {states[state]} |" for state in _STATES if states[state]]
    return [
        "\n".join(["| state | figures and tables |", "| --- | ---: |", *rows]),
        places.collapsible(f"All {count} figures and tables", table),
    ]


def _state(figure: PublishedFigure, of: Mapping[str, Result]) -> tuple[str, str]:
    """Return a figure's state, one of _STATES, and a remark."""
    if not figure.studies:
        states = {"other servers": _OTHERS, "hardware": _HARDWARE, "not built": _NOT_BUILT}
        return states[figure.state], figure.reason
    if not of.keys() & figure.studies:
        return _NOT_RUN, ""
    counts = _counts(of[name] for name in figure.studies if name in of)
    agree = sum(counts[kind, "agrees"] for kind in ("number", "direction"))
    differ = _differing(counts)
    if differ:
        page = next(path for path in pages() if figure.studies[0] in placed(_text(path)))
        return (
            _DIFFERS,
            f"{differ} of {agree + differ}, [why]({page.name}#differences)",
        )
    if not agree:
        return _NO_NUMBER, ""
    return _AGREES if counts["number", "agrees"] else _DIRECTION, str(agree)


def placed(page: str) -> set[str]:
    """Return the names of the studies whose results have a place on a page."""
    return set(names_of_results(page))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def main() -> None:
    """Draw the figures, and write the tables into all pages."""
    of, figures = results(), published_figures()
    drawn = {
        path.stem: names_of_results(text)
        for path in pages()
        if f"agreement: {path.stem}" in places.names(text := _text(path))
    }
    study_figures.draw(of, drawn)
    for path in pages():
        path.write_text(filled(_text(path), of, figures), encoding="utf-8")


if __name__ == "__main__":
    main()
