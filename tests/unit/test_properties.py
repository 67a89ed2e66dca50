# SPDX-License-Identifier: Apache-2.0
"""The settings of property tests."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hypothesis import settings

_TESTS = Path(__file__).parents[1]


def test_profile() -> None:
    """Property tests have no deadline, and draw the same examples unless exploring."""
    actual = settings.default
    assert actual is not None
    assert actual.deadline is None
    assert actual.derandomize == ("CCBENCH_EXAMPLES" not in os.environ)
    assert actual.database is None


def test_one_profile() -> None:
    """No test has settings of its own."""
    own = re.compile(r"from hypothesis import .*\bsettings\b|hypothesis\.settings")
    files = {path for path in _TESTS.rglob("*.py") if own.search(path.read_text(encoding="utf-8"))}
    assert files == {_TESTS / "conftest.py", Path(__file__)}
