# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from ccbench.experiment.change import Change
from ccbench.experiment.scenario import Flow, Trace
from tests.unit.experiment.conftest import EVERYTHING, LINK, scenario


class TestIdentity:
    def test_numbers(self) -> None:
        """60 and 60.0 are the same number."""
        assert scenario(duration_s=60) == scenario(duration_s=60.0)
        assert scenario(duration_s=60).key() == scenario(duration_s=60.0).key()

    def test_names(self) -> None:
        """Names and labels do not change the key."""
        renamed = replace(
            EVERYTHING,
            name="other",
            flows=tuple(replace(flow, label="other") for flow in EVERYTHING.flows),
            path=replace(
                EVERYTHING.path,
                bottlenecks=(
                    EVERYTHING.path.bottlenecks[0],
                    replace(
                        EVERYTHING.path.bottlenecks[1],
                        trace=Trace(name="other", opportunities_ms=(0, 3, 3, 8)),
                    ),
                ),
            ),
        )
        assert renamed == EVERYTHING
        assert hash(renamed) == hash(EVERYTHING)
        assert renamed.key() == EVERYTHING.key()

    @pytest.mark.parametrize(
        "changes",
        [
            {"seed": 2},
            {"rtt_ms": 51},
            {"queue_log": False},
            {"ecn": True},
            {"ack_batch_ms": 1},
            {"sysctls": (("net.ipv4.tcp_sack", "0"),)},
            {"module_parameters": (("tcp_rapid.tolerance", "64"),)},
            {"flows": (Flow(cca="bbr"),)},
            {"flows": (Flow(), Flow())},
            {"changes": (Change(at_s=1, flow=0, app_rate_mbps=1),)},
            {"sample_interval_ms": 0.01},
            {"bottlenecks": (replace(LINK, loss=0.1),)},
        ],
    )
    def test_changes(self, changes: dict[str, Any]) -> None:
        """Every setting that can change the result changes the key."""
        assert scenario(**changes).key() != scenario().key()

    def test_across_processes(self) -> None:
        """Another Python process computes the same key."""
        code = (
            "import sys; from ccbench.experiment.scenario import Scenario;"
            "print(Scenario.from_toml(sys.stdin.read()).key())"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code],
            input=EVERYTHING.to_toml(),
            capture_output=True,
            encoding="utf-8",
            env={"PYTHONUTF8": "1"},
            check=True,
        )
        assert ran.stdout.strip() == EVERYTHING.key()
