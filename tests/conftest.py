# SPDX-License-Identifier: Apache-2.0
"""What all tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def own_cache(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Give a test a cache folder of its own; only tests of the virtual kernel use the user's."""
    if request.node.get_closest_marker("kernel") is None:
        monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path / "cache"))
