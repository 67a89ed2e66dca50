# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from ccbench import Scenario
from ccbench.base.cache import cache_dir
from ccbench.cli._status import ExitStatus
from tests.unit.cli.conftest import assert_refused, command

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


RAYGEN = {"--alpha": "greedy", "--beta": "even"}


class TestRaygen:
    @pytest.mark.parametrize("option", RAYGEN)
    def test_missing_option(self, option: str) -> None:
        """Both CCAs must be given."""
        words = (option, "ccbench raygen --help")
        assert_refused(command("raygen", RAYGEN, **{option[2:]: None}), *words)

    @pytest.mark.parametrize("option", ["budget", "population", "jobs"])
    @pytest.mark.parametrize("value", ["0", "-4", "1.5", "all"])
    def test_bad_count(self, option: str, value: str) -> None:
        """Budget, population and jobs are whole numbers above 0."""
        assert_refused(command("raygen", RAYGEN, **{option: value}), f"--{option}", value)

    @pytest.mark.parametrize(
        ("budget", "population"), [("12", "60"), ("12", "5"), ("12", "2"), ("3", "4")]
    )
    def test_bad_population(self, budget: str, population: str) -> None:
        """A population that cannot be split into pairs, or exceeds the budget, is refused."""
        options = {"budget": budget, "population": population, "strategy": "genetic"}
        result = command("raygen", RAYGEN, **options)
        assert_refused(result, "population", population)

    @pytest.mark.parametrize("value", ["0", "-1", "nan", "long"])
    def test_bad_duration(self, value: str) -> None:
        """The length of a run is a finite number above 0."""
        assert_refused(command("raygen", RAYGEN, duration=value), "--duration", value)

    @pytest.mark.parametrize("option", ["alpha", "beta"])
    @pytest.mark.parametrize("value", ["BBR", "../../etc", ""])
    def test_bad_cca(
        self, option: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An invalid name of a congestion control is refused before a folder is created."""
        monkeypatch.chdir(tmp_path)
        assert_refused(command("raygen", RAYGEN, **{option: value}), option, value)
        assert [] == list(tmp_path.iterdir())

    def test_output_is_a_file(self, scenario: Path) -> None:
        """Results go into a folder: an existing file is refused before anything runs."""
        assert_refused(command("raygen", RAYGEN, output=str(scenario)), "--output")

    def test_jobs_and_scheduler(self) -> None:
        """A search runs on this machine or on a cluster, not both."""
        result = command("raygen", RAYGEN, jobs="2", scheduler="tcp://head:8786")
        assert_refused(result, "--jobs", "--scheduler")

    @pytest.mark.parametrize("value", ["", "head", "head:8786", "http://head:8786", "tcp://head"])
    def test_bad_scheduler(self, value: str) -> None:
        """A scheduler is named by its dask address."""
        assert_refused(command("raygen", RAYGEN, scheduler=value), "scheduler", "tcp://host:8786")

    def test_no_dask(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without dask installed, --scheduler says how to install it."""
        monkeypatch.setitem(sys.modules, "distributed", None)
        result = command("raygen", RAYGEN, scheduler="tcp://head:8786")
        assert_refused(result, "pip install 'ccbench[cluster]'", status=ExitStatus.FAILED)

    @pytest.mark.usefixtures("arithmetic")
    def test_search(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Text output contains the worst networks and the paths of results, plot and scenarios."""
        monkeypatch.chdir(tmp_path)
        result = command("raygen", RAYGEN, budget="6", population="4", duration="5")
        assert ExitStatus.OK == result.exit_code, result.output
        assert "greedy harms even most, of 6 tried" in result.stdout
        for name in ("results.csv", "worst.png", "worst-1.toml"):
            path = f"raygen-greedy-even-halving/{name}"
            assert path in result.stdout
            assert (tmp_path / path).is_file()

    @pytest.mark.usefixtures("arithmetic")
    def test_queue(self, tmp_path: Path) -> None:
        """The queueing discipline and the ECN of all networks are given and printed."""
        sizes = {"budget": "4", "population": "4", "duration": "5", "output": str(tmp_path)}
        queue = {"qdisc": "fq_codel", "qdisc-option": "target_ms=3", "ecn": "on"}
        result = command("raygen", RAYGEN, **queue, **sizes)
        assert ExitStatus.OK == result.exit_code, result.output
        assert "Queues: fq_codel, target_ms = 3, ECN." in result.stdout
        worst = Scenario.load(tmp_path / "worst-1.toml")
        assert ("fq_codel", True) == (worst.path.bottlenecks[0].qdisc, worst.path.ecn)

    @pytest.mark.usefixtures("arithmetic")
    def test_one_fresh_seed(self, tmp_path: Path) -> None:
        """One fresh seed has no interval: its column is empty."""
        sizes = {"budget": "4", "population": "4", "duration": "5", "confirm": "1"}
        result = command("raygen", RAYGEN, output=str(tmp_path), **sizes)
        assert ExitStatus.OK == result.exit_code, result.output
        assert "Fresh: one seed that" in " ".join(result.stdout.split())
        assert "nan" not in result.stdout

    @pytest.mark.usefixtures("arithmetic")
    def test_json(self, tmp_path: Path) -> None:
        """JSON output contains settings, the worst networks and the folder."""
        options = {**RAYGEN, "--budget": "6", "--population": "4", "--duration": "5"}
        result = command("raygen", options, "--json", output=str(tmp_path))
        document = json.loads(result.stdout)
        assert 6 == document["experiments"]
        assert str(tmp_path) == document["output"]

    @pytest.mark.usefixtures("arithmetic")
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ((), "typical of each network"),
            (
                ("--noise", "background_share=0.1"),
                "typical of each network, but background_share = 0.1",
            ),
            (("--no-noise",), "none"),
        ],
    )
    def test_noise(self, tmp_path: Path, options: tuple[str, ...], words: str) -> None:
        """The noise of all runs is printed with the claims."""
        sizes = {"budget": "4", "population": "4", "duration": "5", "output": str(tmp_path)}
        result = command("raygen", RAYGEN, *options, **sizes)
        assert ExitStatus.OK == result.exit_code, result.output
        assert f"Noise: {words}. Mbit/s" in result.stdout

    @pytest.mark.usefixtures("arithmetic")
    def test_dry_run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A dry run states number and duration of runs, and stores only the engine's speed."""
        monkeypatch.chdir(tmp_path)
        result = command("raygen", RAYGEN, "--dry-run", duration="5")
        assert ExitStatus.OK == result.exit_code, result.output
        assert "120, in generations of 40, 4 x 20" in result.stdout
        assert "side by side" in result.stdout
        assert [cache_dir()] == list(tmp_path.iterdir())
        assert ["speed"] == [path.name for path in cache_dir().iterdir()]
        document = json.loads(command("raygen", RAYGEN, "--dry-run", "--json").stdout)
        # A sixth of each generation, rounded up, runs for three minutes instead of a half, a sixth
        # of these with a second seed, and each of five claims with five fresh ones.
        long = 7 + 2 + 4 * (4 + 1) + 5 * 5
        assert 2 * (120 + long) == document["runs"]
        assert document["virtual_hours"] == pytest.approx(2 * (120 * 30 + long * 180) / 3600)

    @pytest.mark.usefixtures("arithmetic")
    def test_space(self, tmp_path: Path) -> None:
        """The genes of the file are those that vary, and head the table."""
        space = "".join(
            f'[[genes]]\nname = "{name}"\nlow = {low}\nhigh = {high}\n'
            for name, low, high in (
                *(("bandwidth_mbps", 5, 10), ("rtt_ms", 20, 20), ("queue_packets", 20, 90)),
            )
        )
        (tmp_path / "space.toml").write_text(space)
        options = {**RAYGEN, "--budget": "6", "--population": "4", "--duration": "5"}
        given = {"space": str(tmp_path / "space.toml"), "output": str(tmp_path / "out")}
        result = command("raygen", options, **given)
        assert ExitStatus.OK == result.exit_code, result.output
        table = pd.read_csv(tmp_path / "out" / "results.csv")
        assert table["queue_packets"].between(20, 90).all()
        assert table["bandwidth_mbps"].between(5, 10).all()
        assert "queue" in result.stdout
        assert "packets" in result.stdout

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", ("genes are missing", "[[genes]]")),
            ('[[genes]]\nname = "bandwith_mbps"\nlow = 1\nhigh = 2\n', ("did you mean",)),
            ('[[genes]]\nname = "rtt_ms"\nlow = 9\nhigh = 2\n', ("rtt_ms.high", "exchange")),
        ],
    )
    def test_bad_space(self, tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
        """An invalid space is refused with the name of the file and the position of the error."""
        (tmp_path / "space.toml").write_text(text)
        result = command("raygen", RAYGEN, space=str(tmp_path / "space.toml"))
        assert_refused(result, "space.toml: ", *words)

    @pytest.mark.usefixtures("arithmetic")
    def test_folder_of_another_search(self, tmp_path: Path) -> None:
        """A folder that holds another search is not touched."""
        options = {**RAYGEN, "--budget": "6", "--population": "4", "--duration": "5"}
        command("raygen", options, output=str(tmp_path))
        result = command("raygen", options, output=str(tmp_path), seed="2")
        assert_refused(result, "output folder", "another")
