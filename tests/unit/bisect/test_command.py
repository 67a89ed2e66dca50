# SPDX-License-Identifier: Apache-2.0
"""Errors of ``ccbench bisect`` before anything is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.cli._status import ExitStatus
from tests.unit.cli.conftest import ccbench

if TYPE_CHECKING:
    from pathlib import Path

TWO = """
rtt_ms = 40
duration_s = 10
flows = [{ cca = "aimd" }, { cca = "cubic" }]
bottlenecks = [{ bandwidth_mbps = 10, queue_bdp = 1 }]
"""


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("two.toml", "--good is missing: name a commit before the change, or give --patch"),
        ("--good HEAD~2", "SCENARIO or --criterion is missing"),
        ("two.toml --good x", "good is 'x'; it must be a commit of the module's repository"),
        ("two.toml --good HEAD~2 --patch a", "--patch is given with --good or --bad"),
        ("two.toml --good HEAD~2 --metric throughput", "--of is missing: name a group of flows"),
        ("two.toml --good HEAD~2 --metric rate", "--metric is 'rate'; it must be a metric"),
        ("two.toml --good HEAD~2 --metric throughput --of reno", "--of is 'reno'; it must be one"),
        ("two.toml --good HEAD~2 --above 3", "--of, --above and --below are for a metric"),
        ("two.toml --good HEAD~2 --criterion 6.1-tail-drop", "--criterion has its own scenarios"),
        ("--good HEAD~2 --criterion 6.1-tail-drop", "--cca is missing"),
        ("--good HEAD~2 --criterion 99 --cca aimd", "only is '99'; it must be a criterion"),
        ("two.toml --patch none.patch", "patch is 'none.patch'; it must be a file"),
    ],
)
def test_errors(module: Path, monkeypatch: pytest.MonkeyPatch, options: str, error: str) -> None:
    """Invalid input is one line that names the next step, with status 2."""
    monkeypatch.chdir(module.parent)
    (module.parent / "two.toml").write_text(TWO)
    result = ccbench("bisect", "tcp_mine", *options.split())
    assert ExitStatus.BAD_INPUT == result.exit_code
    assert f"ccbench: {error}" in result.stderr
    assert 1 == len(result.stderr.splitlines())
