# SPDX-License-Identifier: Apache-2.0
"""A small pack for engines of arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SHARE = """
rtt_ms = 40
duration_s = 4

[[flows]]
label = "candidate"

[[flows]]
cca = "even"
label = "other"

[[bottlenecks]]
bandwidth_mbps = 10
queue_bdp = 1

[criterion]
section = "1.2"
title = "Beside another"
obligation = "MUST"
about = "Two flows share a link."

[[criterion.measures]]
metric = "throughput"
of = "other"
failure = "starvation"
fails_below = 4

[[criterion.measures]]
metric = "throughput"
gain_is_neutral = true

[[criterion.networks]]
name = "1 BDP"
quick = true

[[criterion.networks]]
name = "1/2 BDP"
settings = { "bottlenecks.0.queue_bdp" = 0.5 }
"""

QUESTION = """
[criterion]
section = "1.10"
title = "Principles"
about = "A proposal explains its deviations."
question = "Which deviations?"
"""


def write_pack(folder: Path) -> Path:
    """Write the pack below a folder."""
    pack = folder / "pack"
    pack.mkdir(parents=True)
    (pack / "pack.toml").write_text('title = "Small"\nsource = "Nobody"\n')
    (pack / "share.toml").write_text(SHARE)
    (pack / "question.toml").write_text(QUESTION)
    return pack


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give the folder of a pack."""
    return write_pack(tmp_path)
