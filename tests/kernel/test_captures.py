# SPDX-License-Identifier: Apache-2.0
"""Captures of runs agree with the runs, and programs for captures read them."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from ccbench import Bottleneck, Flow, emulate
from ccbench.base.errors import EngineError
from ccbench.classify.files import judge_files
from ccbench.classify.pcap_pair import queue_between
from ccbench.classify.recording import read_all
from ccbench.classify.setting import SETTINGS
from ccbench.classify.training import VARIATIONS
from ccbench.classify.training import scenario as observed
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.http import HttpKernelEngine
from ccbench.emulate.store import Store
from ccbench.experiment.impairments import BurstLoss, Reordering
from ccbench.experiment.noise import Noise
from ccbench.experiment.receiver import Receiver
from ccbench.experiment.wifi import Wifi
from ccbench.run.captures import writer
from ccbench.run.captures.reader import read_capture
from ccbench.run.packets import delivered
from tests.kernel.conftest import dumbbell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ccbench import Run
    from ccbench.classify.setting import Setting

pytestmark = pytest.mark.kernel

_SYN, _TCP = 0x02, 6
_RADIO = Bottleneck(wifi=Wifi(bitrates_mbps=(13, 65)), queue_packets=64)
_IMPAIRED = Bottleneck(
    bandwidth_mbps=10,
    queue_packets=64,
    qdisc="codel",
    duplicates=0.01,
    burst_loss=BurstLoss.of(0.01, 3),
    reordering=Reordering(share=0.01, delay_ms=5),
)
#: Paths that use every kind of link, queue and delay.
PATHS = {
    "plain": dumbbell(Flow(cca="cubic"), Flow(cca="bbr", label="Alice", start_s=1)),
    "impaired": replace(
        dumbbell(Flow(), Flow(kind="poisson", rate_mbps=1)),
        path=replace(
            dumbbell(Flow(), Flow(kind="poisson", rate_mbps=1)).path,
            bottlenecks=(_IMPAIRED, Bottleneck(bandwidth_mbps=20, queue_packets=64)),
            noise=Noise(forward_jitter_ms=1, sender_jitter_ms=1, background_share=0.05),
            ack_batch_ms=1,
        ),
    ),
    "both directions": dumbbell(
        Flow(),
        Flow(direction="reverse"),
        reverse_bottlenecks=(Bottleneck(bandwidth_mbps=5, queue_packets=20),),
        forward_delay_ms=10,
    ),
    "wifi": replace(dumbbell(Flow()), path=replace(dumbbell(Flow()).path, bottlenecks=(_RADIO,))),
    "IPv6": dumbbell(Flow(ip_version=6), Flow(start_s=1)),
    "more ACKs": dumbbell(
        Flow(receiver=Receiver(duplicate_acks=20)),
        duration_s=4,
        reverse_bottlenecks=(Bottleneck(bandwidth_mbps=1, queue_packets=20),),
    ),
    "short flows": dumbbell(Flow(kind="bytes", size_bytes=30_000, count=20)),
}


class Packet(NamedTuple):
    """A TCP packet in a capture."""

    time_ns: int
    source: int
    target: int
    sequence: int
    ack: int
    flags: int
    payload_bytes: int


def _tcp(path: Path) -> Iterator[Packet]:
    """Yield the TCP packets of a capture."""
    for packet in read_capture(path):
        start = (packet.headers[0] & 0xF) * 4
        if packet.headers[9] != _TCP:
            continue
        tcp = packet.headers[start:]
        source, target, sequence, ack, offset, flags = struct.unpack_from(">HHIIBB", tcp)
        payload_bytes = packet.length - start - (offset >> 4) * 4
        yield Packet(packet.time_ns, source, target, sequence, ack, flags, payload_bytes)


@cache
def captured(name: str) -> tuple[Run, Path]:
    """Run a path once for all tests, and return the run and the folder of its capture."""
    folder = Path(mkdtemp()) / "packets"
    return emulate.run(PATHS[name], store=None, capture=folder), folder


def file_at(folder: Path, point: str) -> Path:
    """Return the file of a point."""
    (name,) = writer.file_names([point])
    return folder / name


def program(name: str, *arguments: object) -> str:
    """Return the output of a program for captures, or skip without it."""
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed: apt-get install {name}")
    command = [name, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class TestDelays:
    @pytest.mark.parametrize(("forward_delay_ms", "assumed_ms"), [(0, 0), (15, 0), (None, 20)])
    def test_one_way(
        self, tmp_path: Path, forward_delay_ms: float | None, assumed_ms: float
    ) -> None:
        """One-way delays are those of a capture; without a split, plus half of the RTT."""
        scenario = dumbbell(
            Flow(kind="cbr", rate_mbps=1), duration_s=2, forward_delay_ms=forward_delay_ms
        )
        run = emulate.run(scenario, store=None, capture=tmp_path / "packets")
        sent, received = (
            [packet.time_ns for packet in read_capture(file_at(tmp_path / "packets", host))]
            for host in ("sender", "receiver")
        )
        passed_ms = (np.array(received) - sent[: len(received)]) / 1e6
        rows = delivered(run)["one_way_ms"].iloc[: len(received)]
        assert rows.to_numpy() - assumed_ms == pytest.approx(passed_ms, abs=0.01)


class TestRuns:
    @pytest.mark.parametrize("name", PATHS)
    def test_unchanged(self, name: str) -> None:
        """A capture does not change a run."""
        plain = emulate.run(PATHS[name], store=None)
        assert plain.digest() == captured(name)[0].digest()

    def test_repeatable(self, tmp_path: Path) -> None:
        """The same run gives the same capture, byte for byte."""
        files = [tmp_path / "a.pcapng", tmp_path / "b.pcapng"]
        for file in files:
            emulate.run(PATHS["impaired"], store=None, capture=file)
        assert files[0].read_bytes() == files[1].read_bytes()

    def test_web_server(self, tmp_path: Path) -> None:
        """A run with a real web server is captured without being changed."""
        engine = HttpKernelEngine()
        if not all(check.ok for check in engine.doctor()):
            pytest.skip("nginx or h2load is not installed")
        scenario = dumbbell(Flow(), duration_s=2)
        plain = engine.run(scenario)
        run = engine.capture(scenario, tmp_path / "packets")
        assert plain.digest() == run.digest()
        packets = [p for p in _tcp(tmp_path / "packets" / "receiver.pcapng") if p.source == 8000]
        assert run.completions["delivered_bytes"].iloc[0] <= sum(p.payload_bytes for p in packets)

    def test_stored(self, tmp_path: Path) -> None:
        """A stored run is repeated for a capture, under the same identity."""
        store, scenario = Store(tmp_path / "runs"), dumbbell(duration_s=1)
        first = emulate.run(scenario, store=store)
        second = emulate.run(scenario, store=store, capture=tmp_path / "a.pcapng")
        assert (tmp_path / "a.pcapng").exists()
        assert first.provenance["identity"] == second.provenance["identity"]
        assert 1 == store.usage().runs
        (tmp_path / "a.pcapng").unlink()
        emulate.run(scenario, store=store)
        assert not (tmp_path / "a.pcapng").exists()

    @pytest.mark.parametrize("target", ["a.pcapng", "packets"])
    def test_failed(self, tmp_path: Path, target: str) -> None:
        """A failed run leaves no capture."""
        failing = dumbbell(duration_s=1, sysctls=(("net.ipv4.no_such", "1"),))
        with pytest.raises(EngineError):
            emulate.run(failing, store=None, capture=tmp_path / target)
        assert [] == list(tmp_path.iterdir())

    @pytest.mark.parametrize("name", PATHS)
    def test_size(self, name: str) -> None:
        """A capture is not larger than its estimate, and at least a tenth of it."""
        size = sum(file.stat().st_size for file in captured(name)[1].iterdir())
        estimate = KernelEngine().capture_bytes(PATHS[name])
        assert size < estimate < 10 * size + 100_000


class TestPoints:
    @pytest.mark.parametrize("name", PATHS)
    def test_queues(self, name: str) -> None:
        """Packets before and after a bottleneck are those of the queue log, with its times.

        Packets that arrive are enqueued or lost, those that leave are dequeued.
        """
        run, folder = captured(name)
        for number in range(len(run.scenario.path.links)):
            events = run.queue_events(number)
            for side, kinds in (("in", ["enqueue", "loss"]), ("out", ["dequeue"])):
                rows = events[events["event"].isin(kinds)]
                packets = list(read_capture(file_at(folder, f"bottleneck {number} {side}")))
                assert rows["time_ns"].tolist() == [packet.time_ns for packet in packets]
                assert rows["bytes"].tolist() == [packet.length for packet in packets]

    @pytest.mark.parametrize("name", ["plain", "short flows"])
    def test_conservation(self, name: str) -> None:
        """Without losses on the way, packets at a point arrive at the next one, or wait there."""
        run, folder = captured(name)
        drops = int((run.queue["event"] == "drop").sum())

        def sent(point: str, *, data: bool) -> Counter[tuple[int, ...]]:
            packets = _tcp(file_at(folder, point))
            return Counter(p[1:] for p in packets if (p.source > p.target) == data)

        sender, before = sent("sender", data=True), sent("bottleneck 0 in", data=True)
        after, receiver = sent("bottleneck 0 out", data=True), sent("receiver", data=True)
        assert sender == before
        waiting = run.queue["backlog_packets"].iloc[-1]
        assert before.total() == after.total() + drops + waiting
        assert after <= before
        assert receiver <= after
        assert after.total() - receiver.total() <= 1  # on the link
        assert sent("sender", data=False) <= sent("receiver", data=False)

    def test_bytes(self) -> None:
        """Sequence numbers that reach the receiver cover exactly the bytes of complete flows."""
        run, folder = captured("short flows")
        received: dict[tuple[int, int], set[int]] = {}
        for p in _tcp(file_at(folder, "receiver")):
            if p.payload_bytes and p.source > p.target:
                numbers = range(p.sequence, p.sequence + p.payload_bytes)
                received.setdefault((p.source, p.target), set()).update(numbers)
        assert (run.completions["end_ns"] >= 0).all()
        assert run.completions["delivered_bytes"].tolist() == [len(s) for s in received.values()]

    def test_round_trip(self) -> None:
        """The shortest time from a SYN or data to their ACK is Linux's shortest RTT."""
        run, folder = captured("plain")
        packets = list(_tcp(file_at(folder, "sender")))
        port = next(p.source for p in packets if p.flags & _SYN)
        sent: dict[int, int] = {}
        repeated: set[int] = set()
        round_trips_ns = []
        for p in packets:
            numbers = p.payload_bytes + bool(p.flags & _SYN)
            if p.source == port and numbers:
                end = (p.sequence + numbers) % 2**32
                repeated.update({end} & sent.keys())
                sent.setdefault(end, p.time_ns)
            elif p.target == port and p.ack in sent and p.ack not in repeated:
                round_trips_ns.append(p.time_ns - sent[p.ack])
                sent.pop(p.ack)
        smallest_us = run.flows.loc[run.flows["flow"] == 0, "min_rtt_us"].replace(0, np.nan).min()
        # Linux measures in whole microseconds.
        assert smallest_us == pytest.approx(min(round_trips_ns) / 1e3, abs=1)
        assert 40_000 <= smallest_us


class TestPrograms:
    def test_tcptrace(self) -> None:
        """Retransmissions at the sender, as counted by tcptrace, are those of Linux."""
        run, folder = captured("plain")
        output = program("tcptrace", "-ln", file_at(folder, "sender"))
        numbers = re.findall(r"rexmt data pkts: +(\d+) +rexmt", output)
        assert run.completions["retransmits"].tolist() == [int(number) for number in numbers]
        assert sum(map(int, numbers)) > 0

    @pytest.mark.parametrize("name", PATHS)
    def test_tcpdump(self, name: str) -> None:
        """Tcpdump reads every file of a folder, and all checksums that it can verify are valid."""
        _, folder = captured(name)
        for file in folder.iterdir():
            output = program("tcpdump", "-nvvr", file)
            packets = re.findall(r"^\d\d:", output, re.MULTILINE)
            assert len(packets) == len(list(read_capture(file)))
            assert not re.search(r"incorrect|bad (udp )?cksum", output)

    def test_tshark(self, tmp_path: Path) -> None:
        """Wireshark reads interfaces, times in ns, comments and valid checksums from one file."""
        path = tmp_path / "packets.pcapng"
        emulate.run(PATHS["plain"], store=None, capture=path)
        fields = ["frame.interface_name", "frame.time_epoch", "frame.len", "frame.comment"]
        fields += ["tcp.checksum.status", "ip.checksum.status"]
        options = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-T", "fields"]
        output = program("tshark", "-r", path, *options, *(f"-e{field}" for field in fields))
        rows = [line.split("\t") for line in output.splitlines()]
        names = writer.points(PATHS["plain"])
        packets = list(read_capture(path))
        assert [names[packet.interface] for packet in packets] == [row[0] for row in rows]
        assert [packet.time_ns for packet in packets] == [
            int(row[1].replace(".", "")) for row in rows
        ]
        assert [packet.length for packet in packets] == [int(row[2]) for row in rows]
        assert [row[3] for row in rows if row[3]] == [
            *["flow 0: cubic cubic"] * 4,
            *["flow 1: Alice bbr"] * 4,
        ]
        good, unverified = "1", "2"  # packets with payload cannot be verified
        assert {good, unverified} == {row[4] for row in rows}
        assert {good} == {row[5] for row in rows}


class TestClassify:
    @pytest.mark.parametrize("cca", ["bbr", "cubic"])
    def test_verdict(self, tmp_path: Path, program: Callable[..., str], cca: str) -> None:
        """`ccbench classify` has the same verdict on a run and on its capture."""
        setting = SETTINGS[0]
        folder = tmp_path / "packets"
        run = emulate.run(
            observed(setting, cca, VARIATIONS[0], seed=31), store=None, capture=folder
        )
        run.save(tmp_path / "run")
        pair = [file_at(folder, f"bottleneck 0 {side}") for side in ("in", "out")]
        queue = queue_between(*pair)
        log = run.queue_events()
        for event in ("enqueue", "drop", "dequeue"):
            actual, expected = (
                table.loc[table["event"] == event, "time_ns"].to_numpy() for table in (queue, log)
            )
            # The fate of the last packets is not part of the captures.
            expected = expected[: len(actual)] - log["time_ns"].iloc[0]
            np.testing.assert_array_equal(expected, actual)
        assert (queue["event"] == "drop").any()
        assert queue["time_ns"].iloc[-1] > 0.99e9 * run.scenario.duration_s
        of_run, of_captures = (
            program("classify", *files, *options).splitlines()[-1]
            for files, options in (([tmp_path / "run"], []), (pair, ["--setting", setting.name]))
        )
        assert of_run == of_captures
        assert of_run.startswith(f"congestion control: {cca}")
        self._check_ends(folder, setting, cca)

    @staticmethod
    def _check_ends(folder: Path, setting: Setting, cca: str) -> None:
        """Check that a capture at either end implies the network, and the same answer."""
        for end in ("sender", "receiver"):
            (recording,) = read_all([file_at(folder, end)])
            assert recording.source == f"capture at the {end}"
            network = recording.setting
            assert network.bandwidth_mbps == pytest.approx(setting.bandwidth_mbps, rel=0.05)
            # The transmission of a packet is part of the RTT, and an ACK may be delayed.
            assert network.rtt_ms == pytest.approx(setting.rtt_ms, rel=0.07)
            assert network.queue_packets == pytest.approx(setting.queue_packets, rel=0.1)
            assert judge_files([file_at(folder, end)]).label == cca
