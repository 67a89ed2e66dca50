# SPDX-License-Identifier: Apache-2.0
"""What came of every study, in two tables made of those of the pages in studies.

Sphinx puts them into reproducing.md; by hand it is ``python docs/verdicts.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Comparison", "comparisons", "every_comparison", "pages", "summary"]

_STUDIES = Path(__file__).with_name("studies")

#: A table of comparisons begins with this.
_HEADING = ("study", "what", "ours", "published", "unit", "agrees")
_STUDY = re.compile(r"`([a-z]+(?:-[\w.]+)?)`")
_NOTHING = "in the text"


@dataclass(frozen=True)
class Comparison:
    """A row: the study, what is compared, ours, the published, the unit, and the verdict."""

    study: str
    what: str
    ours: str
    published: str
    unit: str
    agrees: str

    @property
    def verdicts(self) -> list[bool]:
        """Whether each of its numbers agrees; none where nothing was published."""
        if "not in" in self.published:
            return []
        words = re.findall(r"\b(yes|no)\b", self.agrees)
        return [word == "yes" for word in words]


def pages() -> list[Path]:
    """Return the pages of studies in the order of their index."""
    toctree = (_STUDIES / "index.md").read_text(encoding="utf-8").partition("```{toctree}")[2]
    return [_STUDIES / f"{name}.md" for name in re.findall(r"^([a-z-]+)$", toctree, re.MULTILINE)]


def comparisons(text: str) -> list[Comparison]:
    """Return the rows of all tables of comparisons in a page, in their order.

    Raises
    ------
    ValueError
        If a table begins without the name of a study, or a row has another number of cells.
    """
    found: list[Comparison] = []
    study, inside = "", False
    for line in text.splitlines():
        if not line.startswith("|"):
            study, inside = "", False
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if tuple(cells) == _HEADING:
            inside = True
        elif inside and not set(line) <= set("|-: "):
            if match := _STUDY.match(cells[0]):
                study = match[1]
            if not study or len(cells) != len(_HEADING):
                message = f"a row of a table of comparisons is not one: {line}"
                raise ValueError(message)
            found.append(Comparison(study, *cells[1:]))
    return found


def summary(rows: Iterable[Comparison], titles: Mapping[str, tuple[str, str]]) -> str:
    """Return a table with a row for each study: how many numbers of it agree.

    Parameters
    ----------
    rows : iterable of Comparison
    titles : mapping
        Title and source by the names of all studies.
    """
    verdicts: dict[str, list[bool]] = {}
    for row in rows:
        verdicts.setdefault(row.study, []).extend(row.verdicts)
    lines = ["| study | what | published as | verdict |", "| --- | --- | --- | --- |"]
    for name, (title, source) in titles.items():
        lines.append(f"| `{name}` | {title} | {source} | {_verdict(verdicts.get(name))} |")
    compared = [verdict for several in verdicts.values() for verdict in several]
    total = f"Of {len(compared)} published numbers and statements, {sum(compared)} agree."
    return "\n".join([*lines, "", total])


def _verdict(agree: list[bool] | None) -> str:
    if agree is None:
        return _NOTHING
    if not agree:
        return "left open by the paper"
    if len(agree) == 1:
        return "agrees" if agree[0] else "does not agree"
    return f"{sum(agree)} of {len(agree)} agree"


def every_comparison(rows: Iterable[Comparison]) -> str:
    """Return one table of all comparisons."""
    lines = [f"| {' | '.join(_HEADING)} |", "| --- | --- | ---: | ---: | --- | --- |"]
    for row in rows:
        cells = (f"`{row.study}`", row.what, row.ours, row.published, row.unit, row.agrees)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page(text: str) -> str:
    """Return a page with the tables in the places that are kept for them."""
    from ccbench import studies  # noqa: PLC0415 - only where the whole page is wanted

    rows = [row for path in pages() for row in comparisons(path.read_text(encoding="utf-8"))]
    known = [studies.about(name) for name in studies.names()]
    titles = {study.name: (study.title, study.source) for study in known}
    text = text.replace("<!-- by study -->", summary(rows, titles))
    return text.replace("<!-- every comparison -->", every_comparison(rows))


if __name__ == "__main__":
    print(page("<!-- by study -->\n\n<!-- every comparison -->"))
