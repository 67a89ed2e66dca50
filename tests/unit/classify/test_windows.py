# SPDX-License-Identifier: Apache-2.0
"""Windows of senders in captures and logs, and the queues that they imply."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from ccbench.base.errors import InputError
from ccbench.classify.evidence import weighed
from ccbench.classify.filters import Filters
from ccbench.classify.observation import observed
from ccbench.classify.recording import Recording, read, read_all
from ccbench.classify.setting import SETTINGS
from ccbench.classify.tcp_capture import Segment, windows_of
from ccbench.classify.trace import QueueTrace
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.window import Window, longest_busy_part
from ccbench.classify.window_logs import read_windows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Packets in flight, one-way delays, and time between two packets of a synthetic connection.
WINDOW, TO_RECEIVER_NS, TO_SENDER_NS, GAP_NS = 20, 30_000_000, 20_000_000, 2_500_000
SIZE, COUNT = 1000, 2500
SENDER, RECEIVER = "10.0.0.1 443", "10.0.0.2 5000"


def connection(
    place: float, *, timestamps: bool = True, start: int = 0, pause_after: int = COUNT
) -> list[Segment]:
    """Return a connection with a constant window, seen at a part of the way to the receiver."""
    forward_ns = round(place * TO_RECEIVER_NS)
    back_ns = round((1 - place) * TO_SENDER_NS)
    segments = []
    sent_ns: list[int] = []
    for i in range(COUNT):
        # A packet is sent when the ACK of the packet one window before it arrives.
        now = i * GAP_NS if i < WINDOW else sent_ns[i - WINDOW] + TO_RECEIVER_NS + TO_SENDER_NS
        if i == pause_after:
            now = sent_ns[-1] + 2_000_000_000
        sent_ns.append(max(now, sent_ns[-1] + 1 if sent_ns else 0))
    for i, now in enumerate(sent_ns):
        arrival = now + TO_RECEIVER_NS
        stamps: dict[str, Any] = {"timestamp": now // 10**6, "echo": 0} if timestamps else {}
        if timestamps:
            rtt_ns = TO_RECEIVER_NS + TO_SENDER_NS
            known = bisect_right(sent_ns, now - rtt_ns) - 1
            stamps["echo"] = (sent_ns[known] + TO_RECEIVER_NS) // 10**6 if known >= 0 else 0
        segments.append(
            Segment(
                time_ns=now + forward_ns,
                source=SENDER,
                destination=RECEIVER,
                sequence=(start + i * SIZE) % 2**32,
                acknowledged=1,
                size=SIZE,
                **stamps,
            )
        )
        back: dict[str, Any] = (
            {"timestamp": arrival // 10**6, "echo": now // 10**6} if timestamps else {}
        )
        segments.append(
            Segment(
                time_ns=arrival + back_ns,
                source=RECEIVER,
                destination=SENDER,
                sequence=1,
                acknowledged=(start + (i + 1) * SIZE) % 2**32,
                size=0,
                **back,
            )
        )
    return sorted(segments)


def usual(window: Window) -> float:
    """Return the median number of packets in flight after the start."""
    return float(np.median(window.packets[WINDOW * 2 :]))


class TestCapture:
    @pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
    def test_place(self, place: float) -> None:
        """With timestamps the window is that of the sender, wherever the capture is."""
        (window,) = windows_of(connection(place), "a.pcap")
        assert usual(window) == pytest.approx(WINDOW, abs=1)
        assert window.server == "10.0.0.1"
        assert window.rtt_ms is not None
        assert np.nanmin(window.rtt_ms) == pytest.approx(50, abs=2)
        assert np.nanmax(window.rtt_ms) == pytest.approx(50, abs=2)

    def test_receiver(self) -> None:
        """Without timestamps and at the receiver, the window is unknown."""
        handshake = [
            Segment(-90_000_000, RECEIVER, SENDER, 0, 0, 0, is_syn=True),
            Segment(-40_000_000, SENDER, RECEIVER, 0, 1, 0, is_syn=True),
            Segment(-39_999_000, RECEIVER, SENDER, 1, 1, 0),
        ]
        seen = [*handshake, *connection(1.0, timestamps=False)]
        with pytest.raises(InputError, match="tcp_timestamps=1"):
            windows_of(seen, "a.pcap")

    def test_coarse_clock(self) -> None:
        """The place of a capture at the sender shows even if its answer has the time of a SYN."""
        handshake = [
            Segment(-60_000_000, RECEIVER, SENDER, 0, 0, 0, is_syn=True),
            Segment(-60_000_000, SENDER, RECEIVER, 0, 1, 0, is_syn=True),
            Segment(-10_000_000, RECEIVER, SENDER, 1, 1, 0),
        ]
        (window,) = windows_of([*handshake, *connection(0.0)], "a.pcap")
        assert window.note == "capture at the sender"
        handshake = [
            Segment(-60_000_000, SENDER, RECEIVER, 0, 0, 0, is_syn=True),
            Segment(-10_000_000, RECEIVER, SENDER, 0, 1, 0, is_syn=True),
            Segment(-10_000_000, SENDER, RECEIVER, 1, 1, 0),
        ]
        (window,) = windows_of([*handshake, *connection(0.0)], "a.pcap")
        assert window.note == "capture at the sender"

    def test_interfaces(self) -> None:
        """A connection that was captured at two interfaces is refused: each packet counts twice."""
        twice = [each._replace(interface=i) for i in (0, 1) for each in connection(0.0)]
        with pytest.raises(InputError, match="record the interfaces in a file each"):
            windows_of(twice, "a.pcap")

    def test_wrap(self) -> None:
        """Sequence numbers may wrap."""
        (plain,) = windows_of(connection(0.0), "a.pcap")
        (wrapped,) = windows_of(connection(0.0, start=2**32 - 10 * SIZE), "a.pcap")
        assert plain.packets.tolist() == wrapped.packets.tolist()

    def test_one_direction(self) -> None:
        """A capture without ACKs is refused with the reason."""
        data = [each for each in connection(0.0) if each.size]
        with pytest.raises(InputError, match="one with the ACKs too"):
            windows_of(data, "a.pcap")

    def test_pause(self) -> None:
        """A pause of the application is recognised, and the longest part without one is used."""
        (window,) = windows_of(connection(0.0, pause_after=1000), "a.pcap")
        part, pauses_s = longest_busy_part(window)
        assert len(pauses_s) == 1
        assert pauses_s[0] == pytest.approx(2, abs=0.1)
        assert part.duration_s < window.duration_s - 2

    def test_several(self) -> None:
        """Each long connection of a capture is a window of its own server."""
        other = [
            each._replace(
                source=each.source.replace("10.0.0.1", "10.0.0.9"),
                destination=each.destination.replace("10.0.0.1", "10.0.0.9"),
            )
            for each in connection(0.0)
        ]
        windows = windows_of([*connection(0.0), *other], "a.pcap")
        assert {window.server for window in windows} == {"10.0.0.1", "10.0.0.9"}


TIMES_S = [round(0.05 * i, 3) for i in range(400)]


def tshark() -> Iterator[str]:
    """Yield the lines of a table of packets."""
    yield "frame.time_epoch,ip.src,tcp.srcport,ip.dst,tcp.dstport,tcp.len,tcp.seq,tcp.ack"
    for each in connection(0.0):
        source, destination = (end.split() for end in (each.source, each.destination))
        yield ",".join(
            f'"{value}"'
            for value in (
                f"17467{each.time_ns // 10**9:05d}.{each.time_ns % 10**9:09d}",
                *source,
                *destination,
                each.size,
                each.sequence + 1,
                each.acknowledged + 1,
            )
        )


LOGS = {
    "ss": "\n".join(
        f"{1_700_000_000 + t:.3f}\nESTAB 0 9 10.0.0.1:443 10.0.0.2:5000\n\t cubic wscale:7,7 "
        "rtt:51.5/3 mss:1448 cwnd:24 bytes_acked:99 unacked:22 sacked:2 minrtt:50"
        for t in TIMES_S
    ),
    "probe": "\n".join(
        f"<idle>-0 [001] ..s.. {t:.6f}: tcp_probe: family=AF_INET src=10.0.0.1:443 "
        f"dest=10.0.0.2:5000 mark=0x0 data_len=1448 snd_nxt=0x9 snd_una=0x1 snd_cwnd=20 "
        "ssthresh=9 snd_wnd=9 srtt=50000 rcv_wnd=9 sock_cookie=1"
        for t in TIMES_S
    ),
    "old probe": "\n".join(
        f"{t:.9f} 10.0.0.1:443 10.0.0.2:5000 32 0x9 0x1 20 9 9 50000 9" for t in TIMES_S
    ),
    "qlog": json.dumps(
        {
            "qlog_version": "0.3",
            "traces": [
                {
                    "events": [
                        {
                            "time": 1e3 * t,
                            "name": "recovery:metrics_updated",
                            "data": {"bytes_in_flight": 20 * 1252, "latest_rtt": 50},
                        }
                        for t in TIMES_S
                    ]
                }
            ],
        }
    ),
    "sequence": "\x1e"
    + "\n\x1e".join(
        json.dumps(each)
        for each in (
            {"qlog_format": "JSON-SEQ", "trace": {"common_fields": {"time_format": "delta"}}},
            *(
                {
                    "time": 50,
                    "name": "recovery:metrics_updated",
                    "data": {"congestion_window": 20 * 1252, "smoothed_rtt": 50},
                }
                for _ in TIMES_S
            ),
        )
    ),
    "gordon": "".join(f"{20 * i} 20 {i}\n" for i in range(400)),
    "tshark": "\n".join(tshark()),
}


class TestLogs:
    @pytest.mark.parametrize("kind", LOGS)
    def test_kind(self, kind: str) -> None:
        """The kind of a log is recognised, and has the window in packets and the RTT."""
        (window,) = read_windows(LOGS[kind], "log", SETTINGS[0])
        assert usual(window) == pytest.approx(20, abs=1)
        assert window.rtt_ms is not None
        rtt_ms = SETTINGS[0].rtt_ms if kind == "gordon" else 50
        assert np.nanmin(window.rtt_ms) == pytest.approx(rtt_ms, abs=2)

    def test_missing(self) -> None:
        """What a log lacks is named with the command that records it."""
        with pytest.raises(InputError, match="date"):
            read_windows("ESTAB 0 0 a:1 b:2\n cubic rtt:50/3 cwnd:20\n", "log", None)
        with pytest.raises(InputError, match="--setting log=NAME"):
            read_windows(LOGS["gordon"], "log", None)

    def test_other(self) -> None:
        """Another file is of no kind."""
        assert read_windows("rtt_ms = 10\n", "log", None) == []


class TestRecordedQueue:
    def test_ccanalyzer(self, tmp_path: Path) -> None:
        """CCAnalyzer's log of a queue has the events, and its name has the setting."""
        path = tmp_path / "queue-cubic-5bw-85rtt-64q.txt"
        path.write_text("0,1000,1f90,a,1448,1,0,9,1\n1,2000,1f90,a,1448,0,0,9,1\n")
        recording = read(path)
        assert recording.setting == SETTINGS[0]
        assert recording.events["event"].tolist() == ["enqueue", "dequeue"]
        assert recording.events["backlog_packets"].tolist() == [1, 0]

    def test_event_column(self, tmp_path: Path) -> None:
        """A column `event` says which packets left, and an unknown one is refused."""
        path = tmp_path / "a.csv"
        path.write_text("time_s,occupancy_packets,event\n0,1,in\n1,0,out\n")
        assert read(path, SETTINGS[0]).events["event"].tolist() == ["enqueue", "dequeue"]
        path.write_text("time_s,occupancy_packets,event\n0,1,lost\n")
        with pytest.raises(InputError, match="it must be one of in, "):
            read(path, SETTINGS[0])

    def test_average(self, tmp_path: Path) -> None:
        """Equally spaced fractions are averages, and rarer ones than every 0.1 s are refused."""
        path = tmp_path / "a.csv"
        for interval_s in (0.08, 0.2):
            rows = [f"{interval_s * i:.2f},{5 + i / 7:.3f}" for i in range(300)]
            path.write_text("\n".join(["time_s,occupancy_packets", *rows]))
            if interval_s > 0.1:
                with pytest.raises(InputError, match=r"^interval of a"):
                    read_all([path], SETTINGS[0])
            else:
                (recording,) = read_all([path], SETTINGS[0])
                assert recording.average_s == recording.interval_s == pytest.approx(0.08)


@pytest.fixture(scope="module")
def packaged() -> TrainingSet:
    """Give the packaged training set."""
    return TrainingSet.load(PACKAGED)


class TestObserved:
    def test_late(self, packaged: TrainingSet) -> None:
        """A recording with a full window after one round-trip time begins late, as a later part."""
        times_ns = np.arange(0, 42_000_000_000, 10_000_000)
        late = pd.DataFrame({"time_ns": times_ns, "backlog_packets": np.full(len(times_ns), 20.0)})
        trace = observed(Recording(events=late, setting=SETTINGS[0]), Filters(), packaged)
        assert not trace.view.from_start
        assert len(trace.later) == 1
        skipped = observed(
            Recording(events=late, setting=SETTINGS[0]), Filters(skip_s=25, duration_s=15), packaged
        )
        assert 15 == skipped.view.length_s
        with pytest.raises(InputError, match="duration_s is 5; it must be a number at least 10"):
            observed(Recording(events=late, setting=SETTINGS[0]), Filters(duration_s=5), packaged)
        start = late.assign(backlog_packets=np.minimum(times_ns / 1e9, 30).round())
        trace = observed(Recording(events=start, setting=SETTINGS[0]), Filters(), packaged)
        assert trace.view.from_start

    def test_outside(self, packaged: TrainingSet) -> None:
        """A network unlike those of the training set is refused with its range."""
        far = replace(SETTINGS[0], rtt_ms=900)
        times_ns = np.arange(0, 21_000_000_000, 10_000_000)
        events = pd.DataFrame({"time_ns": times_ns, "backlog_packets": 20.0})
        with pytest.raises(InputError, match="RTT of a is 900"):
            observed(Recording(events=events, setting=far, name="a"), Filters(), packaged)


class TestEvidence:
    def test_accumulates(self, packaged: TrainingSet) -> None:
        """Agreeing recordings are surer together than alone, parts of a connection less so."""
        trees, calibration = packaged.reactions_in_context, packaged.calibration
        assert calibration is not None
        own = [
            sample
            for sample in packaged.windows
            if sample.cca == "cubic" and sample.setting in SETTINGS and not sample.later
        ][:4]
        apart = weighed(trees, own, calibration)
        same = [each for each in own if each.setting == own[0].setting]
        joined = QueueTrace(
            setting=same[0].setting,
            points=same[0].points,
            measured=same[0].measured,
            view=same[0].view,
            later=tuple(each.measured for each in same[1:]),
        )
        alone = weighed(trees, [joined], calibration)
        assert apart.label == alone.label == "cubic"
        assert apart.confidence > alone.confidence
