# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.base.errors import CcbenchError, InputError
from ccbench.experiment.scenario import Scenario
from ccbench.raygen import (
    CLAIMS_CSV,
    RESULTS_CSV,
    SEARCH_JSON,
    TIMELINES_JSON,
    WORST_PNG,
    Progress,
    SearchResult,
    search,
)
from tests.unit.conftest import ArithmeticEngine, assert_same
from tests.unit.raygen.conftest import Breaks, Wrapped, small

if TYPE_CHECKING:
    from ccbench.emulate import Engine

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a finished search."""
    folder = tmp_path_factory.mktemp("finished")
    search(small(), engine=ArithmeticEngine(), store=None, output_dir=folder)
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """Give a copy of the folder of a finished search."""
    return Path(shutil.copytree(finished, tmp_path / "results"))


class TestFolder:
    def test_files(self, engine: Engine, tmp_path: Path) -> None:
        """A finished search leaves its table, its settings, its worst scenarios and a figure."""
        result = search(small(), engine=engine, output_dir=tmp_path / "a" / "b")
        folder = tmp_path / "a" / "b"
        assert {path.name for path in folder.iterdir()} == {
            *(RESULTS_CSV, CLAIMS_CSV, SEARCH_JSON, TIMELINES_JSON, WORST_PNG),
            *(f"worst-{rank}.toml" for rank in range(1, 6)),
            *(f"worst-{rank}-solo.toml" for rank in range(1, 6)),
        }
        assert_same(result, SearchResult.load(folder))
        document = json.loads((folder / SEARCH_JSON).read_text())
        assert document["search"] == result.config.to_dict()
        assert document["engine_version"] == "1"
        assert document["experiments_done"] == document["experiments_planned"] == 8
        for rank in range(1, 6):
            experiment = result.claimed(rank)
            assert Scenario.load(folder / f"worst-{rank}.toml") == experiment.competing
            assert Scenario.load(folder / f"worst-{rank}-solo.toml") == experiment.solo
        assert (folder / WORST_PNG).read_bytes().startswith(b"\x89PNG")

    def test_experiments_are_kept_as_they_finish(self, engine: Engine, tmp_path: Path) -> None:
        """A readable table exists as soon as one experiment has finished."""
        rows = []

        def look(now: Progress) -> None:
            result = SearchResult.load(tmp_path)
            rows.append(len(result.experiments))
            assert result.claims.empty or now.confirming

        search(small(), engine=engine, store=None, output_dir=tmp_path, on_progress=look)
        assert rows == sorted(rows)
        assert {0, 8} < set(rows)

    def test_restart_keeps_results(self, engine: Engine, tmp_path: Path) -> None:
        """A restarted search keeps its results until it has more."""
        whole = search(small(), engine=engine, output_dir=tmp_path)
        with pytest.raises(CcbenchError, match="out of luck"):
            search(small(), engine=Breaks(engine, after=9), store=None, output_dir=tmp_path)
        assert_same(whole, SearchResult.load(tmp_path))

    def test_no_search_in_it(self, tmp_path: Path) -> None:
        """A folder without a search is refused in one line that names the missing file."""
        with pytest.raises(InputError, match=r"^folder is .* which contains search\.json: name a"):
            SearchResult.load(tmp_path)

    @pytest.mark.parametrize(
        "change",
        [
            *({"seed": 2}, {"budget": 12}, {"alpha": "even"}, {"duration_s": 5.0}),
            *(
                {"strategy": "random"},
                {"repeat": 2},
                {"confirm": 3},
                {"strategy_options": {"initial": "stratified"}},
            ),
        ],
    )
    def test_another_search(self, engine: Engine, folder: Path, change: dict[str, Any]) -> None:
        """A folder that holds another search is refused and stays unchanged."""
        before = {path: path.read_bytes() for path in folder.iterdir()}
        (name,) = change.get("strategy_options", change)
        with pytest.raises(InputError, match=rf"^output folder is .* differs in {name}: choose"):
            search(small(**change), engine=engine, output_dir=folder)
        assert {path: path.read_bytes() for path in folder.iterdir()} == before

    def test_another_engine(self, engine: Engine, folder: Path) -> None:
        """Results of another engine version are refused."""

        class Newer(Wrapped):
            def provenance(self) -> dict[str, object]:
                return {"engine": "arithmetic", "engine_version": "2"}

        with pytest.raises(InputError, match="differs in engine_version: choose"):
            search(small(), engine=Newer(engine), output_dir=folder)

    @pytest.mark.parametrize("name", [RESULTS_CSV, CLAIMS_CSV])
    @pytest.mark.parametrize("change", [("relative_harm", "harm"), ("\n0,", "\nnought,")])
    def test_damaged_table(self, folder: Path, name: str, change: tuple[str, str]) -> None:
        """A table changed by hand is refused in one line."""
        table = (folder / name).read_text()
        changed = table.replace(*change) if change[0] in table else table.replace("\n1,", "\none,")
        (folder / name).write_text(changed)
        with pytest.raises(InputError, match=rf"^folder is .* unchanged {RESULTS_CSV}") as refused:
            SearchResult.load(folder)
        assert len(str(refused.value).splitlines()) == 1

    @pytest.mark.parametrize("content", ["", "[]", "{", "null", "[" * 100_000])
    def test_damaged(self, engine: Engine, tmp_path: Path, content: str) -> None:
        """A description that cannot be read is refused."""
        (tmp_path / SEARCH_JSON).write_text(content)
        with pytest.raises(InputError, match=r"^output folder is"):
            search(small(), engine=engine, output_dir=tmp_path)
        with pytest.raises(
            InputError, match=r"^folder is .* readable search\.json \(it is damaged"
        ):
            SearchResult.load(tmp_path)

    def test_foreign_results(self, engine: Engine, tmp_path: Path) -> None:
        """Results of other programs are not overwritten."""
        (tmp_path / RESULTS_CSV).write_text("mine\n")
        with pytest.raises(InputError, match=r"^output folder is .* without a results\.csv of"):
            search(small(), engine=engine, output_dir=tmp_path)
        assert ["mine"] == (tmp_path / RESULTS_CSV).read_text().split()

    def test_not_a_folder(self, engine: Engine, tmp_path: Path) -> None:
        """An impossible output folder is refused before anything runs."""
        (tmp_path / "file").touch()
        for path in (tmp_path / "file", tmp_path / "file" / "below"):
            counting = Wrapped(engine)
            with pytest.raises(InputError, match=r"^output folder is .* can be written"):
                search(small(), engine=counting, output_dir=path)
            assert counting.ran == []

    def test_becomes_unwritable(self, engine: Engine, tmp_path: Path) -> None:
        """A folder that becomes unwritable ends the search with one line."""
        folder = tmp_path / "results"

        def vanish(now: Progress) -> None:
            if now.tried == 1:
                shutil.rmtree(folder, ignore_errors=True)

        with pytest.raises(CcbenchError, match=r"^cannot write .*No such file or directory"):
            search(small(), engine=engine, output_dir=folder, on_progress=vanish)
