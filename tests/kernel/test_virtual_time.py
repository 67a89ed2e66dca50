# SPDX-License-Identifier: Apache-2.0
"""Virtual time is exact: the clocks of the kernel, TCP and the path are as configured."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source.lookup import installed
from tests.kernel.conftest import ask, dumbbell, run

if TYPE_CHECKING:
    import pandas as pd

    from ccbench import Run

pytestmark = pytest.mark.kernel

#: Payload of a full packet: 1500 bytes less 20 of IP and 32 of TCP with its timestamps.
_PAYLOAD = 1448
_PACKET = 1500
_US = 1000


def events(result: Run, kind: str) -> pd.DataFrame:
    """Return the events of a kind."""
    return result.queue[result.queue["event"] == kind]


@pytest.fixture(scope="module")
def measurements(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """Boot a guest that measures its clocks."""
    root = tmp_path_factory.mktemp("root")
    for name in ("dev", "proc", "tmp"):
        (root / name).mkdir()
    return [line.split() for line in ask("ask_clock.c", root).splitlines()]


class TestClocks:
    def test_sleep(self, measurements: list[list[str]]) -> None:
        """A sleep of up to an hour takes its time within 10 ns, by three clocks."""
        measured = [line[1:] for line in measurements if line[0] == "sleep"]
        assert len(measured) == 12
        for _, requested, took in measured:
            assert 0 <= int(took) - int(requested) <= 10

    def test_computing(self, measurements: list[list[str]]) -> None:
        """Computation takes no time, and neither does reading the clock."""
        assert ["busy", "0"] in measurements

    def test_tcp_timestamps(self, measurements: list[list[str]]) -> None:
        """TCP's timestamps count the milliseconds of the same clock."""
        stamps = [(int(line[1]), int(line[2])) for line in measurements if line[0] == "stamp"]
        assert len(stamps) == 12
        for clock_ms, stamp in stamps:
            # From Linux 6.7 on, the last bit that programs see is a flag.
            assert stamp in {clock_ms % 2**32, clock_ms % 2**32 & ~1}


class TestRoundTrip:
    @pytest.mark.parametrize(
        ("rtt_ms", "bandwidth_mbps"), [(1.0, 100.0), (40.0, 12.0), (333.3, 7.7)]
    )
    def test_min_rtt(self, rtt_ms: float, bandwidth_mbps: float) -> None:
        """TCP's shortest round trip is the path's plus a packet's time on the link."""
        result = run(dumbbell(rtt_ms=rtt_ms, bandwidth_mbps=bandwidth_mbps, duration_s=5))
        seen_us = result.flows["min_rtt_us"]
        # The handshake's packets are short: SYN and SYN ACK of 60 bytes, or 52 of an ACK.
        on_link_us = np.array([52, 60, _PACKET]) * 8 / bandwidth_mbps
        expected_us = rtt_ms * 1e3 + on_link_us
        assert np.abs(seen_us.iloc[-1] - expected_us).min() <= 1


class TestQueue:
    @pytest.mark.parametrize("qdisc", ["droptail", "pfifo", "fq", "codel"])
    def test_sojourn(self, qdisc: str) -> None:
        """Packets that arrive faster than they leave wait for one gap more each, exactly."""
        flow = Flow(kind="cbr", rate_mbps=15, packet_bytes=1000, stop_s=0.03)
        scenario = dumbbell(flow, bandwidth_mbps=10, queue_packets=1000, duration_s=1, qdisc=qdisc)
        result = run(scenario)
        arrived, left = (
            events(result, kind)["time_ns"].to_numpy() for kind in ("enqueue", "dequeue")
        )
        assert len(arrived) == len(left) > 40
        gap_in_ns, gap_out_ns = (8e6 / mbps for mbps in (15, 10))
        waited_ns = left - arrived
        expected_ns = np.arange(len(left)) * (gap_out_ns - gap_in_ns)
        assert np.abs(waited_ns - expected_ns).max() <= _US
        assert np.abs(np.diff(arrived) - gap_in_ns).max() <= 10  # the first comes 5 ns late
        assert np.abs(np.diff(left) - gap_out_ns).max() <= 1


@pytest.fixture(scope="module")
def metronome(tmp_path_factory: pytest.TempPathFactory) -> KernelEngine:
    """Give the engine with a congestion control of a constant pace."""
    folder = tmp_path_factory.mktemp("modules") / "tcp_metronome"
    shutil.copytree(Path(__file__).with_name("tcp_metronome"), folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CCBENCH_MODULES", str(folder))
        return KernelEngine(installed())


class TestPacing:
    @pytest.mark.parametrize("mbps", [1.0, 13.7, 22.0])
    def test_gaps(self, metronome: KernelEngine, mbps: float) -> None:
        """TCP's own pacing leaves exactly the gap of its rate between two packets."""
        bytes_per_s = round(mbps * 1e6 / 8)
        scenario = dumbbell(
            Flow(cca="metronome"),
            bandwidth_mbps=1000,
            queue_packets=1000,
            duration_s=1,
            module_parameters={"tcp_metronome.bytes_per_s": str(bytes_per_s)},
        )
        sent = events(metronome.run(scenario), "enqueue")
        # The first packets are not paced: the handshake's, and those before the first RTT.
        steady = sent[(sent["time_ns"] > 200_000_000) & (sent["bytes"] == _PACKET)]
        gaps_ns = np.diff(steady["time_ns"])
        assert len(gaps_ns) > 50
        assert np.abs(gaps_ns - _PAYLOAD * 1e9 / bytes_per_s).max() <= _US


SCRIPT = """
import hashlib
from ccbench.emulate.kernel.engine import KernelEngine
from tests.kernel.test_virtual_time import SHARED

print(hashlib.sha256(KernelEngine().run(SHARED).queue.to_csv().encode()).hexdigest())
"""

SHARED = Scenario(
    flows=(Flow(cca="bbr"), Flow(cca="cubic")),
    path=NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=20, queue_bdp=1),), rtt_ms=20),
    duration_s=2,
)


def test_host_clock() -> None:
    """On a host whose clock is 11 days ahead, a run is the same."""
    elsewhere = ["unshare", "--time", "--monotonic", "1000000", "--boottime", "1000000", "--fork"]
    if subprocess.run([*elsewhere, "true"], capture_output=True, check=False).returncode:
        pytest.skip("time namespaces require root")
    command = [sys.executable, "-c", SCRIPT]
    there, here = (
        subprocess.run(
            [*before, *command],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for before in (elsewhere, [])
    )
    assert there == here
