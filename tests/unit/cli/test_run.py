# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ccbench.cli._status import ExitStatus
from ccbench.run import Run
from tests.unit.cli.conftest import SCENARIO, assert_refused, ccbench

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.conftest import ArithmeticEngine


class TestRun:
    def test_no_scenario(self) -> None:
        """The scenario must be named."""
        assert_refused(ccbench("run"), "SCENARIO.toml")

    def test_missing_file(self, tmp_path: Path) -> None:
        """A scenario file that does not exist is named."""
        assert_refused(ccbench("run", tmp_path / "nowhere.toml"), "nowhere.toml", "No such file")

    def test_folder_as_scenario(self, tmp_path: Path) -> None:
        """A folder is no scenario."""
        assert_refused(ccbench("run", tmp_path), str(tmp_path))

    def test_binary_file(self, tmp_path: Path) -> None:
        """A file that is no text is no scenario."""
        path = tmp_path / "scenario.toml"
        path.write_bytes(b"\xff\xfe\x00")
        assert_refused(ccbench("run", path), "scenario.toml")

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ("rtt_ms = 40", "rtt_ms = ", ("scenario.toml",)),
            ("rtt_ms = 40", "rtt = 40", ("rtt", "rtt_ms")),
            ("rtt_ms = 40", "rtt_ms = -1", ("rtt_ms", "-1")),
            ("rtt_ms = 40", 'rtt_ms = "40ms"', ("rtt_ms", "40ms")),
            ("duration_s = 2", "", ("duration_s",)),
            ("duration_s = 2", "duration_s = nan", ("duration_s", "nan")),
            ('cca = "even"', 'cca = "Not a CCA"', ("flows[0].cca", "Not a CCA")),
            ("queue_bdp = 1", "", ("bottlenecks[0]", "queue_bdp")),
            ("queue_bdp = 1", "queue_bdp = 1\nqueue_packets = 9", ("bottlenecks[0]", "queue_bdp")),
            ("bandwidth_mbps = 10", 'trace = "none"', ("bottlenecks[0]", "none")),
        ],
    )
    def test_bad_scenario(self, scenario: Path, old: str, new: str, words: tuple[str, ...]) -> None:
        """A mistake in the file is one line that names file, field and value."""
        scenario.write_text(SCENARIO.replace(old, new))
        assert_refused(ccbench("run", scenario), "scenario.toml", *words)

    def test_unknown_engine(self, scenario: Path) -> None:
        """An engine that does not exist is answered with those that do."""
        assert_refused(ccbench("run", scenario, "--engine", "ns-3"), "ns-3", "kernel")

    @pytest.mark.parametrize("plot", ["run", "run.xyz", "nowhere/run.png"])
    def test_bad_plot(self, scenario: Path, tmp_path: Path, plot: str) -> None:
        """A plot that could not be written is refused before anything runs."""
        assert_refused(ccbench("run", scenario, "--plot", tmp_path / plot), "plot", plot)

    def test_plot_is_a_folder(self, scenario: Path, tmp_path: Path) -> None:
        """A folder is no plot."""
        assert_refused(ccbench("run", scenario, "--plot", tmp_path), "--plot")

    def test_output_is_a_file(self, scenario: Path) -> None:
        """The run is kept in a folder: a file in its place is refused before anything runs."""
        assert_refused(ccbench("run", scenario, "-o", scenario), "--output")

    def test_output_holds_other_things(self, scenario: Path, arithmetic: ArithmeticEngine) -> None:
        """A folder that is no run is refused before anything runs."""
        assert_refused(ccbench("run", scenario, "-o", scenario.parent), "scenario.toml")
        assert [] == arithmetic.ran

    @pytest.mark.usefixtures("arithmetic")
    def test_table(self, scenario: Path) -> None:
        """A person gets a row for each flow and one for each bottleneck."""
        result = ccbench("run", scenario)
        assert ExitStatus.OK == result.exit_code, result.output
        assert "even" in result.stdout
        assert " 10.00 " in result.stdout
        assert "100.0%" in result.stdout
        assert "" == result.stderr

    @pytest.mark.usefixtures("arithmetic")
    def test_many_flows(self, scenario: Path) -> None:
        """With many flows there is a row for each group of them."""
        scenario.write_text(SCENARIO.replace('"even"', '"even"\ncount = 50'))
        rows = [line.split() for line in ccbench("run", scenario).stdout.splitlines()]
        assert ["mean", "of", "50", "even", "even", "0.20"] in [row[:6] for row in rows]

    @pytest.mark.usefixtures("arithmetic")
    def test_json(self, scenario: Path) -> None:
        """A program gets one document with scenario, flows, bottlenecks and provenance."""
        document = json.loads(ccbench("run", scenario, "--json").stdout)
        assert 40 == document["scenario"]["rtt_ms"]
        assert 10 == pytest.approx(document["flows"][0]["throughput_mbps"], rel=1e-6)
        assert 1 == pytest.approx(document["bottlenecks"][0]["utilisation"], rel=1e-6)
        assert "arithmetic" == document["provenance"]["engine"]

    def test_seed(self, scenario: Path, arithmetic: ArithmeticEngine) -> None:
        """--seed repeats a scenario with other draws; it must be one that a scenario may have."""
        for words, seed in (((), 1), (("--seed", "7"), 7)):
            document = json.loads(ccbench("run", scenario, "--json", *words).stdout)
            assert seed == document["scenario"]["seed"]
        assert [1, 7] == [one.seed for one in arithmetic.ran]
        assert_refused(ccbench("run", scenario, "--seed", "-1"), "seed is -1")

    @pytest.mark.usefixtures("arithmetic")
    def test_files(self, scenario: Path, tmp_path: Path) -> None:
        """The run is kept where -o says and drawn where --plot says, and the output says where."""
        folder, plot = tmp_path / "results", tmp_path / "run.png"
        result = ccbench("run", scenario, "-o", folder, "--plot", plot)
        assert 40 == Run.load(folder).scenario.rtt_ms
        assert plot.read_bytes().startswith(b"\x89PNG")
        assert str(folder) in result.stdout
        assert str(plot) in result.stdout

    @pytest.mark.usefixtures("arithmetic")
    def test_unknown_cca(self, scenario: Path) -> None:
        """What the engine cannot run is bad input."""
        scenario.write_text(SCENARIO.replace("even", "tahoe"))
        assert_refused(ccbench("run", scenario), "tahoe", "greedy")
