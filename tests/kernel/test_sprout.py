# SPDX-License-Identifier: Apache-2.0
"""Sprout behaves as its paper states (Winstein, Sivaraman and Balakrishnan, NSDI 2013)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Change, Flow, Run
from ccbench.base.errors import EngineError
from ccbench.run import packets
from tests.kernel.conftest import dumbbell, run

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.kernel

MBPS, RTT_MS, DEEP = 8, 40, 400
#: The delay that Sprout bounds, with a probability of 95 %.
BOUND_MS = 100


def sprout_run(*flows: Flow, duration_s: float = 20, **settings: Any) -> Run:
    """Run flows through a deep queue of 8 Mbit/s and 40 ms, or according to `settings`."""
    network = {"bandwidth_mbps": MBPS, "rtt_ms": RTT_MS, "queue_packets": DEEP, **settings}
    return run(dumbbell(*flows or (Flow(cca="sprout"),), duration_s=duration_s, **network))


def late_mbps(result: Run) -> float:
    """Return the throughput of the first flow in the second half of a run."""
    return float(result.throughput(0.5)[0].loc[result.scenario.duration_s / 2 :].mean())


def delay_ms(result: Run) -> float:
    """Return the 95th percentile of the packets' queueing delay."""
    return float(packets.delivered(result)["queueing_ms"].quantile(0.95))


@pytest.mark.parametrize("bandwidth_mbps", [4, 8, 11])
def test_constant_link(bandwidth_mbps: float) -> None:
    """A constant link is full, and 95 % of the packets wait less than the bound."""
    result = sprout_run(bandwidth_mbps=bandwidth_mbps)
    assert late_mbps(result) > 0.95 * bandwidth_mbps
    assert delay_ms(result) < BOUND_MS - RTT_MS + 20


@pytest.mark.parametrize("bandwidth_mbps", [4, 8])
def test_inferred_rate(bandwidth_mbps: float) -> None:
    """The mean of the inferred rates is the rate of the link."""
    inferred = sprout_run(bandwidth_mbps=bandwidth_mbps).cca_info(0)["rate_mbps"]
    assert float(inferred.loc[10:].mean()) == pytest.approx(bandwidth_mbps, rel=0.05)


def test_highest_rate() -> None:
    """The model knows no rates above 1000 packets per second, 12 Mbit/s."""
    inferred = sprout_run(bandwidth_mbps=50).cca_info(0)["rate_mbps"]
    assert float(inferred.max()) <= 12


@pytest.mark.parametrize(("rtt_ms", "measure"), [(100, late_mbps), (40, delay_ms)])
def test_risk(rtt_ms: float, measure: Callable[[Run], float]) -> None:
    """The less cautious the forecast, the higher throughput, or delay if the link is full."""
    first, *others = (
        measure(sprout_run(module_parameters={"tcp_sprout.risk_permille": risk}, rtt_ms=rtt_ms))
        for risk in ("50", "250", "750")
    )
    assert first < others[0] < others[1]


def test_longer_round_trip() -> None:
    """A window of 100 ms of cautious deliveries is less of a path whose round trip is longer."""
    rates = [late_mbps(sprout_run(rtt_ms=rtt_ms)) for rtt_ms in (40, 100, 200)]
    assert rates[0] > rates[1] > rates[2]


def test_lower_rate() -> None:
    """If the rate falls to a third, packets wait longer than the bound for less than a second."""
    change = Change(at_s=10, bandwidth_mbps=MBPS / 3)
    result = sprout_run(changes=[change])
    waited = packets.delivered(result).set_index("arrival_s")["queueing_ms"]
    assert float(waited.loc[10:11].max()) > BOUND_MS
    assert float(waited.loc[11.5:].max()) < 2 * BOUND_MS


def test_random_loss() -> None:
    """Random losses are no signal: the window only depends on arrivals."""
    assert late_mbps(sprout_run(loss=0.02)) > 0.85 * MBPS


def test_application() -> None:
    """A flow that sends less than the link's rate waits for its own packets only."""
    result = sprout_run(Flow(cca="sprout", kind="rate", rate_mbps=1))
    assert late_mbps(result) == pytest.approx(1, rel=0.05)
    assert delay_ms(result) < 20


def test_bad_parameter() -> None:
    """A risk of 1 is refused."""
    with pytest.raises(EngineError, match="risk_permille"):
        sprout_run(module_parameters={"tcp_sprout.risk_permille": "1000"})
