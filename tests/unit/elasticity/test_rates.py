# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccbench.base.errors import InputError
from ccbench.elasticity.pulse import pulse_mbps
from ccbench.elasticity.rates import cross_traffic_mbps, packet_windows, window_rates_mbps
from tests.unit.elasticity.conftest import (
    LINK_MBPS,
    PACKET_BITS,
    PACKET_BYTES,
    leaving,
    paced,
)


class TestEstimate:
    @pytest.mark.parametrize("kind", ["cbr", "poisson", "steps"])
    @pytest.mark.parametrize("window_s", [0.01, 0.05, 0.3])
    def test_exact_on_a_busy_link(self, kind: str, window_s: float) -> None:
        """In a FIFO queue that is never empty, ẑ is the mean rate of the others."""
        gaps_s = np.full(12_500, PACKET_BITS / 30e6)
        if kind == "poisson":
            gaps_s = np.random.default_rng(7).exponential(gaps_s)
        if kind == "steps":
            gaps_s *= np.repeat([1, 0.5, 2], [2500, 5000, 5000])
        own_s = paced(24 + pulse_mbps(np.arange(5000) / 1000, LINK_MBPS), 0.001)
        # Some packets of the others come first, so that the queue is busy throughout.
        arrivals = np.concatenate([np.zeros(60), own_s, np.cumsum(gaps_s)])
        is_own = np.repeat([False, True, False], [60, len(own_s), len(gaps_s)])
        order = np.argsort(arrivals, kind="stable")
        arrivals, is_own = arrivals[order], is_own[order]
        left = leaving(arrivals, np.full(len(arrivals), PACKET_BYTES), LINK_MBPS)
        is_idle = np.diff(left) > PACKET_BITS / (LINK_MBPS * 1e6) + 1e-9
        end_s = min(4.5, left[1:][is_idle].min(initial=math.inf) - 1e-3)
        assert end_s > 3

        sent, received = arrivals[is_own], left[is_own]
        at = np.arange(0.5, end_s, 0.01)
        first, last = packet_windows(received, at, window_s=window_s)
        send, receive = window_rates_mbps(sent, received, PACKET_BYTES, first, last)
        arrived = np.cumsum(np.where(is_own, 0, PACKET_BYTES))[is_own]
        true = (arrived[last] - arrived[first]) * 8e-6 / (sent[last] - sent[first])
        is_defined = np.isfinite(send)
        estimate = cross_traffic_mbps(send[is_defined], receive[is_defined], link_mbps=LINK_MBPS)
        np.testing.assert_allclose(estimate, true[is_defined], atol=1e-6)
        # Only a burst of more than twice the link's rate has no value.
        in_packets = (arrived[last] - arrived[first])[~is_defined] / PACKET_BYTES + last[
            ~is_defined
        ]
        in_packets -= first[~is_defined]
        arrived_mbps = in_packets * PACKET_BITS / 1e6 / (sent[last] - sent[first])[~is_defined]
        assert (arrived_mbps > 1.9 * LINK_MBPS).all()
        assert is_defined.mean() > 0.8

    def test_idle_link(self) -> None:
        """While the queue is empty, free capacity counts as cross traffic."""
        assert 72 == cross_traffic_mbps(24, 24, link_mbps=96)

    @given(st.floats(0.1, 90), st.floats(1, 90), st.floats(0.5, 1.5))
    def test_wrong_link_rate(self, send: float, cross: float, wrong: float) -> None:
        """A wrong μ mixes the sender's own rate into the estimate, as in (7)."""
        link = 96.0
        receive = link * send / (send + cross)
        expected = wrong * cross + (wrong - 1) * send
        actual = cross_traffic_mbps(send, receive, link_mbps=wrong * link)
        assert expected == pytest.approx(float(actual), rel=1e-9, abs=1e-9)

    @given(st.floats(0.001, 1000), st.floats(0.001, 90), st.floats(0.001, 90))
    def test_any_unit(self, factor: float, send: float, receive: float) -> None:
        """Rates in another unit give the estimate in that unit."""
        here = cross_traffic_mbps(send, receive, link_mbps=96)
        there = cross_traffic_mbps(factor * send, factor * receive, link_mbps=factor * 96)
        assert factor * float(here) == pytest.approx(float(there), rel=1e-9, abs=1e-9)

    def test_equal_losses(self) -> None:
        """Losses common to all flows scale the estimate with the accepted traffic (note 1)."""
        send, cross, accepted_share = 40.0, 80.0, 0.8
        receive = 96 * send / (send + cross)
        assert accepted_share * cross == pytest.approx(
            float(cross_traffic_mbps(accepted_share * send, receive, link_mbps=96))
        )

    def test_windows(self) -> None:
        """Rates are measured over the packets of the window, and over two if it has fewer."""
        received = np.array([0, 0.01, 0.02, 0.03, 1.0])
        first, last = packet_windows(received, [0.03, 0.5, 1.0], window_s=0.02)
        assert [1, 1, 3] == first.tolist()
        assert [3, 3, 4] == last.tolist()

    def test_same_packets(self) -> None:
        """S and R count the bytes of the same packets, all except the window's last one."""
        sizes = np.array([1500, 500, 1000])
        send, receive = window_rates_mbps(
            [0, 1, 2], [10, 10.5, 14], sizes, np.array([0]), np.array([2])
        )
        assert [2000 * 8e-6 / 2] == pytest.approx(send.tolist())
        assert [2000 * 8e-6 / 4] == pytest.approx(receive.tolist())

    def test_one_instant(self) -> None:
        """Simultaneous packets have no rate."""
        send, receive = window_rates_mbps(
            [0, 0], [1, 2], PACKET_BYTES, np.array([0]), np.array([1])
        )
        assert [True, True] == [bool(np.isnan(item).all()) for item in (send, receive)]

    @pytest.mark.parametrize("gap_s", [0, 1e-9, 1e-4])
    def test_burst(self, gap_s: float) -> None:
        """Packets that a sender hands over at once have no rate, however many they are."""
        sent = np.arange(10) * gap_s
        received = np.arange(1, 11) * PACKET_BITS / (LINK_MBPS * 1e6)
        first, last = np.zeros(9, dtype=int), np.arange(1, 10)
        send, receive = window_rates_mbps(sent, received, PACKET_BYTES, first, last)
        is_burst = gap_s < received[0] / 2
        assert [is_burst] * 9 == np.isnan(send).tolist() == np.isnan(receive).tolist()
        assert np.nanmax(send, initial=0) <= 2 * LINK_MBPS + 1e-9

    @given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
    def test_highest_rate(self, times: list[float]) -> None:
        """Whenever packets of a sender arrive at a link, S is at most twice the link's rate."""
        sent = np.sort(times)
        received = leaving(sent, np.full(len(sent), PACKET_BYTES), LINK_MBPS)
        first, last = packet_windows(received, received[1:], window_s=0.1)
        send, receive = window_rates_mbps(sent, received, PACKET_BYTES, first, last)
        values = np.stack([send / 2, receive])
        assert np.nanmax(values, initial=0) <= LINK_MBPS * (1 + 1e-5)

    def test_bad_rates(self) -> None:
        """Impossible rates are refused by name and value."""
        with pytest.raises(InputError, match=r"^receive_mbps is 0; it must be a number above 0"):
            cross_traffic_mbps([1, 2], [1, 0], link_mbps=96)
        with pytest.raises(InputError, match=r"^send_mbps is -1; .* at least 0"):
            cross_traffic_mbps(-1, 1, link_mbps=96)
        with pytest.raises(InputError, match=r"^the shape of send_mbps, receive_mbps, link_mbps"):
            cross_traffic_mbps([1, 2], [1, 2, 3], link_mbps=96)

    def test_bad_times(self) -> None:
        """Times out of order, too few or too early are refused."""
        with pytest.raises(InputError, match=r"^received_s is 0\.0; it must be at least the prev"):
            packet_windows([1, 0, 2], [2], window_s=1)
        with pytest.raises(InputError, match=r"^the shape of received_s is \(1,\)"):
            packet_windows([1], [2], window_s=1)
        with pytest.raises(InputError, match=r"^at_s is 0\.5; it must be at least 1, the"):
            packet_windows([0, 1], [0.5], window_s=1)
        with pytest.raises(InputError, match=r"^the shape of sent_s, received_s, packet_bytes"):
            window_rates_mbps([0], [0, 1], 1500, np.array([0]), np.array([1]))
