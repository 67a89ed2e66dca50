# SPDX-License-Identifier: Apache-2.0
"""docs/verdicts.py: the tables of all studies, made of those in docs/studies."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import pytest

from ccbench import studies
from tests.documentation import DOCS

_SPEC = importlib.util.spec_from_file_location("verdicts", DOCS / "verdicts.py")
assert _SPEC is not None
assert _SPEC.loader is not None
verdicts: Any = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = verdicts  # where its dataclass looks for itself
_SPEC.loader.exec_module(verdicts)

_TABLE = """
| study | what | ours | published | unit | agrees |
| --- | --- | --- | --- | --- | --- |
| `a-1`, Fig 1 | share | 40 | 41 | % | yes |
|  | delay; loss | 3; 4 | 3; 9 | ms | yes; **no** |
| `a-2` | fairness | 1 | left open | | |
|  | best | 2 | not in the thesis | | yes |

| study | what it runs |
| --- | --- |
| `a-3` | something |
"""


class TestTables:
    def test_rows(self) -> None:
        """A row without a study belongs to the one above; other tables are none of these."""
        rows = verdicts.comparisons(_TABLE)
        assert ["a-1", "a-1", "a-2", "a-2"] == [row.study for row in rows]
        assert "3; 9" == rows[1].published

    def test_summary(self) -> None:
        """It counts published numbers that agree; one that was not published is no number."""
        titles = {name: (f"title {name}", "paper") for name in ("a-1", "a-2", "a-3")}
        table = verdicts.summary(verdicts.comparisons(_TABLE), titles)
        assert "| `a-1` | title a-1 | paper | 2 of 3 agree |" in table
        assert "| `a-2` | title a-2 | paper | left open by the paper |" in table
        assert "| `a-3` | title a-3 | paper | in the text |" in table
        assert "Of 3 published numbers and statements, 2 agree." in table

    def test_damaged(self) -> None:
        """A row that is none stops the site instead of being left out."""
        with pytest.raises(ValueError, match="not one"):
            verdicts.comparisons(_TABLE.replace("| 40 | 41 | % |", "| 40 | 41 |"))


def test_studies() -> None:
    """Every study that the pages compare is one, on one page only, and no row lacks a number."""
    on_page = [verdicts.comparisons(page.read_text(encoding="utf-8")) for page in verdicts.pages()]
    rows = [row for several in on_page for row in several]
    named = [name for several in on_page for name in {row.study for row in several}]
    assert len(named) == len(set(named))
    assert {row.study for row in rows} <= set(studies.names())
    assert all(row.ours and row.published for row in rows)
