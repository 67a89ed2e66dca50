# SPDX-License-Identifier: Apache-2.0
"""Write the tables of the studies' pages from the studies' results: ``make pages``.

``ccbench study run NAME`` writes ``studies/results/NAME.json``; ``studies/figures.csv`` lists
all figures and tables of the publications. A page has a place (``places.py``) for each table:
``results: NAME ...``, ``summary`` (counts by publication) or ``figures`` (all figures with their
states).
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
_OTHERS, _NOT_BUILT = "needs other people's servers", "not built"
#: The order in which they are counted.
_STATES = (_AGREES, _DIFFERS, _DIRECTION, _NO_NUMBER, _NOT_RUN, _OTHERS, _NOT_BUILT)
_NO_PUBLICATION = "no publication"


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
        Why there is none: ``"other servers"`` or ``"not built"``; empty if there is one.
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
            "summary": lambda: _summary(of.values()),
            "figures": lambda: _inventory(figures, of),
        },
    )


def explained(page: str) -> set[str]:
    """Return the names of the studies in the bold beginnings of a page's paragraphs."""
    return {
        name
        for paragraph in re.findall(r"^\*\*(.*?)\*\*", page, re.MULTILINE | re.DOTALL)
        for name in re.findall(r"`([a-z][a-z0-9]*(?:-[\w.-]+)?)`", paragraph)
    }


def _comparisons(names: Sequence[str], of: Mapping[str, Result]) -> str:
    lines = [
        "| study | quantity | measured | published | stated in | verdict |",
        "| --- " * 6 + "|",
    ]
    for result in (of[name] for name in names if name in of):
        name = f"`{result['study']}`"
        for comparison in result["comparisons"]:
            quantity, unit = comparison["quantity"], comparison["unit"]
            shown = f"{quantity} ({unit})" if unit else quantity
            published = comparison["published"], comparison["where"]
            cells = (name, shown, _measured(comparison), *published, _verdict(comparison))
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
            name = ""
    missing = ", ".join(f"`{name}`" for name in names if name not in of)
    if missing:
        lines += ["", f"Not run with this version yet: {missing}."]
    return "\n".join(lines)


def _measured(comparison: Mapping[str, Any]) -> str:
    value, half_width = comparison["measured"], comparison["half_width"]
    if value is None:
        return "none"
    if n_cases := comparison.get("n_cases"):
        ends = comparison["interval"]
        interval = "" if ends is None else f"{ends[0]:.3g} to {ends[1]:.3g}, "
        return f"{value:.3g} ({interval}of {n_cases})"
    return f"{value:.3g}" if half_width is None else f"{value:.3g} ± {half_width:.2g}"


def _verdict(comparison: Mapping[str, Any]) -> str:
    verdict: str = comparison["verdict"]
    if verdict == "not compared":
        return "–"
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


def _counts(of: Iterable[Result]) -> Counter[tuple[str, str]]:
    """Return the number of comparisons by kind and verdict."""
    return Counter(
        (comparison["kind"], comparison["verdict"])
        for result in of
        for comparison in result["comparisons"]
    )


def _counted(title: str, studies: int, counts: Counter[tuple[str, str]]) -> str:
    """Return a row of the summary."""
    agree = (
        f"{counts[kind, 'agrees']} of {counts[kind, 'agrees'] + counts[kind, 'differs']}"
        for kind in ("number", "direction")
    )
    return f"| {title} | {studies} | {' | '.join(agree)} | {counts['unbounded', 'not compared']} |"


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
        parts.append("\n".join([f"## {publication}", "", *lines]))
    return "\n\n".join(parts)


def _state(figure: PublishedFigure, of: Mapping[str, Result]) -> tuple[str, str]:
    """Return a figure's state, one of _STATES, and a remark."""
    if not figure.studies:
        return {"other servers": _OTHERS, "not built": _NOT_BUILT}[figure.state], figure.reason
    if not of.keys() & figure.studies:
        return _NOT_RUN, ""
    counts = _counts(of[name] for name in figure.studies if name in of)
    agree = sum(counts[kind, "agrees"] for kind in ("number", "direction"))
    differ = sum(counts[kind, "differs"] for kind in ("number", "direction"))
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
    return {
        study
        for place in places.names(page)
        if place.startswith("results: ")
        for study in place.split()[1:]
    }


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def main() -> None:
    """Write the tables into all pages."""
    of, figures = results(), published_figures()
    for path in pages():
        path.write_text(filled(_text(path), of, figures), encoding="utf-8")


if __name__ == "__main__":
    main()
