# SPDX-License-Identifier: Apache-2.0
"""Queues that somebody has recorded, in any of the forms that a queue's record has."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from ccbench.base import validation
from ccbench.base.errors import EngineError, InputError, ServerError
from ccbench.classify.pcap_pair import queue_between
from ccbench.classify.setting import SETTINGS, Setting
from ccbench.classify.web.download import check_download
from ccbench.emulate.mahimahi.link_log import LinkLog
from ccbench.emulate.mahimahi.replay import replay
from ccbench.emulate.realtime.recording import Recording as Command
from ccbench.run.run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ccbench.experiment.bottleneck import Bottleneck

__all__ = ["Recording", "read", "read_all"]

#: A path whose rate, round trip or queue is this much away from a setting's is another one: CCAs
#: look different there.
_NEAR = 0.15

#: Captures, of which two are one recording.
_CAPTURES = (".pcap", ".pcapng")

#: Times are counted in nanoseconds, in 64 bits; more packets than that no queue holds.
_LATEST_S, _LONGEST_QUEUE = 9e9, 1e9

_CSV_COLUMNS = ("time_s", "occupancy_packets")


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """What happened at a queue, and where.

    Parameters
    ----------
    events : DataFrame
        Columns ``time_ns`` and ``backlog_packets``, in order.
    setting : Setting
        The bottleneck.
    name : str
        Of what was read.
    """

    events: pd.DataFrame
    setting: Setting
    name: str = ""


def read(
    path: Path, setting: Setting | None = None, settings: Sequence[Setting] = SETTINGS
) -> Recording:
    """Read what somebody has recorded.

    Parameters
    ----------
    path : Path
        The folder of a run (``ccbench run -o``) or of a command (``ccbench shell -o``), a log of
        mm-link, or a CSV file with the columns ``time_s`` and ``occupancy_packets``.
    setting : Setting, optional
        Where it was recorded. Runs and commands know this themselves.
    settings : sequence of Setting
        Those that it may be.

    Raises
    ------
    InputError
        If it is none of all this, or damaged, or the setting is not known.
    """
    if Command.is_in(path):
        command = Command.load(path)
        if "answers" in command.provenance:
            return _of_server(command, path, setting)
    events, where = _content(path)
    if setting is None:
        setting = _like(where, settings)
    return Recording(events=events, setting=setting, name=path.name)


def read_all(
    paths: Sequence[Path], setting: Setting | None = None, settings: Sequence[Setting] = SETTINGS
) -> list[Recording]:
    """Read what somebody has recorded: files, captures in pairs, and servers.

    Parameters
    ----------
    paths : sequence of Path
        Each as for :func:`read`, or two captures one after the other, which are named ``.pcap`` or
        ``.pcapng``: one from before the queue and one from after it, as for
        :func:`ccbench.classify.pcap_pair.queue_between`, or the folder of a server (``ccbench
        classify SERVER``), which has a download for each setting: those that are valid count.
    setting, settings
        As for :func:`read`; captures do not know the setting. Of a server, only its download in
        this setting counts.

    Raises
    ------
    InputError
        As for :func:`read` and :func:`~ccbench.classify.pcap_pair.queue_between`, or if a capture
        has no other beside it.
    """
    found = []
    rest = iter(paths)
    for path in rest:
        if downloads := _downloads(path, setting):
            found += downloads
            continue
        if path.suffix not in _CAPTURES:
            found.append(read(path, setting, settings))
            continue
        after = next(rest, None)
        if after is None or after.suffix not in _CAPTURES:
            allowed = "followed by the one from after the queue"
            raise validation.bad("capture", str(path), allowed, "name both, that from before first")
        where = _like(None, settings) if setting is None else setting
        name = f"{path.name}, {after.name}"
        found.append(Recording(events=queue_between(path, after), setting=where, name=name))
    return found


def _downloads(path: Path, setting: Setting | None) -> list[Recording]:
    """Return the valid downloads in the folder of a server; nothing if it is none."""
    folders = [folder for folder in sorted(path.glob("*/")) if Command.is_in(folder)]
    found, errors = [], []
    for folder in folders:
        if setting is None or folder.name == setting.name:
            try:
                found.append(_of_server(Command.load(folder), folder, setting))
            except InputError as error:
                errors.append(error)
    if errors and not found:
        raise errors[0]
    if folders and not found and setting is not None:
        names = ", ".join(folder.name for folder in folders)
        raise validation.bad("setting", setting.name, f"one of {names}", f"as {path} has no other")
    return found


def _of_server(command: Command, path: Path, setting: Setting | None) -> Recording:
    """Return what was recorded of a server, if it is valid."""
    try:
        where = Setting.named(command.provenance["setting"])
        check_download(command, where)
    except KeyError as error:
        step = "leave it out"
        raise validation.bad("download", str(path), f"one with its {error}", step) from error
    except ServerError as error:
        step = "leave it out, or ask the server again"
        raise validation.bad("download", str(path), f"valid ({error})", step) from error
    if setting not in {None, where}:
        assert setting is not None
        allowed = f"{where.name} for {path}, where that was recorded"
        raise validation.bad("setting", setting.name, allowed, "leave it out")
    name = f"{path.absolute().parent.name}/{path.name}"
    return Recording(events=command.queue, setting=where, name=name)


def _content(path: Path) -> tuple[pd.DataFrame, Setting | None]:
    """Return what a file or folder has, and where it was recorded if it knows."""
    if not path.exists():
        raise validation.bad("file", str(path), "there", "name a record of a queue")
    if (path / "run.json").is_file():
        run = Run.load(path)
        return run.queue_events(), _of_link(run.scenario.bottlenecks[0], run.scenario.rtt_ms)
    if Command.is_in(path):
        command = Command.load(path)
        return command.queue, _of_link(command.bottleneck, command.provenance["rtt_ms"])
    if path.is_dir():
        allowed = "one of a run, of a command or of a server that was observed"
        step = (
            "name what `ccbench run -o` or `ccbench shell -o` has written, or one server's folder"
        )
        raise validation.bad("folder", str(path), allowed, step)
    if path.is_char_device():
        raise validation.bad("file", str(path), "no device", "name a record of a queue")
    if path.suffix == ".csv":
        return _from_csv(path), None
    try:
        return replay(LinkLog.read(path)), None
    except EngineError as error:  # whoever names a file is to blame for what is in it
        allowed = "a log of mm-link, a .csv file, two captures (.pcap, .pcapng), or a folder"
        raise validation.bad("file", str(path), allowed, f"name one ({error})") from error


def _of_link(link: Bottleneck, rtt_ms: float) -> Setting:
    assert link.queue_packets is not None
    packets = link.queue_packets
    return Setting(bandwidth_mbps=link.mean_mbps, rtt_ms=rtt_ms, queue_packets=packets)


def _like(where: Setting | None, settings: Sequence[Setting]) -> Setting:
    """Return the setting that is meant."""
    names = ", ".join(setting.name for setting in settings)
    step = f"name the one that it is like (one of {names})"
    if where is None:
        raise validation.bad("setting", None, "named, as this file does not know it", step)
    for setting in settings:
        pairs = (
            (where.bandwidth_mbps, setting.bandwidth_mbps),
            (where.rtt_ms, setting.rtt_ms),
            (where.queue_packets, setting.queue_packets),
        )
        if all(abs(ours / theirs - 1) <= _NEAR for ours, theirs in pairs):
            return setting
    raise validation.bad("setting", where.name, f"about one of {names}", step)


def _from_csv(path: Path) -> pd.DataFrame:
    text = validation.text_file(path, "file")
    try:
        table = pd.read_csv(io.StringIO(text))
        times_s, packets = (table[name].astype("float64") for name in _CSV_COLUMNS)
    except (OSError, ValueError, KeyError) as error:
        allowed = f"a CSV file with the columns {' and '.join(_CSV_COLUMNS)}, both numbers"
        reason = f"there is no column {error}" if isinstance(error, KeyError) else error
        raise validation.bad("file", str(path), allowed, f"mend it ({reason})") from error
    # Neither is true of NaN.
    fine = times_s.between(0, _LATEST_S).all() and packets.between(0, _LONGEST_QUEUE).all()
    if not fine or not times_s.is_monotonic_increasing:
        allowed = "finite times from 0 on in their order, and queues of 0 packets or more"
        raise validation.bad("file", str(path), allowed, "mend it")
    return pd.DataFrame({"time_ns": (times_s * 1e9).round(), "backlog_packets": packets}).astype(
        {"time_ns": "int64"}
    )
