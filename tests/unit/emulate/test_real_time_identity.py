# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.emulate.bess.engine import BessEngine
from ccbench.emulate.mahimahi.engine import MahimahiEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccbench.emulate import Engine

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("engine", [MahimahiEngine(), BessEngine()], ids=lambda one: one.name)
@pytest.mark.parametrize("part", ["sender", "receiver", "records", "udp_application"])
def test_code(engine: Engine, part: str, change: Callable[[str, str], None]) -> None:
    """A change of code between a scenario and its tables changes the version; comments do not."""
    before = engine.version()
    change(f"ccbench.emulate.realtime.{part}", "\n# a comment\n")
    assert before == engine.version()
    change(f"ccbench.emulate.realtime.{part}", "\nADDED = 1\n")
    assert before != engine.version()
