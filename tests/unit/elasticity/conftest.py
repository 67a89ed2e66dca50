# SPDX-License-Identifier: Apache-2.0
"""Known signals and a FIFO queue."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

PACKET_BYTES = 1500
PACKET_BITS = 8 * PACKET_BYTES
LINK_MBPS = 48.0
TIME_S = np.arange(500) / 100

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
    """Return the departure times of packets from an infinite FIFO queue."""
    work_s = np.concatenate([[0], np.cumsum(sizes * 8e-6 / link_mbps)[:-1]])
    return np.asarray(work_s + np.maximum.accumulate(arrivals_s - work_s))


def paced(rate_mbps: np.ndarray, step_s: float) -> np.ndarray:
    """Return the sending times of packets whose rate is given over time."""
    sent = np.cumsum(rate_mbps) * 1e6 * step_s / PACKET_BITS
    times = np.arange(1, len(sent) + 1) * step_s
    return np.asarray(np.interp(np.arange(1, math.floor(sent[-1])), sent, times))
