# SPDX-License-Identifier: Apache-2.0
"""RAPID behaves as its paper states (Konda and Kaur)."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench import Flow, Run
from ccbench.base.errors import EngineError
from ccbench.experiment.noise import Noise
from ccbench.models.rapid.estimator import available_bandwidth
from ccbench.models.rapid.pathchirp import pathchirp_mbps
from ccbench.models.rapid.stream import PACKETS, rates_mbps, send_times_ns
from tests.kernel.conftest import dumbbell, run

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

pytestmark = pytest.mark.kernel

RTT_MS = 60
MBPS = 100

#: A receiver's window starts at 64 KB and doubles in a round trip; RAPID is faster than that.
WINDOWS = tuple((f"net.ipv4.tcp_{name}", "4096 67108864 536870912") for name in ("rmem", "wmem"))

#: The paper's algorithm, without the default tolerance of noise.
EXACT = (("tcp_rapid.tolerance", "0"),)

RAPID = Flow(cca="rapid")


def rapid_run(*flows: Flow, bandwidth_mbps: float = MBPS, **settings: Any) -> Run:
    """Run flows through a queue of one BDP, or according to `settings`."""
    bdp_packets = round(bandwidth_mbps * RTT_MS / 12)
    network = {
        "queue_packets": bdp_packets,
        "rtt_ms": RTT_MS,
        "sysctls": WINDOWS,
        "module_parameters": EXACT,
        **settings,
    }
    return run(dumbbell(*(flows or (RAPID,)), bandwidth_mbps=bandwidth_mbps, **network))


def jitter(reverse_ms: float) -> dict[str, Any]:
    """Return the setting of a scenario with jitter of ACKs."""
    return {"noise": Noise(reverse_jitter_ms=reverse_ms)}


def mbps(result: Run, start_s: float, stop_s: float | None = None) -> np.ndarray:
    """Return the flows' mean throughputs in a part of a run."""
    return result.throughput(0.1).loc[start_s:stop_s].mean().to_numpy()


def waiting(result: Run, start_s: float, stop_s: float | None = None) -> pd.Series:
    """Return the backlog in packets, every 5 ms of a part of a run."""
    return result.occupancy(0.005).loc[start_s:stop_s]


def drops(result: Run) -> int:
    """Return the drops of the queue."""
    return int(result.summary()["drops"].sum())


def arrivals_ns(result: Run, start_s: float = 0) -> np.ndarray:
    """Return the arrival times of flow 0's data packets at the queue, when they were sent."""
    events = result.queue
    data = (events["event"] == "enqueue") & (events["flow"] == 0) & (events["bytes"] > 1000)
    return events.loc[data & (events["time_ns"] >= start_s * 1e9), "time_ns"].to_numpy()


def stream_starts(sent_ns: np.ndarray) -> np.ndarray:
    """Return the first packets of streams: the only ones preceded by longer gaps."""
    gaps = np.diff(sent_ns)
    return np.flatnonzero(gaps[1:] > 1.3 * gaps[:-1]) + 1


class TestStreams:
    @pytest.mark.parametrize("bandwidth_mbps", [10, 100, 1000])
    def test_gaps(self, bandwidth_mbps: float) -> None:
        """Every packet leaves at the gap of its place in a stream of 22, within 1 %."""
        result = rapid_run(bandwidth_mbps=bandwidth_mbps, duration_s=3)
        sent_ns = arrivals_ns(result, 1.5)
        starts = stream_starts(sent_ns)
        # The gap before a stream is shorter than its first and longer than the last gap of the
        # previous stream: two rises in a row, the second of which is the stream's own.
        starts = starts[1:][np.diff(starts) == 1]
        assert {PACKETS} == set(np.diff(starts))
        gaps = np.array([np.diff(sent_ns[i : i + PACKETS]) for i in starts[:-1]])
        expected = 1 / rates_mbps(1)
        relative = gaps / gaps.mean(axis=1, keepdims=True)
        assert np.broadcast_to(expected, relative.shape) == pytest.approx(relative, rel=0.01)

    def test_gap_between_streams(self) -> None:
        """The gap before a stream is the mean of those within it: r_0 = r_avg."""
        sent_ns = arrivals_ns(rapid_run(duration_s=3), 1.5)
        starts = stream_starts(sent_ns)
        starts = starts[1:-1][np.diff(starts[:-1]) == 1]
        before = sent_ns[starts] - sent_ns[starts - 1]
        within = (sent_ns[starts + PACKETS - 1] - sent_ns[starts])[:-1] / (PACKETS - 1)
        # An estimate may change between the two.
        assert np.median(np.abs(before[:-1] / within - 1)) < 0.001

    def test_slow_start(self) -> None:
        """Streams of 4, 8 and 16 packets, each gap half of the previous, starting at 850 kbit/s."""
        sent_ns = arrivals_ns(rapid_run(duration_s=3))
        for first, packets in ((0, 4), (4, 8), (12, 16)):
            gaps = np.diff(sent_ns[first : first + packets])
            expected = 1 / rates_mbps(1, packets=packets, factor=2)
            tolerance_ns = 2
            assert (expected * gaps.mean()) == pytest.approx(gaps, rel=0.01, abs=tolerance_ns)
        assert 0.85 == pytest.approx(1500 * 8e3 * 3 / (sent_ns[3] - sent_ns[0]), rel=0.01)

    def test_one_stream_in_a_round_trip(self) -> None:
        """In slow start a stream is sent when the ACKs of the previous one have arrived."""
        sent_ns = arrivals_ns(rapid_run(duration_s=3))
        for last in (3, 11, 27):
            assert RTT_MS * 1e6 == pytest.approx(sent_ns[last + 1] - sent_ns[last], rel=0.02)

    def test_after_a_pause(self) -> None:
        """After a second of silence a stream of four packets goes first, at the previous r_avg."""
        flow = Flow(cca="rapid", kind="onoff", on_s=2, off_s=2)
        # With a send buffer that grows as by default: its contents are sent in the pause.
        sent_ns = arrivals_ns(rapid_run(flow, duration_s=6, sysctls=WINDOWS[:1]), 1)
        first = int(np.diff(sent_ns).argmax()) + 1
        assert sent_ns[first] - sent_ns[first - 1] > 1e9
        gaps = np.diff(sent_ns[first:][:4])
        assert [2, 2] == pytest.approx((gaps[:-1] / gaps[1:]).tolist(), rel=0.01)
        assert MBPS == pytest.approx(1500 * 8e3 / gaps.mean(), rel=0.15)
        assert sent_ns[first + 4] - sent_ns[first + 3] > 0.9 * RTT_MS * 1e6


def acquired_s(result: Run, target_mbps: float, start_s: float = 0) -> float:
    """Return the time from which flow 0 has the target rate on average over a round trip."""
    step_s = 0.01
    rates = result.throughput(step_s)[0].loc[start_s:]
    steps = round(RTT_MS / 1e3 / step_s)
    ahead = rates.rolling(steps).mean().shift(1 - steps)
    return float(ahead.index[ahead >= target_mbps][0]) - step_s


class TestAcquires:
    @pytest.mark.parametrize("bandwidth_mbps", [100, 1000])
    def test_from_the_start(self, bandwidth_mbps: float) -> None:
        """Nine tenths of the link are used six round trips after the handshake (Table I: ~4)."""
        result = rapid_run(bandwidth_mbps=bandwidth_mbps, duration_s=3, sample_interval_ms=10)
        assert acquired_s(result, 0.9 * bandwidth_mbps) <= 7 * RTT_MS / 1e3

    def test_free_capacity(self) -> None:
        """Four fifths of the link, suddenly free, are in use within four round trips (Fig. 1)."""
        others = Flow(kind="cbr", rate_mbps=80, stop_s=3)
        result = rapid_run(RAPID, others, duration_s=6, sample_interval_ms=10)
        assert mbps(result, 2, 3)[0] < 1.01 * 20
        assert 3 < acquired_s(result, 0.9 * MBPS, 2) <= 3 + 4 * RTT_MS / 1e3


class TestFollows:
    def test_constant_cross_traffic(self) -> None:
        """The varying capacity left by other flows is used to 90 %, and never exceeded."""
        result = rapid_run(
            RAPID,
            Flow(kind="cbr", rate_mbps=20, start_s=4, stop_s=12),
            Flow(kind="cbr", rate_mbps=40, start_s=8, stop_s=12),
            duration_s=16,
        )
        for start_s, available_mbps in ((2, 100), (6, 80), (10, 40), (14, 100)):
            share = mbps(result, start_s, start_s + 2)[0] / available_mbps
            assert 0.9 < share < 1.01
            assert waiting(result, start_s, start_s + 2).mean() < 20
        assert 0 == drops(result)

    @pytest.mark.parametrize("rate_mbps", [50, 80])
    def test_poisson_cross_traffic(self, rate_mbps: float) -> None:
        """Beside random arrivals 80 % of the rest is used, and the queue is far from full."""
        result = rapid_run(RAPID, Flow(kind="poisson", rate_mbps=rate_mbps), duration_s=12)
        assert mbps(result, 2)[0] > 0.8 * (MBPS - rate_mbps)
        assert waiting(result, 2).mean() < 100
        assert 0 == drops(result)


class TestQueue:
    @pytest.mark.parametrize("bandwidth_mbps", [10, 100])
    def test_alone(self, bandwidth_mbps: float) -> None:
        """A lone flow uses its link; the queue holds only a stream's own few packets."""
        result = rapid_run(bandwidth_mbps=bandwidth_mbps, duration_s=12)
        assert mbps(result, 2)[0] > 0.97 * bandwidth_mbps
        assert waiting(result, 2).mean() < 10
        assert waiting(result, 2).max() < 30

    def test_short_queue(self) -> None:
        """A queue of ten packets, a fiftieth of a BDP, suffices."""
        result = rapid_run(queue_packets=10, duration_s=12)
        assert mbps(result, 2)[0] > 0.95 * MBPS

    def test_queue_of_two_packets(self) -> None:
        """If streams do not fit into the queue, about a tenth is lost, not half."""
        result = rapid_run(queue_packets=2, duration_s=12)
        events = result.queue.loc[result.queue["time_ns"] > 2e9, "event"].value_counts()
        assert 0 < events["drop"] / events["enqueue"] < 0.2
        assert mbps(result, 2)[0] > 0.6 * MBPS


class TestLoss:
    @pytest.mark.parametrize(("loss", "share"), [(1e-4, 0.97), (1e-3, 0.95), (1e-2, 0.5)])
    def test_random_loss(self, loss: float, share: float) -> None:
        """Random losses hardly matter, and do not lengthen the queue."""
        result = rapid_run(loss=loss, duration_s=12)
        assert mbps(result, 2)[0] > share * MBPS
        assert waiting(result, 2).mean() < 50

    def test_one_loss(self) -> None:
        """A single loss costs no throughput (Fig. 3: a few round trips)."""
        result = rapid_run(loss=1e-4, duration_s=12)
        losses = result.queue.loc[result.queue["event"] == "loss", "time_ns"] / 1e9
        assert len(losses.loc[losses > 2]) > 3
        rates = result.throughput(0.1)[0].loc[2:]
        assert rates.min() > 0.85 * MBPS


class TestDelayedAcks:
    @pytest.mark.parametrize("others_mbps", [0, 20, 50])
    def test_every_second_packet(self, others_mbps: float) -> None:
        """With ACKs for every second packet half of the rates are known, which suffices."""
        others = (Flow(kind="cbr", rate_mbps=others_mbps),) if others_mbps else ()
        flow = Flow(cca="rapid", acks="delayed")
        result = rapid_run(flow, *others, duration_s=12)
        assert mbps(result, 2)[0] > 0.88 * (MBPS - others_mbps)
        assert waiting(result, 2).mean() < 20
        assert 0 == drops(result)


class TestNoise:
    """Noise at the default tolerance."""

    @pytest.mark.parametrize("others_mbps", [0, 50])
    @pytest.mark.parametrize(
        "noise",
        [
            jitter(0.01),
            jitter(0.1),
            {"ack_batch_ms": 0.01},
        ],
    )
    def test_jitter(self, noise: dict[str, Any], others_mbps: float) -> None:
        """Noise of a packet time costs a tenth of the link at most, and as much of a BDP."""
        others = (Flow(kind="cbr", rate_mbps=others_mbps),) if others_mbps else ()
        result = rapid_run(RAPID, *others, duration_s=12, module_parameters=(), **noise)
        assert mbps(result, 3)[0] > 0.85 * (MBPS - others_mbps)
        assert waiting(result, 3).mean() < 75
        assert 0 == drops(result)

    @pytest.mark.parametrize("batch_ms", [0.1, 1])
    def test_compressed_acks(self, batch_ms: float) -> None:
        """ACKs in batches of one to ten packets leave nine tenths of the link."""
        result = rapid_run(duration_s=12, module_parameters=(), ack_batch_ms=batch_ms)
        assert mbps(result, 3)[0] > 0.9 * MBPS
        assert waiting(result, 3).mean() < 75

    @pytest.mark.parametrize("noise", [jitter(0.01), {"ack_batch_ms": 0.01}])
    def test_without(self, noise: dict[str, Any]) -> None:
        """Without tolerance a twelfth of that noise costs a tenth of the link and more."""
        assert mbps(rapid_run(duration_s=12, **noise), 3)[0] < 0.9 * MBPS


class TestTimeout:
    def test_outage(self) -> None:
        """After a flood that leaves nothing for two seconds, slow start restarts, and soon ends."""
        flood = Flow(kind="cbr", rate_mbps=1200, start_s=5, stop_s=7)
        result = rapid_run(RAPID, flood, bandwidth_mbps=12, duration_s=12, sample_interval_ms=10)
        samples = result.flows[result.flows["flow"] == 0]
        samples = samples.set_index(samples["time_ns"] / 1e9)
        assert "loss" in set(samples["state"].loc[5:7.5])
        # Slow start begins at 850 kbit/s of IP; retransmissions yield no rate.
        assert samples["pacing_rate_bps"].loc[6:8].min() < 0.9e6
        assert samples["pacing_rate_bps"].max() < 1e9
        assert mbps(result, 10)[0] > 0.9 * 12


class TestSharing:
    @pytest.mark.parametrize("start_s", [0, 5])
    def test_two_flows(self, start_s: float) -> None:
        """Two flows use the link without loss; RAPID does not determine their shares."""
        result = rapid_run(RAPID, Flow(cca="rapid", start_s=start_s), duration_s=20)
        assert mbps(result, 10).sum() > 0.93 * MBPS
        assert waiting(result, 10).mean() < 100
        assert 0 == drops(result)

    def test_beside_cubic(self) -> None:
        """CUBIC keeps its throughput: RAPID takes what is left (section III.B)."""
        result = rapid_run(RAPID, Flow(cca="cubic"), duration_s=20)
        assert mbps(result, 8)[1] > 0.75 * MBPS


class _Points(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_uint32),
        ("sent_ns", ctypes.c_uint32 * 64),
        ("delay_ns", ctypes.c_uint32 * 64),
        ("position", ctypes.c_uint8 * 64),
    )


class _Rule(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("min_length", "decrease", "tolerance")),
        ("pathchirp", ctypes.c_bool),
    )


class _Estimate(ctypes.Structure):
    _fields_ = (
        ("verdict", ctypes.c_int),
        ("gap", ctypes.c_uint64),
        ("least_delay_ns", ctypes.c_uint32),
    )


@pytest.fixture(scope="module")
def module_estimate(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Give the module's own estimator, compiled for this process."""
    folder = tmp_path_factory.mktemp("estimate")
    (folder / "linux").mkdir()
    source = Path(__file__).parents[2] / "kernel_modules" / "tcp_rapid" / "estimate.c"
    (folder / "linux" / "types.h").write_text(
        "#pragma once\n#include <stdint.h>\n#include <stdbool.h>\n"
        "typedef uint8_t u8; typedef uint32_t u32; typedef int32_t s32; typedef uint64_t u64;"
        "typedef int64_t s64;\n"
    )
    (folder / "linux" / "minmax.h").write_text(
        "#define max(a, b) ((a) > (b) ? (a) : (b))\n"
        "#define max_t(type, a, b) max((type)(a), (type)(b))\n"
    )
    (folder / "linux" / "math64.h").write_text(
        "#include <linux/types.h>\nstatic inline u64 div_u64(u64 a, u32 b) { return a / b; }\n"
        "static inline u64 div64_u64(u64 a, u64 b) { return a / b; }\n"
    )
    library = folder / "estimate.so"
    command = ["gcc", "-shared", "-fPIC", f"-I{folder}", "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(library)).rapid_estimate
    function.argtypes = (ctypes.POINTER(_Points), _Rule)
    function.restype = _Estimate
    return function


class TestEstimator:
    @pytest.mark.parametrize("tolerance", [0, 16])
    def test_module_and_python_agree(self, module_estimate: Any, tolerance: int) -> None:
        """The module's arithmetic equals the Python function's, to a thousandth."""
        random = np.random.default_rng(8)
        verdicts = []
        for _ in range(500):
            sent, received = _stream(random)
            expected = available_bandwidth(sent, received, tolerance=tolerance)
            estimate_ = module_estimate(_points(sent, received), _Rule(5, 8, tolerance))
            verdict = ("unknown", "below", "within", "above")[estimate_.verdict]
            assert expected.verdict == verdict
            assert expected.mbps == pytest.approx(1500 * 8e3 / (estimate_.gap / 256), rel=1e-3)
            verdicts.append(verdict)
        assert {"below", "within", "above"} == set(verdicts)

    def test_pathchirp(self, module_estimate: Any) -> None:
        """With `pathchirp` the module's estimate is PathChirp's, to a thousandth."""
        random = np.random.default_rng(8)
        inside = 0
        for _ in range(500):
            sent, received = _stream(random)
            estimate_ = module_estimate(_points(sent, received), _Rule(5, 8, 0, pathchirp=True))
            if ("unknown", "below", "within", "above")[estimate_.verdict] != "within":
                continue
            inside += 1
            expected_mbps = pathchirp_mbps(sent, received)
            assert expected_mbps == pytest.approx(1500 * 8e3 / (estimate_.gap / 256), rel=1e-3)
        assert inside > 100


def _stream(random: np.random.Generator) -> tuple[npt.NDArray[np.float64], ...]:
    """Return the departures and arrivals of a stream's packets on a link with random traffic."""
    sent = send_times_ns(random.uniform(5, 500)).round()
    free_ns, link_ns = 0.0, 12e6 / random.uniform(20, 200)
    received = np.empty(PACKETS)
    for i, time_ns in enumerate(sent):
        free_ns = max(free_ns, time_ns) + link_ns * (1 + random.poisson(0.3))
        received[i] = round(free_ns)
    return sent, received


def _points(sent: npt.NDArray[np.float64], received: npt.NDArray[np.float64]) -> _Points:
    """Return the times of a stream's packets in the module's format."""
    points = _Points(count=PACKETS)
    for i in range(PACKETS):
        points.sent_ns[i] = (int(sent[i]) + 2**32 - 1_000_000) % 2**32
        points.delay_ns[i] = int(received[i] - sent[i]) % 2**32
        points.position[i] = i
    return points


class TestModule:
    @pytest.mark.parametrize(
        ("parameter", "value"),
        [
            ("packets", "7"),
            ("packets", "65"),
            ("factor_permille", "1000"),
            ("start_kbps", "7"),
            ("min_length", "1"),
            ("decrease", "0"),
            ("drain_rtts", "101"),
        ],
    )
    def test_bad_parameter(self, parameter: str, value: str) -> None:
        """Invalid parameters are refused."""
        message = rf"module_parameters\.tcp_rapid\.{parameter} = '{value}' is refused"
        with pytest.raises(EngineError, match=message):
            rapid_run(duration_s=1, module_parameters={f"tcp_rapid.{parameter}": value})

    def test_state(self) -> None:
        """A flow reports its estimate, a stream's packets, the RTT and its estimates so far."""
        settings = (*EXACT, ("tcp_rapid.packets", "32"))
        result = rapid_run(duration_s=10, module_parameters=settings)
        state = result.cca_info(0).loc[5:]
        estimate_mbps = 8e-6 * (state["estimate_low"] + 2**32 * state["estimate_high"])
        assert estimate_mbps.median() == pytest.approx(MBPS, rel=0.1)
        assert (state["packets"] == 32).all()
        assert (state["min_us"] >= 1e3 * RTT_MS).all()
        assert (state["estimates"].diff().dropna() > 0).all()
