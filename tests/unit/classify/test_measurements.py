# SPDX-License-Identifier: Apache-2.0
"""Measurements of the reactions of a congestion control algorithm in a trace."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench.base.random_streams import stream
from ccbench.classify.measurements import NAMES, UNDEFINED, measurements, natural
from ccbench.classify.occupancy import STEP_S
from ccbench.classify.setting import LOW_RATE, SETTINGS, Setting

if TYPE_CHECKING:
    import numpy.typing as npt

SETTING = SETTINGS[0]
BDP_PACKETS = SETTING.capacity_packets - SETTING.queue_packets
#: Greatest error of a stored value on the widest range, which has 31 steps.
RESOLUTION = 12 / 31 / 2


def measured(window: npt.NDArray[np.float64], setting: Setting = SETTING) -> dict[str, float]:
    """Return the measurements of a window whose packets wait beyond the BDP."""
    bdp = setting.capacity_packets - setting.queue_packets
    waiting = np.maximum(window - bdp, 0)
    return natural(measurements(waiting.astype("f4"), window.astype("f4"), setting))


def sawtooth(
    factor: float, packets_per_rtt: float, duration_s: float = 60
) -> npt.NDArray[np.float64]:
    """Return a window that falls to a fraction whenever it exceeds the capacity."""
    growth = packets_per_rtt * STEP_S / (SETTING.rtt_ms / 1e3)
    window = [20.0]
    while len(window) < duration_s / STEP_S:
        following = window[-1] + growth
        window.append(following if following < SETTING.capacity_packets else factor * window[-1])
    return np.array(window)


@pytest.mark.parametrize(
    ("factor", "packets_per_rtt"),
    [
        *((factor, growth) for factor in (0.5, 0.7, 0.8, 0.875) for growth in (0.5, 1.0)),
        *((factor, 3.0) for factor in (0.5, 0.7)),  # of at least ten rounds
    ],
)
def test_sawtooth(factor: float, packets_per_rtt: float) -> None:
    """Factor, growth and period of a sawtooth are those with which it was made."""
    found = measured(sawtooth(factor, packets_per_rtt))
    # Averages over a round are nearer to each other than the window's extremes.
    assert found["factor_p50"] == pytest.approx(factor, abs=0.05)
    assert found["growth_at_0.9"] == pytest.approx(packets_per_rtt, abs=0.05 + RESOLUTION)
    rounds = (1 - factor) * SETTING.capacity_packets / packets_per_rtt
    period_s = rounds * SETTING.rtt_ms / 1e3
    assert 2 ** found["interval_p50"] == pytest.approx(period_s, rel=0.08 + 2**RESOLUTION - 1)
    assert found["decreases_full"] == pytest.approx(1, abs=RESOLUTION)
    assert found["course_2"] == pytest.approx(0.5, abs=0.05)


def test_random_loss_leaves_the_reaction() -> None:
    """Random losses change the intervals of a sawtooth, but neither its factor nor its growth."""
    rng = stream(1, "losses")
    window = [20.0]
    for _ in range(5_000):
        following = window[-1] + STEP_S / (SETTING.rtt_ms / 1e3)
        is_lost = rng.random() < STEP_S / 3
        if is_lost or following > SETTING.capacity_packets:
            following = max(0.7 * window[-1], 2)
        window.append(following)
    clean, lossy = measured(sawtooth(0.7, 1)), measured(np.array(window))
    assert lossy["decreases"] > clean["decreases"] + 0.5
    for name in ("factor_p50", "growth_from_0.4s", "growth_at_0.45"):
        assert lossy[name] == pytest.approx(clean[name], abs=0.15), name


def test_cubic_growth_has_a_plateau() -> None:
    """A cubic function of time rises first, then stays near the window before the decrease."""
    w_max, scale, beta = SETTING.capacity_packets, 0.4, 0.7
    k_s = (w_max * (1 - beta) / scale) ** (1 / 3)
    times_s = np.arange(0, k_s * 1.3, STEP_S)
    tooth = scale * (times_s - k_s) ** 3 + w_max
    found = measured(np.tile(tooth, 6))
    ends_at = tooth[-1] - tooth[0]
    at_half = scale * (times_s[-1] / 2 - k_s) ** 3 + w_max - tooth[0]
    assert found["course_2"] == pytest.approx(at_half / ends_at, abs=0.05)


def test_reaction_to_delay() -> None:
    """A sender that grows at an empty queue and shrinks at a waiting one shows both signs."""
    window = [20.0]
    for _ in range(3_000):
        is_waiting = window[-1] > BDP_PACKETS + 12
        window.append(window[-1] * (1 - 0.004 * is_waiting) + 0.2 * (not is_waiting))
    found = measured(np.array(window))
    assert found["decreases"] == pytest.approx(0, abs=RESOLUTION)
    assert math.isnan(found["factor_p50"])
    assert found["delay_growth_at_0"] > 0.2


@pytest.mark.parametrize("setting", [*SETTINGS, LOW_RATE], ids=lambda setting: setting.name)
@pytest.mark.parametrize("kind", ["empty", "full", "random", "steps"])
def test_every_trace_can_be_measured(setting: Setting, kind: str) -> None:
    """Any trace of a queue gives as many bytes as there are names, without a warning."""
    rng = stream(2, kind)
    packets = {
        "empty": np.zeros(1000),
        "full": np.full(1000, setting.queue_packets),
        "random": rng.integers(0, setting.queue_packets + 1, 1000),
        "steps": np.repeat([0, setting.queue_packets], 500),
    }[kind].astype("f4")
    found = measurements(packets, packets, setting)
    assert found.shape == (len(NAMES),)
    assert found.dtype == np.dtype(np.uint8)


@pytest.mark.parametrize("setting", [*SETTINGS, LOW_RATE], ids=lambda setting: setting.name)
def test_short(setting: Setting) -> None:
    """A trace shorter than twelve rounds has no measurements, one of twelve has all."""
    points = round(setting.rtt_ms / 1e3 / 0.02)
    for rounds, expected in ((11, 0), (12, len(NAMES))):
        flat = np.full(rounds * points, 3, dtype="f4")
        assert expected == len(measurements(flat, flat, setting))


def test_undefined() -> None:
    """Measurements of decreases are undefined for a trace without decreases."""
    flat = np.full(1000, 8, dtype="f4")
    found = dict(zip(NAMES, measurements(flat, flat + 35, SETTING).tolist(), strict=True))
    undefined = {name for name, byte in found.items() if byte == UNDEFINED}
    assert {"factor_p50", "interval_p50", "course_1", "first_factor"} <= undefined
    assert {"queue_mean", "decreases", "window_p50"}.isdisjoint(undefined)
