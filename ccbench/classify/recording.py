# SPDX-License-Identifier: Apache-2.0
"""Recorded queues in all supported file formats."""

from __future__ import annotations

import io
from collections.abc import Mapping
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
from ccbench.emulate.recording import Recording as Command
from ccbench.experiment.flow import MTU_BYTES
from ccbench.run.run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ccbench.experiment.bottleneck import Bottleneck
    from ccbench.experiment.scenario import Scenario

__all__ = ["Recording", "read", "read_all"]

#: Maximum relative difference of rate, round-trip time and queue from those of a setting: traces of
#: CCAs differ on other paths.
_TOLERANCE = 0.15

#: Suffixes of captures, of which a pair is one recording.
_CAPTURES = (".pcap", ".pcapng")

#: Latest time in seconds (nanoseconds must fit into 64 bits), and maximum queue in packets.
_LATEST_S, _LONGEST_QUEUE = 9e9, 1e9

_CSV_COLUMNS = ("time_s", "occupancy_packets")


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """The events at a queue and its setting.

    Parameters
    ----------
    events : DataFrame
        Columns ``time_ns`` and ``backlog_packets``, in order of time.
    setting : Setting
        The bottleneck.
    name : str
        Name of the file or files.
    """

    events: pd.DataFrame
    setting: Setting
    name: str = ""


def read(
    path: Path, setting: Setting | None = None, settings: Sequence[Setting] = SETTINGS
) -> Recording:
    """Read a recorded queue.

    Parameters
    ----------
    path : Path
        The folder of a run (``ccbench run -o``) or of a command (``ccbench shell -o``), a log of
        mm-link, or a CSV file with the columns ``time_s`` and ``occupancy_packets``.
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
    if Command.is_in(path):
        command = Command.load(path)
        if "answers" in command.provenance:
            return _of_server(command, path, setting)
    events, recorded_setting = _content(path)
    if setting is None:
        setting = _nearest(recorded_setting or Setting.within(path.name), settings)
    return Recording(events=events, setting=setting, name=path.name)


def read_all(
    paths: Sequence[Path],
    setting: Setting | Mapping[Path, Setting] | None = None,
    settings: Sequence[Setting] = SETTINGS,
) -> list[Recording]:
    """Read files, pairs of captures, and folders of servers.

    Parameters
    ----------
    paths : sequence of Path
        Each a path for :func:`read`; or two consecutive captures with the suffix ``.pcap`` or
        ``.pcapng``, from before and after the queue, for
        :func:`ccbench.classify.pcap_pair.queue_between`; or the folder of a server (``ccbench
        classify SERVER``), of whose downloads in each setting all valid ones are read.
    setting : Setting or mapping of Path to Setting, optional
        The setting of all or of some of the paths; see :func:`read`. The setting of captures is
        that of either file of the pair. Of a server, only its download in this setting is read.
    settings : sequence of Setting
        See :func:`read`.

    Raises
    ------
    InputError
        See :func:`read` and :func:`~ccbench.classify.pcap_pair.queue_between`; or if the second
        capture of a pair is missing.
    """
    recordings = []
    given = setting if isinstance(setting, Mapping) else dict.fromkeys(paths, setting)
    if unused := [str(path) for path in given if path not in paths]:
        allowed = f"one of {', '.join(map(str, paths))}"
        raise validation.bad("file of a setting", unused[0], allowed, "name the file as it is read")
    rest = iter(paths)
    for path in rest:
        own = given.get(path)
        if downloads := _downloads(path, own):
            recordings += downloads
            continue
        if path.suffix not in _CAPTURES:
            recordings.append(read(path, own, settings))
            continue
        after = next(rest, None)
        if after is None or after.suffix not in _CAPTURES:
            allowed = "followed by the capture after the queue"
            raise validation.bad("capture", str(path), allowed, "name BEFORE.pcap AFTER.pcap")
        name = f"{path.name}, {after.name}"
        chosen = own or given.get(after) or _nearest(Setting.within(name), settings)
        events = queue_between(path, after)
        recordings.append(Recording(events=events, setting=chosen, name=name))
    return recordings


def _downloads(path: Path, setting: Setting | None) -> list[Recording]:
    """Return the valid downloads in the folder of a server, or none of another folder."""
    folders = [folder for folder in sorted(path.glob("*/")) if Command.is_in(folder)]
    valid, errors = [], []
    for folder in folders:
        if setting is None or folder.name == setting.name:
            try:
                valid.append(_of_server(Command.load(folder), folder, setting))
            except InputError as error:
                errors.append(error)
    if errors and not valid:
        raise errors[0]
    if folders and not valid and setting is not None:
        names = ", ".join(folder.name for folder in folders)
        step = f"choose a setting of {path}"
        raise validation.bad("setting", setting.name, f"one of {names}", step)
    return valid


def _of_server(command: Command, path: Path, setting: Setting | None) -> Recording:
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
    return Recording(events=command.queue, setting=recorded_setting, name=name)


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


def _content(path: Path) -> tuple[pd.DataFrame, Setting | None]:
    """Return the events in a file or folder, and its setting if it contains one."""
    if not path.exists():
        raise validation.bad("file", str(path), "an existing file", "name a recorded queue")
    if (path / "run.json").is_file():
        run = Run.load(path)
        _check_path(path, run.scenario)
        return run.queue_events(), _of_link(
            run.scenario.path.bottlenecks[0], run.scenario.path.rtt_ms
        )
    if Command.is_in(path):
        command = Command.load(path)
        return command.queue, _of_link(command.bottleneck, command.provenance["rtt_ms"])
    if path.is_dir():
        allowed = "the folder of a run, a command or a server"
        step = "name a folder written by `ccbench run -o`, `ccbench shell -o` or `ccbench classify`"
        raise validation.bad("folder", str(path), allowed, step)
    if path.is_char_device():
        raise validation.bad("file", str(path), "a regular file", "name a recorded queue")
    if path.suffix == ".csv":
        return _from_csv(path), None
    try:
        return replay(LinkLog.read(path)), None
    except EngineError as error:  # a damaged file is an input error
        allowed = "a log of mm-link, a .csv file, two captures (.pcap, .pcapng), or a folder"
        raise validation.bad("file", str(path), allowed, f"name one ({error})") from error


def _of_link(link: Bottleneck, rtt_ms: float) -> Setting:
    assert link.queue_packets is not None
    packets = link.queue_packets
    return Setting(bandwidth_mbps=link.mean_mbps, rtt_ms=rtt_ms, queue_packets=packets)


def _nearest(recorded: Setting | None, settings: Sequence[Setting]) -> Setting:
    """Return the setting that is within the tolerance of the recorded one, or that one itself."""
    if recorded is None:
        names = ", ".join(setting.name for setting in settings)
        allowed = "given, as neither this file nor its name contains it"
        step = f"write --setting FILE=NAME, for example with one of {names}"
        raise validation.bad("setting", None, allowed, step)
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
    text = validation.text_file(path, "file")
    try:
        table = pd.read_csv(io.StringIO(text))
        times_s, packets = (table[name].astype("float64") for name in _CSV_COLUMNS)
    except (OSError, ValueError, KeyError) as error:
        allowed = f"a CSV file with the columns {' and '.join(_CSV_COLUMNS)}, both numbers"
        reason = f"there is no column {error}" if isinstance(error, KeyError) else error
        raise validation.bad("file", str(path), allowed, f"correct it ({reason})") from error
    # Both are false for NaN.
    in_range = times_s.between(0, _LATEST_S).all() and packets.between(0, _LONGEST_QUEUE).all()
    if not in_range or not times_s.is_monotonic_increasing:
        allowed = "ascending finite times from 0, and queues of 0 packets or more"
        raise validation.bad("file", str(path), allowed, "correct it")
    return pd.DataFrame({"time_ns": (times_s * 1e9).round(), "backlog_packets": packets}).astype(
        {"time_ns": "int64"}
    )
