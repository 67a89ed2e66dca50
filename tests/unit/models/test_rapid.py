# SPDX-License-Identifier: Apache-2.0
"""RAPID's estimator, compared with queues of known available bandwidth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from ccbench.base.errors import InputError
from ccbench.models.rapid.estimator import StreamEstimate, available_bandwidth
from ccbench.models.rapid.pathchirp import pathchirp_mbps
from ccbench.models.rapid.stream import FACTOR, PACKETS, rates_mbps, send_times_ns

BITS = 1500 * 8
LINK_MBPS = 100.0
#: Time of a packet on the link in ns.
PACKET_NS = BITS * 1e3 / LINK_MBPS


@dataclass(frozen=True, kw_only=True)
class Path:
    """A link of 100 Mbit/s with a FIFO queue, and cross traffic."""

    cross_mbps: float = 0.0
    poisson: bool = False
    queue_packets: float = math.inf
    standing_packets: int = 0
    delay_ns: float = 20e6

    @property
    def available_mbps(self) -> float:
        """The capacity left by cross traffic."""
        return LINK_MBPS - self.cross_mbps

    def receive(self, sent_ns: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Return when packets are received, inf if the queue was full."""
        before_ns = 5e6
        times = np.array([])
        if self.cross_mbps:
            mean_ns = BITS * 1e3 / self.cross_mbps
            count = int(2 * (sent_ns[-1] + before_ns) / mean_ns) + 10
            gaps = random.exponential(mean_ns, count) if self.poisson else np.full(count, mean_ns)
            times = np.cumsum(gaps) - before_ns - random.uniform(0, mean_ns)
        order = np.argsort(np.concatenate((times, sent_ns)), kind="stable")
        received = np.full(len(sent_ns), math.inf)
        free_ns = -before_ns + self.standing_packets * PACKET_NS
        for i in order:
            now_ns = times[i] if i < len(times) else sent_ns[i - len(times)]
            if free_ns - now_ns > (self.queue_packets + 1) * PACKET_NS:
                continue
            free_ns = max(free_ns, now_ns) + PACKET_NS
            if i >= len(times):
                received[i - len(times)] = free_ns + self.delay_ns
        return received


def estimates(
    path: Path, mean_mbps: float, streams: int = 200, seed: int = 1
) -> list[StreamEstimate]:
    """Send a number of streams, one by one."""
    random = np.random.default_rng(seed)
    sent = send_times_ns(mean_mbps)
    return [available_bandwidth(sent, path.receive(sent, random)) for _ in range(streams)]


def single_estimate(path: Path, mean_mbps: float = 80) -> StreamEstimate:
    """Send one stream."""
    return estimates(path, mean_mbps, streams=1)[0]


class TestStream:
    def test_mean(self) -> None:
        """The mean gap is that of r_avg, for any N and m."""
        for packets, factor in ((4, 2.0), (64, 2.0), (22, 1.07), (100, 1.01)):
            sent = send_times_ns(50, packets=packets, factor=factor)
            assert (packets - 1) * BITS * 1e3 / 50 == pytest.approx(sent[-1])

    def test_progression(self) -> None:
        """Each rate is 7 % above the previous one."""
        rates = rates_mbps(50)
        assert len(rates) == PACKETS - 1
        assert np.full(PACKETS - 2, FACTOR) == pytest.approx(rates[1:] / rates[:-1])

    def test_range(self) -> None:
        """The paper's m and N probe from about half to about twice r_avg."""
        rates = rates_mbps(1)
        assert rates[0] == pytest.approx(0.6, rel=0.1)
        assert 2.0 < rates[-1] < 2.5

    @pytest.mark.parametrize(
        ("settings", "field"),
        [
            ({"mean_mbps": 0}, "mean_mbps"),
            ({"packets": 2}, "packets"),
            ({"factor": 1}, "factor"),
            ({"packet_bytes": 0}, "packet_bytes"),
        ],
    )
    def test_bad_input(self, settings: dict[str, float], field: str) -> None:
        """A value out of range is named."""
        with pytest.raises(InputError, match=f"^{field} is "):
            send_times_ns(**{"mean_mbps": 10, **settings})  # type: ignore[arg-type]


class TestEmptyPath:
    @pytest.mark.parametrize("mean_mbps", [65, 75, 90, 100, 120, 150, 175])
    def test_within(self, mean_mbps: float) -> None:
        """Without cross traffic the estimate is the link's rate, within a step of the rates."""
        estimate = single_estimate(Path(), mean_mbps)
        assert estimate.verdict == "within"
        assert estimate.mbps == pytest.approx(LINK_MBPS, rel=FACTOR - 1)

    def test_above(self) -> None:
        """If no rate of the stream exceeds the link's, the estimate is the highest of them."""
        estimate = single_estimate(Path(), 40)
        assert estimate.verdict == "above"
        assert estimate.mbps == pytest.approx(rates_mbps(40)[-1])

    def test_below(self) -> None:
        """If all rates exceed the link's, the estimate is the lowest of them."""
        estimate = single_estimate(Path(), 200)
        assert estimate.verdict == "below"
        assert estimate.mbps == pytest.approx(rates_mbps(200)[0])

    def test_standing_queue(self) -> None:
        """A standing queue changes nothing."""
        estimate = single_estimate(Path(standing_packets=300))
        assert estimate.verdict == "within"
        assert estimate.mbps == pytest.approx(LINK_MBPS, rel=0.04)

    def test_clocks(self) -> None:
        """The clocks of sender and receiver need not agree."""
        sent = send_times_ns(80)
        received = Path().receive(sent, np.random.default_rng(1))
        other = available_bandwidth(sent, received - 1e9)
        assert available_bandwidth(sent, received).mbps == pytest.approx(other.mbps)

    def test_sizes(self) -> None:
        """Packets of another size at the same times mean another rate."""
        sent = send_times_ns(80)
        received = Path().receive(sent, np.random.default_rng(1))
        whole, half = (available_bandwidth(sent, received, packet_bytes=b) for b in (1500, 750))
        assert half.mbps == pytest.approx(whole.mbps / 2)


class TestCrossTraffic:
    @pytest.mark.parametrize("cross_mbps", [10, 20, 50, 80])
    @pytest.mark.parametrize("relative", [0.8, 1, 1.25])
    def test_constant(self, cross_mbps: float, relative: float) -> None:
        """Beside constant traffic the mean estimate is the remaining capacity, within 12 %."""
        path = Path(cross_mbps=cross_mbps, standing_packets=200)
        actual = [e.mbps for e in estimates(path, relative * path.available_mbps)]
        assert path.available_mbps == pytest.approx(np.mean(actual), rel=0.12)

    @pytest.mark.parametrize(("cross_mbps", "least"), [(10, 0.95), (50, 0.85), (80, 0.75)])
    def test_empty_queue(self, cross_mbps: float, least: float) -> None:
        """If the queue empties, single packets of others are noise: estimates are lower."""
        path = Path(cross_mbps=cross_mbps)
        actual = [e.mbps for e in estimates(path, 0.8 * path.available_mbps)]
        assert least < np.mean(actual) / path.available_mbps < 1.05

    @pytest.mark.parametrize("cross_mbps", [20, 50])
    def test_poisson(self, cross_mbps: float) -> None:
        """Random arrivals scatter the estimates, whose median stays within 15 %."""
        path = Path(cross_mbps=cross_mbps, poisson=True)
        actual = [e.mbps for e in estimates(path, path.available_mbps, streams=500)]
        assert path.available_mbps == pytest.approx(np.median(actual), rel=0.15)
        assert np.std(actual) < 0.5 * path.available_mbps

    @pytest.mark.parametrize("cross_mbps", [50, 80])
    def test_less_biased_than_pathchirp(self, cross_mbps: float) -> None:
        """In a queue that never empties, PathChirp's excursions begin too late, RAPID's do not."""
        path = Path(cross_mbps=cross_mbps, poisson=True, standing_packets=200)
        random = np.random.default_rng(3)
        sent = send_times_ns(path.available_mbps)
        arrivals = [path.receive(sent, random) for _ in range(300)]
        rapid_mbps = np.median([available_bandwidth(sent, a).mbps for a in arrivals])
        chirp_mbps = np.median([pathchirp_mbps(sent, a) for a in arrivals])
        assert path.available_mbps == pytest.approx(rapid_mbps, rel=0.2)
        assert chirp_mbps > 1.15 * path.available_mbps

    def test_burst(self) -> None:
        """A burst of cross traffic that ends before the stream is not self-congestion."""
        sent = send_times_ns(40)
        received = sent + 20e6
        received[5:12] += np.linspace(10, 1, 7) * PACKET_NS
        assert available_bandwidth(sent, received).verdict == "above"

    def test_remainder_of_a_burst(self) -> None:
        """A remainder of less than an eighth of a burst is not self-congestion either."""
        sent = send_times_ns(40)
        received = sent + 20e6
        received[5:] += np.maximum(np.linspace(10, -1, PACKETS - 5), 1) * PACKET_NS
        assert available_bandwidth(sent, received).verdict == "above"
        assert available_bandwidth(sent, received, decrease=100).verdict == "within"


class TestLoss:
    def test_random_loss_of_one(self) -> None:
        """Delays after a packet lost before the queue are shorter, and do not count."""
        sent = send_times_ns(100)
        for lost in range(PACKETS):
            arrives = np.arange(PACKETS) != lost
            received = np.full(PACKETS, math.inf)
            received[arrives] = Path(standing_packets=200).receive(
                sent[arrives], np.random.default_rng(1)
            )
            estimate = available_bandwidth(sent, received)
            if estimate.verdict != "unknown":
                assert estimate.mbps == pytest.approx(LINK_MBPS, rel=0.1)
            detectable = lost >= 15  # behind packet 9, the foot, there must be five of the growth
            assert (estimate.verdict == "within") == detectable

    def test_short_queue(self) -> None:
        """A queue of two packets drops the end of a stream: earlier growth decides."""
        estimate = single_estimate(Path(queue_packets=2), 100)
        assert estimate.verdict == "within"
        assert estimate.mbps == pytest.approx(LINK_MBPS, rel=0.1)

    def test_no_queue(self) -> None:
        """If nothing grows and much is lost, the rate before the first loss is the estimate."""
        sent = send_times_ns(100)
        received = sent + 20e6
        received[12::2] = math.inf
        estimate = available_bandwidth(sent, received)
        assert estimate.verdict == "within"
        assert estimate.mbps == pytest.approx(rates_mbps(100)[10])

    def test_all_lost(self) -> None:
        """A stream of which nothing arrives gives no estimate."""
        sent = send_times_ns(100)
        estimate = available_bandwidth(sent, np.full(PACKETS, math.inf))
        assert estimate.verdict == "unknown"
        assert math.isnan(estimate.mbps)


def with_noise(path: Path, noise_packets: float, tolerance: float = 0) -> float:
    """Return the mean of estimates with Gaussian noise in the times."""
    random = np.random.default_rng(4)
    sent = send_times_ns(LINK_MBPS)
    actual = []
    for _ in range(300):
        received = path.receive(sent, random)
        received += random.normal(0, noise_packets * PACKET_NS, PACKETS)
        actual.append(available_bandwidth(sent, received, tolerance=tolerance).mbps)
    return float(np.mean(actual))


class TestAcknowledgements:
    @pytest.mark.parametrize("every", [2, 3])
    @pytest.mark.parametrize("cross_mbps", [0, 20, 50])
    def test_delayed(self, every: int, cross_mbps: float) -> None:
        """With every second or third packet acknowledged, the estimate is within 15 %."""
        path = Path(cross_mbps=cross_mbps, standing_packets=200)
        random = np.random.default_rng(2)
        sent = send_times_ns(path.available_mbps)
        actual = []
        for _ in range(200):
            received = path.receive(sent, random)
            received[np.arange(PACKETS) % every != every - 1] = math.nan
            actual.append(available_bandwidth(sent, received).mbps)
        assert path.available_mbps == pytest.approx(np.nanmean(actual), rel=0.15)

    def test_compressed(self) -> None:
        """Simultaneous ACKs look like rising rates: the estimate is too high."""
        sent = send_times_ns(80)
        assert available_bandwidth(sent, np.full(PACKETS, 60e6)).verdict == "above"

    @pytest.mark.parametrize("noise_packets", [0.05, 0.2])
    def test_noise(self, noise_packets: float) -> None:
        """In a queue that never empties, noise of a fifth of a packet's time has no effect."""
        actual = with_noise(Path(standing_packets=200), noise_packets)
        assert LINK_MBPS == pytest.approx(actual, rel=0.05)

    @pytest.mark.parametrize("noise_packets", [0.02, 0.05])
    def test_noise_and_an_empty_queue(self, noise_packets: float) -> None:
        """In an empty queue any noise makes estimates too low, and a tolerance corrects them."""
        assert with_noise(Path(), noise_packets) < 0.85 * LINK_MBPS
        assert LINK_MBPS == pytest.approx(with_noise(Path(), noise_packets, tolerance=64), rel=0.1)

    def test_reordering(self) -> None:
        """Reordering of neighbours at low rates does not hide the growth."""
        sent = send_times_ns(80)
        received = Path().receive(sent, np.random.default_rng(1))
        for i in (2, 5):
            received[[i, i + 1]] = received[[i + 1, i]] + [1e3, 0]
        assert available_bandwidth(sent, received).verdict in {"within", "unknown"}

    def test_holes(self) -> None:
        """Retransmitted packets are ignored, and the others decide."""
        sent = send_times_ns(80)
        received = Path().receive(sent, np.random.default_rng(1))
        received[[3, 9]] = math.nan
        estimate = available_bandwidth(sent, received)
        assert estimate.verdict == "within"
        assert estimate.mbps == pytest.approx(LINK_MBPS, rel=0.04)


class TestEnds:
    def test_end_unknown(self) -> None:
        """A stream whose fast packets are unknown is not "above"."""
        sent = send_times_ns(40)
        received = sent + 20e6
        received[-3:] = math.nan
        assert available_bandwidth(sent, received).verdict == "unknown"

    def test_beginning_unknown(self) -> None:
        """A stream whose slow packets are unknown is not "below"."""
        sent = send_times_ns(200)
        received = Path().receive(sent, np.random.default_rng(1))
        received[:3] = math.nan
        assert available_bandwidth(sent, received).verdict == "unknown"

    def test_two_packets(self) -> None:
        """Two packets give no verdict."""
        assert available_bandwidth([0, 1e6], [2e6, 4e6]).verdict == "unknown"

    def test_short_stream(self) -> None:
        """In a stream of four packets growth of two is enough."""
        sent = send_times_ns(100, packets=4, factor=2)
        received = Path().receive(sent, np.random.default_rng(1))
        estimate = available_bandwidth(sent, received)
        assert estimate.verdict == "within"
        assert 58 < estimate.mbps < 117


class TestBadInput:
    @pytest.mark.parametrize(
        ("sent", "received", "field"),
        [
            ([0, 1, 1], [2, 3, 4], "send_times_ns"),
            ([0, math.nan], [2, 3], "send_times_ns"),
            ([0, 1], [2, 3, 4], "the shape of send_times_ns, receive_times_ns"),
            ([0, 1], [2, -math.inf], "receive_times_ns"),
        ],
    )
    def test_times(self, sent: list[float], received: list[float], field: str) -> None:
        """Impossible times are named."""
        with pytest.raises(InputError, match=f"^{field} is "):
            available_bandwidth(sent, received)

    @pytest.mark.parametrize(
        ("setting", "value"),
        [("min_length", 1), ("decrease", 0.5), ("tolerance", 0.5), ("packet_bytes", 0)],
    )
    def test_settings(self, setting: str, value: float) -> None:
        """A setting out of range is named."""
        with pytest.raises(InputError, match=f"^{setting} is "):
            available_bandwidth([0, 1, 2], [1, 2, 3], **{setting: value})  # type: ignore[arg-type]

    def test_pathchirp(self) -> None:
        """PathChirp accepts no chirp with a loss."""
        with pytest.raises(InputError, match=r"^receive_times_ns is inf"):
            pathchirp_mbps([0, 1, 2], [1, math.inf, 3])

    def test_pathchirp_out_of_order(self) -> None:
        """PathChirp refuses packets sent simultaneously or out of order, which have no rate."""
        for sent in ([0, 1, 1, 2], [3, 2, 1, 0]):
            with pytest.raises(InputError, match=r"^send_times_ns is .*above the one before"):
                pathchirp_mbps(sent, [5, 6, 7, 8])
