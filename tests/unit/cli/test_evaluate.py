# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.cli._status import ExitStatus
from tests.unit.cli.conftest import ccbench

if TYPE_CHECKING:
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


@pytest.mark.usefixtures("arithmetic")
def test_search() -> None:
    """A search takes a number of networks or minutes, and nothing else."""
    options = ("evaluate", "greedy", "--only", "5.2.1-cubic", "--dry-run", "--search")
    for text in ("3", "0min", "infmin", "nanmin", "many"):
        result = ccbench(*options, text)
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert f"{text!r} is neither 4 networks or more, nor minutes" in result.stderr
