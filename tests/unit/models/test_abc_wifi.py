# SPDX-License-Identifier: Apache-2.0
"""The estimate of a Wi-Fi link's rate, compared with links of known rate."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from ccbench.base.errors import InputError
from ccbench.models.abc_wifi import (
    dequeue_rate_mbps,
    full_batch_ms,
    link_rate_mbps,
    smoothed_link_rate_mbps,
)

FRAME_BYTES = 1500
FRAME_BITS = 8 * FRAME_BYTES


@dataclass(frozen=True, kw_only=True)
class Client:
    """A user of the access point: a constant load, or a backlog."""

    bitrate_mbps: float = 65
    max_frames: int = 20
    load_mbps: float = math.inf
    poisson: bool = False

    def arrivals_ms(self, random: np.random.Generator, duration_ms: float) -> np.ndarray:
        """Return the arrival times of the user's frames at the access point."""
        if math.isinf(self.load_mbps):
            return np.zeros(int(duration_ms * self.bitrate_mbps * 1e3 / FRAME_BITS) + 1)
        gap_ms = FRAME_BITS / (self.load_mbps * 1e3)
        count = int(duration_ms / gap_ms)
        gaps = random.exponential(gap_ms, count) if self.poisson else np.full(count, gap_ms)
        return np.cumsum(gaps)


def overhead_ms(random: np.random.Generator) -> float:
    """Draw a batch's h(t): contention, mostly about 1 ms, and retransmissions of some batches."""
    return 0.4 + random.exponential(0.6) + (random.random() < 0.1) * random.uniform(0, 5)


MEAN_OVERHEAD_MS = 0.4 + 0.6 + 0.1 * 2.5


def access_point(
    *clients: Client, duration_ms: float = 10_000, seed: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Send batches in turn to users with frames; return times, frames and clients of the ACKs."""
    random = np.random.default_rng(seed)
    arrivals = [client.arrivals_ms(random, duration_ms) for client in clients]
    sent = [0] * len(clients)
    now_ms, records = 0.0, []
    turns = itertools.cycle(range(len(clients)))
    while now_ms < duration_ms:
        for user in itertools.islice(turns, len(clients)):
            waiting = int(np.searchsorted(arrivals[user], now_ms, side="right")) - sent[user]
            if waiting:
                break
        else:
            pending = [a[n] for a, n in zip(arrivals, sent, strict=True) if n < len(a)]
            if not pending:
                break
            now_ms = float(min(pending))
            continue
        frames = min(waiting, clients[user].max_frames)
        now_ms += frames * FRAME_BITS / (clients[user].bitrate_mbps * 1e3) + overhead_ms(random)
        sent[user] += frames
        records.append((now_ms, frames, user))
    times, frames_, who_ = zip(*records, strict=True)
    return np.array(times), np.array(frames_), np.array(who_)


def capacity_mbps(client: Client, other_ms: float = 0) -> float:
    """Return the rate of a backlogged client, with the time of others between its batches."""
    bits = client.max_frames * FRAME_BITS
    return bits / 1e3 / (bits / (client.bitrate_mbps * 1e3) + MEAN_OVERHEAD_MS + other_ms)


def estimate(client: Client, times: np.ndarray, frames: np.ndarray, **settings: Any) -> float:
    """Return the mean over time of the router's estimates, as in the thesis's figure 2-6.

    Each holds from its block ACK to the next.
    """
    rates = smoothed_link_rate_mbps(
        times,
        frames,
        frame_bytes=FRAME_BYTES,
        bitrate_mbps=client.bitrate_mbps,
        max_frames=client.max_frames,
        **settings,
    )
    return float(np.average(rates[1:-1], weights=np.diff(times[1:])))


LINKS = [
    Client(bitrate_mbps=13),
    Client(bitrate_mbps=39),
    Client(bitrate_mbps=65),
    Client(bitrate_mbps=65, max_frames=32),
]


class TestOneUser:
    @pytest.mark.parametrize("client", LINKS)
    def test_backlog(self, client: Client) -> None:
        """With a backlog the estimate is the rate of the link, within 5 %."""
        times, frames, _ = access_point(client)
        assert capacity_mbps(client) == pytest.approx(estimate(client, times, frames), rel=0.05)

    @pytest.mark.parametrize("poisson", [False, True])
    @pytest.mark.parametrize("part", [0.7, 0.8, 0.9])
    @pytest.mark.parametrize("client", LINKS)
    def test_without_backlog(self, client: Client, part: float, poisson: bool) -> None:  # noqa: FBT001
        """With partial use, without any full batch, the estimate is the rate too (figure 2-6)."""
        load = replace(client, load_mbps=part * capacity_mbps(client), poisson=poisson)
        times, frames, _ = access_point(load)
        assert frames.mean() < 0.75 * client.max_frames
        assert capacity_mbps(client) == pytest.approx(estimate(load, times, frames), rel=0.05)

    @pytest.mark.parametrize("part", [0.05, 0.2, 0.35])
    @pytest.mark.parametrize("client", LINKS)
    def test_cap(self, client: Client, part: float) -> None:
        """With less than half used, it is twice the traffic (figure 2-6's slanted line)."""
        load = replace(client, load_mbps=part * capacity_mbps(client))
        times, frames, _ = access_point(load)
        assert 2 * load.load_mbps == pytest.approx(estimate(load, times, frames), rel=0.05)

    def test_mean_of_rates_is_too_high(self) -> None:
        """A mean of rates is biased, as short overheads weigh as much as long ones; this is not."""
        client = replace(LINKS[2], load_mbps=0.8 * capacity_mbps(LINKS[2]))
        times, frames, _ = access_point(client)
        alone = link_rate_mbps(
            frames[1:],
            np.diff(times),
            frame_bytes=FRAME_BYTES,
            bitrate_mbps=client.bitrate_mbps,
            max_frames=client.max_frames,
        )
        truth = capacity_mbps(client)
        assert alone.mean() > 1.02 * truth
        assert truth == pytest.approx(estimate(client, times, frames), rel=0.015)


class TestTwoUsers:
    def test_separate_queues(self) -> None:
        """The estimate for a user beside a backlogged one is the user's rate with a backlog."""
        busy = Client(bitrate_mbps=39)
        quiet = Client(bitrate_mbps=65)
        busy_ms = busy.max_frames * FRAME_BITS / (busy.bitrate_mbps * 1e3) + MEAN_OVERHEAD_MS
        truth = capacity_mbps(quiet, busy_ms)
        both = access_point(busy, replace(quiet, load_mbps=0.8 * truth))
        own = both[2] == 1
        actual = estimate(quiet, both[0][own], both[1][own])
        assert truth == pytest.approx(actual, rel=0.05)
        # This is the user's rate with a backlog.
        times, frames, user = access_point(busy, quiet)
        assert truth == pytest.approx(
            frames[user == 1].sum() * FRAME_BITS / 1e3 / times[-1], rel=0.05
        )

    def test_one_queue(self) -> None:
        """Users who share a queue are estimated together, each batch with its user's M and R."""
        clients = [Client(bitrate_mbps=39, max_frames=16), Client(bitrate_mbps=65, max_frames=32)]
        backlogged_times, backlogged_frames, _ = access_point(*clients)
        truth = backlogged_frames.sum() * FRAME_BITS / 1e3 / backlogged_times[-1]
        # As many batches of one as of the other, so each the same part of its own.
        share = [16 / 48 * 0.8 * truth, 32 / 48 * 0.8 * truth]
        loaded = [replace(c, load_mbps=x) for c, x in zip(clients, share, strict=True)]
        times, frames, user = access_point(*loaded)
        rates = smoothed_link_rate_mbps(
            times,
            frames,
            frame_bytes=FRAME_BYTES,
            bitrate_mbps=np.array([39, 65])[user],
            max_frames=np.array([16, 32])[user],
        )
        actual = np.average(rates[1:-1], weights=np.diff(times[1:]))
        assert truth == pytest.approx(actual, rel=0.05)


class TestArithmetic:
    def test_full_batch(self) -> None:
        """Every smaller batch with the same overhead yields the time of a full batch (2.8)."""
        frames = np.arange(1, 21)
        intervals_ms = frames * FRAME_BITS / 65e3 + 1.3
        settings = {"frame_bytes": FRAME_BYTES, "bitrate_mbps": 65, "max_frames": 20}
        assert intervals_ms[-1] == pytest.approx(full_batch_ms(frames, intervals_ms, **settings))
        rates = link_rate_mbps(frames, intervals_ms, **settings)
        full = dequeue_rate_mbps(20, intervals_ms[-1], frame_bytes=FRAME_BYTES)
        assert float(full) == pytest.approx(rates)

    def test_frame_sizes(self) -> None:
        """Frames of half the size at the same times, twice as many, are half the rate."""
        settings = {"bitrate_mbps": 65, "max_frames": 20}
        small = link_rate_mbps(10, 3, frame_bytes=750, **settings)
        large = link_rate_mbps(5, 3, frame_bytes=1500, **{**settings, "max_frames": 10})
        assert float(large) == pytest.approx(float(small))

    def test_window(self) -> None:
        """Batches older than the window have no influence."""
        times = np.cumsum(np.full(200, 2.0))
        frames = np.where(times < 200, 4, 10)
        settings = {"frame_bytes": FRAME_BYTES, "bitrate_mbps": 65, "max_frames": 20}
        rates = smoothed_link_rate_mbps(times, frames, **settings, cap=None)
        alone = link_rate_mbps(10, 2, **settings)
        old = times < 200
        inside = (times >= 200) & (times < 200 + 38)
        assert 1 == len(set(rates[old][1:].round(9)))
        assert np.all(np.diff(rates[inside]) > 0)
        assert float(alone) == pytest.approx(rates[times >= 200 + 38])

    def test_longer_than_the_window(self) -> None:
        """After a pause longer than the window only the last batch counts."""
        settings = {"frame_bytes": FRAME_BYTES, "bitrate_mbps": 65, "max_frames": 20}
        rates = smoothed_link_rate_mbps([0, 2, 100, 200], [4, 4, 4, 20], **settings, cap=None)
        alone = link_rate_mbps([4, 4, 20], [2, 98, 100], **settings)
        assert alone == pytest.approx(rates[1:])

    def test_one_ack(self) -> None:
        """A single block ACK gives no estimate."""
        settings = {"frame_bytes": FRAME_BYTES, "bitrate_mbps": 65, "max_frames": 20}
        assert np.isnan(smoothed_link_rate_mbps(0, 4, **settings)).tolist() == [True]


#: Three batches of four frames.
GOOD: dict[str, Any] = {
    "ack_times_ms": [0, 2, 4],
    "frames": [4, 4, 4],
    "frame_bytes": 1500,
    "bitrate_mbps": 65,
    "max_frames": 20,
}


class TestBadInput:
    @pytest.mark.parametrize(
        "change",
        [
            {"ack_times_ms": [0, 2, 2]},
            {"ack_times_ms": [[0, 2, 4]]},
            {"ack_times_ms": [0, 2, math.nan]},
            {"frames": [4, 4, 21]},
            {"frames": [4, 0, 4]},
            {"frames": [4, 4]},
            {"frame_bytes": "1500"},
            {"bitrate_mbps": 0},
            {"max_frames": -1},
            {"window_ms": 0},
            {"cap": 0.5},
        ],
    )
    def test_named(self, change: dict[str, Any]) -> None:
        """An invalid argument is named."""
        with pytest.raises(InputError, match=next(iter(change))):
            smoothed_link_rate_mbps(**{**GOOD, **change})
