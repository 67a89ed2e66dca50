# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.cli._status import ExitStatus
from tests.unit.cli.conftest import ccbench

if TYPE_CHECKING:
    import pytest

    from tests.unit.conftest import ArithmeticEngine


def test_names_are_checked(arithmetic: ArithmeticEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each given name is checked under its own option; an empty one is not as if left out."""
    checked: list[tuple[str, str]] = []
    monkeypatch.setattr(
        type(arithmetic), "check_cca", lambda _, name, option: checked.append((option, name))
    )
    options = ("--only", "5.1.1", "--dry-run", "--baseline", "greedy", "--against", "")
    result = ccbench("evaluate", "even", *options)
    assert ExitStatus.OK == result.exit_code, result.stderr
    assert [("CCA", "even"), ("--baseline", "greedy"), ("--against", "")] == checked
    checked.clear()
    ccbench("evaluate", "", *options[:-2])
    assert ("CCA", "") == checked[0]
