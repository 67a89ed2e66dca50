# SPDX-License-Identifier: Apache-2.0
"""Verus behaves as its paper states (Zaki et al., SIGCOMM 2015)."""

from __future__ import annotations

from typing import Any

import pytest

from ccbench import Change, Flow, Run
from ccbench.base.errors import EngineError
from ccbench.metrics import jain_index
from ccbench.run import packets
from tests.kernel.conftest import dumbbell, run

pytestmark = pytest.mark.kernel

MBPS, RTT_MS, DEEP = 12, 40, 400


def verus_run(*flows: Flow, duration_s: float = 40, **settings: Any) -> Run:
    """Run flows through a deep queue of 12 Mbit/s and 40 ms, or according to `settings`."""
    network = {"bandwidth_mbps": MBPS, "rtt_ms": RTT_MS, "queue_packets": DEEP, **settings}
    return run(dumbbell(*flows or (Flow(cca="verus"),), duration_s=duration_s, **network))


def rates(result: Run) -> list[float]:
    """Return the flows' mean throughputs in Mbit/s in the second half of a run."""
    late = result.throughput(0.5).loc[result.scenario.duration_s / 2 :]
    return [float(rate) for rate in late.mean()]


def late_delays(result: Run) -> Any:
    """Return the queueing delays in the second half of a run."""
    waited = packets.delivered(result).set_index("arrival_s")["queueing_ms"]
    return waited.loc[result.scenario.duration_s / 2 :]


@pytest.mark.parametrize(("bandwidth_mbps", "rtt_ms"), [(6, 40), (12, 40), (24, 100)])
def test_alone(bandwidth_mbps: float, rtt_ms: float) -> None:
    """A flow uses the link, and aims at delays between the shortest one and R times as much."""
    result = verus_run(bandwidth_mbps=bandwidth_mbps, rtt_ms=rtt_ms)
    assert rates(result)[0] > 0.9 * bandwidth_mbps
    assert 0.1 * rtt_ms < float(late_delays(result).mean()) < 1.3 * rtt_ms


def test_ratio() -> None:
    """A larger R costs delay (Figure 7)."""
    means = [
        float(
            late_delays(
                verus_run(module_parameters={"tcp_verus.ratio_percent": str(100 * ratio)})
            ).mean()
        )
        for ratio in (2, 4, 6)
    ]
    assert means[0] < means[1] < means[2]


def test_less_delay_than_cubic() -> None:
    """In a deep queue the delay is several times shorter than CUBIC's, at a similar rate."""
    verus, cubic = verus_run(), verus_run(Flow(cca="cubic"))
    assert late_delays(verus).mean() < 0.3 * late_delays(cubic).mean()
    assert rates(verus)[0] > 0.9 * rates(cubic)[0]


def test_more_capacity() -> None:
    """If the rate triples, the window finds the new capacity within seconds."""
    result = verus_run(changes=[Change(at_s=20, bandwidth_mbps=3 * MBPS)])
    assert float(result.throughput(1)[0].loc[30:].mean()) > 0.8 * 3 * MBPS


def test_less_capacity() -> None:
    """If the rate falls to a third, the delay is again below R times the shortest in seconds."""
    result = verus_run(changes=[Change(at_s=20, bandwidth_mbps=MBPS / 3)])
    waited = packets.delivered(result).set_index("arrival_s")["queueing_ms"].loc[30:]
    assert float(waited.mean()) < 2 * RTT_MS


def test_equal_flows() -> None:
    """Flows share a link."""
    result = verus_run(*(Flow(cca="verus") for _ in range(3)), duration_s=90)
    assert jain_index(rates(result)) > 0.8
    assert sum(rates(result)) > 0.85 * MBPS


def test_shallow_queue() -> None:
    """A loss lowers the window to 7/10, so that a queue of half a BDP costs some throughput."""
    result = verus_run(queue_packets=20)
    assert rates(result)[0] > 0.75 * MBPS


def test_profile_rises() -> None:
    """The window of the same aim falls with the rate of the link: the profile is learnt."""
    windows = [
        float(verus_run(bandwidth_mbps=mbps).cca_info(0)["window_packets"].loc[20:].mean())
        for mbps in (6, 12, 24)
    ]
    assert windows[0] < windows[1] < windows[2]


def test_bad_parameter() -> None:
    """An R below 1.1 is refused."""
    with pytest.raises(EngineError, match="ratio_percent"):
        verus_run(module_parameters={"tcp_verus.ratio_percent": "100"})
