# SPDX-License-Identifier: Apache-2.0
"""Cross traffic of real TCP senders, observed by a sender that pulses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.elasticity.observed import observe
from tests.kernel.conftest import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ccbench.elasticity.observed import Observation

pytestmark = pytest.mark.kernel

LINK_MBPS = 24.0
DURATION_S = 25
PULSES = DURATION_S * 5


def pulser() -> tuple[Flow, ...]:
    """Return flows that form one sender of half the link: UDP that is faster for 50 of 200 ms.

    A burst is as large as that of the paper's pulse, a half-sine of μ/4, and on average the pulses
    add nothing.
    """
    up = LINK_MBPS / 4 * 2 / math.pi
    base = Flow(kind="cbr", rate_mbps=LINK_MBPS / 2 - up / 3)
    starts_s = [0.2 * i for i in range(PULSES)]
    return base, *(
        Flow(kind="cbr", rate_mbps=4 / 3 * up, start_s=time_s, stop_s=time_s + 0.05)
        for time_s in starts_s
    )


def shared(*flows: Flow, duration_s: float = DURATION_S) -> Scenario:
    """Run flows that share the link."""
    link = Bottleneck(bandwidth_mbps=LINK_MBPS, queue_bdp=2)
    return Scenario(
        flows=flows, path=NetworkPath(bottlenecks=(link,), rtt_ms=50), duration_s=duration_s
    )


def beside(cross: Flow) -> Observation:
    """Run the pulser beside other flows, and return its observation."""
    return observe(run(shared(*pulser(), cross)), flows=range(PULSES + 1))


POISSON = Flow(kind="poisson", rate_mbps=LINK_MBPS / 2 * 1.01)


class TestEstimate:
    @pytest.mark.parametrize("cross", [Flow(cca="cubic"), POISSON], ids=["cubic", "poisson"])
    def test_busy_link(self, cross: Flow) -> None:
        """On a busy link, the estimate is the others' rate accepted by the queue."""
        seen = beside(cross)
        assert seen.busy > 0.99
        # The paper's own errors are 1.3 % and 7.5 % (section 3.1).
        assert seen.errors.loc[2:].quantile(0.95) < 0.01
        # The traffic of both and the link's differ by the contents of the queue, 2 BDP at most.
        table = seen.rates.loc[2:]
        held_mbps = 2 * LINK_MBPS * 0.05 / (DURATION_S - 2)
        total = (table["send_mbps"] + table["estimate_mbps"]).mean()
        assert LINK_MBPS == pytest.approx(total, abs=held_mbps + 0.1)


class TestVerdict:
    @pytest.mark.parametrize("cca", ["cubic", "vegas"])
    def test_elastic(self, cca: str) -> None:
        """A backlogged, ACK-clocked flow is elastic (table 2)."""
        seen = beside(Flow(cca=cca))
        assert seen.is_pulsing
        assert (seen.elasticity["elastic_share"] == 1).all()
        assert np.quantile(seen.elasticity["elasticity"].loc[8:], 0.1) > 2

    def test_inelastic(self) -> None:
        """Poisson traffic is inelastic."""
        seen = beside(POISSON)
        assert seen.is_pulsing
        assert (seen.elasticity["elastic_share"] == 0).all()
        assert np.quantile(seen.elasticity["elasticity"].loc[8:], 0.9) < 2

    def test_no_pulses(self) -> None:
        """A sender without pulses is detected."""
        steady = Flow(kind="cbr", rate_mbps=LINK_MBPS / 2)
        assert not observe(run(shared(steady, Flow(cca="cubic"), duration_s=15))).is_pulsing


class TestTcpSender:
    def test_rate_window(self) -> None:
        """A TCP sender's rates are over its own RTT, including the queueing delay."""
        scenario = shared(Flow(cca="cubic"), Flow(cca="reno"), duration_s=15)
        seen = observe(run(scenario))
        assert 0.05 < seen.rate_window_s < 0.16
        assert seen.errors.loc[5:].quantile(0.95) < 0.05


class TestCommand:
    def test_saved_run(self, program: Callable[..., str], tmp_path: Path) -> None:
        """The command evaluates a saved run."""
        run(shared(*pulser(), POISSON)).save(tmp_path / "run")
        printed = program("elasticity", tmp_path / "run", "--flow", f"0-{PULSES}")
        assert "0.0% of the cross traffic is elastic" in printed
