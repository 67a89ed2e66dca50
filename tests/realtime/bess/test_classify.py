# SPDX-License-Identifier: Apache-2.0
"""``ccbench classify SERVER --engine bess`` on a real web server, through the real BESS."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.classify.setting import SETTINGS
from ccbench.emulate.recording import CommandRecording
from tests.realtime.disturbance import skip_if_busy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_SERVER = "198.18.0.2"


@pytest.mark.skipif("CCBENCH_BESS_DIR" not in os.environ, reason="CCBENCH_BESS_DIR names no BESS")
@pytest.mark.parametrize("cca", ["cubic", "reno"])
def test_nearest(tmp_path: Path, web_server: Callable[..., Any], cca: str) -> None:
    """Traffic of a server through BESS's queue of 63 packets is nearest to its own CCA."""
    name = SETTINGS[0].name
    options = ("--engine", "bess", "--setting", name, "--insecure", "--pause", "0", "--json")
    with web_server(tmp_path, "nginx", cca, 30_000_000) as web:
        done = web.ccbench("classify", _SERVER, *options)
    skip_if_busy(done.stderr)
    assert not done.returncode, done.stderr
    (row,) = json.loads(done.stdout)["servers"]
    (trace,) = row["traces"]
    assert trace["nearest"] == cca
    assert row["label"] in {cca, "unknown"}
    assert trace["utilisation"] > 0.8
    recording = CommandRecording.load(tmp_path / "servers" / _SERVER / name)
    assert (recording.provenance["engine"], recording.bottleneck.queue_packets) == ("bess", 63)
    assert recording.queue["bytes"].max() == 1500
