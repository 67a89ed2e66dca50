# SPDX-License-Identifier: Apache-2.0
"""Checks of scenarios for engines in real time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ccbench import RttTrace
from ccbench.base.errors import InputError
from ccbench.emulate.realtime.host import check_scenario
from ccbench.emulate.realtime.supported import SUPPORTED, unsupported
from ccbench.experiment.scenario import NetworkPath, Scenario, Trace
from tests.unit.emulate.conftest import BASE
from tests.unit.emulate.kernel.test_identity import PAIRS


@pytest.mark.parametrize(("name", "shown"), [("", "set"), ("drift", "drift")])
def test_rtt_trace(name: str, shown: str) -> None:
    """The refusal of a trace of RTTs names it, or says that it is set."""
    trace = RttTrace(points=((0, 40), (9, 60)), name=name)
    with pytest.raises(InputError, match=f"rtt_trace is '{shown}'; it must be left out"):
        check_scenario(replace(BASE, path=replace(BASE.path, rtt_trace=trace)), "mahimahi")


#: Settings of which some values are supported.
_PARTLY = {"kind", "acks", "ecn", "queue_log", "sample_interval_ms"}


@pytest.mark.parametrize("cls", PAIRS)
def test_every_setting(cls: type[Any]) -> None:
    """Real-time engines support a setting of the virtual kernel by name, or refuse it."""
    supported = SUPPORTED.get(cls, frozenset())
    if cls is Scenario:  # with the settings of its path
        supported |= SUPPORTED[NetworkPath]
    for name, scenarios in PAIRS[cls][0].items():
        fields = {field.split(".")[-1] for one in scenarios for field, *_ in unsupported(one)}
        if cls in SUPPORTED:
            assert (name in supported) != (name in fields) or name in _PARTLY, name
        elif cls is not Trace:  # a supported part
            assert fields, name
