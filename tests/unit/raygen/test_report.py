# SPDX-License-Identifier: Apache-2.0
"""The report of a search: its page and its files."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from click.testing import CliRunner

from ccbench.base.errors import CcbenchError, EngineError, InputError, MissingRequirement
from ccbench.base.sealed import sealed, unsealed
from ccbench.cli import main as cli
from ccbench.emulate.registry import ENGINES
from ccbench.experiment.scenario import Scenario
from ccbench.harm import measure
from ccbench.raygen import DEFAULT_SPACE, Choice, Space, search
from ccbench.raygen.analysis.regions import regions
from ccbench.raygen.html import report
from tests.unit.conftest import ArithmeticEngine, stand_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.figure import Figure

    from ccbench.raygen import SearchResult
    from ccbench.run.run import Run

pytestmark = pytest.mark.slow

FIGURES = {
    *(f"worst-{rank}" for rank in range(1, 6)),
    *("progress", "top", "distances", "parallel"),
    *("heatmap-bandwidth_mbps-rtt_ms", "heatmap-queue_bdp-alpha_flows"),
    "heatmap-queue_bdp-beta_flows",
}


class _Page(HTMLParser):
    """A parser for the parts of a page that these tests need."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.html = path.read_text(encoding="utf-8")
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._table = ""
        self.tables: dict[str, list[list[str]]] = {}
        self._open: list[str] = []
        self.feed(self.html)
        assert [] == self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "tr" and self._table:
            self.tables[self._table].append([])
        elif tag in {"th", "td"} and self._table:
            self.tables[self._table][-1].append("")
        if tag not in {"meta", "link", "br"}:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag == self._open.pop()
        if tag == "table":
            self._table = ""

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "caption":
            self._table = data
            self.tables[data] = []
        elif self._table and self.tables[self._table] and {"th", "td"} & {*self._open}:
            self.tables[self._table][-1][-1] += data

    @property
    def text(self) -> str:
        """All words outside figures, scripts and styles."""
        rest = re.sub(r"<(svg|script|style)\b.*?</\1>", "", self.html, flags=re.DOTALL)
        return " ".join(re.sub(r"<[^>]+>", " ", rest).split())


def _search(folder: Path, engine: Any, **changes: Any) -> SearchResult:
    """Run a small search."""
    settings: dict[str, Any] = {"alpha": "greedy", "beta": "even", "duration_s": 4.0}
    settings |= {"budget": 16, "population": 8, "strategy": "random", "engine": engine}
    return search(**settings | changes, store=None, output_dir=folder)


@pytest.fixture(scope="module")
def usual_search(tmp_path_factory: pytest.TempPathFactory) -> tuple[SearchResult, Path]:
    """Give a small search, which tests may copy."""
    folder = tmp_path_factory.mktemp("usual") / "search"
    return _search(folder, ArithmeticEngine()), folder


@pytest.fixture
def make_search(
    usual_search: tuple[SearchResult, Path], engine: ArithmeticEngine, tmp_path: Path
) -> Callable[..., tuple[SearchResult, Path]]:
    """Give a function that makes a small search and returns its result and folder."""

    def make(name: str = "search", **changes: Any) -> tuple[SearchResult, Path]:
        folder = tmp_path / name
        if changes:
            return _search(folder, **{"engine": engine, **changes}), folder
        result, usual = usual_search
        shutil.copytree(usual, folder)
        return result, folder

    return make


@dataclass(frozen=True)
class _Reported:
    """A search and its report."""

    result: SearchResult
    folder: Path
    before: set[Path]
    files: tuple[Path, ...]

    @cached_property
    def page(self) -> _Page:
        return _Page(self.files[0])


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> _Reported:
    """Give a search of 40 scenarios and its report, shared because it takes seconds."""
    engine = ArithmeticEngine()
    folder = tmp_path_factory.mktemp("reported") / "it's found"
    result = _search(folder, engine, budget=40, seed=7)
    before = set(folder.iterdir())
    files = report(folder, engine=engine, store=None)
    return _Reported(result=result, folder=folder, before=before, files=files)


@pytest.fixture
def blank_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write empty figures: drawing them takes nearly all of the time."""

    def blank(_: Figure, path: Path, **__: Any) -> None:
        path.write_text("<svg></svg>", encoding="utf-8")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", blank)


class TestReport:
    def test_files(self, reported: _Reported) -> None:
        """The report is a page with each figure as SVG and PNG."""
        folder, (page, *figures) = reported.folder, reported.files
        assert folder / "report.html" == page
        assert {folder / "figures" / f"{n}{s}" for n in FIGURES for s in (".svg", ".png")} == set(
            figures
        )
        assert {page, folder / "figures"} == set(folder.iterdir()) - reported.before
        for path in figures:
            start = {".svg": b"<?xml", ".png": b"\x89PNG"}[path.suffix]
            assert path.read_bytes().startswith(start)

    def test_elsewhere(self, reported: _Reported, engine: Any, tmp_path: Path) -> None:
        """In another folder page and figures are the same bytes, and the search is unchanged."""
        before = {path: path.stat().st_mtime_ns for path in reported.folder.iterdir()}
        path = tmp_path / "new" / "x.html"
        again = report(reported.folder, path, engine=engine, store=None)
        assert path == again[0]
        assert [path.read_bytes() for path in reported.files] == [p.read_bytes() for p in again]
        assert before == {path: path.stat().st_mtime_ns for path in reported.folder.iterdir()}

    def test_self_contained(self, reported: _Reported) -> None:
        """The page refers to nothing outside itself, and its ids are unique."""
        page = reported.page
        for tag, attributes in page.tags:
            for name in ("src", "href", "xlink:href", "action", "data"):
                assert (attributes.get(name) or "#").startswith(("#", "data:")), tag
        assert not re.search(r"@import|url\((?!#)", page.html)
        ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        assert len(set(ids)) == len(ids)
        referred = set(re.findall(r'(?:href="|url\()#([^")]+)', page.html))
        assert referred <= set(ids)

    def test_heading(self, reported: _Reported) -> None:
        """The heading has the CCAs, the search's settings and the provenance."""
        text, claims = reported.page.text, reported.result.claims
        assert "greedy against even" in text
        assert "40 of 40 networks" in text
        for words in ("random, population 8", "4 s", "seed 7", "25 to 400 Mbit/s"):
            assert words in text
        assert f"relative harm {claims['relative_harm'].max():+.3f}" in text
        assert "noise typical of each network" in text
        assert "engine arithmetic" in text

    def test_claims(self, reported: _Reported) -> None:
        """The worst networks have the harm of fresh seeds and of the search, and their genes."""
        _, *rows = reported.page.tables["The worst networks"]
        claims = reported.result.claims.to_dict("records")
        assert len(claims) == len(rows)
        for claim, row in zip(claims, rows, strict=True):
            half_width = claim["relative_harm_high"] - claim["relative_harm"]
            assert [str(claim["rank"]), claim["group"]] == row[:2]
            assert [f"{claim['relative_harm']:+.3f}", f"{half_width:.3f}"] == row[2:4]
            assert f"{claim['found_harm']:+.3f}" == row[4]
            assert claim["rtt_ms"] == float(row[6])

    def test_one_number_is_printed_alike(self, reported: _Reported) -> None:
        """Heading, titles, tables and figures have the same digits of the same values."""
        heading, *rows = reported.page.tables["The worst networks"]
        titles = re.findall(r"<h3>(\d)\. (.*?)</h3>", reported.page.html)
        figures = reported.folder / "figures"
        for row, (rank, title) in zip(rows, titles, strict=True):
            link, rtt, queue, alpha, beta = row[5:10]
            network = f"link {link} Mbit/s, RTT {rtt} ms, queue {queue} BDP"
            assert f"{alpha} greedy against {beta} even, {network}" == title
            assert row[0] == rank
            svg = (figures / f"worst-{rank}.svg").read_text()
            assert title in " ".join(re.findall("<text [^>]*>(.*?)</text>", svg))
            first, *_ = (reported.folder / f"worst-{rank}.toml").read_text().splitlines()
            assert title in first
            assert f"is {row[2]}" in first
        assert f"relative harm {rows[0][2]} with {titles[0][1]}." in reported.page.text
        assert "harm in the search" in " ".join(heading)

    def test_harm_of_the_drawn_run(self, reported: _Reported, engine: Any) -> None:
        """A figure of one run names its seed and has that run's harm."""
        for rank in range(1, 6):
            drawn = reported.result.claimed(rank)
            harm = measure(engine.run(drawn.solo), engine.run(drawn.competing)).relative
            assert f"seed {drawn.seed}, whose relative harm is {harm:+.3f}." in reported.page.text

    @pytest.mark.usefixtures("blank_figures")
    def test_copies_are_counted_once(self, make_search: Any, engine: Any) -> None:
        """Networks proposed twice are counted once."""
        fixed = (Choice(name=name, values=(40,)) for name in ("rtt_ms", "queue_packets"))
        space = Space((Choice(name="bandwidth_mbps", values=(10, 20, 30)), *fixed))
        result, folder = make_search(space=space)
        assert 3 == result.networks
        text = _Page(report(folder, engine=engine, store=None)[0]).text
        assert "3 networks were tried" in text
        assert "16 of 16 networks, 13 of them copies" in text
        assert "The 3 most harmful networks." in text

    @pytest.mark.usefixtures("blank_figures")
    def test_few_networks_predict_nothing(self, make_search: Any, engine: Any) -> None:
        """With 16 networks heat maps have measurements only, and the page says why."""
        _, folder = make_search()
        text = _Page(report(folder, engine=engine, store=None)[0]).text
        assert "A prediction between the points needs at least 20 networks" in text

    def test_commands(self, reported: _Reported) -> None:
        """The commands name files that hold the claims' scenarios, with shell quoting."""
        commands = re.findall(r"<code>(ccbench run [^<]+)</code>", reported.page.html)
        paths = [path for _, _, path in (shlex.split(unescape(command)) for command in commands)]
        claimed = map(reported.result.claimed, reported.result.claims["rank"])
        expected = [scenario for claim in claimed for scenario in (claim.competing, claim.solo)]
        assert expected == [Scenario.load(path) for path in paths]

    def test_all_experiments(self, reported: _Reported) -> None:
        """The last table has a row for each experiment with its measurements."""
        heading, *rows = reported.page.tables["All networks that were tried"]
        table = pd.DataFrame(rows, columns=heading)
        harm = table["relative harm"].astype(float)
        experiments = reported.result.experiments
        assert list(experiments["relative_harm"]) == pytest.approx(list(harm), abs=5e-4)
        assert list(experiments["number"]) == [int(number) for number in table["number"]]

    def test_importance(self, reported: _Reported) -> None:
        """Genes without influence are ranked last, and regions are described."""
        _, *rows = reported.page.tables["Importance of each gene"]
        shares = {name.strip(): float(share) for name, share in rows}
        assert abs(shares["link"]) < 0.2
        assert max(shares.values()) > 0.2
        (region, *_) = regions(DEFAULT_SPACE, reported.result.experiments)
        assert region.where("greedy", "even") in reported.page.text

    @pytest.mark.usefixtures("blank_figures")
    def test_runs_of_the_store_are_used(self, make_search: Any, engine: ArithmeticEngine) -> None:
        """Drawn runs are taken from the store."""
        _, folder = make_search()
        report(folder, engine=engine)  # stores the drawn runs
        engine.ran.clear()
        report(folder, engine=engine)
        assert [] == engine.ran

    @pytest.mark.usefixtures("blank_figures")
    def test_heat_maps(self, make_search: Any, engine: Any) -> None:
        """Heat maps over other genes are drawn on request, each once."""
        _, folder = make_search()
        pairs = [("rtt_ms", "queue_bdp"), ("bandwidth_mbps", "rtt_ms"), ("rtt_ms", "queue_bdp")]
        files = report(folder, heatmaps=pairs, engine=engine, store=None)
        heat_maps = [path.stem for path in files if path.match("heatmap-*.svg")]
        assert 4 == len(heat_maps)
        assert "heatmap-rtt_ms-queue_bdp" in heat_maps

    @pytest.mark.usefixtures("blank_figures")
    def test_other_genes(self, make_search: Any, engine: Any) -> None:
        """Genes missing from the space have no heat maps; choices of words are shown."""
        workload = Choice(name="workload", values=("long",))
        space = Space((*DEFAULT_SPACE.genes[:3], workload))
        _, folder = make_search(space=space)
        page, *files = report(folder, engine=engine, store=None)
        assert ["heatmap-bandwidth_mbps-rtt_ms.svg"] == [
            path.name for path in files if path.match("heatmap-*.svg")
        ]
        assert "long" in {row[7] for row in _Page(page).tables["All networks that were tried"]}

    def test_bad_heat_map(self, make_search: Any, engine: Any) -> None:
        """An unknown gene is refused before anything is written."""
        _, folder = make_search()
        with pytest.raises(InputError, match=r"^heatmap is 'rtt'; .* choose from bandwidth_mbps"):
            report(folder, heatmaps=[("rtt", "queue_bdp")], engine=engine)
        assert not (folder / "report.html").exists()
        assert not (folder / "figures").exists()

    def test_no_search(self, tmp_path: Path) -> None:
        """A folder without a search is refused."""
        with pytest.raises(InputError, match="must be the folder of a search"):
            report(tmp_path)


class TestBaselines:
    def test_compared(self, make_search: Any, engine: Any) -> None:
        """A comparable search is in the figures with its strategy and folder."""
        _, folder = make_search()
        _, other = make_search("other", strategy="sweep", budget=32)
        report(folder, baselines=[other], engine=engine, store=None)
        for name in ("progress", "top", "distances"):
            svg = (folder / "figures" / f"{name}.svg").read_text()
            assert f"sweep ({other})" in svg

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"alpha": "even"}, "alpha = 'greedy', not 'even'"),
            ({"beta": "greedy"}, "beta = 'even', not 'greedy'"),
            ({"duration_s": 5.0}, "duration_s = 4.0, not 5.0"),
            ({"space": Space(DEFAULT_SPACE.genes[:3])}, "of the same space"),
        ],
    )
    def test_of_another_kind(
        self, make_search: Any, engine: Any, change: dict[str, Any], words: str
    ) -> None:
        """A search of another pair, length or space is refused with the difference."""
        _, folder = make_search()
        _, other = make_search("other", **change)
        with pytest.raises(InputError, match=rf"^baseline is .*{re.escape(words)}"):
            report(folder, baselines=[other], engine=engine)


def interrupted_after(folder: Path, done: int) -> None:
    """Make a search look as if it were interrupted after `done` scenarios."""
    path = folder / "search.json"
    document = {**unsealed(path.read_bytes()), "experiments_done": done}
    del document["files"]  # digests exist only for complete searches
    path.write_text(json.dumps(sealed(document)))


@pytest.mark.usefixtures("blank_figures")
class TestUnfinished:
    def test_not_all_tried(self, make_search: Any, engine: Any) -> None:
        """A search in progress is reported up to now, and the page says how far."""
        _, folder = make_search()
        (folder / "claims.csv").unlink()
        for path in folder.glob("worst-*.toml"):
            path.unlink()
        table = (folder / "results.csv").read_text().splitlines()
        (folder / "results.csv").write_text("\n".join(table[:15]) + "\n")
        interrupted_after(folder, 14)
        page = _Page(report(folder, engine=engine, store=None)[0])
        assert "Not finished. 14 of 16 networks were tried" in page.text
        assert "ccbench run" not in page.text  # there are no files to name yet
        assert 5 == len(page.tables["The worst networks"]) - 1

    def test_not_confirmed(self, make_search: Any, engine: Any) -> None:
        """If only the fresh seeds are missing, the page says so."""
        _, folder = make_search()
        (folder / "claims.csv").unlink()
        interrupted_after(folder, 16)
        text = _Page(report(folder, engine=engine, store=None)[0]).text
        assert "have not been run with fresh seeds yet" in text

    def test_nothing_measured(self, make_search: Any, engine: Any) -> None:
        """A report without any measurement is an error."""
        _, folder = make_search()
        heading, *_ = (folder / "results.csv").read_text().splitlines()
        (folder / "results.csv").write_text(heading + "\n")
        (folder / "claims.csv").unlink()
        interrupted_after(folder, 0)
        with pytest.raises(CcbenchError, match=r"no scenario of .* has been measured yet"):
            report(folder, engine=engine)


@pytest.mark.usefixtures("blank_figures")
class TestFailures:
    def test_failed_scenarios(self, make_search: Any, engine: ArithmeticEngine) -> None:
        """Failed scenarios are listed with their reasons, as text and not as markup."""

        class Picky:
            """Fails at long round-trip times."""

            def __getattr__(self, name: str) -> Any:
                return getattr(engine, name)

            def run(self, scenario: Scenario, **options: Any) -> Run:
                if scenario.path.rtt_ms > 200:
                    raise EngineError("<b>too far</b> & away")
                return engine.run(scenario, **options)

        result, folder = make_search(engine=Picky())
        page = _Page(report(folder, engine=engine, store=None)[0])
        _, *rows = page.tables["Networks that could not be measured"]
        assert len(result.failed) == len(rows) > 0
        assert all("<b>too far</b> & away" in row[-1] for row in rows)
        assert "&lt;b&gt;too far" in page.html
        assert f"{len(rows)} failed" in page.text

    @pytest.mark.parametrize(
        "error", [MissingRequirement("no kernel was built"), EngineError("the guest died")]
    )
    def test_no_trace(
        self, make_search: Any, engine: ArithmeticEngine, error: CcbenchError
    ) -> None:
        """A complete search is drawn without runs; else the page explains the missing figure."""
        _, folder = make_search()

        class Dead:
            """Runs nothing."""

            def __getattr__(self, name: str) -> Any:
                return getattr(engine, name)

            def run(self, _: Scenario, **__: Any) -> Run:
                raise error

        dead: Any = Dead()
        _, *files = report(folder, engine=dead, store=None)
        assert 5 * 2 == len([path for path in files if path.match("worst-*")])
        (folder / "claims.csv").unlink()
        interrupted_after(folder, 16)
        page, *files = report(folder, engine=dead, store=None)
        assert 5 == _Page(page).text.count(f"throughput over time is missing: {error}")
        assert not [path for path in files if path.match("worst-*")]


class TestCommand:
    @pytest.fixture(autouse=True)
    def _arithmetic(self, engine: ArithmeticEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """Replace the virtual kernel by the arithmetic engine."""
        monkeypatch.setitem(ENGINES, "kernel", stand_in(engine))

    @pytest.mark.usefixtures("blank_figures")
    def test_output_folder(self, make_search: Any, tmp_path: Path) -> None:
        """The command prints the paths of page and figures."""
        _, folder = make_search()
        _, other = make_search("other", seed=2)
        options = ["--baseline", str(other), "--heatmap", "rtt_ms", "queue_bdp"]
        page = tmp_path / "page.html"
        result = CliRunner().invoke(cli.program, ["report", str(folder), "-o", str(page), *options])
        assert 0 == result.exit_code, result.output
        assert str(page) in result.stdout
        assert page.exists()
        assert (tmp_path / "figures" / "heatmap-rtt_ms-queue_bdp.png").exists()

    def test_bad_input(self, make_search: Any, tmp_path: Path) -> None:
        """Invalid input is one line and status 2."""
        _, folder = make_search()
        for arguments, word in (
            ([str(tmp_path / "nowhere")], "nowhere"),
            ([str(folder), "--heatmap", "x", "y"], "heatmap"),
            ([str(folder), "--baseline", str(tmp_path)], "search.json"),
        ):
            result = CliRunner().invoke(cli.program, ["report", *arguments])
            assert 2 == result.exit_code
            assert "" == result.stdout
            (line,) = result.stderr.splitlines()
            assert word in line
