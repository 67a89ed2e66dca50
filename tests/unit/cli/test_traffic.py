# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.cli.conftest import assert_refused, ccbench

if TYPE_CHECKING:
    from pathlib import Path


class TestTraffic:
    def test_no_folder(self, tmp_path: Path) -> None:
        """A missing output folder is reported before any traffic is drawn."""
        file = tmp_path / "none" / "flows.csv"
        result = ccbench("traffic", "--load", "1", "--duration", "9", "-o", str(file))
        assert_refused(result, "--output", f"mkdir -p {file.parent}")
