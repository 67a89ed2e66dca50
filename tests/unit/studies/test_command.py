# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from ccbench import studies
from ccbench.base.errors import InputError, MissingRequirement
from ccbench.base.sealed import unsealed
from ccbench.cli import main as cli
from ccbench.cli._status import ExitStatus
from ccbench.cli.study import _balanced
from ccbench.emulate.registry import ENGINES
from ccbench.studies import (
    catalogue,
)
from tests.unit.conftest import stand_in
from tests.unit.studies.conftest import SEARCH_STUDY, STUDY

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench import Scenario
    from ccbench.run.run import Run
    from ccbench.studies import Rows
    from tests.unit.conftest import ArithmeticEngine


def ccbench(*args: object) -> Result:
    """Run the program in this process."""
    return CliRunner().invoke(cli.program, [str(arg) for arg in args])


@pytest.fixture
def registered(engine: ArithmeticEngine, monkeypatch: pytest.MonkeyPatch) -> ArithmeticEngine:
    """Register the studies above and replace the virtual kernel by arithmetic."""
    monkeypatch.setitem(ENGINES, "kernel", stand_in(engine))
    entries = {study.name: study.info for study in (STUDY, SEARCH_STUDY)}
    monkeypatch.setattr(catalogue, "_entries", lambda: entries)
    monkeypatch.setattr(catalogue, "_module", "ccbench.studies.of_tests.{}".format)
    for study in (STUDY, SEARCH_STUDY):
        holding = SimpleNamespace(STUDY=study)
        monkeypatch.setitem(sys.modules, f"ccbench.studies.of_tests.{study.name}", holding)
    return engine


@pytest.mark.usefixtures("registered")
class TestCommand:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--kernel", "1", "--engine", "bess"), "left out with --engine bess"),
            (("--engine", "kernels"), "it must be one of kernel"),
        ],
    )
    def test_bad_engine(self, options: tuple[str, ...], message: str, tmp_path: Path) -> None:
        """An engine that does not exist, or an option that it does not have, is bad input."""
        result = ccbench("study", "run", "even-1", *options, "-o", tmp_path)
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert message in result.stderr

    def test_bad_kernel(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A study that names its kernels refuses others before anything runs."""
        holding = SimpleNamespace(STUDY=replace(STUDY, kernels=("7.3",)))
        monkeypatch.setitem(sys.modules, "ccbench.studies.of_tests.even-1", holding)
        result = ccbench("study", "run", "even-1", "--kernel", "6.12", "-o", tmp_path)
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert "must be left out for even-1, which runs on Linux 7.3" in result.stderr

    def test_list(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The list has the title, source and size of each study."""
        monkeypatch.setenv("COLUMNS", "140")
        shown = ccbench("study", "list").stdout
        for words in ("Nobody 1900", "even-1", "Even flows share", "Figure 1", " 8 ", "40.0 s"):
            assert words in shown
        even, greedy = json.loads(ccbench("study", "list", "--json").stdout)["studies"]
        assert (8, pytest.approx(40 / 3600)) == (even["runs"], even["virtual_hours"])
        assert ("Nobody 1900, Figure 2", None) == (greedy["source"], greedy["missing"])

    @pytest.mark.parametrize("columns", [80, 100, 140])
    def test_list_fits(self, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """The list fits the terminal; wide terminals show the figures too."""
        monkeypatch.undo()  # all studies, not those above
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = ccbench("study", "list").stdout.splitlines()
        assert max(map(len, lines)) <= columns
        starts = {line.split()[0] for line in lines if line.strip()}
        assert starts >= {*studies.names()}
        assert (columns == 140) == any("Figure 3.2" in line for line in lines)

    @pytest.mark.parametrize(
        ("text", "lines"),
        [
            ("with CUBIC on it", ["with CUBIC on it"]),
            ("a drop-tail link with CUBIC on it", ["a drop-tail link", "with CUBIC on it"]),
        ],
    )
    def test_balanced_titles(self, text: str, lines: list[str]) -> None:
        """A long title is broken into lines of about equal length."""
        assert lines == _balanced(text, 30).split("\n")

    def test_dry_run(self, registered: ArithmeticEngine, tmp_path: Path) -> None:
        """A dry run counts distinct runs, also those of searches, and runs no study."""
        result = ccbench("study", "run", "even-1", "--quick", "--dry-run", "--json")
        assert (4, 0) == tuple(json.loads(result.stdout)[key] for key in ("runs", "stored"))
        assert len(registered.ran) <= 1  # part of a run shows the speed
        ccbench("study", "run", "even-1", "--quick", "-o", tmp_path)
        assert (
            "4 (4 are stored)" in ccbench("study", "run", "even-1", "--quick", "--dry-run").stdout
        )
        searches = SEARCH_STUDY.searches(quick=True, full=False)
        result = ccbench("study", "run", SEARCH_STUDY.name, "--quick", "--dry-run", "--json")
        assert sum(one.most_runs() for one in searches) == json.loads(result.stdout)["runs"]

    def test_run(self, tmp_path: Path) -> None:
        """A study prints measured beside published numbers with notes, and saves its files.

        The exit status is 0 although one number differs.
        """
        result = ccbench("study", "run", "even-1", "-o", tmp_path / "out")
        assert ExitStatus.OK == result.exit_code, result.output
        lines = result.stdout.splitlines()
        fair = next(line for line in lines if "flows times share" in line)
        never = next(line for line in lines if "never" in line)
        assert ["[1]", "10", "10", "Mbit/s", "agrees"] == fair.split()[-5:]
        assert ["never", "-", "7", "differs"] == never.split()
        assert "[1] Sharing is fair." in lines
        assert {"even-1.csv", "even-1.png", "even-1.svg", "even-1.json"} == {
            path.name for path in (tmp_path / "out").iterdir()
        }

    def test_quick(self, tmp_path: Path, registered: ArithmeticEngine) -> None:
        """A quick version is marked as such."""
        result = ccbench("study", "run", "even-1", "--quick", "-o", tmp_path)
        assert "quick version" in result.stdout
        assert 4 == len(registered.ran)

    def test_full(self, tmp_path: Path) -> None:
        """The full version of a study of searches runs; without one it is refused."""
        result = ccbench("study", "run", "greedy-1", "--full", "-o", tmp_path)
        assert ExitStatus.OK == result.exit_code, result.output
        assert "difference" in result.stdout
        assert 16 == len(pd.read_csv(tmp_path / "greedy-1.csv"))
        result = ccbench("study", "run", "even-1", "--full", "-o", tmp_path)
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert "full is True; it must be left out for even-1" in result.stderr

    def test_all(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """--all runs all studies; one that fails does not stop the others, and is named."""
        result = ccbench("study", "run", "--all", "--quick", "-o", tmp_path)
        assert ExitStatus.OK == result.exit_code, result.output
        assert {"even-1.json", "greedy-1.json"} == {item.name for item in tmp_path.glob("*.json")}

        def measure(run: Run) -> Rows:
            raise InputError(f"not measurable: {run.scenario.name}")

        holding = SimpleNamespace(STUDY=replace(STUDY, measure=measure))
        monkeypatch.setitem(sys.modules, "ccbench.studies.of_tests.even-1", holding)
        result = ccbench("study", "run", "--all", "--quick", "-o", tmp_path / "again")
        assert result.exit_code
        assert "1 of 2 failed: even-1: " in result.stderr
        assert (tmp_path / "again" / "greedy-1.json").exists()

    def test_all_that_can_run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A study that cannot run here is named with the reason."""

        def scenarios(*, quick: bool) -> tuple[Scenario, ...]:
            raise MissingRequirement(f"no traces of {quick=}")

        holding = SimpleNamespace(STUDY=replace(STUDY, scenarios=scenarios))
        monkeypatch.setitem(sys.modules, "ccbench.studies.of_tests.even-1", holding)
        result = ccbench("study", "run", "--all", "--quick", "-o", tmp_path)
        assert ExitStatus.OK == result.exit_code, result.output
        assert "cannot run here: even-1: no traces of quick=True" in result.stdout

    def test_all_with_a_kernel(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Studies that name their kernels are not run on another one, and named."""
        holding = SimpleNamespace(STUDY=replace(STUDY, kernels=("7.3",)))
        for name in ("even-1", "greedy-1"):
            monkeypatch.setitem(sys.modules, f"ccbench.studies.of_tests.{name}", holding)
        result = ccbench("study", "run", "--all", "--quick", "--kernel", "6.12", "-o", tmp_path)
        assert ExitStatus.OK == result.exit_code, result.output
        for name in ("even-1", "greedy-1"):
            reason = "--kernel is '6.12'; it must be left out for even-1"
            assert f"cannot run here: {name}: {reason}" in result.stdout
        assert not [*tmp_path.glob("*.json")]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((), "NAME is missing: choose one of `ccbench study list`, or write --all"),
            (("even-1", "--all"), "NAME is 'even-1'; it must be left out with --all"),
            (("--all", "--full"), "--full is True; it must be left out with --all"),
        ],
    )
    def test_one_or_all(self, arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
        """A command runs one study or all, in their usual or quick version."""
        result = ccbench("study", "run", *arguments, "-o", tmp_path)
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert message in result.stderr

    def test_json(self, tmp_path: Path) -> None:
        """--json prints the document of the file, and the paths of the files."""
        result = ccbench("study", "run", "even-1", "-o", tmp_path, "--json")
        document = json.loads(result.stdout)
        files = document.pop("files")
        stored = unsealed((tmp_path / "even-1.json").read_bytes())
        assert {name: value for name, value in stored.items() if name != "files"} == document
        assert [str(tmp_path / f"even-1.{kind}") for kind in ("csv", "png", "svg", "json")] == files

    def test_unknown(self, tmp_path: Path, registered: ArithmeticEngine) -> None:
        """An unknown name is bad input; nothing runs and nothing is created."""
        result = ccbench("study", "run", "even1", "-o", tmp_path / "out")
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert "did you mean 'even-1'?" in result.stderr
        assert not registered.ran
        assert not (tmp_path / "out").exists()

    def test_impossible_output(self, tmp_path: Path, registered: ArithmeticEngine) -> None:
        """An impossible output folder is refused before anything runs."""
        (tmp_path / "file").touch()
        result = ccbench("study", "run", "even-1", "-o", tmp_path / "file" / "out")
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert "output folder" in result.stderr
        assert not registered.ran
