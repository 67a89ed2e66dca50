# SPDX-License-Identifier: Apache-2.0
"""Recorded queues and windows in all supported file formats.

The kind of a file is recognised by its content. Recordings of the sender's window, such as a single
capture, are converted to the queue that the window implies (:mod:`.window`).
"""

from __future__ import annotations

import io
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.base.errors import EngineError, InputError, ServerError
from ccbench.classify.occupancy import Events, events_of
from ccbench.classify.pcap_pair import queue_between
from ccbench.classify.setting import SETTINGS, Setting
from ccbench.classify.tcp_capture import segments_of, windows_of
from ccbench.classify.web.download import check_download
from ccbench.classify.window import longest_busy_part
from ccbench.classify.window_logs import read_windows
from ccbench.emulate.mahimahi.link_log import LinkLog
from ccbench.emulate.mahimahi.replay import replay
from ccbench.emulate.recording import CommandRecording
from ccbench.experiment.flow import MTU_BYTES
from ccbench.run.run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from ccbench.classify.window import Window
    from ccbench.experiment.bottleneck import Bottleneck
    from ccbench.experiment.scenario import Scenario

__all__ = ["Recording", "read", "read_all"]

#: Maximum relative difference of rate, round-trip time and queue from those of a setting: traces of
#: CCAs differ on other paths.
_TOLERANCE = 0.15

#: Suffixes of captures, of which a pair is one recording.
_CAPTURES = (".pcap", ".pcapng")

#: The first bytes of captures, whatever their suffix.
_CAPTURE_MAGIC = {
    *(b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1"),
    *(b"\xa1\xb2\x3c\x4d", b"\x0a\x0d\x0d\x0a"),
}
#: The first bytes of compressed files, and the programs that decompress them.
_COMPRESSED = {
    b"\x1f\x8b": "gunzip -k",
    b"\xfd7zXZ\0": "unxz -k",
    b"\x28\xb5\x2f\xfd": "unzstd",
    b"BZh": "bunzip2 -k",
    b"PK\3\4": "unzip",
}
#: Number of segments in the reverse direction up to which a capture has data only.
_LEAST_ACKS = 20

#: Latest time in seconds (nanoseconds must fit into 64 bits), and maximum queue in packets.
_LATEST_S, _LONGEST_QUEUE = 9e9, 1e9

_CSV_COLUMNS = ("time_s", "occupancy_packets")
#: Columns of tables of windows, which are not queues.
_WINDOW_COLUMN = re.compile("cwnd|window|inflight|in_flight", re.IGNORECASE)
#: Values of the column ``event``, and their events at a queue.
_CSV_EVENTS = {
    **dict.fromkeys(("in", "enqueue", "+"), "enqueue"),
    **dict.fromkeys(("out", "dequeue", "-"), "dequeue"),
    **dict.fromkeys(("drop", "d"), "drop"),
}
#: The columns of CCAnalyzer's log of a queue, which has no header: whether the packet left, time in
#: nanoseconds, source port and sequence number, size, queue in packets, whether it was dropped, and
#: two counters.
_CCANALYZER = re.compile(r"^[01],\d+,\w+,\w+,\d+,\d+,[01],\d+,\d+\s*$")
#: Largest spread of the intervals of samples, share of rows that are fractions if they are
#: averages, and shortest interval in seconds of samples.
_SPREAD, _FRACTIONS, _LEAST_INTERVAL_S = 0.1, 0.1, 0.005
#: Longest interval of samples in seconds, and in round-trip times.
_LONGEST_INTERVAL_S, _LONGEST_INTERVAL_RTTS = 0.1, 1.1


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """The events at a queue and its setting.

    Parameters
    ----------
    events : DataFrame or mapping of str to ndarray
        Columns ``time_ns`` and ``backlog_packets``, in order of time; ``event`` if known; and
        ``in_flight_packets`` if the sender's window was recorded.
    setting : Setting
        The bottleneck.
    name : str
        Name of the file or files.
    interval_s : float
        Time between two samples in seconds; 0 if every event was recorded.
    average_s : float
        Time in seconds over which each sample is an average; 0 if it is not.
    source : str
        The kind of the recording, for people, if the network is estimated from it.
    server : str
        Address of the sender, if known.
    is_from_start : bool, optional
        Whether the recording contains the start of the connection, if known.
    notes : tuple of str
        Remarks for people, such as pauses that were left out.
    file : str
        Name of the file, if it contains several connections.
    """

    events: Events
    setting: Setting
    name: str = ""
    interval_s: float = 0.0
    average_s: float = 0.0
    source: str = ""
    server: str = ""
    is_from_start: bool | None = None
    notes: tuple[str, ...] = ()
    file: str = ""


def read(
    path: Path, setting: Setting | None = None, settings: Sequence[Setting] = SETTINGS
) -> Recording:
    """Read a recorded queue.

    Parameters
    ----------
    path : Path
        The folder of a run (``ccbench run -o``) or of a command (``ccbench shell -o``), a log of
        mm-link, a CSV file with the columns ``time_s`` and ``occupancy_packets``, or a queue's log
        of CCAnalyzer.
    setting : Setting, optional
        The setting of the recording; by default that of the run or command, or else that in the
        name of the file, such as ``run-5bw-85rtt-64q.csv``.
    settings : sequence of Setting
        Settings that are used for recordings of similar ones.

    Raises
    ------
    InputError
        If the format is not supported, the recording is damaged, or its setting is unknown.
    """
    if CommandRecording.is_in(path):
        command = CommandRecording.load(path)
        if "answers" in command.provenance:
            return _of_server(command, path, setting)
    events, recorded_setting = _content(path)
    if setting is None:
        setting = _nearest(path.name, recorded_setting or Setting.within(path.name), settings)
    interval_s, average_s = _sampling(events) if path.suffix == ".csv" else (0.0, 0.0)
    longest_s = max(_LONGEST_INTERVAL_S, _LONGEST_INTERVAL_RTTS * setting.rtt_ms / 1e3)
    if interval_s > longest_s:
        allowed = f"at most {longest_s:g} s"
        step = "record it more often, or each change"
        raise validation.bad(f"interval of {path.name}", interval_s, allowed, step)
    return Recording(
        events=events,
        setting=setting,
        name=path.name,
        interval_s=interval_s,
        average_s=average_s,
        is_from_start=True if (path / "run.json").is_file() else None,
    )


def read_all(
    paths: Sequence[Path],
    setting: Setting | Mapping[Path, Setting] | None = None,
    settings: Sequence[Setting] = SETTINGS,
) -> list[Recording]:
    """Read files, pairs of captures, and folders of servers.

    Parameters
    ----------
    paths : sequence of Path
        Each a path for :func:`read`; a capture (pcap, pcapng) or a log of a sender's window, of
        which each long connection is a recording; two consecutive captures of the same packets from
        before and after the queue for :func:`ccbench.classify.pcap_pair.queue_between`; or the
        folder of a server (``ccbench classify SERVER``), of whose downloads in each setting all
        valid ones are read.
    setting : Setting or mapping of Path to Setting, optional
        The setting of all or of some of the paths; see :func:`read`. The setting of captures is
        that of either file of the pair. Of a server, only its download in this setting is read.
    settings : sequence of Setting
        See :func:`read`.

    Raises
    ------
    InputError
        See :func:`read`, :func:`~ccbench.classify.pcap_pair.queue_between`,
        :func:`~ccbench.classify.tcp_capture.windows_of` and
        :func:`~ccbench.classify.window_logs.read_windows`.
    """
    recordings = []
    given = setting if isinstance(setting, Mapping) else dict.fromkeys(paths, setting)
    if unused := [str(path) for path in given if path not in paths]:
        allowed = f"one of {', '.join(map(str, paths))}"
        raise validation.bad("file of a setting", unused[0], allowed, "name the file as it is read")
    rest = list(paths)
    while rest:
        path = rest.pop(0)
        _check_uncompressed(path)
        own = given.get(path)
        if downloads := _downloads(path, own):
            recordings += downloads
        elif not _is_capture(path):
            windows = [] if path.is_dir() else _windows(path, own)
            recordings += _of_windows(windows, own, path) or [read(path, own, settings)]
        elif rest and _is_capture(rest[0]) and _are_pair(path, rest[0]):
            after = rest.pop(0)
            recordings.append(_of_pair(path, after, own or given.get(after), settings))
        else:
            recordings += _of_windows(windows_of(segments_of(path), path.name), own, path)
    return recordings


def _of_pair(
    before: Path, after: Path, setting: Setting | None, settings: Sequence[Setting]
) -> Recording:
    """Return the queue between two captures, whose ACKs imply the network if it is not given."""
    name = f"{before.name}, {after.name}"
    given = setting or Setting.within(name)
    notes: tuple[str, ...] = ()
    if given is None and _data_of(before)[1]:
        window = max(windows_of(segments_of(before), before.name), key=lambda each: each.duration_s)
        given = window.setting()
        notes = (f"estimated network {given.name}",)
    chosen = setting or _nearest(name, given, settings)
    return Recording(events=queue_between(before, after), setting=chosen, name=name, notes=notes)


#: Number of bytes from which text is told from other files.
_BEGINNING = 4096


def _is_capture(path: Path) -> bool:
    """Return whether a file is a capture, by its suffix or by its first bytes."""
    return path.suffix in _CAPTURES or _first_bytes(path)[:4] in _CAPTURE_MAGIC


def _check_uncompressed(path: Path) -> None:
    first = _first_bytes(path)
    for magic, program in _COMPRESSED.items():
        if first.startswith(magic):
            raise validation.bad("file", str(path), "uncompressed", f"run `{program} {path}`")


def _first_bytes(path: Path) -> bytes:
    """Return the first bytes of a file; none of what is no file, or cannot be read."""
    if not path.is_file():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(8)
    except OSError:
        return b""


def _are_pair(before: Path, after: Path) -> bool:
    """Return whether two captures have the same data packets, or data only.

    Captures of one direction are a pair in any case, as they are of no use alone.
    """
    (first, has_acks), (second, _) = (_data_of(path) for path in (before, after))
    common = len(first & second)
    return not has_acks or 2 * common > min(len(first), len(second))


def _data_of(path: Path) -> tuple[set[tuple[int, int]], bool]:
    """Return sequence numbers and sizes of the largest flow, and whether it has ACKs."""
    flows: dict[tuple[str, str], set[tuple[int, int]]] = defaultdict(set)
    counts: Counter[tuple[str, str]] = Counter()
    for segment in segments_of(path):
        ends = segment.source, segment.destination
        counts[ends] += 1
        if segment.size:
            flows[ends].add((segment.sequence, segment.size))
    if not flows:
        return set(), False
    largest = max(flows, key=lambda ends: len(flows[ends]))
    return flows[largest], counts[largest[::-1]] > _LEAST_ACKS


def _windows(path: Path, setting: Setting | None) -> list[Window]:
    """Return the windows in a log; none if the file is of another kind."""
    if not path.is_file():
        return []
    try:
        with path.open("rb") as file:
            if b"\0" in file.read(_BEGINNING):
                return []
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    try:
        return read_windows(text, path.name, setting or Setting.within(path.name))
    except InputError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        allowed = "a complete log, as its first lines are of a known kind"
        raise validation.bad("file", str(path), allowed, f"correct it ({error!r})") from error


def _of_windows(windows: Sequence[Window], setting: Setting | None, path: Path) -> list[Recording]:
    """Return the queue that each window of a file implies."""
    file = path.name if len(windows) > 1 else ""
    return [replace(_of_window(each, setting, path), file=file) for each in windows]


def _of_window(window: Window, setting: Setting | None, path: Path) -> Recording:
    """Return the queue that a window implies, in its longest part without pauses."""
    part, pauses_s = longest_busy_part(window)
    given = setting or Setting.within(path.name)
    own = given or part.setting()
    rate_and_rtt = f"{own.bandwidth_mbps:.3g} Mbit/s, {own.rtt_ms:.3g} ms"
    network = f"estimated network {rate_and_rtt}, queue of {own.queue_packets} packets"
    notes = [] if given else [network]
    notes.append(f"{part.duration_s:.1f} s of data")
    if pauses_s:
        kind = "the application pauses" if len(pauses_s) == 1 else "like a video or a browser"
        notes.append(
            f"{len(pauses_s)} pauses of {sum(pauses_s):.1f} s in all ({kind}): "
            f"used the {part.duration_s:.1f} s between two of them"
        )
    interval_s = float(np.median(np.diff(part.time_ns))) / 1e9 if len(part.time_ns) > 1 else 0.0
    return Recording(
        events=part.events(own),
        setting=own,
        name=window.name,
        interval_s=interval_s if interval_s > _LEAST_INTERVAL_S else 0.0,
        source=window.note,
        server=window.server,
        is_from_start=part.is_from_start,
        notes=tuple(notes),
    )


def _sampling(events: Events) -> tuple[float, float]:
    """Return the interval of equally spaced samples, and the time over which they are averages."""
    times_ns = np.asarray(events["time_ns"])
    intervals = np.diff(times_ns) / 1e9
    if not len(intervals) or "event" in events:
        return 0.0, 0.0
    usual = float(np.median(intervals))
    is_usual = np.abs(intervals - usual) <= _SPREAD * usual
    packets = np.asarray(events["backlog_packets"])
    is_fraction = np.abs(packets - np.rint(packets)) > 1e-6  # noqa: PLR2004
    is_average = bool(is_fraction.mean() > _FRACTIONS)
    if usual < _LEAST_INTERVAL_S or is_usual.mean() < 1 - _SPREAD:
        return (usual, usual) if is_average else (0.0, 0.0)
    return usual, usual if is_average else 0.0


def _downloads(path: Path, setting: Setting | None) -> list[Recording]:
    """Return the valid downloads in the folder of a server, or none of another folder."""
    folders = [folder for folder in sorted(path.glob("*/")) if CommandRecording.is_in(folder)]
    valid, errors = [], []
    for folder in folders:
        if setting is None or folder.name == setting.name:
            try:
                valid.append(_of_server(CommandRecording.load(folder), folder, setting))
            except InputError as error:
                errors.append(error)
    if errors and not valid:
        raise errors[0]
    if folders and not valid and setting is not None:
        names = ", ".join(folder.name for folder in folders)
        step = f"choose a setting of {path}"
        raise validation.bad("setting", setting.name, f"one of {names}", step)
    return valid


def _of_server(command: CommandRecording, path: Path, setting: Setting | None) -> Recording:
    """Return the recording of a download from a server, which must be valid."""
    try:
        recorded_setting = Setting.named(command.provenance["setting"])
        check_download(command, recorded_setting)
    except KeyError as error:
        step = "leave it out"
        raise validation.bad("download", str(path), f"one with its {error}", step) from error
    except ServerError as error:
        step = "leave it out, or measure the server again"
        raise validation.bad("download", str(path), f"valid ({error})", step) from error
    if setting not in {None, recorded_setting}:
        assert setting is not None
        allowed = f"{recorded_setting.name}, the setting of {path}"
        raise validation.bad("setting", setting.name, allowed, "leave it out")
    name = f"{path.absolute().parent.name}/{path.name}"
    return Recording(events=command.queue, setting=recorded_setting, name=name, is_from_start=True)


def _check_path(path: Path, scenario: Scenario) -> None:
    """Check that a run's path has one setting, and that its queue has data only.

    Noise is accepted, jitter of Wi-Fi as well, as the paths of servers have it. It is not part of
    the setting, and traces that it changes too much are unknown.
    """
    if (
        scenario.path.changes
        or scenario.path.rtt_trace is not None
        or any(flow.is_reverse for flow in scenario.flows)
    ):
        allowed = "a run without changes of the path, rtt_trace and flows in the reverse direction"
        raise validation.bad("folder", str(path), allowed, "classify another run")
    if scenario.path.mtu_bytes != MTU_BYTES:
        allowed = f"a run with mtu_bytes = {MTU_BYTES}, as that of the training set"
        raise validation.bad("folder", str(path), allowed, "classify another run")


def _content(path: Path) -> tuple[Events, Setting | None]:
    """Return the events in a file or folder, and its setting if it contains one."""
    if not path.exists():
        raise validation.bad("file", str(path), "an existing file", "name a recorded queue")
    if (path / "run.json").is_file():
        run = Run.load(path)
        _check_path(path, run.scenario)
        link = _of_link(run.scenario.path.bottlenecks[0], run.scenario.path.rtt_ms)
        return events_of(run), link
    if CommandRecording.is_in(path):
        command = CommandRecording.load(path)
        return command.queue, _of_link(command.bottleneck, command.provenance["rtt_ms"])
    if path.is_dir():
        allowed = "the folder of a run, a command or a server"
        step = "name a folder written by `ccbench run -o`, `ccbench shell -o` or `ccbench classify`"
        if captures := sorted(each for each in path.iterdir() if each.suffix in _CAPTURES):
            step = f"name a capture in it, such as {captures[-1]}"
        raise validation.bad("folder", str(path), allowed, step)
    if path.is_char_device():
        raise validation.bad("file", str(path), "a regular file", "name a recorded queue")
    if path.suffix == ".csv":
        return _from_csv(path), None
    if (events := _from_ccanalyzer(path)) is not None:
        return events, None
    try:
        return replay(LinkLog.read(path)), None
    except EngineError as error:  # a damaged file is an input error
        allowed = "a capture, a CSV file, a log of ss, mm-link or the kernel, a qlog, or a folder"
        raise validation.bad("file", str(path), allowed, f"name one ({error})") from error


def _of_link(link: Bottleneck, rtt_ms: float) -> Setting:
    assert link.queue_packets is not None
    packets = link.queue_packets
    return Setting(bandwidth_mbps=link.mean_mbps, rtt_ms=rtt_ms, queue_packets=packets)


def _nearest(name: str, recorded: Setting | None, settings: Sequence[Setting]) -> Setting:
    """Return the setting that is within the tolerance of the recorded one, or that one itself."""
    if recorded is None:
        names = ", ".join(setting.name for setting in settings)
        allowed = "that of the bottleneck, as neither the file nor its name contains it"
        step = f"write --setting FILE=NAME with its rate, RTT and queue, such as {names}"
        raise validation.bad(f"setting of {name}", None, allowed, step)
    for setting in settings:
        pairs = (
            (recorded.bandwidth_mbps, setting.bandwidth_mbps),
            (recorded.rtt_ms, setting.rtt_ms),
            (recorded.queue_packets, setting.queue_packets),
        )
        if all(abs(actual / nominal - 1) <= _TOLERANCE for actual, nominal in pairs):
            return setting
    return recorded


def _from_csv(path: Path) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415 - most recordings need none

    text = validation.text_file(path, "file")
    table = pd.DataFrame()
    try:
        table = pd.read_csv(io.StringIO(text))
        times_s, packets = (table[name].astype("float64") for name in _CSV_COLUMNS)
    except (OSError, ValueError, KeyError) as error:
        allowed = f"a CSV file with the columns {' and '.join(_CSV_COLUMNS)}, both numbers"
        reason: object = error
        if isinstance(error, KeyError) and any(map(_WINDOW_COLUMN.search, table.columns)):
            allowed = f"{' and '.join(_CSV_COLUMNS)}, as a window is not a queue"
            step = "record windows with ss -tin, tcp:tcp_probe or qlog: see docs/classify.md"
            header = ", ".join(map(str, table.columns))
            raise validation.bad(f"header of {path}", header, allowed, step) from error
        if isinstance(error, KeyError):
            reason = f"there is no column {error}, only {', '.join(map(repr, table.columns))}"
        raise validation.bad("file", str(path), allowed, f"correct it ({reason})") from error
    # Both are false for NaN.
    in_range = times_s.between(0, _LATEST_S).all() and packets.between(0, _LONGEST_QUEUE).all()
    if not in_range or not times_s.is_monotonic_increasing:
        allowed = "ascending finite times from 0, and queues of 0 packets or more"
        raise validation.bad("file", str(path), allowed, "correct it")
    events = pd.DataFrame({"time_ns": (times_s * 1e9).round(), "backlog_packets": packets}).astype(
        {"time_ns": "int64"}
    )
    if "event" in table:
        names = table["event"].astype(str).str.strip().str.lower()
        unknown = sorted(set(names) - set(_CSV_EVENTS))
        if unknown:
            allowed = f"one of {', '.join(_CSV_EVENTS)}"
            raise validation.bad(f"event in {path}", unknown[0], allowed, "correct it")
        events["event"] = names.map(_CSV_EVENTS)
    return events


def _from_ccanalyzer(path: Path) -> pd.DataFrame | None:
    """Return the events in a queue's log of CCAnalyzer, or None of another file."""
    import pandas as pd  # noqa: PLC0415 - likewise

    try:
        with path.open(encoding="utf-8") as file:
            if not _CCANALYZER.match(file.readline(_BEGINNING)):
                return None
        table = pd.read_csv(path, header=None, usecols=[0, 1, 5, 6], dtype="int64")
    except (OSError, UnicodeDecodeError, ValueError):
        return None
    left, times_ns, packets, dropped = (table[column] for column in table.columns)
    event = np.where(dropped == 1, "drop", np.where(left == 1, "dequeue", "enqueue"))
    events = pd.DataFrame({"time_ns": times_ns, "backlog_packets": packets, "event": event})
    return events.sort_values("time_ns", kind="stable").reset_index(drop=True)
