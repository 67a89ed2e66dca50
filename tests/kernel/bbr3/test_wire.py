# SPDX-License-Identifier: Apache-2.0
"""Test cases of the BBR draft by TCP's own state agree with those by the state of the module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench import studies
from ccbench.studies.bbr3.bbr_draft import study_of
from ccbench.studies.bbr3.state import BBR3, Sender

if TYPE_CHECKING:
    from ccbench.emulate.kernel.engine import KernelEngine

pytestmark = [pytest.mark.kernel, pytest.mark.long]


def _verdicts(engine: KernelEngine, sender: Sender) -> dict[tuple[str, float], str]:
    """Return the verdicts of the quick version by case and rate."""
    table = studies.run_study(study_of(sender), quick=True, engine=engine).findings.table
    keys = zip(table["case"], table["mbps"], strict=True)
    return dict(zip(keys, table["verdict"], strict=True))


def test_agreement(engine: KernelEngine) -> None:
    """Without its state, the module's verdicts are those with it, but for what is not visible."""
    by_state = _verdicts(engine, BBR3)
    by_wire = _verdicts(engine, Sender("bbr3", ()))
    assert by_state.keys() == by_wire.keys()
    assert {
        # inflight_longterm, which is not updated
        ("up-loss-app", 10): ("fails", "holds"),
        ("up-loss-app", 100): ("fails", "holds"),
        # the beginning of REFILL, and with it the length of the pause in it
        ("refill-app", 100): ("does not come about", "holds"),
    } == {key: (by_state[key], by_wire[key]) for key in by_state if by_state[key] != by_wire[key]}


@pytest.mark.parametrize("cca", ["cubic", "reno"])
def test_other_ccas(engine: KernelEngine, cca: str) -> None:
    """No case holds for a congestion control that is not BBR."""
    assert "holds" not in _verdicts(engine, Sender(cca, ())).values()
