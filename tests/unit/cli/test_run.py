# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench.base.errors import InputError
from ccbench.base.random_streams import repetition_seeds
from ccbench.cli._status import ExitStatus
from ccbench.emulate import _speed
from ccbench.run import scenario_sources
from ccbench.run.run import Run
from tests.unit.cli.conftest import SCENARIO, assert_refused, ccbench
from tests.unit.conftest import NoisyEngine, run_with_rates

if TYPE_CHECKING:
    from ccbench import Scenario
    from tests.unit.conftest import ArithmeticEngine


class TestRun:
    def test_no_scenario(self) -> None:
        """The scenario is a required argument."""
        assert_refused(ccbench("run"), "SCENARIO.toml")

    def test_missing_file(self, tmp_path: Path) -> None:
        """A missing scenario file is named."""
        assert_refused(ccbench("run", tmp_path / "nowhere.toml"), "nowhere.toml", "No such file")

    def test_folder_as_scenario(self, tmp_path: Path) -> None:
        """A folder without a run is refused as a scenario."""
        assert_refused(ccbench("run", tmp_path), tmp_path.name, "run.json", "-o FOLDER")

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """`-` reads the scenario from standard input, which errors name."""
        bad = SCENARIO.replace("rtt_ms = 40", "rtt_ms = -1").encode()
        for text, words in ((bad, "rtt_ms is -1"), (b"=", "TOML"), (b"\xff", "UTF-8")):
            given = io.TextIOWrapper(io.BytesIO(text))
            monkeypatch.setattr(sys, "stdin", given)
            with pytest.raises(InputError, match=rf"^standard input: .*{words}"):
                scenario_sources.read(Path("-")).scenario()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SCENARIO.encode())))
        assert scenario_sources.read(Path("-")).scenario().path.rtt_ms == 40

    def test_binary_file(self, tmp_path: Path) -> None:
        """A binary file is refused as a scenario."""
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
        """An error in the file is one line that names file, field and value."""
        scenario.write_text(SCENARIO.replace(old, new))
        assert_refused(ccbench("run", scenario), "scenario.toml", *words)

    def test_unknown_engine(self, scenario: Path) -> None:
        """An unknown engine is answered with the list of engines."""
        result = ccbench("run", scenario, "--engine", "ns-3")
        assert_refused(result, "ns-3", "kernel", "choose one of these")

    @pytest.mark.parametrize("plot", ["run", "run.xyz", "nowhere/run.png"])
    def test_bad_plot(self, scenario: Path, tmp_path: Path, plot: str) -> None:
        """A plot that cannot be written is refused before anything runs."""
        assert_refused(ccbench("run", scenario, "--plot", tmp_path / plot), "plot", plot)

    def test_plot_is_a_folder(self, scenario: Path, tmp_path: Path) -> None:
        """A folder is refused as a plot."""
        assert_refused(ccbench("run", scenario, "--plot", tmp_path), "--plot")

    def test_output_is_a_file(self, scenario: Path) -> None:
        """The run is stored in a folder: an existing file is refused before anything runs."""
        assert_refused(ccbench("run", scenario, "-o", scenario), "--output")

    def test_output_has_other_contents(self, scenario: Path, arithmetic: ArithmeticEngine) -> None:
        """A folder that holds no run is refused before anything runs."""
        own = scenario.parent / "own"
        own.mkdir()
        scenario.rename(own / "scenario.toml")  # as that of a run, but there is none
        assert_refused(ccbench("run", own / "scenario.toml", "-o", own), "scenario.toml")
        assert [] == arithmetic.ran

    @pytest.mark.usefixtures("arithmetic")
    def test_table(self, scenario: Path) -> None:
        """Text output has a row for each flow and for each bottleneck."""
        result = ccbench("run", scenario)
        assert ExitStatus.OK == result.exit_code, result.output
        assert "even" in result.stdout
        assert " 10.00 " in result.stdout
        assert "100.0%" in result.stdout
        assert "" == result.stderr

    @pytest.mark.usefixtures("arithmetic")
    def test_many_flows(self, scenario: Path) -> None:
        """With many flows there is a row for each group of flows."""
        scenario.write_text(SCENARIO.replace('"even"', '"even"\ncount = 50'))
        rows = [line.split() for line in ccbench("run", scenario).stdout.splitlines()]
        assert ["mean", "of", "50", "even", "even", "0.20"] in [row[:6] for row in rows]

    @pytest.mark.usefixtures("arithmetic")
    def test_json(self, scenario: Path) -> None:
        """JSON output is one document with scenario, flows, bottlenecks and provenance."""
        document = json.loads(ccbench("run", scenario, "--json").stdout)
        assert 40 == document["scenario"]["rtt_ms"]
        assert 10 == pytest.approx(document["flows"][0]["throughput_mbps"], rel=1e-6)
        assert 1 == pytest.approx(document["bottlenecks"][0]["utilisation"], rel=1e-6)
        assert "arithmetic" == document["provenance"]["engine"]

    def test_seed(self, scenario: Path, arithmetic: ArithmeticEngine) -> None:
        """--seed changes the seed of a scenario, within its bounds."""
        for words, seed in (((), 1), (("--seed", "7"), 7)):
            document = json.loads(ccbench("run", scenario, "--json", *words).stdout)
            assert seed == document["scenario"]["seed"]
        assert [1, 7] == [item.seed for item in arithmetic.ran]
        assert_refused(ccbench("run", scenario, "--seed", "-1"), "seed is -1")

    @pytest.mark.usefixtures("arithmetic")
    def test_files(self, scenario: Path, tmp_path: Path) -> None:
        """-o stores the run, --plot draws it, and the output names both paths."""
        folder, plot = tmp_path / "results", tmp_path / "run.png"
        result = ccbench("run", scenario, "-o", folder, "--plot", plot)
        assert 40 == Run.load(folder).scenario.path.rtt_ms
        assert plot.read_bytes().startswith(b"\x89PNG")
        assert str(folder) in result.stdout
        assert str(plot) in result.stdout

    def test_too_large(self, scenario: Path, tmp_path: Path, arithmetic: ArithmeticEngine) -> None:
        """A scenario beyond the machine's memory is refused before any run, with the remedy."""
        large = SCENARIO.replace("= 10", "= 100_000").replace("duration_s = 2", "duration_s = 1e6")
        scenario.write_text(large)
        result = ccbench("run", scenario, "-o", tmp_path / "results")
        assert_refused(result, "this run", "are free", 'queue_log = "summary"', "duration_s")
        assert [] == arithmetic.ran

    def test_long(self, scenario: Path, arithmetic: ArithmeticEngine) -> None:
        """The duration of a run is announced if earlier runs took long."""
        _speed.learn(arithmetic.name, 100, 60)
        assert "this run takes about 5 minutes\n" == ccbench("run", scenario).stderr

    @pytest.mark.usefixtures("arithmetic")
    def test_unknown_cca(self, scenario: Path) -> None:
        """A CCA that the engine does not have is bad input, in a file that is named."""
        scenario.write_text(SCENARIO.replace("even", "tahoe"))
        assert_refused(ccbench("run", scenario), f"{scenario}: ", "tahoe", "greedy")


class TestTrend:
    """The line about throughput that still changes."""

    @pytest.fixture
    def drifting(self, scenario: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Give a scenario whose second flow takes the place of the first, in two minutes."""

        def run(engine: NoisyEngine, scenario: Scenario, **_: object) -> Run:
            engine.ran.append(scenario)
            mbps = np.linspace(1, 9, int(scenario.duration_s))
            return run_with_rates(scenario, np.column_stack([10 - mbps, mbps]), draws=1)

        monkeypatch.setattr(NoisyEngine, "run", run)
        two = SCENARIO.replace("duration_s = 2", "duration_s = 120")
        scenario.write_text(two + '\n[[flows]]\ncca = "greedy"\n')
        return scenario

    @pytest.mark.usefixtures("noisy")
    def test_one(self, drifting: Path) -> None:
        """A run's table states which flows still change, by how much, and what to do."""
        (line,) = [x for x in ccbench("run", drifting).stdout.splitlines() if x[:5] == "trend"]
        assert "Mbit/s of flow 0" in line
        assert "Mbit/s of flow 1" in line
        assert "to 120 s; a longer duration_s" in line
        document = json.loads(ccbench("run", drifting, "--json").stdout)
        first, second = (flow["change_mbps"] for flow in document["trend"]["flows"])
        assert first == pytest.approx(-second)
        assert second > 3

    @pytest.mark.usefixtures("noisy")
    def test_repeated(self, drifting: Path) -> None:
        """The table of repetitions states how many of them have a trend."""
        output = ccbench("run", drifting, "--repeat", 3).stdout
        assert "remains in 3 of 3 repetitions" in output
        document = json.loads(ccbench("run", drifting, "--repeat", 3, "--json").stdout)
        assert 3 == len(document["trends"])

    @pytest.mark.usefixtures("arithmetic")
    def test_none(self, scenario: Path) -> None:
        """Steady flows have no trend."""
        scenario.write_text(SCENARIO.replace("duration_s = 2", "duration_s = 120"))
        assert "trend" not in ccbench("run", scenario).stdout
        assert "trend" not in json.loads(ccbench("run", scenario, "--json").stdout)


class TestRepeat:
    def test_intervals(self, scenario: Path, noisy: NoisyEngine) -> None:
        """With noise every flow has medians with intervals over that many seeds."""
        scenario.write_text(SCENARIO + '\n[[flows]]\ncca = "greedy"\n')
        result = ccbench("run", scenario, "--repeat", 3, "--jitter", 0.5)
        assert ExitStatus.OK == result.exit_code, result.output
        (row,) = [line for line in result.stdout.splitlines() if line.split()[1:3] == ["even"] * 2]
        assert row.count(" to ") >= 2
        assert "caution" in result.stdout
        assert "--repeat 20" in result.stdout
        assert "reverse jitter 0.5 ms" in result.stdout
        assert list(repetition_seeds(1, 3)) == sorted(
            (item.seed for item in noisy.ran), key=repetition_seeds(1, 3).index
        )

    @pytest.mark.usefixtures("noisy")
    def test_workers(self, scenario: Path) -> None:
        """Workers are for several runs."""
        assert ExitStatus.OK == ccbench("run", scenario, "--repeat", 3, "--jobs", 2).exit_code
        assert_refused(ccbench("run", scenario, "--jobs", 2), "--jobs", "add --repeat")
        again = ccbench("run", scenario, "--repeat", 3, "--dry-run")
        assert "1 (1 are stored)" in again.stdout

    def test_exact(self, noisy: NoisyEngine, scenario: Path) -> None:
        """Without randomness there is one run; the output says so, and how to add noise."""
        output = ccbench("run", scenario, "--repeat", 3).stdout
        assert 1 == len(noisy.ran)
        assert "identical byte for byte" in output
        assert "--jitter" in output
        assert " to " not in output

    @pytest.mark.usefixtures("noisy")
    def test_files(self, scenario: Path, tmp_path: Path) -> None:
        """Every repetition is stored in its own folder, and the first is drawn."""
        folder, plot = tmp_path / "results", tmp_path / "run.png"
        settings = ("--repeat", 2, "--jitter", 1, "-o", folder, "--plot", plot)
        assert str(folder) in ccbench("run", scenario, *settings).stdout
        runs = [Run.load(folder / f"repetition-{i}") for i in (1, 2)]
        assert list(repetition_seeds(1, 2)) == [run.scenario.seed for run in runs]
        assert plot.read_bytes().startswith(b"\x89PNG")
        fewer = ccbench("run", scenario, "-o", folder)
        assert_refused(fewer, "repetition-1")

    @pytest.mark.usefixtures("noisy")
    def test_json(self, scenario: Path) -> None:
        """JSON output contains means with intervals, and every repetition's numbers."""
        words = ("--repeat", 3, "--noise", "reverse_jitter_ms=1", "--json")
        document = json.loads(ccbench("run", scenario, *words).stdout)
        assert 3 == document["repetitions"] == len(document["runs"])
        assert {"reverse_jitter_ms": 1} == document["scenario"]["noise"]
        assert {"throughput_mbps", "throughput_mbps_low"} <= set(document["flows"][0])

    @pytest.mark.usefixtures("noisy")
    def test_many_flows(self, scenario: Path) -> None:
        """With many flows the mean of each group is repeated."""
        scenario.write_text(SCENARIO.replace('"even"', '"even"\ncount = 50'))
        output = ccbench("run", scenario, "--repeat", 2, "--jitter", 1).stdout
        assert "mean of 50" in output

    def test_noise_of_the_scenario(self, scenario: Path, noisy: NoisyEngine) -> None:
        """Options replace kinds of the scenario's own noise; --no-noise removes all noise."""
        noise = "noise = { reverse_jitter_ms = 1, start_spread_ms = 2 }\n"
        scenario.write_text(noise + SCENARIO)
        for words, kinds in (
            ((), (1, 2)),
            (("--jitter", 3), (3, 2)),
            (("--no-noise",), (0, 0)),
        ):
            noisy.ran.clear()
            assert ExitStatus.OK == ccbench("run", scenario, "--fresh", *words).exit_code
            (ran,) = noisy.ran
            assert kinds == (ran.path.noise.reverse_jitter_ms, ran.path.noise.start_spread_ms)


class TestPackets:
    def test_repetitions(self, scenario: Path, tmp_path: Path) -> None:
        """Repetitions are not captured, and the message names the alternative."""
        words = ("--repeat", 3, "--pcap", tmp_path / "a.pcapng")
        assert_refused(ccbench("run", scenario, *words), "--pcap", "one run, not 3", "--seed")

    @pytest.mark.usefixtures("arithmetic")
    def test_engine(self, scenario: Path, tmp_path: Path) -> None:
        """An engine that cannot capture packets is refused."""
        result = ccbench("run", scenario, "--pcap", tmp_path / "a.pcapng")
        assert_refused(result, "cannot capture packets", "engine kernel")
