# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from ccbench.base.random_streams import repetition_seeds
from ccbench.cli._status import ExitStatus
from ccbench.experiment.noise import Noise
from ccbench.harm import MAX_REPETITIONS, REPETITIONS
from tests.unit.cli.conftest import assert_refused, ccbench, command

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from tests.unit.conftest import NoisyEngine

HARM = {
    "--alpha": "greedy",
    "--beta": "even",
    "--bandwidth": "10",
    "--rtt": "40",
    "--queue": "1bdp",
}


class TestHarm:
    @pytest.mark.parametrize("option", HARM)
    def test_missing_option(self, option: str) -> None:
        """CCAs, bandwidth, round-trip time and queue must be given."""
        assert_refused(command("harm", HARM, **{option[2:]: None}), option, "ccbench harm --help")

    @pytest.mark.parametrize("option", ["bandwidth", "rtt", "duration"])
    @pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "fast", "10mbit", ""])
    def test_bad_number(self, option: str, value: str) -> None:
        """Rates and times are finite numbers above 0."""
        words = (f"--{option}", repr(value), "number above 0")
        assert_refused(command("harm", HARM, **{option: value}), *words)

    @pytest.mark.parametrize(
        "value", ["", "0", "0bdp", "-1bdp", "-64", "bdp", "1.5", "1.5packets", "1kB", "nanbdp", "٣"]
    )
    def test_bad_queue(self, value: str) -> None:
        """A queue is a number of BDPs or a whole number of packets, above 0."""
        words = ("--queue", repr(value), "1.5bdp", "64packets")
        assert_refused(command("harm", HARM, queue=value), *words)

    @pytest.mark.parametrize("value", ["", "target_ms", "=5", "target_ms="])
    def test_bad_qdisc_option(self, value: str) -> None:
        """A setting of the queue is a name and a value."""
        words = ("--qdisc-option", repr(value), "NAME=VALUE")
        assert_refused(command("harm", HARM, qdisc_option=value), *words)

    @pytest.mark.parametrize("option", ["alpha_flows", "beta_flows"])
    @pytest.mark.parametrize("value", ["0", "-1", "1.5", "many"])
    def test_bad_count(self, option: str, value: str) -> None:
        """Numbers of flows are whole and above 0."""
        option_name = f"--{option.replace('_', '-')}"
        assert_refused(command("harm", HARM, **{option: value}), option_name, value)

    @pytest.mark.parametrize("value", ["-1", "1.5", "x", str(2**63)])
    def test_bad_seed(self, value: str) -> None:
        """A seed is a whole number that fits into 63 bits."""
        assert_refused(command("harm", HARM, seed=value), "seed", value)

    @pytest.mark.parametrize("option", ["alpha", "beta"])
    @pytest.mark.parametrize("value", ["BBR", "a/b", "abcdefghijklmnop", "c u"])
    def test_bad_cca(self, option: str, value: str) -> None:
        """An invalid name of a congestion control is refused before anything runs."""
        assert_refused(command("harm", HARM, **{option: value}), option, value)

    def test_out_of_bounds(self) -> None:
        """Numbers beyond the bounds of a scenario are refused with the bound."""
        assert_refused(command("harm", HARM, rtt="99999"), "rtt", "10000")

    @pytest.mark.usefixtures("arithmetic")
    def test_parts(self) -> None:
        """Text output contains the harm and its parts: the loss beyond the fair half."""
        result = command("harm", HARM, duration="30")
        assert ExitStatus.OK == result.exit_code, result.output
        lines = dict(line.split("  ", 1) for line in result.stdout.splitlines())
        absolute, expected, relative = (
            float(lines[f"{kind} harm"].split()[0]) for kind in ("absolute", "expected", "relative")
        )
        assert 0.5 == expected
        assert 0.5 < absolute < 1
        assert relative == pytest.approx(absolute - expected, abs=1e-9)

    @pytest.mark.usefixtures("arithmetic")
    def test_json(self) -> None:
        """JSON output contains the parts and both scenarios."""
        document = json.loads(command("harm", HARM, "--json", duration="30").stdout)
        parts = document["harm"]
        assert parts["relative"] == pytest.approx(parts["absolute"] - parts["expected"])
        assert 1 == len(document["scenarios"]["solo"]["flows"])
        assert 2 == len(document["scenarios"]["competing"]["flows"])

    @pytest.mark.usefixtures("arithmetic")
    @pytest.mark.parametrize(
        ("queue", "packets"), [("2bdp", 67), (".5BDP", 17), ("64", 64), ("64packets", 64)]
    )
    def test_queue(self, queue: str, packets: int) -> None:
        """A queue is given in BDPs (33.3 packets here) or in packets."""
        result = command("harm", HARM, "--json", queue=queue, duration="5")
        bottlenecks = json.loads(result.stdout)["scenarios"]["solo"]["bottlenecks"]
        assert packets == bottlenecks[0]["queue_packets"]


def lines(result: Result) -> dict[str, str]:
    """Return the lines that consist of a name and a value."""
    assert ExitStatus.OK == result.exit_code, result.output
    pairs = (line.split("  ", 1) for line in result.stdout.splitlines() if "  " in line)
    return {name: value.strip() for name, value in pairs if name}


class TestRepetitions:
    def test_default(self, noisy: NoisyEngine) -> None:
        """By default harm is repeated, and each number is printed with its interval."""
        output = lines(command("harm", HARM, duration="5"))
        assert output["repetitions"].startswith(f"{REPETITIONS} ")
        typical = "forward jitter 0.7 ms, reverse jitter 0.7 ms, start spread 20 ms"
        assert typical == output["noise"]
        assert output["order"].startswith("random: alpha starts first in ")
        for name in ("beta with alpha", "absolute harm", "relative harm", "Jain's index"):
            assert " to " in output[name]
        assert "caution" not in output
        assert set(repetition_seeds(1, REPETITIONS)) == {scenario.seed for scenario in noisy.ran}

    def test_help(self) -> None:
        """The help states the defaults of the library."""
        text = " ".join(ccbench("harm", "--help").stdout.split())
        assert f"[default: {REPETITIONS}]" in text
        assert f"[default: {MAX_REPETITIONS}]" in text

    @pytest.mark.usefixtures("noisy")
    def test_json(self) -> None:
        """JSON output contains means, interval, and every repetition's seed and numbers."""
        document = json.loads(command("harm", HARM, "--json", duration="5", repeat="3").stdout)
        harm = document["harm"]
        assert harm["relative_low"] < harm["relative"] < harm["relative_high"]
        assert 3 == harm["repetitions"]
        assert list(repetition_seeds(1, 3)) == [row["seed"] for row in harm["values"]]
        levels = {"forward_jitter_ms": 0.7, "reverse_jitter_ms": 0.7, "start_spread_ms": 20}
        assert levels == document["noise"]
        order = document["order"]
        assert 3 == order["alpha_first_repetitions"] + order["beta_first_repetitions"]
        assert not document["exact"]

    def test_exact(self, noisy: NoisyEngine) -> None:
        """Without noise the result is one exact run without interval, and is called exact."""
        output = lines(command("harm", HARM, "--no-noise", duration="5"))
        assert "none" == output["noise"]
        assert "exact" in output["repetitions"]
        assert " to " not in output["relative harm"]
        assert output["order"].startswith("fixed: beta first")
        assert {1} == {scenario.seed for scenario in noisy.ran}
        document = json.loads(command("harm", HARM, "--no-noise", "--json", duration="5").stdout)
        assert document["exact"]
        assert document["harm"]["relative_low"] is None

    @pytest.mark.usefixtures("noisy")
    def test_precision(self) -> None:
        """With --precision harm is repeated until it is reached, or reported as not reached."""
        options = {"duration": "5", "max_repeat": "9"}
        assert "precision" not in lines(command("harm", HARM, precision="0.5", **options))
        output = lines(command("harm", HARM, precision="0.0001", **options))
        assert output["precision"].startswith("not reached: ")
        assert output["repetitions"].startswith("9 ")

    @pytest.mark.usefixtures("noisy")
    def test_undecided(self) -> None:
        """If the interval contains 0, the number's line says so."""
        output = lines(command("harm", HARM, alpha="even", duration="5"))
        assert "the interval contains 0" in output["relative harm"]
        assert "contains" not in lines(command("harm", HARM, duration="5"))["relative harm"]

    @pytest.mark.usefixtures("noisy")
    def test_metrics(self) -> None:
        """Further metrics have medians and intervals too, if they vary."""
        result = command("harm", HARM, metric="goodput", duration="5", repeat="3")
        (row,) = [line for line in result.stdout.splitlines() if line.startswith(" goodput")]
        assert 2 == row.count(" to ")  # alone, beta has all of the link
        assert "--repeat 20" in lines(result)["caution"]

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"repeat": "0"}, ("--repeat", "0")),
            ({"precision": "0"}, ("--precision", "above 0")),
            ({"max_repeat": "20"}, ("--max-repeat is 20", "--precision")),
            (
                {"precision": "0.1", "max_repeat": "4"},
                ("max_repetitions is 4", f"at least {REPETITIONS}"),
            ),
            ({"plot": "noise.png"}, ("--plot", "--sensitivity")),
        ],
    )
    def test_bad_option(
        self, noisy: NoisyEngine, options: dict[str, str], words: tuple[str, ...]
    ) -> None:
        """Invalid settings are refused before anything runs."""
        assert_refused(command("harm", HARM, **options), *words)
        assert [] == noisy.ran


class TestEcn:
    @pytest.mark.parametrize(("option", "ecn"), [("off", False), ("on", True)])
    def test_option(self, noisy: NoisyEngine, option: str, *, ecn: bool) -> None:
        """The ECN of both hosts is that of the option, in all runs."""
        output = lines(command("harm", HARM, ecn=option, duration="5"))
        assert ecn == output["network"].endswith(", ECN")
        assert {ecn} == {scenario.path.ecn for scenario in noisy.ran}

    def test_bad_ecn(self, noisy: NoisyEngine) -> None:
        """Another value is refused before anything runs."""
        assert_refused(command("harm", HARM, ecn="ect1"), "--ecn", "accecn")
        assert [] == noisy.ran


class TestNoise:
    def test_options(self, noisy: NoisyEngine) -> None:
        """Options replace values of the typical noise; the other values stay."""
        output = lines(command("harm", HARM, noise="background_share=0.01", duration="5"))
        others = "forward jitter 0.7 ms, reverse jitter 0.7 ms, start spread 20 ms"
        assert f"{others}, background traffic 1 %" == output["noise"]
        noisy.ran.clear()
        output = lines(command("harm", HARM, jitter="0.3", duration="5"))
        words = "forward jitter 0.3 ms, reverse jitter 0.3 ms, start spread 20 ms"
        assert words == output["noise"]
        noise = Noise(forward_jitter_ms=0.3, reverse_jitter_ms=0.3, start_spread_ms=20)
        assert {noise} == {scenario.path.noise for scenario in noisy.ran}

    @pytest.mark.parametrize(
        ("options", "flags", "words"),
        [
            (
                {"noise": "jitter=1"},
                (),
                ("jitter is not a setting; did you mean", "reverse_jitter_ms"),
            ),
            ({"noise": "background_share=2"}, (), ("background_share is 2", "at most 0.5")),
            ({"noise": "background_share"}, (), ("--noise", "NAME=VALUE")),
            ({"jitter": "-1"}, (), ("0 or more",)),
            ({"jitter": "1", "noise": "reverse_jitter_ms=2"}, (), ("--jitter", "one of the two")),
            ({"jitter": "1"}, ("--no-noise",), ("--noise", "--no-noise")),
        ],
    )
    def test_bad_noise(
        self,
        noisy: NoisyEngine,
        options: dict[str, str],
        flags: tuple[str, ...],
        words: tuple[str, ...],
    ) -> None:
        """Invalid noise is refused before anything runs."""
        assert_refused(command("harm", HARM, *flags, **options), *words)
        assert [] == noisy.ran


class TestSensitivity:
    @pytest.mark.usefixtures("noisy")
    def test_table(self, tmp_path: Path) -> None:
        """Text output has a row for each level and the stability of the sign; a figure is drawn."""
        plot = tmp_path / "noise.png"
        result = command("harm", HARM, "--sensitivity", duration="5", repeat="3", plot=str(plot))
        assert ExitStatus.OK == result.exit_code, result.output
        rows = [line.split() for line in result.stdout.splitlines()]
        assert ["0", "start", "spread", "20", "ms"] in [row[:5] for row in rows]
        words = ["10", "forward", "jitter", "7", "ms,", "reverse", "jitter", "7", "ms,", "start"]
        assert words in [row[:10] for row in rows]
        assert "above +0.05" in lines(result)["sign"]
        assert plot.read_bytes().startswith(b"\x89PNG")

    @pytest.mark.usefixtures("noisy")
    def test_json(self) -> None:
        """JSON output contains harm at each level."""
        result = command("harm", HARM, "--sensitivity", "--json", duration="5", repeat="2")
        document = json.loads(result.stdout)
        assert [0, 0.01, 0.1, 1, 10] == [level["level"] for level in document["levels"]]
        assert [2, 2, 2, 2, 2] == [item["harm"]["repetitions"] for item in document["levels"]]
        assert document["sign_depends_on_noise"] is False

    def test_without_noise(self, noisy: NoisyEngine) -> None:
        """Noise levels cannot be combined with --no-noise."""
        result = command("harm", HARM, "--sensitivity", "--no-noise")
        assert_refused(result, "noise is 'none'")
        assert [] == noisy.ran


class TestNetwork:
    """Networks and flows from files."""

    TOML = """
    rtt_ms = 20
    duration_s = 8
    seed = 5
    [[flows]]
    cca = "greedy"
    [[flows]]
    cca = "even"
    count = 2
    [[bottlenecks]]
    bandwidth_mbps = 10
    queue_bdp = 1
    """

    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        """Write a scenario without noise."""
        path = tmp_path / "file.toml"
        path.write_text(self.TOML)
        return path

    def test_path(self, noisy: NoisyEngine, file: Path) -> None:
        """--path is the network of a file; its flows, duration and seed are those of options."""
        own = {"--alpha": "even", "--beta": "greedy", "--duration": "6"}
        result = command("harm", own, path=str(file), jitter="0.5", repeat="1")
        assert ExitStatus.OK == result.exit_code, result.output
        solo, competing = sorted(noisy.ran, key=lambda scenario: scenario.flow_count)
        assert (20, 6, 1) == (solo.path.rtt_ms, solo.duration_s, solo.seed)
        assert ["greedy"] == [flow.cca for flow in solo.flows]
        assert 2 == competing.flow_count
        assert 0.5 == competing.path.noise.forward_jitter_ms

    def test_scenario(self, noisy: NoisyEngine, file: Path) -> None:
        """--scenario is all of it: the first group is alpha's, the others are beta's."""
        result = ccbench("harm", "--scenario", file, "--no-noise", "--json")
        assert ExitStatus.OK == result.exit_code, result.output
        solo, competing = sorted(noisy.ran, key=lambda scenario: scenario.flow_count)
        assert [("even", 2)] == [(flow.cca, flow.count) for flow in solo.flows]
        assert (8, 5, 3) == (competing.duration_s, competing.seed, competing.flow_count)
        assert json.loads(result.stdout)["harm"]["n_beta"] == 2

    def test_dry_run(self, noisy: NoisyEngine, file: Path) -> None:
        """A dry run counts the runs of the plan, except those that are stored."""
        given = ("harm", "--scenario", file, "--repeat", "3")
        assert "6 (0 are stored)" in ccbench(*given, "--dry-run").stdout
        noisy.ran.clear()  # of the measurement of the speed
        folder = file.parent / "values"
        ccbench(*given, "-o", folder)
        assert 2 == len(noisy.ran)  # nothing is random
        assert ["harm"] == pd.read_csv(folder / "harm.csv")["metric"].tolist()
        assert "2 (2 are stored)" in ccbench(*given, "--dry-run").stdout

    @pytest.mark.usefixtures("noisy")
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--path", "FILE", "--rtt", "9"], "--rtt must be left out with --path"),
            (["--scenario", "FILE"], "--alpha, --beta must be left out with --scenario"),
            (["--rtt", "9", "--queue", "9"], "either --bandwidth or --trace"),
            (["--path", "FILE", "--jobs", "2", "--scheduler", "tcp://a:1"], "--jobs is for this"),
        ],
    )
    def test_refused(self, file: Path, options: list[str], words: str) -> None:
        """Options that exclude each other are named."""
        given = [str(file) if option == "FILE" else option for option in options]
        assert_refused(ccbench("harm", "--alpha", "greedy", "--beta", "even", *given), words)
