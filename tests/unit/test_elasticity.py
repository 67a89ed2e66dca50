# SPDX-License-Identifier: Apache-2.0
"""Nimbus's estimator, detector, pulse and roles, held against queues and signals that are known."""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from scipy import integrate, special

from ccbench.elasticity.detector import Detector, spectrum
from ccbench.elasticity.pulse import burst_bytes, fundamental_mbps, least_rate_mbps, pulse_mbps
from ccbench.elasticity.rates import cross_traffic_mbps, packet_windows, window_rates_mbps
from ccbench.elasticity.roles import (
    Seen,
    Watcher,
    election_probability,
    ewma_gain,
    ewma_weight,
    has_other_pulsers,
    smoothed,
)
from ccbench.errors import InputError

PACKET_BYTES = 1500
PACKET_BITS = 8 * PACKET_BYTES
LINK_MBPS = 48.0
TIME_S = np.arange(500) / 100

#: Laws are tried on the same numbers each time.
laws = settings(derandomize=True, database=None, deadline=None, max_examples=60)
rates = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))
lengths = st.shared(st.integers(2, 30), key="length")
series = st_numpy.arrays(float, lengths, elements=rates)


def tone(hz: float, amplitude: float = 1.0, phase: float = 0.0) -> np.ndarray:
    """Give a sine over one window."""
    return np.asarray(amplitude * np.sin(2 * np.pi * hz * TIME_S + phase))


def noise(count: int, seed: int = 1) -> np.ndarray:
    """Give windows of white noise."""
    return np.random.default_rng(seed).normal(size=(count, 500))


def leaving(arrivals_s: np.ndarray, sizes: np.ndarray, link_mbps: float) -> np.ndarray:
    """Return when packets leave an endless first-in-first-out queue for the link."""
    work_s = np.concatenate([[0], np.cumsum(sizes * 8e-6 / link_mbps)[:-1]])
    return np.asarray(work_s + np.maximum.accumulate(arrivals_s - work_s))


def paced(rate_mbps: np.ndarray, step_s: float) -> np.ndarray:
    """Return when packets are sent whose rate is given over time."""
    sent = np.cumsum(rate_mbps) * 1e6 * step_s / PACKET_BITS
    times = np.arange(1, len(sent) + 1) * step_s
    return np.asarray(np.interp(np.arange(1, math.floor(sent[-1])), sent, times))


class TestPulse:
    def test_mean_is_zero(self) -> None:
        """A pulse adds nothing over a period."""
        middles = (np.arange(100_000) + 0.5) / 100_000 / 5
        assert 0 == pytest.approx(pulse_mbps(middles, 96).mean(), abs=1e-6)

    def test_heights(self) -> None:
        """It reaches μ/4 after an eighth of the period and −μ/12 after five eighths, no more."""
        values = pulse_mbps(np.linspace(0, 0.2, 8001), 96)
        assert [1000, 5000] == [int(values.argmax()), int(values.argmin())]
        assert [24, -8] == pytest.approx([values.max(), values.min()])

    def test_shape(self) -> None:
        """It is above 0 for a quarter of the period, below for the rest, and comes again."""
        phase = (np.arange(1000) + 0.5) / 1000
        values = pulse_mbps(phase / 2, 96, frequency_hz=2)
        np.testing.assert_array_equal(phase < 0.25, values > 0)
        np.testing.assert_allclose(values, pulse_mbps(phase / 2 - 7.5, 96, frequency_hz=2))

    @pytest.mark.parametrize("size", [1 / 16, 1 / 4, 1 / 2])
    def test_least_rate(self, size: float) -> None:
        """The least rate that can pulse falls to 0 at the bottom of the pulse, and not below."""
        lowest = pulse_mbps(np.linspace(0, 0.2, 8001), 96, size=size).min()
        assert 0 == pytest.approx(least_rate_mbps(96, size=size) + lowest, abs=1e-9)

    @pytest.mark.parametrize("frequency_hz", [2.0, 5.0])
    def test_burst(self, frequency_hz: float) -> None:
        """Its burst is the upper half-sine's area, Tμ/8π for pulses of μ/4 (section 3.4)."""
        time_s = np.linspace(0, 0.25 / frequency_hz, 10_001)
        area = (
            integrate.trapezoid(pulse_mbps(time_s, 96, frequency_hz=frequency_hz), time_s) * 1e6 / 8
        )
        burst = burst_bytes(96, frequency_hz=frequency_hz)
        assert area == pytest.approx(burst, rel=1e-6)
        assert 96e6 / 8 / frequency_hz / (8 * math.pi) == pytest.approx(burst)

    def test_fundamental(self) -> None:
        """The sine at f_p within the pulses is as high as the spectrum says."""
        _, amplitudes = spectrum(pulse_mbps(np.arange(5000) / 1000, 96), step_s=0.001)
        assert amplitudes[25] == pytest.approx(fundamental_mbps(96), rel=1e-3)

    @pytest.mark.parametrize(
        ("name", "value"),
        [("link_mbps", 0), ("size", 1.5), ("frequency_hz", -5), ("time_s", math.nan)],
    )
    def test_bad_input(self, name: str, value: float) -> None:
        """An impossible pulse is refused by the name of what is wrong."""
        good: dict[str, Any] = {"time_s": 0.1, "link_mbps": 96}
        with pytest.raises(InputError, match=f"^{name} is {value}; it must be"):
            pulse_mbps(**{**good, name: value})


class TestEstimate:
    @pytest.mark.parametrize("kind", ["cbr", "poisson", "steps"])
    @pytest.mark.parametrize("window_s", [0.01, 0.05, 0.3])
    def test_exact_on_a_busy_link(self, kind: str, window_s: float) -> None:
        """In a first-in-first-out queue that is never empty, ẑ is the mean rate of the others."""
        gaps_s = np.full(12_500, PACKET_BITS / 30e6)
        if kind == "poisson":
            gaps_s = np.random.default_rng(7).exponential(gaps_s)
        if kind == "steps":
            gaps_s *= np.repeat([1, 0.5, 2], [2500, 5000, 5000])
        own_s = paced(24 + pulse_mbps(np.arange(5000) / 1000, LINK_MBPS), 0.001)
        # Some packets of the others come first, so that the queue has something to do throughout.
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
        estimate = cross_traffic_mbps(send, receive, link_mbps=LINK_MBPS)
        np.testing.assert_allclose(estimate, true, atol=1e-6)

    def test_idle_link(self) -> None:
        """Where the queue is empty, what is free of the link counts as cross traffic."""
        assert 72 == cross_traffic_mbps(24, 24, link_mbps=96)

    @laws
    @given(st.floats(0.1, 90), st.floats(1, 90), st.floats(0.5, 1.5))
    def test_wrong_link_rate(self, send: float, cross: float, wrong: float) -> None:
        """A wrong μ mixes one's own rate into the estimate, as (7) says."""
        link = 96.0
        receive = link * send / (send + cross)
        expected = wrong * cross + (wrong - 1) * send
        found = cross_traffic_mbps(send, receive, link_mbps=wrong * link)
        assert expected == pytest.approx(float(found), rel=1e-9, abs=1e-9)

    @laws
    @given(st.floats(0.001, 1000), st.floats(0.001, 90), st.floats(0.001, 90))
    def test_any_unit(self, factor: float, send: float, receive: float) -> None:
        """Rates in another unit give the estimate in that unit."""
        here = cross_traffic_mbps(send, receive, link_mbps=96)
        there = cross_traffic_mbps(factor * send, factor * receive, link_mbps=factor * 96)
        assert factor * float(here) == pytest.approx(float(there), rel=1e-9, abs=1e-9)

    def test_equal_losses(self) -> None:
        """Losses that meet all alike scale the estimate as they scale what is accepted (note 1)."""
        send, cross, kept = 40.0, 80.0, 0.8
        receive = 96 * send / (send + cross)
        assert kept * cross == pytest.approx(
            float(cross_traffic_mbps(kept * send, receive, link_mbps=96))
        )

    def test_windows(self) -> None:
        """Rates are measured over the packets of the window, and over two if it has fewer."""
        received = np.array([0, 0.01, 0.02, 0.03, 1.0])
        first, last = packet_windows(received, [0.03, 0.5, 1.0], window_s=0.02)
        assert [1, 1, 3] == first.tolist()
        assert [3, 3, 4] == last.tolist()

    def test_same_packets(self) -> None:
        """S and R count the bytes of the same packets, all but the window's last one."""
        sizes = np.array([1500, 500, 1000])
        send, receive = window_rates_mbps(
            [0, 1, 2], [10, 10.5, 14], sizes, np.array([0]), np.array([2])
        )
        assert [2000 * 8e-6 / 2] == pytest.approx(send.tolist())
        assert [2000 * 8e-6 / 4] == pytest.approx(receive.tolist())

    def test_one_instant(self) -> None:
        """Packets that all come at one instant have no rate."""
        send, receive = window_rates_mbps(
            [0, 0], [1, 2], PACKET_BYTES, np.array([0]), np.array([1])
        )
        assert [True, True] == [bool(np.isnan(one).all()) for one in (send, receive)]

    def test_bad_rates(self) -> None:
        """Rates that cannot be are refused, by name and value."""
        with pytest.raises(InputError, match=r"^receive_mbps is 0; it must be a number above 0"):
            cross_traffic_mbps([1, 2], [1, 0], link_mbps=96)
        with pytest.raises(InputError, match=r"^send_mbps is -1; .* at least 0"):
            cross_traffic_mbps(-1, 1, link_mbps=96)
        with pytest.raises(InputError, match=r"^the shape of send_mbps, receive_mbps, link_mbps"):
            cross_traffic_mbps([1, 2], [1, 2, 3], link_mbps=96)

    def test_bad_times(self) -> None:
        """Times out of order, too few or too early are refused."""
        with pytest.raises(InputError, match=r"^received_s is 0\.0; it must be at least the one"):
            packet_windows([1, 0, 2], [2], window_s=1)
        with pytest.raises(InputError, match=r"^the shape of received_s is \(1,\)"):
            packet_windows([1], [2], window_s=1)
        with pytest.raises(InputError, match=r"^at_s is 0\.5; it must be at least 1, when"):
            packet_windows([0, 1], [0.5], window_s=1)
        with pytest.raises(InputError, match=r"^the shape of sent_s, received_s, packet_bytes"):
            window_rates_mbps([0], [0, 1], 1500, np.array([0]), np.array([1]))


class TestSpectrum:
    @laws
    @given(series)
    def test_parseval(self, values: np.ndarray) -> None:
        """The power of the sines is the variance of the rates."""
        _, amplitudes = spectrum(values)
        is_alone = np.arange(len(amplitudes)) * 2 == len(values)
        power = (amplitudes**2 * np.where(is_alone, 1, 0.5)).sum()
        assert values.var() == pytest.approx(power, rel=1e-9, abs=1e-9)

    @laws
    @given(series, series, st.floats(-10, 10))
    def test_linear(self, one: np.ndarray, other: np.ndarray, factor: float) -> None:
        """Amplitudes scale with the rates, and of a sum they are at most the sum."""
        (_, a), (_, b) = spectrum(one), spectrum(other)
        np.testing.assert_allclose(spectrum(factor * one)[1], abs(factor) * a, atol=1e-8)
        assert (spectrum(one + other)[1] <= a + b + 1e-8).all()

    @laws
    @given(series, st.integers(0, 499))
    def test_shift(self, values: np.ndarray, by: int) -> None:
        """When something periodic happens does not matter, so neither does the others' RTT."""
        np.testing.assert_allclose(spectrum(np.roll(values, by))[1], spectrum(values)[1], atol=1e-8)

    def test_bad_input(self) -> None:
        """A single sample, or one that is no number, is refused."""
        with pytest.raises(InputError, match=r"^the shape of samples is \(1,\)"):
            spectrum([1])
        with pytest.raises(InputError, match=r"^samples is nan"):
            spectrum([1, math.nan])


class TestElasticity:
    @pytest.mark.parametrize(("hz", "counts"), [(5.4, 0), (5.6, 1), (9.4, 1), (9.6, 0), (10, 0)])
    def test_interval(self, hz: float, counts: int) -> None:
        """What counts against f_p lies strictly between f_p + ε and 2 f_p − ε; no harmonic does."""
        eta = Detector().elasticity(tone(5, 3) + tone(7, 0.1) + tone(hz, 2))
        assert (1.5 if counts else 30) == pytest.approx(float(eta))

    @laws
    @given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0, 6), st.sampled_from([7, 8, 9]))
    def test_ratio_of_tones(self, a: float, b: float, phase: float, hz: int) -> None:
        """η of two tones is the ratio of their amplitudes, whatever their phases and the mean."""
        eta = Detector().elasticity(20 + tone(5, a, phase) + tone(hz, b))
        assert a / b == pytest.approx(float(eta), rel=1e-6)

    @laws
    @given(st_numpy.arrays(float, 20, elements=rates), st.floats(0.1, 100))
    def test_any_unit(self, values: np.ndarray, factor: float) -> None:
        """η has no unit."""
        small = Detector(window_s=1, margin_hz=1.5, step_s=0.05)
        one, other = small.elasticity([values, factor * values])
        assert one == pytest.approx(other, rel=1e-5)

    def test_white_noise(self) -> None:
        """Of white noise, P(η > x) = n B(n, 1 + x²) with n = 20 frequencies to compare with."""
        eta = Detector().elasticity(noise(6000))
        for x in (0.3, 0.5, 1.0):
            probability = 20 * special.beta(20, 1 + x**2)
            spread = math.sqrt(probability * (1 - probability) / 6000)
            assert probability == pytest.approx((eta > x).mean(), abs=4 * spread)
        assert (eta >= 2).mean() < 0.002

    def test_nothing_varies(self) -> None:
        """Constant cross traffic does not react: η is 0; a tone at f_p alone has no limit."""
        assert [0, math.inf] == Detector().elasticity([np.full(500, 0.1), 9 + tone(5)]).tolist()

    def test_over_time(self) -> None:
        """Each window is judged by itself."""
        detector = Detector()
        values = noise(4).ravel() + 20
        found = detector.elasticity_over_time(values, every=50)
        each = [detector.elasticity(values[i : i + 500]) for i in range(0, 1501, 50)]
        np.testing.assert_allclose(found, each)
        assert 0 == len(detector.elasticity_over_time(values[:499]))

    def test_slow_pulses(self) -> None:
        """Pulses of 2 Hz are looked for at 2 Hz, as against PCC-Vivace (appendix B.3)."""
        detector = Detector(pulse_hz=2)
        np.testing.assert_array_equal([2.6, 2.8, 3.0, 3.2, 3.4], detector.compared / 5)
        assert 4 == pytest.approx(float(detector.elasticity(tone(2, 4) + tone(3))))

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"pulse_hz": 0}, "pulse_hz is 0; it must be a number above 0"),
            ({"threshold": 0.9}, "threshold is 0.9; it must be a number at least 1"),
            ({"margin_hz": 0.2}, "margin_hz is 0.2; it must be a number above 0.2"),
            ({"margin_hz": 2.5}, "margin_hz is 2.5; it must be .* below 2.5"),
            ({"margin_hz": 2.45}, "margin_hz is 2.45; it must be one that leaves a frequency"),
            ({"window_s": 5.1}, "window_s is 5.1; it must be a whole number of pulses"),
            ({"step_s": 0.03}, "window_s is 5.0; it must be a whole number of samples"),
            ({"step_s": 0.1}, "step_s is 0.1; it must be at most 0.05"),
        ],
    )
    def test_bad_settings(self, wrong: dict[str, float], message: str) -> None:
        """Settings that contradict each other are refused, with what would be allowed."""
        with pytest.raises(InputError, match=f"^{message}"):
            Detector(**wrong)

    def test_bad_rates(self) -> None:
        """A series that is no window, or has gaps, is refused."""
        with pytest.raises(InputError, match=r"^the shape of rates is \(499,\); .*500"):
            Detector().elasticity(np.zeros(499))
        with pytest.raises(InputError, match=r"^rates is nan"):
            Detector().elasticity(np.full(500, np.nan))
        with pytest.raises(InputError, match=r"^every is 0"):
            Detector().windows(np.zeros(600), every=0)


def one_link(
    *, round_trips_s: tuple[float, ...] = (), inelastic: str = "", duration_s: float = 16
) -> tuple[np.ndarray, np.ndarray]:
    """Share a link between a pulser and others; return its S and ẑ every 10 ms from 1 s on.

    The others are a fixed window of packets for each round trip, of which each is sent when
    one has been acknowledged (table 2: elastic), and packets that heed nothing, as many as they.
    """
    random = np.random.default_rng(5)
    share = LINK_MBPS / 2 / (bool(round_trips_s) + bool(inelastic))
    own_s = paced(
        LINK_MBPS / 2 + pulse_mbps(np.arange(int(duration_s * 1000)) / 1000, LINK_MBPS), 0.001
    )
    # Half as much again of the window waits in the queue, which so never empties.
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
        now_s, who = heapq.heappop(events)
        if now_s > duration_s:
            break
        start_s = max(now_s, free_s)
        free_s = start_s + PACKET_BITS / (LINK_MBPS * 1e6)
        if who == -1:
            sent.append(now_s)
            received.append(start_s)
        elif who >= 0:
            heapq.heappush(events, (free_s + round_trips_s[who], who))
    at = np.arange(1, received[-1], 0.01)
    first, last = packet_windows(received, at, window_s=0.05)
    send, receive = window_rates_mbps(sent, received, PACKET_BYTES, first, last)
    return send, cross_traffic_mbps(send, receive, link_mbps=LINK_MBPS)


class TestReaction:
    @pytest.mark.parametrize("round_trips_s", [(0.05,), (0.01,), (0.1,), (0.02, 0.04, 0.06)])
    def test_elastic(self, round_trips_s: tuple[float, ...]) -> None:
        """ACK-clocked cross traffic is found elastic, whatever its round-trip times."""
        _, cross = one_link(round_trips_s=round_trips_s)
        assert Detector().elasticity_over_time(cross).min() > 2

    def test_inelastic(self) -> None:
        """Cross traffic that heeds nothing is found inelastic."""
        _, cross = one_link(inelastic="poisson")
        assert Detector().elasticity_over_time(cross).max() < 2

    def test_constant(self) -> None:
        """A constant rate stays constant but for one packet more or less in the rates' window."""
        _, cross = one_link(inelastic="cbr")
        _, amplitudes = spectrum(Detector().windows(cross))
        assert amplitudes[:, 25].max() < PACKET_BITS * 1e-6 / 0.05

    def test_mixed(self) -> None:
        """η grows with the elastic part of the cross traffic (figure 5)."""
        found = [
            one_link(inelastic="poisson"),
            one_link(round_trips_s=(0.05,), inelastic="poisson"),
            one_link(round_trips_s=(0.05,)),
        ]
        none, half, all_of_it = (
            np.median(Detector().elasticity_over_time(cross)) for _, cross in found
        )
        assert 1.5 * none < half < all_of_it / 1.5

    def test_inverse_after_a_round_trip(self) -> None:
        """Where the pulser takes more, ACK-clocked traffic takes less a round trip later."""
        send, cross = one_link(round_trips_s=(0.05,))
        lags = range(21)
        correlation = [np.corrcoef(send[: len(send) - k], cross[k:])[0, 1] for k in lags]
        # Its round trip is 50 ms and another 50 ms in the queue.
        assert 10 == pytest.approx(int(np.argmin(correlation)), abs=2)
        assert min(correlation) < -0.7

    def test_wrong_link_rate(self) -> None:
        """With a μ that is far off, also inelastic cross traffic looks elastic (section 6)."""
        send, cross = one_link(inelastic="poisson")
        wrong = 1.5 * cross + 0.5 * send
        assert np.median(Detector().elasticity_over_time(wrong)) > 2


class TestWatcher:
    @pytest.mark.parametrize(("hz", "seen"), [(5.0, Seen.COMPETITIVE), (6.0, Seen.DELAY)])
    def test_modes(self, hz: float, seen: Seen) -> None:
        """The pulser's frequency tells its mode, also to one who receives little of its pulses."""
        received = 12 + 0.15 * pulse_mbps(TIME_S, LINK_MBPS, frequency_hz=hz) + 0.3 * noise(200)
        assert (Watcher().sees(received) == seen).mean() > 0.99

    def test_no_pulser(self) -> None:
        """Noise is taken for one with at most twice the probability n B(n, 1 + x²), n = 15."""
        found = Watcher(threshold=1).sees(noise(4000))
        most = 2 * 15 * special.beta(15, 2)
        one = most / 2
        assert one - 0.02 < (found != Seen.NO_PULSER).mean() < most + 0.02
        assert (Watcher().sees(noise(4000)) != Seen.NO_PULSER).mean() < 0.003
        assert Seen.NO_PULSER == Watcher().sees(np.full(500, 12.0))

    def test_other_order(self) -> None:
        """Which of the modes has the higher frequency does not matter."""
        found = Watcher(competitive_hz=6, delay_hz=5).sees([tone(5), tone(6)])
        assert [Seen.DELAY, Seen.COMPETITIVE] == found.tolist()

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"delay_hz": 5}, "delay_hz is 5.0; it must be at least 0.2 away"),
            ({"delay_hz": 9}, "delay_hz is 9.0; it must be close enough"),
            ({"competitive_hz": 5.1}, "competitive_hz = 5.1: window_s is 5.0; .*whole number"),
        ],
    )
    def test_bad_settings(self, wrong: dict[str, float], message: str) -> None:
        """Frequencies that cannot be told apart are refused."""
        with pytest.raises(InputError, match=f"^{message}"):
            Watcher(**wrong)

    def test_bad_rates(self) -> None:
        """What is no window is refused."""
        with pytest.raises(InputError, match=r"^the shape of receive_mbps is \(3,\)"):
            Watcher().sees([1, 2, 3])


class TestOtherPulsers:
    def test_alone(self) -> None:
        """A lone pulser's own rate varies more at f_p than cross traffic that heeds nothing."""
        receive = 24 + pulse_mbps(TIME_S, LINK_MBPS)
        assert not has_other_pulsers(24 + noise(1)[0], receive)

    def test_larger(self) -> None:
        """Pulsers who together pulse more than oneself are seen."""
        receive = 24 + 0.5 * pulse_mbps(TIME_S, LINK_MBPS)
        assert has_other_pulsers(24 + pulse_mbps(TIME_S + 0.07, LINK_MBPS), receive)

    def test_bad_input(self) -> None:
        """Half pulses are refused."""
        with pytest.raises(InputError, match=r"^pulse_hz is 5\.1; it must be a multiple of 0\.2"):
            has_other_pulsers(TIME_S, TIME_S, pulse_hz=5.1)


class TestElection:
    def test_expected_number(self) -> None:
        """Flows that fill the link elect κ pulsers on average within the FFT's length."""
        shares = np.array([1, 2, 5, 40]) / 48 * LINK_MBPS
        probability = election_probability(shares, link_mbps=LINK_MBPS, kappa=0.75)
        assert 0.75 == pytest.approx(500 * probability.sum())

    def test_conflicts(self) -> None:
        """No pulser within the FFT's length has the probability exp(−κ), as of a Poisson law."""
        probability = election_probability(np.full(8, LINK_MBPS / 8), link_mbps=LINK_MBPS)
        assert math.exp(-1) == pytest.approx(((1 - probability) ** 500).prod(), rel=1e-3)

    def test_bad_input(self) -> None:
        """A probability is at most 1, and of no negative rate."""
        assert 1 == election_probability(96, link_mbps=96, kappa=1e6)
        with pytest.raises(InputError, match=r"^receive_mbps is -1"):
            election_probability(-1, link_mbps=96)


class TestMovingAverage:
    @laws
    @given(st.sampled_from([0.2, 1.0, 5.0, 6.0, 20.0, 49.8]), st.floats(0.01, 1))
    def test_gain(self, hz: float, weight: float) -> None:
        """A tone comes out with the gain that is foretold."""
        long = np.sin(2 * np.pi * hz * np.arange(3000) / 100 + 1)
        settled = smoothed(long, weight=weight)[2000:2500]
        at = round(hz * 5)
        expected = ewma_gain(hz, weight=weight) * spectrum(long[2000:2500])[1][at]
        assert expected == pytest.approx(spectrum(settled)[1][at], rel=1e-4, abs=1e-6)

    @laws
    @given(st.floats(0.1, 49), st.floats(0.01, 0.99))
    def test_weight(self, hz: float, gain: float) -> None:
        """The weight for a gain has that gain, and less at all higher frequencies."""
        weight = ewma_weight(frequency_hz=hz, gain=gain)
        assert gain == pytest.approx(float(ewma_gain(hz, weight=weight)), rel=1e-6)
        assert (ewma_gain(np.linspace(hz, 50, 20), weight=weight) <= gain * (1 + 1e-6)).all()

    def test_constant(self) -> None:
        """A constant rate stays what it is, from its first sample on."""
        assert [7.0] * 5 == pytest.approx(smoothed(np.full(5, 7.0), weight=0.03).tolist())

    @pytest.mark.parametrize("name", ["frequency_hz", "gain", "step_s"])
    def test_bad_input(self, name: str) -> None:
        """Averages that cannot be are refused."""
        with pytest.raises(InputError, match=f"^{name} is 0; "):
            ewma_weight(**{name: 0})
