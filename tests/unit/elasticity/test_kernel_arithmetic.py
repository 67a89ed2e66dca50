# SPDX-License-Identifier: Apache-2.0
"""Integer arithmetic of tcp_nimbus, compared with the formulas and with floating point."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench.elasticity.detector import Detector, spectrum
from ccbench.elasticity.pulse import burst_bytes, pulse_mbps
from ccbench.elasticity.rates import cross_traffic_mbps, packet_windows, window_rates_mbps

if TYPE_CHECKING:
    import numpy.typing as npt

SOURCES = Path(__file__).parents[3] / "kernel_modules" / "tcp_nimbus"

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")

#: Kernel definitions used by those files.
KERNEL = """
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
typedef int32_t s32; typedef int64_t s64;
#define U32_MAX UINT32_MAX
#define USEC_PER_SEC 1000000L
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min_t(type, a, b) min((type)(a), (type)(b))
#define clamp(a, low, high) min(max(a, low), high)
#define clamp_t(type, a, low, high) clamp((type)(a), (type)(low), (type)(high))
static inline u64 div_u64(u64 a, u32 b) { return a / b; }
static inline s64 div_s64(s64 a, s32 b) { return a / b; }
static inline u32 int_sqrt64(u64 x)
{
    u64 root = 0;
    for (int bit = 31; bit >= 0; bit--)
        if ((root | 1ULL << bit) * (root | 1ULL << bit) <= x)
            root |= 1ULL << bit;
    return root;
}
"""

#: Larger than any of the structs, whose fields are not accessed here.
STRUCT_BYTES = 1 << 16
#: Indices of the rates in a test's struct: count, first, bytes, S, R.
SEND, RECEIVE = 3, 4


@pytest.fixture(scope="module")
def nimbus(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Give the module's arithmetic as a library."""
    folder = tmp_path_factory.mktemp("nimbus")
    (folder / "linux").mkdir()
    for header in ("types", "kernel", "math64", "string", "time64"):
        (folder / "linux" / f"{header}.h").write_text(KERNEL)
    files = [str(SOURCES / f"{name}.c") for name in ("wave", "pulse", "dft", "rates")]
    library = folder / "nimbus.so"
    command = ["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", f"-I{folder}"]
    subprocess.run([*command, "-o", str(library), *files], check=True)
    functions = ctypes.CDLL(str(library))
    functions.nimbus_pulse.restype = ctypes.c_int64
    functions.nimbus_rates_cross.restype = ctypes.c_int64
    for name in ("nimbus_dft_magnitude", "nimbus_dft_eta", "nimbus_pulse_burst"):
        getattr(functions, name).restype = ctypes.c_uint32
    functions.nimbus_wave_init()
    return functions


def pushed(nimbus: ctypes.CDLL, samples: npt.NDArray[np.int64]) -> ctypes.Array[ctypes.c_char]:
    """Return the sliding DFT after these samples."""
    dft = ctypes.create_string_buffer(STRUCT_BYTES)
    nimbus.nimbus_dft_init(dft, 25, 57)
    for sample in samples.tolist():
        nimbus.nimbus_dft_push(dft, sample)
    return dft


class TestWave:
    def test_sine(self, nimbus: ctypes.CDLL) -> None:
        """Sine and cosine are exact up to the last bit, over the whole circle and beyond."""
        steps = np.arange(1200)
        for function, name in ((np.sin, "nimbus_sin"), (np.cos, "nimbus_cos")):
            actual = [getattr(nimbus, name)(int(step)) for step in steps]
            assert np.abs(function(2 * np.pi * steps / 500) * 2**15 - actual).max() < 1


class TestPulse:
    @pytest.mark.parametrize("frequency_hz", [5, 6])
    def test_shape(self, nimbus: ctypes.CDLL, frequency_hz: float) -> None:
        """The pulse is that of figure 6 within 1 % of its height."""
        height = 3_000_000  # bytes per second: a quarter of 96 Mbit/s
        period_ns = round(1e9 / frequency_hz)
        phase_ns = np.linspace(0, period_ns - 1, 700).astype(int)
        actual = [nimbus.nimbus_pulse(int(phase), period_ns, height) for phase in phase_ns]
        wanted = pulse_mbps(phase_ns / 1e9, 96, frequency_hz=frequency_hz) * 1e6 / 8
        assert np.abs(wanted - actual).max() < 0.01 * height
        assert abs(np.mean(actual)) < 0.002 * height

    def test_burst(self, nimbus: ctypes.CDLL) -> None:
        """The burst is T mu / 8 pi."""
        actual = nimbus.nimbus_pulse_burst(200_000_000, 3_000_000)
        assert actual == pytest.approx(burst_bytes(96), rel=0.01)


class TestDft:
    def test_magnitudes(self, nimbus: ctypes.CDLL) -> None:
        """Magnitudes of noise, a mean and two sines equal the FFT's within 1 % of the highest."""
        rng = np.random.default_rng(1)
        time_s = np.arange(500) / 100
        samples = 40_000 + rng.normal(0, 3000, 500)
        samples += 5000 * np.sin(2 * np.pi * 5 * time_s) + 2000 * np.sin(2 * np.pi * 7 * time_s)
        whole = samples.astype(np.int64)
        dft = pushed(nimbus, whole)
        _, amplitudes = spectrum(whole)
        actual = np.array([nimbus.nimbus_dft_magnitude(dft, k) for k in range(25, 58)]) * 8 / 500
        assert actual == pytest.approx(amplitudes[25:58], abs=0.01 * amplitudes[25])

    def test_eta(self, nimbus: ctypes.CDLL) -> None:
        """The elasticity equals the library's within 1 %, far below and above the threshold."""
        rng = np.random.default_rng(2)
        tone = np.sin(2 * np.pi * 5 * np.arange(500) / 100)
        for amplitude in (0, 300, 600, 2000, 20_000):
            whole = (50_000 + rng.normal(0, 2000, 500) + amplitude * tone).astype(np.int64)
            wanted = float(Detector().elasticity(whole))
            actual = nimbus.nimbus_dft_eta(pushed(nimbus, whole), 25) / 100
            assert actual == pytest.approx(wanted, rel=0.01, abs=0.011)

    def test_does_not_drift(self, nimbus: ctypes.CDLL) -> None:
        """After 20 windows, only the last one counts, exactly."""
        samples = np.random.default_rng(3).integers(-(10**6), 10**6, 20 * 500)
        long, short = pushed(nimbus, samples), pushed(nimbus, samples[-500:])
        for k in range(25, 58):
            actual = nimbus.nimbus_dft_magnitude(long, k)
            assert actual == nimbus.nimbus_dft_magnitude(short, k)

    def test_extremes(self, nimbus: ctypes.CDLL) -> None:
        """A square wave of the largest samples overflows nothing."""
        square = np.where(np.arange(500) % 20 < 10, 2**24, -(2**24))
        _, amplitudes = spectrum(square)
        actual = nimbus.nimbus_dft_magnitude(pushed(nimbus, square), 25) * 8 / 500
        assert actual == pytest.approx(amplitudes[25], rel=0.01)


class TestRates:
    def test_as_the_library(self, nimbus: ctypes.CDLL) -> None:
        """S, R and z of packets through a busy link are those of (1) and (2)."""
        rng = np.random.default_rng(4)
        sent_us = np.cumsum(rng.integers(200, 900, 2000))
        acked_us = np.cumsum(rng.integers(250, 850, 2000)) + 50_000
        window_us, link_mbps = 60_000, 48
        rates = ctypes.create_string_buffer(STRUCT_BYTES)
        for sent, acked in zip(sent_us.tolist(), acked_us.tolist(), strict=True):
            nimbus.nimbus_rates_ack(rates, 1500, sent, acked, window_us)
        numbers = np.frombuffer(rates.raw, dtype=np.uint32)
        cross = nimbus.nimbus_rates_cross(rates, link_mbps * 125_000)

        times = sent_us / 1e6, acked_us / 1e6
        first, last = packet_windows(times[1], times[1][-1:], window_s=window_us / 1e6)
        send, receive = window_rates_mbps(*times, 1500, first, last)
        # ACK records are a millisecond or a packet apart, so the window may be that much shorter.
        assert send == pytest.approx(numbers[SEND] * 8e-6, rel=0.05)
        assert receive == pytest.approx(numbers[RECEIVE] * 8e-6, rel=0.05)
        wanted = cross_traffic_mbps(
            numbers[SEND] * 8e-6, numbers[RECEIVE] * 8e-6, link_mbps=link_mbps
        )
        assert cross * 8e-6 == pytest.approx(float(wanted), rel=1e-3)
