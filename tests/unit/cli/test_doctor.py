# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ccbench.cli._status import ExitStatus
from ccbench.emulate.engine import Check
from tests.unit.cli.conftest import ccbench

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.conftest import ArithmeticEngine


@pytest.fixture
def partly_installed(arithmetic: ArithmeticEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the engine miss one of two requirements."""
    compiler = Check(name="compiler", ok=True, detail="gcc 12")
    flex = Check(name="flex", ok=False, detail="none", remedy="apt-get install flex")
    monkeypatch.setattr(arithmetic, "doctor", lambda: [compiler, flex])


class TestDoctor:
    @pytest.mark.usefixtures("partly_installed")
    def test_missing_requirement(self) -> None:
        """Each missing requirement is shown with its remedy, and makes the status 1."""
        result = ccbench("doctor")
        assert ExitStatus.FAILED == result.exit_code
        assert "ok       compiler: gcc 12" in result.stdout
        assert "missing  flex: none" in result.stdout
        assert "-> apt-get install flex" in result.stdout

    @pytest.mark.usefixtures("partly_installed")
    def test_json(self) -> None:
        """JSON output contains every check with its remedy."""
        result = ccbench("doctor", "--json")
        document = json.loads(result.stdout)
        assert ExitStatus.FAILED == result.exit_code
        assert document["ok"] is False
        names = [check["name"] for check in document["checks"]]
        assert ["compiler", "flex", "store of runs"] == names
        assert "apt-get install flex" == document["checks"][1]["remedy"]

    @pytest.mark.usefixtures("arithmetic")
    def test_complete(self) -> None:
        """If nothing is missing, the status is 0."""
        result = ccbench("doctor")
        assert ExitStatus.OK == result.exit_code
        assert "can run here." in result.stdout

    @pytest.mark.usefixtures("arithmetic")
    def test_cache(self, forbidden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """If the cache is not writable no engine can run, and the variable to set is named."""
        monkeypatch.setenv("CCBENCH_CACHE", str(forbidden / "cache"))
        result = ccbench("doctor")
        assert ExitStatus.FAILED == result.exit_code
        assert f"{forbidden / 'cache' / 'runs'} cannot be written: Permission" in result.stdout
        assert "CCBENCH_CACHE" in result.stdout
        assert "make room" not in result.stdout
