# SPDX-License-Identifier: Apache-2.0
"""Checks of scenarios for engines in real time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ccbench import RttTrace
from ccbench.base.errors import InputError
from ccbench.emulate.realtime.host import check_scenario
from tests.unit.emulate.conftest import BASE


@pytest.mark.parametrize(("name", "shown"), [("", "set"), ("drift", "drift")])
def test_rtt_trace(name: str, shown: str) -> None:
    """The refusal of a trace of RTTs names it, or says that it is set."""
    trace = RttTrace(points=((0, 40), (9, 60)), name=name)
    with pytest.raises(InputError, match=f"rtt_trace is '{shown}'; it must be left out"):
        check_scenario(replace(BASE, path=replace(BASE.path, rtt_trace=trace)), "mahimahi")
