# SPDX-License-Identifier: Apache-2.0
"""Queues from logs of mm-link: a recorded log, and short logs with known events."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import EngineError
from ccbench.emulate.mahimahi.link_log import LinkLog
from ccbench.emulate.mahimahi.replay import replay
from ccbench.run.tables import QUEUE_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

#: Written by mm-link 0.98 at 12 Mbit/s: 400 KB of Reno.
RECORDED = Path(__file__).parent / "reno.log"

HEADER = """\
# mahimahi mm-link (Uplink) [1.trace] > up.log
# command line: 'mm-link' '1.trace' '1.trace' '--' 'sh' '-c' '
# of several lines
echo
'
# queue: {queue}
# init timestamp: 1700000000000
# base timestamp: 30
# mahimahi config: [delay 20 ms]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give the folder in which :func:`log_of` writes."""
    return tmp_path


def log_of(folder: Path, lines: str, queue: str = "droptail [packets=2]") -> LinkLog:
    """Read a log of these lines, separated by semicolons; its link's clock starts at 30."""
    text = HEADER.format(queue=queue) + "".join(f"{line.strip()}\n" for line in lines.split(";"))
    (folder / "up.log").write_text(text)
    return LinkLog.read(folder / "up.log")


def events(queue: pd.DataFrame) -> list[tuple[int, str, int, int]]:
    """Return milliseconds, event, bytes and backlog in packets."""
    times = (queue["time_ns"] / 1e6).astype(int)
    rows = zip(times, queue["event"], queue["bytes"], queue["backlog_packets"], strict=True)
    return [(int(time), str(event), int(size), int(left)) for time, event, size, left in rows]


class TestRead:
    def test_times(self, folder: Path) -> None:
        """Times are those of the link's clock, whose start is known to the millisecond."""
        log = log_of(folder, "31 # 1504; 33 + 56; 34 # 1504; 34 - 56 1")
        assert 1700000000030 == log.started_ms
        assert [1, 3, 4, 4] == log.lines["time_ms"].tolist()
        assert [1504, 56, 1504, 56] == log.lines["size"].tolist()
        assert 1 == log.lines["delay_ms"].iloc[3]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "ends within a line"),
            ("no log\n", "is not a log of mm-link"),
            (HEADER + "31 # 15", "ends within a line"),
            (HEADER + "31 x 15\n", "is not a log of mm-link .kind 'x'"),
            (HEADER + "31 NA 15\n31 x 15\n", "is not a log of mm-link .kind '<NA>'"),
            (HEADER + "31 # many\n", "is not a log of mm-link"),
            (HEADER.replace("base", "bass") + "31 # 1504\n", "is not a log of mm-link"),
            (HEADER + "31 #\n", "is not a log of mm-link"),
            (HEADER + "31 - 56 1 2\n", "is not a log of mm-link"),
            (HEADER + "31 - 56 1 2\n31 # 1504\n", "is not a log of mm-link"),
            (HEADER + "35 # 1504\n34 # 1504\n", "is not a reliable log of mm-link: .*clock"),
        ],
    )
    def test_damaged(self, folder: Path, text: str, message: str) -> None:
        """An incomplete or invalid log is refused with its name."""
        path = folder / "up.log"
        path.write_text(text)
        with pytest.raises(EngineError, match=message) as refused:
            LinkLog.read(path)
        assert str(path) in str(refused.value)

    def test_missing(self, folder: Path) -> None:
        """A log that was never written is an error too."""
        with pytest.raises(EngineError, match="cannot be read"):
            LinkLog.read(folder / "none.log")

    def test_nothing_happened(self, folder: Path) -> None:
        """A log may consist of its header."""
        (folder / "up.log").write_text(HEADER.format(queue="infinite"))
        queue = replay(LinkLog.read(folder / "up.log"))
        assert queue.empty
        assert list(QUEUE_COLUMNS) == list(queue.columns)


class TestReplay:
    def test_refused(self, folder: Path) -> None:
        """The third of three simultaneous packets does not fit into a queue of two."""
        log = log_of(
            folder,
            "32 + 1504; 32 + 1504; 32 + 1504; 33 # 1504; 33 - 1504 1; 34 # 1504; 34 - 1504 2",
        )
        expected = [
            (2, "enqueue", 1500, 1),
            (2, "enqueue", 1500, 2),
            (2, "enqueue", 1500, 3),
            (2, "drop", 1500, 2),
            (3, "dequeue", 1500, 1),
            (4, "dequeue", 1500, 0),
        ]
        assert expected == events(replay(log))

    def test_packet_on_the_link(self, folder: Path) -> None:
        """A partly sent packet has left the queue, and makes room in it."""
        log = log_of(
            folder,
            "31 + 504; 31 + 1504; 32 # 1504; 32 - 504 1; 32 + 1504; 32 + 1504; 32 + 1504;"
            "33 # 1504; 33 - 1504 2",
        )
        # The first opportunity takes 504 bytes and 1000 of the next; the second opportunity the
        # rest of it and 1000 of the third, and so on.
        expected = [
            (1, "enqueue", 500, 1),
            (1, "enqueue", 1500, 2),
            (2, "dequeue", 500, 1),
            (2, "dequeue", 1500, 0),
            (2, "enqueue", 1500, 1),
            (2, "enqueue", 1500, 2),
            (2, "enqueue", 1500, 3),
            (2, "drop", 1500, 2),
            (3, "dequeue", 1500, 1),
        ]
        assert expected == events(replay(log))

    def test_bytes(self, folder: Path) -> None:
        """A limit in bytes counts the TUN header, the record does not."""
        log = log_of(folder, "31 + 1504; 31 + 104; 31 + 100", queue="droptail [bytes=1608]")
        queue = replay(log)
        assert ["enqueue", "enqueue", "enqueue", "drop"] == queue["event"].tolist()
        assert [1500, 1600, 1696, 1600] == queue["backlog_bytes"].tolist()

    def test_both_limits(self, folder: Path) -> None:
        """With two limits a packet must satisfy both."""
        both = "droptail [bytes=2000, packets=2]"
        log = log_of(folder, "31 + 104; 31 + 1504; 31 + 104", queue=both)
        assert 1 == (replay(log)["event"] == "drop").sum()
        log = log_of(folder, "31 + 1504; 31 + 1504", queue=both)
        assert 1 == (replay(log)["event"] == "drop").sum()

    def test_flows(self, folder: Path) -> None:
        """The flows of the arrivals are in every row of their packets."""
        log = log_of(folder, "31 + 104; 31 + 204; 31 + 304; 32 # 1504; 32 - 104 1; 32 - 204 1")
        queue = replay(log, flows=[4, 5, 6])
        drops = queue[queue["event"] == "drop"]
        assert [6] == drops["flow"].tolist()
        assert [4, 5] == queue.loc[queue["event"] == "dequeue", "flow"].tolist()
        with pytest.raises(EngineError, match="3 packets arrived at mm-link, but 1 were sent"):
            replay(log, flows=[0])

    @pytest.mark.parametrize(
        "lines",
        [
            "31 + 1504; 32 # 1504; 32 - 1504 2",
            "31 + 1504; 32 # 1504; 32 - 1500 1",
            "31 + 1504; 32 # 1504; 33 - 1504 1",
            "31 + 1504; 32 # 1504; 33 # 1504",
            "31 + 1504; 32 # 1504; 33 + 1504",
            "31 + 1504; 32 # 1504",
            "31 + 1504; 32 - 1504 1",
        ],
    )
    def test_contradiction(self, folder: Path, lines: str) -> None:
        """A departure that is missing, or impossible for a drop-tail queue, is an error."""
        with pytest.raises(EngineError, match="mm-link contradicts itself"):
            replay(log_of(folder, lines))

    def test_wrong_limit(self) -> None:
        """Only the true limit explains the log of mm-link."""
        log = LinkLog.read(RECORDED)
        assert "droptail [packets=10]" == log.queue
        for limit in (9, 11):
            other = replace(log, queue=f"droptail [packets={limit}]")
            with pytest.raises(EngineError, match="mm-link contradicts itself"):
                replay(other)

    def test_other_queue(self, folder: Path) -> None:
        """CoDel's drops are not guessed."""
        log = log_of(folder, "31 + 1504", queue="codel [packets=9, target=5, interval=100]")
        with pytest.raises(EngineError, match=r"mm-link's queue is 'codel .*cannot be derived"):
            replay(log)


class TestRecorded:
    def test_conservation(self) -> None:
        """All arrivals have left, were dropped or wait."""
        log = LinkLog.read(RECORDED)
        queue = replay(log)
        count = queue["event"].value_counts()
        assert (log.lines["kind"] == "+").sum() == count["enqueue"]
        assert (log.lines["kind"] == "-").sum() == count["dequeue"]
        waiting = queue["backlog_packets"].iloc[-1]
        assert count["enqueue"] == count["dequeue"] + count["drop"] + waiting
        assert count["drop"] > 0

    def test_drops_when_full(self) -> None:
        """A packet is refused exactly if ten wait already."""
        queue = replay(LinkLog.read(RECORDED))
        dropped = queue["event"].shift(-1) == "drop"
        arrivals = queue["event"] == "enqueue"
        assert (dropped[arrivals] == (queue.loc[arrivals, "backlog_packets"] == 11)).all()
