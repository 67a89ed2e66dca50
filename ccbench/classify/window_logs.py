# SPDX-License-Identifier: Apache-2.0
"""Windows in the logs of others: ``ss``, the kernel's trace points, qlog, tshark, Gordon.

Each reader takes the text of a file, and returns nothing if it is not of its kind.
"""

from __future__ import annotations

import io
import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base import validation
from ccbench.classify.tcp_capture import Segment, windows_of
from ccbench.classify.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import pandas as pd

    from ccbench.classify.setting import Setting

__all__ = ["READERS", "read_windows"]

#: Latest valid time in seconds: nanoseconds must fit into 64 bits.
_LATEST_S = 9e9

#: A line of `date +%s.%N`, or of `date --iso-8601=ns`, between the outputs of ss.
_CLOCK = re.compile(r"^\W*(\d{9,10}\.\d+|\d{4}-\d\d-\d\dT[\d:.,]+(?:Z|[+-]\d\d:?\d\d)?)\W*$")
_SS_FIELD = re.compile(
    r"\b(cwnd|unacked|sacked|lost|rtt|minrtt|mss|bytes_acked|segs_out):([\d./]+)"
)
_SS_RETRANS = re.compile(r"\bretrans:(\d+)/")
_SS_ENDS = re.compile(r"^\S*\s*ESTAB\s+\d+\s+\d+\s+(\S+)\s+(\S+)|^\d+\s+\d+\s+(\S+)\s+(\S+)")
#: The trace point tcp_probe, in ftrace, trace-cmd and perf.
_PROBE = re.compile(
    r"(?P<time>\d+\.\d+):\s+(?:tcp:)?tcp_probe:.*?src=(?P<src>\S+) dest=(?P<dest>\S+)"
    r".*?snd_nxt=(?P<next>\w+) snd_una=(?P<una>\w+) snd_cwnd=(?P<cwnd>\d+)"
    r".*?srtt=(?P<srtt>\d+)"
)
#: The module tcp_probe of Linux before 4.16.
_OLD_PROBE = re.compile(
    r"^(?P<time>\d+\.\d+) (?P<src>\S+:\d+) (?P<dest>\S+:\d+) \d+ 0x\w+ 0x\w+ (?P<cwnd>\d+) \d+ \d+"
    r"(?: (?P<srtt>\d+))?"
)
#: Size of a QUIC packet if a log does not contain it, in bytes.
_QUIC_BYTES = 1252
_TSHARK = ("tcp.seq", "tcp.ack", "tcp.len")
#: The columns of `windows.csv`: packets since the start, the window, and the number of the round.
_GORDON = re.compile(r"^\d+ \d+ \d+$")
_GORDON_ROWS = 10


def read_windows(text: str, name: str, setting: Setting | None) -> list[Window]:
    """Return the windows in a log of a known kind; empty if it is of none.

    Parameters
    ----------
    text : str
    name : str
        Name of the file.
    setting : Setting, optional
        The given network; only logs by round need it.

    Raises
    ------
    InputError
        If the log is of a known kind, but lacks something.
    """
    for read in READERS:
        if windows := read(text, name, setting):
            return windows
    return []


def _of_tshark(text: str, name: str, _setting: Setting | None) -> list[Window]:
    """Read the fields of packets: ``tshark -T fields -E header=y``; also Nebby's files."""
    header = text.partition("\n")[0]
    if not all(column in header for column in _TSHARK):
        return []
    import pandas as pd  # noqa: PLC0415 - not needed to recognise a file

    separator = "\t" if "\t" in header else ";" if ";" in header else ","
    table = pd.read_csv(io.StringIO(text), sep=separator, dtype=str, keep_default_na=False)
    clock = next((each for each in _CLOCKS if each in table), None)
    addresses = [each for each in ("ip.src", "ipv6.src") if each in table]
    missing = [] if clock else [_CLOCKS[0]]
    missing += [] if addresses else ["ip.src and ip.dst"]
    missing += [each for each in ("tcp.srcport", "tcp.dstport") if each not in table]
    if missing:
        step = f"add -e {' -e '.join(missing)} to tshark's options"
        raise validation.bad("file", name, "a table of packets with times and addresses", step)
    table = table[table["tcp.seq"] != ""]
    return windows_of(_segments(table, clock or ""), name)


#: Columns of the time in seconds, the best first.
_CLOCKS = ("frame.time_epoch", "frame.time_relative", "tcp.time_relative")


def _segments(table: pd.DataFrame, clock: str) -> Iterator[Segment]:
    def numbers(column: str) -> list[int | None]:
        if column not in table:
            return [None] * len(table)
        return [int(float(each)) if each else None for each in table[column]]

    times_ns = (table[clock].astype(float) * 1e9).round().astype("int64").tolist()
    if clock == _CLOCKS[0]:  # float has too few digits for nanoseconds since 1970
        whole = table[clock].str.partition(".")
        parts = whole[2].str.ljust(9, "0").str[:9].replace("", "0").astype("int64")
        times_ns = (whole[0].astype("int64") * 1_000_000_000 + parts).tolist()
    family = "ip" if "ip.src" in table else "ipv6"
    ends = [
        (table[f"{family}.{side}"] + " " + table[f"tcp.{side}port"]).tolist()
        for side in ("src", "dst")
    ]
    flags = table["tcp.flags.syn"].tolist() if "tcp.flags.syn" in table else None
    sizes, sequences, acks = (numbers(each) for each in ("tcp.len", "tcp.seq", "tcp.ack"))
    stamps = numbers("tcp.options.timestamp.tsval")
    echoes = numbers("tcp.options.timestamp.tsecr")
    for i, time_ns in enumerate(times_ns):
        size, sequence = sizes[i] or 0, sequences[i] or 0
        is_syn = flags[i] in {"1", "True"} if flags else sequence == 0 and not size
        yield Segment(
            time_ns=time_ns,
            source=ends[0][i],
            destination=ends[1][i],
            sequence=sequence,
            acknowledged=acks[i] or 0,
            size=size,
            is_syn=is_syn,
            timestamp=stamps[i],
            echo=echoes[i],
        )


def _of_ss(text: str, name: str, _setting: Setting | None) -> list[Window]:
    """Read repeated outputs of ``ss -tin``, with a line of time before each."""
    lines = text.splitlines()
    if not any("cwnd:" in line and "rtt:" in line for line in lines):
        return []
    rows: dict[str, list[dict[str, float]]] = {}
    time_s, ends = None, ""
    for line in lines:
        if clock := _CLOCK.match(line):
            time_s = _seconds(clock[1])
        elif found := _SS_ENDS.match(line):
            ends = " to ".join(part for part in found.groups() if part)
        elif "cwnd:" in line:
            if time_s is None:
                step = "record with: while sleep 0.05; do date +%s.%N; ss -tin dst ADDRESS; done"
                raise validation.bad("log of ss", name, "with a time before each output", step)
            values = {key: float(value.partition("/")[0]) for key, value in _SS_FIELD.findall(line)}
            if retransmitted := _SS_RETRANS.search(line):
                values["retrans"] = float(retransmitted[1])
            rows.setdefault(ends, []).append({"time_s": time_s, **values})
    return _named(name, {each: _ss_window(own) for each, own in rows.items()}, "log of ss")


def _ss_window(rows: list[dict[str, float]]) -> dict[str, Any]:
    import pandas as pd  # noqa: PLC0415 - likewise

    table = pd.DataFrame(rows)
    packets = table["cwnd"]
    if "unacked" in table:  # it is left out where it is 0
        counts = [
            table[each].fillna(0) if each in table else 0.0 * packets
            for each in ("unacked", "sacked", "lost", "retrans")
        ]
        packets = counts[0] - counts[1] - counts[2] + counts[3]
    rtts = table["rtt"] if "rtt" in table else pd.Series(np.nan, index=table.index)
    delivered = None
    if "bytes_acked" in table and "mss" in table:
        delivered = (table["bytes_acked"].fillna(0) / table["mss"]).to_numpy(float)
    if "minrtt" in table and table["minrtt"].notna().any():
        # The shortest RTT since the start of the connection, which the log may lack.
        rtts = rtts.where(rtts.index != rtts.index[0], table["minrtt"].min())
    return {
        "time_s": table["time_s"].to_numpy(float),
        "packets": np.maximum(packets.to_numpy(float), 0),
        "rtt_ms": rtts.to_numpy(float),
        "delivered": None if delivered is None else np.maximum.accumulate(delivered),
    }


def _of_probe(text: str, name: str, _setting: Setting | None) -> list[Window]:
    """Read the trace point ``tcp:tcp_probe``, or the module of older kernels."""
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for line in text.splitlines():
        found = _PROBE.search(line) or _OLD_PROBE.match(line)
        if found:
            ends = f"{found['src']} to {found['dest']}"
            rtt_ms = float(found["srtt"] or "nan") / 1e3 or np.nan
            rows.setdefault(ends, []).append((float(found["time"]), float(found["cwnd"]), rtt_ms))
    windows = {}
    for ends, own in rows.items():
        time_s, packets, rtt_ms = np.array(own).T
        windows[ends] = {"time_s": time_s, "packets": packets, "rtt_ms": rtt_ms}
    return _named(name, windows, "trace of the kernel")


def _of_qlog(text: str, name: str, _setting: Setting | None) -> list[Window]:
    """Read a qlog of QUIC, as JSON or as a sequence of JSON records."""
    stripped = text.lstrip("\x1e \n\r\t")
    if not stripped.startswith("{") or "qlog" not in stripped[:4096]:
        return []
    try:
        traces = list(_qlog_traces(stripped))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        allowed = "a qlog of JSON, or of JSON records by line"
        raise validation.bad("file", name, allowed, f"correct it ({error})") from error
    windows = {}
    for number, (events, is_delta) in enumerate(traces, 1):
        window = _qlog_window(events, is_delta=is_delta)
        if window is not None:
            windows[f"trace {number}"] = window
    if not windows:
        step = "log the events recovery:metrics_updated at the sender"
        raise validation.bad("qlog", name, "one with congestion windows or bytes in flight", step)
    return _named(name, windows, "qlog")


def _qlog_traces(text: str) -> Iterator[tuple[list[Any], bool]]:
    lines = [line.strip("\x1e \r") for line in text.split("\n")]
    try:
        document = json.loads(text)
    except ValueError:
        records = [json.loads(line) for line in lines if line]
        common = records[0].get("trace", {}).get("common_fields", {})
        yield records[1:], common.get("time_format") == "delta"
        return
    for trace in document.get("traces", [document]):
        events = trace["events"]
        if fields := trace.get("event_fields"):
            names = [str(each).lower() for each in fields]
            events = [dict(zip(names, each, strict=False)) for each in events]
        yield events, trace.get("common_fields", {}).get("time_format") == "delta"


def _qlog_window(events: Iterable[Mapping[str, Any]], *, is_delta: bool) -> dict[str, Any] | None:
    rows: list[dict[str, float]] = []
    now_ms, size = 0.0, 0.0
    last: dict[str, float] = {}
    for event in events:
        time_ms = float(event.get("time", event.get("relative_time", event.get("delta_time", 0))))
        now_ms = now_ms + time_ms if is_delta or "delta_time" in event else time_ms
        data = event.get("data", {})
        kind = f"{event.get('name', '')}{event.get('event', event.get('event_type', ''))}"
        if "metrics_updated" in kind:
            last |= {key: float(data[key]) for key in _QLOG_METRICS if key in data}
            rows.append({"time_s": now_ms / 1e3, **last})
        elif "packet_sent" in kind:
            length = data.get("raw", {}).get("length", data.get("header", {}).get("packet_size", 0))
            size = max(size, float(length or 0))
    import pandas as pd  # noqa: PLC0415 - likewise

    table = pd.DataFrame(rows)
    packets = next((table[each] for each in _QLOG_METRICS[:2] if each in table), None)
    if packets is None:
        return None
    rtts = next((table[each] for each in _QLOG_METRICS[2:] if each in table), None)
    return {
        "time_s": table["time_s"].to_numpy(float),
        "packets": packets.ffill().fillna(0).to_numpy(float) / (size or _QUIC_BYTES),
        "rtt_ms": None if rtts is None else rtts.to_numpy(float),
    }


_QLOG_METRICS = (
    *("bytes_in_flight", "congestion_window"),
    *("latest_rtt", "smoothed_rtt", "min_rtt"),
)


def _of_gordon(text: str, name: str, setting: Setting | None) -> list[Window]:
    """Read Gordon's ``windows.csv``: a window in each round."""
    lines = text.split("\n", _GORDON_ROWS)[:-1]
    if len(lines) < _GORDON_ROWS or not all(_GORDON.match(line) for line in lines):
        return []
    table = np.loadtxt(io.StringIO(text), dtype=np.int64, ndmin=2)
    if setting is None:
        step = f"write --setting {name}=NAME, such as 5bw-100rtt-64q"
        raise validation.bad(f"network of {name}", None, "given: it has no times", step)
    window = {
        "time_s": table[:, 2] * setting.rtt_ms / 1e3,
        "packets": table[:, 1].astype(float),
        "rtt_ms": np.full(len(table), setting.rtt_ms),
    }
    return _named(name, {"": window}, "windows by round")


#: The kinds of logs.
READERS: tuple[Callable[[str, str, Setting | None], list[Window]], ...] = (
    *(_of_tshark, _of_ss, _of_probe, _of_qlog, _of_gordon),
)


def _named(name: str, windows: Mapping[str, dict[str, Any]], note: str) -> list[Window]:
    """Return the windows of the connections that have several points."""
    long = {ends: each for ends, each in windows.items() if len(each["time_s"]) > _LEAST_POINTS}
    result = []
    for ends, each in long.items():
        time_s = each["time_s"]
        if not np.isfinite(time_s).all() or (np.diff(time_s) < 0).any() or time_s[-1] > _LATEST_S:
            raise validation.bad("times", name, "ascending and finite", "correct the file")
        result.append(
            Window(
                name=name if len(long) == 1 else f"{name} {ends}",
                time_ns=(time_s * 1e9).round().astype(np.int64),
                packets=each["packets"],
                delivered=each.get("delivered"),
                rtt_ms=each.get("rtt_ms"),
                server=ends.partition(" to ")[0].rpartition(":")[0],
                note=note,
            )
        )
    return result


#: Least number of points of a connection.
_LEAST_POINTS = 20


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return datetime.fromisoformat(text.replace(",", ".").replace("Z", "+00:00")).timestamp()
