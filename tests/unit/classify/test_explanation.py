# SPDX-License-Identifier: Apache-2.0
"""``ccbench classify --explain``, on a sawtooth that no CCA of Linux has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from ccbench.classify.setting import SETTINGS
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.cli.main import program

if TYPE_CHECKING:
    from pathlib import Path

#: The queue grows by a packet every 0.04 s, from 2 to 61.
PERIOD_S = 2.4


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """Give a command that explains the classification of the sawtooth."""
    start = [f"{0.02 * i:.2f},0" for i in range(10)]  # of the connection
    rows = [*start, *(f"{0.2 + 0.02 * i:.2f},{2 + i // 2 % 60}" for i in range(1050))]
    path = tmp_path / "queue.csv"
    path.write_text("\n".join(["time_s,occupancy_packets", *rows]), encoding="utf-8")
    return ["classify", str(path), "--setting", SETTINGS[0].name, "--explain"]


def test_text(command: list[str]) -> None:
    """The text names the limit that the trace exceeds, all CCAs, and the measured period."""
    done = CliRunner().invoke(program, command)
    assert 0 == done.exit_code, done.output
    for words in ("above the limit of", f"{PERIOD_S} s between decreases", "24 per minute"):
        assert words in done.stdout
    for cca in TrainingSet.load(PACKAGED).ccas:
        assert f"{cca} " in done.stdout


def test_json(command: list[str]) -> None:
    """The distances begin with the nearest CCA, and the shape is that of the sawtooth."""
    (trace,) = json.loads(CliRunner().invoke(program, [*command, "--json"]).stdout)["traces"]
    distances = list(trace["distances"].values())
    assert sorted(distances) == distances
    assert trace["distance"] == distances[0]
    assert trace["nearest"] == next(iter(trace["distances"]))
    assert pytest.approx(PERIOD_S, abs=0.05) == trace["shape"]["period_s"]
    assert pytest.approx(0.085 / 0.04, rel=0.1) == trace["shape"]["early_growth"]


def test_figure(command: list[str], tmp_path: Path) -> None:
    """The figure has the name of each CCA."""
    figure = tmp_path / "every.svg"
    assert 0 == CliRunner().invoke(program, [*command, "--plot", str(figure)]).exit_code
    drawn = figure.read_text(encoding="utf-8")
    assert all(cca in drawn for cca in TrainingSet.load(PACKAGED).ccas)


def test_servers() -> None:
    """Servers, whose queues are not recorded yet, are refused with the next step."""
    done = CliRunner().invoke(program, ["classify", "example.com", "--explain"])
    assert 2 == done.exit_code
    assert "name the server's folder" in done.stderr
