# SPDX-License-Identifier: Apache-2.0
"""Output folders: foreign contents, full disks and missing permissions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ccbench.base import durable, result_folders
from ccbench.cli._console import WIDTH, print_table
from ccbench.cli._status import ExitStatus
from tests.conftest import on_small_disk
from tests.unit.cli.conftest import SCENARIO, assert_refused, ccbench

_ROOT = Path(__file__).parents[3]
_SMALL_CENTRE = ("bfc", "simulate", "--clos", "2x2x1", "--duration", "0.02", "--scheme", "bfc")
_DEPLOYABLE = ("deployable", "--alpha", "even", "--beta", "even", "--duration", "30")
_SEARCH = ("raygen", "--alpha", "even", "--beta", "even", "--budget", "4", "--population", "4")
_WORKLOADS = '[[workloads]]\nname = "download"\nmetrics = ["throughput"]\n'
_OWN_STUDY = """
import pandas as pd
from matplotlib.figure import Figure
from ccbench import Scenario
from ccbench.studies import Findings, Study, StudyInfo

STUDY = Study(
    info=StudyInfo(name="mine", title="mine", publication="mine"),
    scenarios=lambda *, quick: (Scenario.load("scenario.toml"),),
    measure=lambda run: [{"flows": len(run.summary())}],
    conclude=lambda table: Findings(table=table, figure=Figure(), comparisons=()),
)
"""
_HARM = (
    *("harm", "--alpha", "even", "--beta", "even", "--duration", "4"),
    *("--bandwidth", "9", "--rtt", "10", "--queue", "9"),
)
_SWEEP = ("sweep", "scenario.toml", "--vary", "rtt_ms=10")
_STUDY = ("study", "run", "rapid-fairness", "--quick")
#: Commands that write to folders, and the file that identifies each folder.
_WRITERS = {
    _DEPLOYABLE: "deployable.json",
    _SEARCH: "search.json",
    _SMALL_CENTRE: "simulation.json",
    _STUDY: "fig-1.json",
    ("shell", "--bandwidth", "9", "--rtt", "10", "--queue", "9"): "shell.json",
    ("run", "scenario.toml"): "run.json",
    _HARM: "harm.json",
    _SWEEP: "sweep.json",
}
_NAMES = ("run.json", "search.json", "deployable.json", "fig-1.json")


class TestKinds:
    """Each output folder is identified by its contents, and no command writes to a foreign one."""

    @pytest.fixture(autouse=True)
    def _here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arithmetic: object) -> None:
        assert arithmetic
        monkeypatch.chdir(tmp_path)
        Path("scenario.toml").write_text(SCENARIO)
        Path("mine.py").write_text(_OWN_STUDY)
        Path("workloads.toml").write_text(_WORKLOADS)

    def test_kinds(self) -> None:
        """Each kind of output folder is identified as that kind only."""
        lines = {
            "run": ("run", "scenario.toml"),
            "search": (*_SEARCH, "--duration", "2"),
            "verdict on deployment": (*_DEPLOYABLE, "--workloads", "workloads.toml"),
            "simulated data centre": _SMALL_CENTRE,
            "study": ("study", "run", "mine.py"),
            "measurement of harm": (*_HARM, "--repeat", "1"),
            "sweep": (*_SWEEP,),
        }
        for kind, words in lines.items():
            folder = Path(kind)
            result = ccbench(*words, "-o", folder)
            assert ExitStatus.OK == result.exit_code, result.stderr
            place = folder / "bfc" if kind == "simulated data centre" else folder
            assert [kind] == [kind_found for kind_found, _ in result_folders.kinds_in(place)]

    @pytest.mark.parametrize(
        ("words", "name"),
        [(words, name) for words, own in _WRITERS.items() for name in _NAMES if name != own],
        ids=lambda one: one if isinstance(one, str) else one[0],
    )
    def test_foreign(
        self, words: tuple[str, ...], name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A foreign folder is refused before anything is computed, and stays unchanged."""
        monkeypatch.setattr("ccbench.datacenter.simulation.simulate", pytest.fail)
        monkeypatch.setattr("ccbench.emulate.run", pytest.fail)
        Path("foreign").mkdir()
        for file in (name, "fig-1.csv", "fig-1.png") if name == "fig-1.json" else (name,):
            Path("foreign", file).touch()
        before = sorted(Path("foreign").iterdir())
        result = ccbench(*words, "-o", "foreign")
        assert_refused(result, "foreign", "another")
        assert before == sorted(Path("foreign").iterdir())

    @pytest.mark.parametrize("words", _WRITERS, ids=lambda words: words[0])
    def test_proc(self, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
        """A folder where nothing can be created, even by root, is refused before any work."""
        monkeypatch.setattr("ccbench.datacenter.simulation.simulate", pytest.fail)
        monkeypatch.setattr("ccbench.emulate.run", pytest.fail)
        assert_refused(ccbench(*words, "-o", "/proc/x"), "/proc/x")

    def test_foreign_scheme(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A foreign folder in the place of a scheme's results is refused before any simulation."""
        monkeypatch.setattr("ccbench.datacenter.simulation.simulate", pytest.fail)
        Path("centre/bfc").mkdir(parents=True)
        Path("centre/bfc/thesis.tex").touch()
        result = ccbench(*_SMALL_CENTRE, "-o", "centre")
        assert_refused(result, "centre/bfc contains thesis.tex", "name another folder")


class TestTables:
    def test_wide(self, capsys: pytest.CaptureFixture[str]) -> None:
        """However wide a table is, numbers with their intervals are on one line; texts wrap."""
        numbers = [f"{i}.123456789 ± 0.000{i}" for i in range(20)]
        texts = ["[b]some words[/b] " * 9, "漢字 " * 40]
        headings = ["[red]", "names", *(f"metric {i}\nMbit/s" for i in range(20))]
        print_table(headings, [[*texts, *numbers]], words=2)
        lines = capsys.readouterr().out.splitlines()
        (line,) = [line for line in lines if numbers[0] in line]
        assert line.endswith("  ".join(numbers))
        assert any(line.startswith(" [red]") for line in lines)
        printed = " ".join(" ".join(lines).split())
        assert printed.count("[b]some") == 9
        assert printed.count("漢字") == 40

    def test_long_word(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A long text beside few numbers fills the width of tables, in a pipe, too."""
        print_table(["setting", "value"], [["word " * 60, "1.5"]])
        lines = capsys.readouterr().out.splitlines()
        assert WIDTH - 8 <= max(map(len, lines)) <= WIDTH


class TestRefusals:
    """Write errors name the place, the reason and the remedy."""

    @pytest.mark.parametrize(
        "line",
        [
            "traffic --sizes 1000 --load 100 --duration 30 -o small/result.csv",
            "bfc simulate --clos 2x4x2 --duration 1 --scheme bfc -o small",
        ],
        ids=["file", "folder"],
    )
    def test_full_disk(self, tmp_path: Path, line: str) -> None:
        """A disk that is really full is named with the remedy, and no partial output remains."""
        (tmp_path / "small").mkdir()
        look = 'cd "$0" && "$@"; status=$?; ls -A "$0/small"; exit $status'
        words = [sys.executable, "-c", "from ccbench.cli.main import main; main()", *line.split()]
        done = subprocess.run(
            [*on_small_disk(tmp_path / "small", "64k"), "sh", "-c", look, str(tmp_path), *words],
            env={**os.environ, "PYTHONPATH": str(_ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        place = "small/result.csv" if "csv" in line else "small/bfc"
        expected = f"{place}: No space left on device: make room there, or choose another folder"
        assert (1, f"ccbench: {expected}\n") == (done.returncode, done.stderr)
        assert "" == done.stdout

    def test_forbidden(self, forbidden: Path) -> None:
        """A folder without permission is refused at once, and nothing suggests freeing space."""
        words = ("--sizes", 1000, "--load", 1, "--duration", 1, "-o", forbidden / "flows.csv")
        result = ccbench("traffic", *words)
        assert_refused(result, "forbidden/flows.csv", "in a writable folder: choose another")
        assert "room" not in result.stderr

    @pytest.mark.usefixtures("arithmetic")
    def test_forbidden_folder(self, forbidden: Path) -> None:
        """Errors about forbidden folders, including the cache, do not suggest freeing space."""
        result = ccbench(*_DEPLOYABLE, "-o", forbidden / "verdict")
        assert_refused(result, "verdict", "Permission denied: get permission for it, or choose")
        assert "room" not in result.stderr

    @pytest.mark.usefixtures("arithmetic")
    def test_forbidden_store(
        self, forbidden: Path, scenario: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A read-only cache names the variable that moves it."""
        monkeypatch.setenv("CCBENCH_CACHE", str(forbidden / "cache"))
        result = ccbench("run", scenario)
        words = (str(forbidden), "Permission denied", "CCBENCH_CACHE")
        assert_refused(result, *words, status=ExitStatus.FAILED)
        assert "room" not in result.stderr

    def test_link(self, tmp_path: Path, forbidden: Path) -> None:
        """A link whose target cannot be written is reported by its target."""
        (tmp_path / "link").symlink_to(forbidden / "file")
        with pytest.raises(PermissionError) as caught:
            durable.write_text(tmp_path / "link", "text")
        assert caught.value.filename == str(forbidden / "file")
