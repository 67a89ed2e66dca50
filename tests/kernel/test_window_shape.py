# SPDX-License-Identifier: Apache-2.0
"""Windows of Linux's CCAs, measured at the bottleneck's queue."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench.classify.in_flight import in_flight
from ccbench.classify.occupancy import STEP_S, occupancy
from ccbench.classify.setting import SETTINGS
from ccbench.classify.shape import Shape
from ccbench.classify.training import VARIATIONS, scenario
from ccbench.emulate import run

if TYPE_CHECKING:
    from ccbench.run.run import Run

pytestmark = pytest.mark.kernel

SETTING = SETTINGS[0]

#: The window after a loss as a fraction of that before, by the CCAs' publications and RFCs (5681,
#: 9438; Scalable: Kelly 2003). BIC's is 819/1024 in Linux. Westwood's, whose window becomes that of
#: an empty queue, is the BDP's share of BDP and queue.
FACTORS = {
    "reno": 0.5,
    "cubic": 0.7,
    "bic": 0.8,
    "scalable": 0.875,
    "westwood": 1 - SETTING.queue_packets / SETTING.capacity_packets,
}

#: The greatest growth in the round of the fall: BIC's, a quarter of the way to the last maximum.
GROWTH = (1 - FACTORS["bic"]) / 4


@cache
def observed(cca: str) -> Run:
    """Return a run of a minute, which has a few losses even of Reno."""
    return run(scenario(SETTING, cca, VARIATIONS[0], seed=3, duration_s=60))


@pytest.mark.parametrize("cca", FACTORS)
def test_factor(cca: str) -> None:
    """The window falls by the factor of the CCA with the queue full, but for a round's growth."""
    events = observed(cca).queue_events()
    parts = {"from_s": 5.0, "duration_s": 55.0}  # without slow start
    shape = Shape.of(occupancy(events, **parts), in_flight(events, SETTING, **parts), SETTING)
    assert FACTORS[cca] == pytest.approx(shape.factor, abs=GROWTH)
    assert 1 == shape.at_full_queue


@pytest.mark.parametrize("cca", ["reno", "cubic"])
def test_in_flight(cca: str) -> None:
    """The packets in flight are the window of the kernel, but for a few packets."""
    result = observed(cca)
    cwnd = result.samples("cwnd_packets")[0].loc[10:50]
    measured = in_flight(result.queue_events(), SETTING, from_s=10, duration_s=40)
    at = ((cwnd.index.to_numpy() - 10) / STEP_S).astype(int).clip(0, len(measured) - 1)
    difference = measured[at] - cwnd.to_numpy()
    assert np.quantile(np.abs(difference), 0.9) <= 3
