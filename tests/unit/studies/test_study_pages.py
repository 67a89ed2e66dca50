# SPDX-License-Identifier: Apache-2.0
"""docs/study_pages.py, and the pages that it writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import study_figures
import study_pages
from study_pages import PublishedFigure

from ccbench import studies
from ccbench.base.sealed import file_digest, unsealed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PAGES = study_pages.pages()
RESULTS = study_pages.results()


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_results_are_whole(name: str) -> None:
    """A stored result is as `ccbench study run` wrote it."""
    path = study_pages.STUDIES / "results" / f"{name}.json"
    assert unsealed(path.read_bytes())["study"] == name


def comparison(verdict: str = "agrees", kind: str = "number", **more: object) -> dict[str, object]:
    """Return a comparison in the form of a study's JSON file."""
    return {
        "quantity": "share",
        "unit": "%",
        "measured": 38.21,
        "half_width": None,
        "published": "about 40",
        "where": "section 3",
        "kind": kind,
        "verdict": verdict,
        "significant": verdict == "differs",
        **more,
    }


def result(name: str, *comparisons: Mapping[str, object]) -> study_pages.Result:
    """Return a study's result."""
    return {"study": name, "publication": "A 1999", "comparisons": list(comparisons)}


def figure(*names: str, state: str = "", reason: str = "") -> PublishedFigure:
    """Return a published figure with its studies."""
    return PublishedFigure("A 1999", "Figure 1", "shares", names, state, reason)


def lines(
    page: str, *results: study_pages.Result, figures: tuple[PublishedFigure, ...] = ()
) -> list[str]:
    """Return the lines that replace a placeholder of a page."""
    of = {item["study"]: item for item in results}
    filled: str = study_pages.filled(f"above\n<!-- {page} -->\n<!-- end -->\n", of, figures)
    assert filled == study_pages.filled(filled, of, figures)
    return filled.splitlines()[3:-2]


def classified(page: str) -> set[str]:
    """Return the studies of paragraphs that state the kind of a difference, (a) to (d)."""
    paragraphs = re.findall(r"^\*\*.*?(?=\n\n|\Z)", page, re.MULTILINE | re.DOTALL)
    return {
        name
        for paragraph in paragraphs
        if re.search(r"\*\*, \([a-d]\)", paragraph)
        for name in study_pages.explained(paragraph)
    }


class TestTables:
    @pytest.mark.parametrize(
        ("one", "row"),
        [
            (comparison(), "| `a-1` | share (%) | agrees | 38.2 | about 40 | section 3 |"),
            (
                comparison("differs", half_width=1.23),
                "| `a-1` | share (%) | **differs** | 38.2 ± 1.2 | about 40 | section 3 |",
            ),
            (
                comparison(n_cases=20, interval=[19, 61]),
                "| `a-1` | share (%) | agrees | 38.2 (19 to 61, of 20) | about 40 | section 3 |",
            ),
            (
                comparison(n_cases=20, interval=None),
                "| `a-1` | share (%) | agrees | 38.2 (of 20) | about 40 | section 3 |",
            ),
            (
                comparison("differs", "direction", measured=None, unit=""),
                "| `a-1` | share | **differs**, direction only | none | about 40 | section 3 |",
            ),
            (
                comparison("differs", half_width=5.0, significant=False, published="4"),
                "| `a-1` | share (%) | **differs**, not significantly | 38.2 ± 5 | 4 | section 3 |",
            ),
        ],
    )
    def test_row(self, one: Mapping[str, object], row: str) -> None:
        """A row has the number, its interval or cases, the statement, its source, and a verdict."""
        assert row == lines("results: a-1", result("a-1", one))[-1]

    def test_not_compared(self) -> None:
        """Numbers without a published one have a table of their own, without verdicts."""
        one = comparison("not compared", "unbounded")
        table, others = "\n".join(lines("results: a-1", result("a-1", comparison(), one))).split(
            "\n\n<details>\n"
        )
        assert table.endswith("| agrees | 38.2 | about 40 | section 3 |")
        assert "| `a-1` | share (%) | 38.2 | about 40 |\n" in others

    @pytest.mark.parametrize(
        ("measured", "half_width", "shown"),
        [(6919.7, None, "6,920"), (999.7, 730.4, "1,000 ± 730"), (38.16, 2.345, "38.2 ± 2.3")],
    )
    def test_large_numbers(self, measured: float, half_width: float | None, shown: str) -> None:
        """Large numbers are written without powers of ten, small ones with few digits."""
        one = comparison(measured=measured, half_width=half_width)
        assert f"| {shown} |" in "\n".join(lines("results: a-1", result("a-1", one)))

    def test_quantities(self) -> None:
        """A quantity can be read without the one before it; differences and ratios have signs."""
        words = re.compile(r"^the same\b|\bbeside\b|\bless (?!than\b|often\b)|\w's?,? by \w+'s\b")
        quantities = [each["quantity"] for of in RESULTS.values() for each in of["comparisons"]]
        assert [] == [quantity for quantity in quantities if words.search(quantity)]

    @pytest.mark.parametrize("studies_count", [2, 12])
    def test_long_tables(self, studies_count: int) -> None:
        """A table of more than 15 rows is below an overview of at most ten studies."""
        names = [f"a-{number}" for number in range(studies_count)]
        of = [result(name, *[comparison()] * 10) for name in names[:-1]]
        of.append(result(names[-1], *[comparison("differs")] * 10))
        overview, _, table = "\n".join(lines(f"results: {' '.join(names)}", *of)).partition(
            "\n\n<details>\n"
        )
        first, *others = overview.splitlines()[2:]
        assert first == f"| `{names[-1]}` | 0 of 10 | – |"
        assert len(others) == min(studies_count, 10) - 1
        assert table.count("| about 40 |") == 10 * studies_count

    def test_a_study_without_results(self) -> None:
        """A study that was not run yet is named below the rows of the others."""
        *rows, empty, below = lines("results: a-1 a-2", result("a-2", comparison(), comparison()))[
            2:
        ]
        assert ["`a-2`", ""] == [row.split("|")[1].strip() for row in rows]
        assert ("", "Not run with this version yet: `a-1`.") == (empty, below)

    def test_summary(self) -> None:
        """Numbers and directions count separately; the total excludes unpublished ones."""
        several = [comparison(), comparison("differs"), comparison(kind="direction")]
        unpublished = {**result("b", comparison("differs")), "publication": "no publication"}
        rows = lines("summary", result("a-1", *several), unpublished)[2:]
        assert [
            "| A 1999 | 1 | 1 of 2 | 1 of 1 | 0 |",
            "| no publication | 1 | 0 of 1 | – | 0 |",
            "| all publications | 1 | 1 of 2 | 1 of 1 | 0 |",
        ] == rows

    @pytest.mark.parametrize(
        ("comparisons", "state"),
        [
            ((comparison(), comparison(kind="direction")), "agrees: 2"),
            ((comparison(kind="direction"),), "direction only: 1"),
            ((comparison("not compared", "unbounded"),), "no number stated"),
        ],
    )
    def test_states(self, comparisons: tuple[Mapping[str, object], ...], state: str) -> None:
        """A figure agrees if a number of it does and nothing differs, or has directions only."""
        row = lines("figures", result("a-1", *comparisons), figures=(figure("a-1"),))[-1]
        assert f"| Figure 1 | shares | `a-1` | {state} |" == row

    def test_a_figure_that_differs(self) -> None:
        """A figure with a comparison that differs links to the page with the explanation."""
        shown = result("ware-3.2", comparison(), comparison("differs"))
        row = lines("figures", shown, figures=(figure("ware-3.2"),))[-1]
        assert "differs: 1 of 2, [why](bbr-and-loss.md#differences) |" in row

    def test_a_figure_without_results(self) -> None:
        """A figure whose study was not run yet is marked."""
        row = lines("figures", figures=(figure("a-1"),))[-1]
        assert "| Figure 1 | shares | `a-1` | not run yet |" == row

    @pytest.mark.parametrize(
        ("state", "words"),
        [
            ("other servers", "needs other people's servers: x"),
            ("hardware", "needs hardware: x"),
            ("not built", "not built: x"),
        ],
    )
    def test_figures_without_a_study(self, state: str, words: str) -> None:
        """A figure that no study reproduces has a reason."""
        row = lines("figures", figures=(figure(state=state, reason="x"),))[-1]
        assert f"| Figure 1 | shares |  | {words} |" == row


def built(build: str, **modules: str) -> study_pages.Result:
    """Return the result of a study on a build of the virtual kernel."""
    engine = {"engine": "kernel", "kernel_release": "6.12", "kernel_build": build}
    return {"study": "ware-3.2", "provenance": {**engine, "modules": modules}}


class TestBuilds:
    def test_table(self) -> None:
        """Each build is listed with its studies, their runs and their hours in virtual time."""
        page = "<!-- results: ware-3.2 -->\n<!-- end -->\n<!-- builds -->\n<!-- end -->\n"
        result = {**built("b1"), "comparisons": [], "publication": "A 1999"}
        filled = study_pages.filled(page, {"ware-3.2": result}, ())
        assert "| Linux 6.12, `b1` | `ware-3.2` | 70 | 4.7 |" in filled
        assert "changed" not in filled

    def test_several_engines(self) -> None:
        """The runs of a study on several builds, or on Mahimahi, are divided equally."""
        builds = [built(build)["provenance"] for build in ("b1", "b2")]
        text = study_pages._builds([{"study": "ware-3.2", "provenance": {"engines": builds}}])
        assert "| Linux 6.12, `b2` | `ware-3.2` | 35 | 2.3 |" in text
        text = study_pages._builds([{"study": "ware-3.2", "provenance": {"engine": "mahimahi"}}])
        assert "| Mahimahi in real time | `ware-3.2` | 35 | 2.3 |" in text
        assert "| the virtual kernel | `ware-3.2` | 35 | 2.3 |" in text

    def test_changed_modules(self) -> None:
        """Modules that are not the same in all builds are named."""
        results = [built("b1", tcp_a="1", tcp_b="1"), built("b2", tcp_a="1", tcp_b="2")]
        text = study_pages._builds(results)
        assert text.endswith("Modules that changed between these runs: `tcp_b`.")

    def test_totals(self) -> None:
        """All studies are counted by what they ran on."""
        model = {"study": "bfc-1.1", "provenance": {"engine": "model"}}
        assert (
            "Of 2 studies, 1 ran on the virtual kernel (70 runs, 5 hours in virtual time), "
            "1 on models alone."
        ) == study_pages._totals([built("b1"), model])


class TestPages:
    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
    def test_tables(self, page: Path) -> None:
        """The tables of a page are those of the results; otherwise run `make pages`."""
        text = page.read_text(encoding="utf-8")
        assert study_pages.filled(text, RESULTS, study_pages.published_figures()) == text

    def test_every_study(self) -> None:
        """Every study is on one page and has results, of its usual version."""
        placed = [study_pages.placed(page.read_text(encoding="utf-8")) for page in PAGES]
        assert sorted(studies.names()) == sorted(name for of_page in placed for name in of_page)
        assert set(RESULTS) == set(studies.names())
        assert not any(result["quick"] for result in RESULTS.values())

    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
    def test_builds(self, page: Path) -> None:
        """A page names the build of each of its results."""
        text = page.read_text(encoding="utf-8")
        for name in study_pages.placed(text) & RESULTS.keys():
            provenance = RESULTS[name]["provenance"]
            for engine in provenance.get("engines", [provenance]):
                assert engine.get("kernel_build", "") in text, name

    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
    def test_differences_are_explained(self, page: Path) -> None:
        """A study with a number that differs has a paragraph that begins with its name."""
        text = page.read_text(encoding="utf-8")
        differ = {
            name
            for name in study_pages.placed(text) & RESULTS.keys()
            if any(item["verdict"] == "differs" for item in RESULTS[name]["comparisons"])
        }
        assert differ <= study_pages.explained(text)
        of_figures = {name for each in study_pages.published_figures() for name in each.studies}
        if differ & of_figures:
            assert differ & of_figures <= classified(text)


class TestFigures:
    def test_studies(self) -> None:
        """Every study of a publication reproduces one of its figures or sections."""
        figures = study_pages.published_figures()
        listed = {name for figure in figures for name in figure.studies}
        assert listed <= set(studies.names())
        assert all(bool(figure.studies) != bool(figure.state) for figure in figures)
        assert all(figure.reason for figure in figures if not figure.studies)
        assert len({(figure.publication, figure.figure) for figure in figures}) == len(figures)


class TestDrawn:
    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
    def test_figures(self, page: Path) -> None:
        """A page of published figures shows some, with captions, each as PNG and as vectors."""
        text = page.read_text(encoding="utf-8")
        of_page = [RESULTS[name]["publication"] for name in study_pages.placed(text)]
        if not set(of_page) - {"no publication"}:
            return
        images = re.findall(r"^!\[([^\]]+)\]\((\S+\.png)\)$", text, re.MULTILINE)
        assert images
        for alt, path in images:
            png = page.parent / path
            assert png.exists(), path
            assert len(alt) > 10
            if png.parent == study_figures.IMAGES:
                assert png.with_suffix(".svg").exists(), path

    def test_caption(self) -> None:
        """A caption has the numbers of the study next to the statements of the publication."""
        of = {**result("a-1", comparison()), "title": "Shares against others", "part": "Figure 1"}
        drawn = "\n".join(lines("drawn: a-1", of))
        assert "![Shares against others](../images/studies/a-1.png)" in drawn
        assert "A 1999, Figure 1: Shares against others" in drawn
        assert "share = 38.2 % (published: about 40)" in drawn

    def test_caption_of_agreement(self) -> None:
        """The caption counts the drawn numbers, and separately those without a scale."""
        of = result(
            "a-1",
            comparison(measured=40.0, low=30.0, high=50.0),
            comparison("differs", measured=60.0, low=30.0, high=50.0),
            comparison(measured=0.0, low=0.0, high=0.0),
        )
        page = "<!-- agreement: a -->\n\n<!-- end -->\n\n<!-- results: a-1 -->\n\n<!-- end -->\n"
        caption = " ".join(study_pages.filled(page, {"a-1": of}, []).split())
        assert "1 of 2 drawn numbers" in caption
        assert "Left out: 1 number without a scale" in caption
        assert "With it, 2 of 3 agree." in caption

    def test_agreement(self) -> None:
        """A number in the middle of its range is at one half; others differ or are at the ends."""
        ranges: dict[str, Any] = {"low": 30.0, "high": 50.0}
        numbers = [
            comparison(measured=40.0, **ranges),
            comparison("differs", measured=60.0, **ranges),
            comparison("differs", measured=900.0, **ranges),
            comparison(kind="direction", measured=40.0, low=30.0, high=None),
        ]
        (axes,) = study_figures.agreement([result("a-1", *numbers)]).axes
        drawn = [np.asarray(line.get_xdata(), dtype=float).tolist() for line in axes.lines]
        assert [[0.5], [1.5], [3.0]] == [places for places in drawn if places]
        assert ["a-1"] == [label.get_text() for label in axes.get_yticklabels()]

    @pytest.mark.parametrize("table", sorted(study_figures.TABLES.glob("*.csv")), ids=str)
    def test_tables_of_figures(self, table: Path) -> None:
        """A stored table is of the runs whose numbers are on the pages."""
        assert RESULTS[table.stem]["files"][table.name] == file_digest(table.read_bytes())
