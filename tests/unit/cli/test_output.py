# SPDX-License-Identifier: Apache-2.0
"""Where results are written: folders of others, full disks, and places that are forbidden."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ccbench.base import durable, result_folders
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
_STUDY = ("study", "run", "rapid-fairness", "--quick")
#: What writes to folders, and the file that says so.
_WRITERS = {
    _DEPLOYABLE: "deployable.json",
    _SEARCH: "search.json",
    _SMALL_CENTRE: "simulation.json",
    _STUDY: "fig-1.json",
    ("shell", "--bandwidth", "9", "--rtt", "10", "--queue", "9"): "shell.json",
    ("run", "scenario.toml"): "run.json",
}
_NAMES = ("run.json", "search.json", "deployable.json", "fig-1.json")


class TestWhose:
    """A folder says what it holds, and no command writes to one of something else."""

    @pytest.fixture(autouse=True)
    def _here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arithmetic: object) -> None:
        assert arithmetic
        monkeypatch.chdir(tmp_path)
        Path("scenario.toml").write_text(SCENARIO)
        Path("mine.py").write_text(_OWN_STUDY)
        Path("workloads.toml").write_text(_WORKLOADS)

    def test_kinds(self) -> None:
        """What commands write is known for what it is, and for nothing else."""
        lines = {
            "run": ("run", "scenario.toml"),
            "search": (*_SEARCH, "--duration", "2"),
            "verdict on deployment": (*_DEPLOYABLE, "--workloads", "workloads.toml"),
            "simulated data centre": _SMALL_CENTRE,
            "study": ("study", "run", "mine.py"),
        }
        for kind, words in lines.items():
            folder = Path(kind)
            result = ccbench(*words, "-o", folder)
            assert ExitStatus.OK == result.exit_code, result.stderr
            place = folder / "bfc" if kind == "simulated data centre" else folder
            assert [kind] == [found for found, _ in result_folders.kinds_in(place)]

    @pytest.mark.parametrize(
        ("words", "name"),
        [(words, name) for words, own in _WRITERS.items() for name in _NAMES if name != own],
        ids=lambda one: one if isinstance(one, str) else one[0],
    )
    def test_foreign(
        self, words: tuple[str, ...], name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A folder of something else is refused before anything is computed, and stays as it is."""
        monkeypatch.setattr("ccbench.datacenter.simulation.simulate", pytest.fail)
        monkeypatch.setattr("ccbench.emulate.run", pytest.fail)
        Path("theirs").mkdir()
        for file in (name, "fig-1.csv", "fig-1.png") if name == "fig-1.json" else (name,):
            Path("theirs", file).touch()
        before = sorted(Path("theirs").iterdir())
        result = ccbench(*words, "-o", "theirs")
        assert_refused(result, "theirs", "another")
        assert before == sorted(Path("theirs").iterdir())

    def test_foreign_scheme(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """So is the folder that a scheme's results would replace, before any is simulated."""
        monkeypatch.setattr("ccbench.datacenter.simulation.simulate", pytest.fail)
        Path("centre/bfc").mkdir(parents=True)
        Path("centre/bfc/thesis.tex").touch()
        result = ccbench(*_SMALL_CENTRE, "-o", "centre")
        assert_refused(result, "centre/bfc holds thesis.tex", "name another folder")


class TestRefusals:
    """Where the system refuses to write, the line says where, why, and what to do."""

    @pytest.mark.parametrize(
        "line",
        [
            "traffic --sizes 1000 --load 100 --duration 30 -o small/result.csv",
            "bfc simulate --clos 2x4x2 --duration 1 --scheme bfc -o small",
        ],
        ids=["file", "folder"],
    )
    def test_full_disk(self, tmp_path: Path, line: str) -> None:
        """A disk that is really full is named with the remedy, and nothing is left on it."""
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
        said = f"{place}: No space left on device: make room there, or choose another folder"
        assert (1, f"ccbench: {said}\n") == (done.returncode, done.stderr)
        assert "" == done.stdout

    def test_forbidden(self, forbidden: Path) -> None:
        """Where writing is not permitted, nobody is told to make room."""
        words = ("--sizes", 1000, "--load", 1, "--duration", 1, "-o", forbidden / "flows.csv")
        result = ccbench("traffic", *words)
        place = forbidden / "flows.csv"
        assert_refused(
            result, f"{place}: Permission denied: get permission", status=ExitStatus.FAILED
        )
        assert "room" not in result.stderr

    @pytest.mark.usefixtures("arithmetic")
    def test_forbidden_folder(self, forbidden: Path) -> None:
        """Nor by a command that makes a folder, nor about the cache."""
        result = ccbench(*_DEPLOYABLE, "-o", forbidden / "verdict")
        assert_refused(result, "verdict", "Permission denied: get permission for it, or choose")
        assert "room" not in result.stderr

    @pytest.mark.usefixtures("arithmetic")
    def test_forbidden_store(
        self, forbidden: Path, scenario: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A cache that may not be written names the variable that moves it."""
        monkeypatch.setenv("CCBENCH_CACHE", str(forbidden / "cache"))
        result = ccbench("run", scenario)
        words = (str(forbidden), "Permission denied", "CCBENCH_CACHE")
        assert_refused(result, *words, status=ExitStatus.FAILED)
        assert "room" not in result.stderr

    def test_link(self, tmp_path: Path, forbidden: Path) -> None:
        """What cannot be put behind a link is named by where that leads."""
        (tmp_path / "link").symlink_to(forbidden / "file")
        with pytest.raises(PermissionError) as caught:
            durable.write_text(tmp_path / "link", "text")
        assert caught.value.filename == str(forbidden / "file")
