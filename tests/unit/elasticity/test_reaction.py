# SPDX-License-Identifier: Apache-2.0
"""Pulse, estimator and detector combined, on one link."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from ccbench.elasticity.detector import Detector, spectrum
from ccbench.elasticity.pulse import pulse_mbps
from ccbench.elasticity.rates import cross_traffic_mbps, packet_windows, window_rates_mbps
from tests.unit.elasticity.conftest import LINK_MBPS, PACKET_BITS, PACKET_BYTES, paced


def one_link(
    *, round_trips_s: tuple[float, ...] = (), inelastic: str = "", duration_s: float = 16
) -> tuple[np.ndarray, np.ndarray]:
    """Share a link between a pulser and others; return its S and ẑ every 10 ms from 1 s on.

    The others are a fixed window of packets for each round trip, clocked by acknowledgements (table
    2: elastic), and the same number of packets that ignore the queue.
    """
    random = np.random.default_rng(5)
    share = LINK_MBPS / 2 / (bool(round_trips_s) + bool(inelastic))
    own_s = paced(
        LINK_MBPS / 2 + pulse_mbps(np.arange(int(duration_s * 1000)) / 1000, LINK_MBPS), 0.001
    )
    # Half of the window again waits in the queue, so that it is never empty.
    events = [(time, -1) for time in own_s]
    for i, round_trip_s in enumerate(round_trips_s):
        window = int(share / len(round_trips_s) * 1e6 * (round_trip_s + 0.05) / PACKET_BITS)
        events += [(random.uniform(0, round_trip_s), i) for _ in range(window)]
    if inelastic:
        mean_s = PACKET_BITS / (share * 1e6)
        count = int(duration_s / mean_s)
        gaps = np.full(count, mean_s) if inelastic == "cbr" else random.exponential(mean_s, count)
        events += [(time, -2) for time in np.cumsum(gaps)]
        events += [(0.0, -2)] * 100
    heapq.heapify(events)
    free_s, sent, received = 0.0, [], []
    while events:
        now_s, source = heapq.heappop(events)
        if now_s > duration_s:
            break
        start_s = max(now_s, free_s)
        free_s = start_s + PACKET_BITS / (LINK_MBPS * 1e6)
        if source == -1:
            sent.append(now_s)
            received.append(start_s)
        elif source >= 0:
            heapq.heappush(events, (free_s + round_trips_s[source], source))
    at = np.arange(1, received[-1], 0.01)
    first, last = packet_windows(received, at, window_s=0.05)
    send, receive = window_rates_mbps(sent, received, PACKET_BYTES, first, last)
    return send, cross_traffic_mbps(send, receive, link_mbps=LINK_MBPS)


class TestReaction:
    @pytest.mark.parametrize("round_trips_s", [(0.05,), (0.01,), (0.1,), (0.02, 0.04, 0.06)])
    def test_elastic(self, round_trips_s: tuple[float, ...]) -> None:
        """ACK-clocked cross traffic is detected as elastic at any round-trip time."""
        _, cross = one_link(round_trips_s=round_trips_s)
        assert Detector().elasticity_over_time(cross).min() > 2

    def test_inelastic(self) -> None:
        """Unresponsive cross traffic is detected as inelastic."""
        _, cross = one_link(inelastic="poisson")
        assert Detector().elasticity_over_time(cross).max() < 2

    def test_constant(self) -> None:
        """A constant rate stays constant except for one packet in the rates' window."""
        _, cross = one_link(inelastic="cbr")
        _, amplitudes = spectrum(Detector().windows(cross))
        assert amplitudes[:, 25].max() < PACKET_BITS * 1e-6 / 0.05

    def test_mixed(self) -> None:
        """η grows with the elastic part of the cross traffic (figure 5)."""
        actual = [
            one_link(inelastic="poisson"),
            one_link(round_trips_s=(0.05,), inelastic="poisson"),
            one_link(round_trips_s=(0.05,)),
        ]
        none, half, all_of_it = (
            np.median(Detector().elasticity_over_time(cross)) for _, cross in actual
        )
        assert 1.5 * none < half < all_of_it / 1.5

    def test_inverse_after_a_round_trip(self) -> None:
        """ACK-clocked traffic slows down one round trip after the pulser speeds up."""
        send, cross = one_link(round_trips_s=(0.05,))
        lags = range(21)
        correlation = [np.corrcoef(send[: len(send) - k], cross[k:])[0, 1] for k in lags]
        # The round trip is 50 ms, plus 50 ms in the queue.
        assert 10 == pytest.approx(int(np.argmin(correlation)), abs=2)
        assert min(correlation) < -0.7

    def test_wrong_link_rate(self) -> None:
        """With a very wrong μ inelastic cross traffic looks elastic, too (section 6)."""
        send, cross = one_link(inelastic="poisson")
        wrong = 1.5 * cross + 0.5 * send
        assert np.median(Detector().elasticity_over_time(wrong)) > 2
