# SPDX-License-Identifier: Apache-2.0
"""Write the page with evaluations of CCAs from their results: ``make pages``.

``python docs/evaluation_pages.py FOLDER ...`` first takes the results of ``ccbench evaluate CCA -o
FOLDER`` to ``evaluations/CCA.json``, without values of single runs. ``evaluations.md`` has places
(``places.py``) for the tables: ``league`` and ``details``.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import places

from ccbench.base.counts import counted
from ccbench.evaluate import Measure, load_pack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["BASELINE", "compact", "filled", "results"]

DOCS = Path(__file__).parent
RESULTS = DOCS / "evaluations"
PAGE = RESULTS.with_suffix(".md")

#: The CCA with which the league compares.
BASELINE = "cubic"

#: A compact evaluation.
Result: TypeAlias = "Mapping[str, Any]"

#: Signs of judgements in the league, in the order in which they are shown.
_SIGNS = {"better": "+", "worse": "−", "other": "±"}
_WORDS = {"better": "better", "like": "similar", "worse": "worse", "other": "different"}


def compact(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Return an evaluation without values of single runs."""
    origin = evaluation["provenance"]
    return {
        "candidate": evaluation["candidate"],
        "pack": evaluation["pack"]["name"],
        "extent": evaluation["extent"],
        "repetitions": len(evaluation["seeds"]),
        "made_by": f"ccbench {origin['ccbench']}, Linux {origin['kernel_release']}",
        "unmeasured": [one["name"] for one in evaluation["criteria"] if one["not_measured"]],
        "cells": [
            {
                "criterion": cell["criterion"],
                "quantity": cell["quantity"],
                "unit": _measure(cell).unit,
                "medians": {
                    cca: _rounded(value, _measure(cell).scale)
                    for cca, value in cell["medians"].items()
                },
                "judgements": {one["baseline"]: one["judgement"] for one in cell["comparisons"]},
                "failure": cell["failure"]["words"] if cell["failure"] else "",
            }
            for cell in evaluation["cells"]
        ],
    }


def _measure(cell: Mapping[str, Any]) -> Measure:
    return Measure(metric=cell["metric"], of=cell["of"], window_s=cell["window_s"])


def _rounded(value: float | None, scale: float) -> float | None:
    return None if value is None else float(f"{value * scale:.3g}")


def results() -> list[Result]:
    """Return the results by the names of their files."""
    return [json.loads(path.read_text("utf-8")) for path in sorted(RESULTS.glob("*.json"))]


def filled(text: str, of: Sequence[Result]) -> str:
    """Return the page with its tables filled in from the results."""
    return places.filled(
        text,
        {
            "league": lambda: _folded_league(of),
            "details": lambda: "\n".join(_details(of)),
        },
    )


def _folded_league(of: Sequence[Result]) -> str:
    """Return the sums of all CCAs above the table of all criteria."""
    table = list(_league(of))
    rows = [
        f"| {_link(result)} | {_signs(result['cells'])} |"
        for result in of
        if result["candidate"] != BASELINE
    ]
    overview = "\n".join(["| CCA | all criteria |", "| --- | --- |", *rows])
    title = f"All {len(table) - 3} criteria"
    return f"{overview}\n\n{places.collapsible(title, chr(10).join(table))}"


def _league(of: Sequence[Result]) -> Iterator[str]:
    columns = [result for result in of if result["candidate"] != BASELINE]
    yield f"| criterion | {' | '.join(_link(result) for result in columns)} |"
    yield "| --- " * (1 + len(columns)) + "|"
    for criterion in load_pack("rfc9743").criteria:
        if criterion.measures:
            cells = (_sign(result, criterion.key) for result in columns)
            yield f"| {criterion.section} {criterion.title} | {' | '.join(cells)} |"
    yield f"| **all** | {' | '.join(_signs(result['cells']) for result in columns)} |"


def _link(result: Result) -> str:
    name = result["candidate"]
    return f"[{name}](#{name})"


def _sign(result: Result, criterion: str) -> str:
    """Return a cell of the league: a sign for each kind of difference, with its number."""
    cells = [cell for cell in result["cells"] if cell["criterion"] == criterion]
    return _signs(cells) if cells else "·"


def _signs(cells: Iterable[Mapping[str, Any]]) -> str:
    found = list(cells)
    counts = Counter(cell["judgements"].get(BASELINE, "like") for cell in found)
    signs = [f"{sign}{counts[name]}" for name, sign in _SIGNS.items() if counts[name]]
    if any(cell["failure"] for cell in found):
        signs.append("**✗**")
    return " ".join(signs) or "="


def _details(of: Sequence[Result]) -> Iterator[str]:
    titles = {one.key: f"{one.section} {one.title}" for one in load_pack("rfc9743").criteria}
    for result in of:
        yield from _of_candidate(result, titles)


def _of_candidate(result: Result, titles: Mapping[str, str]) -> Iterator[str]:
    name, cells = result["candidate"], result["cells"]
    kernel = " --kernel 7.3" if "Linux 7" in result["made_by"] else ""
    others = list(cells[0]["judgements"])
    yield f"### {name}\n"
    example = Path("examples", "own-cca", f"tcp_{name}")
    modules = f"CCBENCH_MODULES={example} " if (DOCS.parent / example).is_dir() else ""
    yield f"`{modules}ccbench evaluate {name}{kernel} --{result['extent']} -o {name}-report`\n"
    measures, runs = counted(len(cells), "measure"), counted(result["repetitions"], "run")
    yield f"{measures}, {runs} of each network ({result['made_by']}).\n"
    for cell in cells:
        if cell["failure"]:
            yield f"**Definite failure**: {titles[cell['criterion']]}: {cell['failure']}.\n"
    for other in others:
        counts = Counter(cell["judgements"][other] for cell in cells)
        found = ", ".join(f"{counts[key]} {word}" for key, word in _WORDS.items() if counts[key])
        yield f"- Against {other}: {found}."
    yield ""
    table = "\n".join(_table(name, others, cells, titles))
    if (rows := table.count("\n") - 1) > places.MOST_ROWS:
        table = places.collapsible(f"The {rows} measures that are not similar", table)
    yield f"{table}\n"


def _table(
    name: str, others: Sequence[str], cells: Iterable[Mapping[str, Any]], titles: Mapping[str, str]
) -> Iterator[str]:
    """Yield the lines of a candidate's table."""
    heads = ["criterion", "measure", *(f"vs. {other}" for other in others), name, *others]
    yield f"| {' | '.join(heads)} |"
    yield "| --- " * len(heads) + "|"
    for cell in cells:
        if {"like"} != set(cell["judgements"].values()):
            quantity = f"{cell['quantity']} ({cell['unit']})" if cell["unit"] else cell["quantity"]
            values = (_value(cell["medians"][cca]) for cca in (name, *others))
            words = (_WORDS[cell["judgements"][other]] for other in others)
            row = (titles[cell["criterion"]], quantity, *words, *values)
            yield f"| {' | '.join(row)} |"


def _value(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _text(result: Result) -> str:
    """Return a result as JSON with a line for each cell."""
    cells = ",\n".join(json.dumps(cell, ensure_ascii=False) for cell in result["cells"])
    head = json.dumps({**result, "cells": None}, ensure_ascii=False)
    return head.replace('"cells": null', f'"cells": [\n{cells}\n]') + "\n"


def main(folders: Sequence[str]) -> None:
    """Take results from folders, and write the tables into the page."""
    for folder in folders:
        evaluation = json.loads(Path(folder, "evaluation.json").read_text("utf-8"))
        result = compact(evaluation)
        (RESULTS / f"{result['candidate']}.json").write_text(_text(result), "utf-8")
    PAGE.write_text(filled(PAGE.read_text("utf-8"), results()), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
