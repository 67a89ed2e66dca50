# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import pandas as pd
import pytest

from ccbench.cli._status import ExitStatus
from ccbench.cli.sweep import sweep
from tests.unit.cli.conftest import assert_refused, ccbench

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.conftest import ArithmeticEngine


class TestSweepCommand:
    @pytest.mark.usefixtures("arithmetic")
    def test_text(self, scenario: Path, tmp_path: Path) -> None:
        """Text output has a row for each combination and the paths of table and plot."""
        files = ("-o", tmp_path / "t", "--plot", tmp_path / "p.svg")
        vary = ("--vary", "rtt_ms=10,40", "--vary", "bottlenecks.0.queue_bdp=1,2")
        result = ccbench("sweep", scenario, *vary, "--repeat", 2, *files)
        assert ExitStatus.OK == result.exit_code, result.output
        assert 4 == result.stdout.count(" 10.00")
        assert "In all combinations all repetitions are equal" in result.stdout
        assert "--vary noise.reverse_jitter_ms=" in result.stdout
        assert 8 == len(pd.read_csv(tmp_path / "t" / "sweep.csv"))
        document = json.loads((tmp_path / "t" / "sweep.json").read_text())
        assert 8 == len(document["runs"])
        assert (tmp_path / "p.svg").read_text().startswith("<?xml")

    @pytest.mark.usefixtures("arithmetic")
    @pytest.mark.parametrize("vary", ["rtt_ms=10,40", "flows.0.cca=even,greedy"])
    def test_plot(self, scenario: Path, tmp_path: Path, vary: str) -> None:
        """`ccbench plot` draws the folder of a sweep as --plot did."""
        files = ("-o", tmp_path / "t", "--plot", tmp_path / "p.svg")
        assert ccbench("sweep", scenario, "--vary", vary, "--repeat", 2, *files).exit_code == 0
        plotted = ccbench("plot", tmp_path / "t", "-o", tmp_path / "later.svg")
        assert plotted.exit_code == 0, plotted.output
        assert (tmp_path / "later.svg").read_bytes() == (tmp_path / "p.svg").read_bytes()
        narrow = ccbench("plot", tmp_path / "t", "--columns", 1, "-o", tmp_path / "narrow.svg")
        assert narrow.exit_code == 0, narrow.output
        assert 'width="239.76pt"' in (tmp_path / "narrow.svg").read_text()  # 3.33 inches
        refused = ccbench("plot", tmp_path / "t", "--as", "cdf")
        assert_refused(refused, "--as is for saved runs")
        (tmp_path / "t" / "sweep.json").write_text("{}")
        assert_refused(ccbench("plot", tmp_path / "t"), "it must be the folder of a sweep")

    @pytest.mark.usefixtures("arithmetic")
    def test_one_run(self, scenario: Path) -> None:
        """Without intervals, the option that yields them is named."""
        result = ccbench("sweep", scenario, "--vary", "rtt_ms=10")
        assert "--repeat N" in result.stdout
        assert "±" not in result.stdout

    @pytest.mark.usefixtures("arithmetic")
    def test_json(self, scenario: Path) -> None:
        """JSON output contains means with intervals, every run and the provenance."""
        result = ccbench("sweep", scenario, "--vary", "rtt_ms=10,40", "--repeat", 2, "--json")
        document = json.loads(result.stdout)
        assert {"rtt_ms": [10, 40]} == document["sweep"]["vary"]
        assert 4 == len(document["runs"])
        assert [10, 40] == [estimate["settings"]["rtt_ms"] for estimate in document["estimates"]]
        assert document["estimates"][0]["exact"]
        assert 1 == document["estimates"][0]["repetitions"]
        assert "arithmetic" == document["provenance"]["engine"]

    def test_dry_run(self, scenario: Path, arithmetic: ArithmeticEngine) -> None:
        """A dry run states how many runs are due and how many are stored, and stores nothing."""
        options = ("sweep", scenario, "--vary", "rtt_ms=10,40,80", "--repeat", 2)
        result = ccbench(*options, "--dry-run")
        assert "6 (0 are stored)" in result.stdout
        assert "side by side" in result.stdout
        assert 1 == len(arithmetic.ran)
        ccbench(*options)
        assert "3 (3 are stored)" in ccbench(*options, "--dry-run").stdout

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ((), ("--vary rtt_ms=10,40",)),
            (("--beta", "even"), ("--beta", "--metric harm")),
            (("--vary", "rtt_ms"), ("rtt_ms", "SETTING=VALUE")),
            (("--vary", "rtt_ms=1,,2"), ("rtt_ms=1,,2",)),
            (("--vary", "=1"), ("=1",)),
            (("--vary", "rtt=1,2"), ("'rtt'", "did you mean rtt_ms?")),
            (("--vary", "rtt_ms=fast"), ("rtt_ms = 'fast'", "a number")),
            (("--vary", "rtt_ms=-1"), ("rtt_ms = -1", "at least 0.001")),
            (("--vary", "rtt_ms=1", "--vary", "rtt_ms=2"), ("twice", "in one")),
            (("--vary", "seed=1,2", "--repeat", "2"), ("seed", "remove one")),
            (("--vary", "rtt_ms=1", "--repeat", "0"), ("--repeat",)),
            (("--vary", "rtt_ms=1", "--metric", "speed"), ("speed", "ccbench metrics")),
            (("--vary", "rtt_ms=1", "--metric", "harm"), ("two groups",)),
            (("--vary", "rtt_ms=1", "--beta", "0"), ("--beta", "--metric harm")),
            (
                ("--vary", "rtt_ms=1", "--metric", "harm", "--beta", "even"),
                ("--beta is 'even'", "scenario.toml: 0 (even)", "--beta 0"),
            ),
            (("--vary", "rtt_ms=1", "-o", __file__), ("--output", "is a file")),
            (("--vary", "rtt_ms=1", "--plot", "p.gif"), ("p.gif", ".png")),
            (("--vary", "rtt_ms=1", "--jobs", "2", "--scheduler", "tcp://h:1"), ("--scheduler",)),
        ],
    )
    def test_refused(
        self,
        scenario: Path,
        arithmetic: ArithmeticEngine,
        options: tuple[str, ...],
        words: tuple[str, ...],
    ) -> None:
        """Invalid settings are refused in one line before anything runs."""
        assert_refused(ccbench("sweep", scenario, *options), *words)
        assert [] == arithmetic.ran

    def test_no_file(self, tmp_path: Path) -> None:
        """A missing or invalid scenario file is named."""
        (tmp_path / "bad.toml").write_text("rtt_ms = 40\n")
        for name in ("none.toml", "bad.toml"):
            assert_refused(ccbench("sweep", tmp_path / name, "--vary", "rtt_ms=1"), name)

    def test_completion(self, scenario: Path, tmp_path: Path) -> None:
        """The shell completes the settings of the named scenario, and nothing without one."""
        (option,) = (parameter for parameter in sweep.params if parameter.name == "vary")
        context = click.Context(sweep)
        context.params = {"scenario": scenario}
        actual = option.shell_complete(context, "bottlenecks.0.queue")
        assert ["bottlenecks.0.queue_packets=", "bottlenecks.0.queue_bdp="] == [
            item.value for item in actual
        ]
        context.params = {"scenario": tmp_path / "none.toml"}
        assert [] == option.shell_complete(context, "flows")
