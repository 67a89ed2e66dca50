# SPDX-License-Identifier: Apache-2.0
"""Classification of recorded queues, in one call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.classify.filters import NO_FILTERS
from ccbench.classify.in_flight import in_flight
from ccbench.classify.observation import observed
from ccbench.classify.occupancy import occupancy
from ccbench.classify.recording import read_all
from ccbench.classify.setting import Setting
from ccbench.classify.shape import Shape
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.verdict import has_first_stage, judge
from ccbench.classify.view import STANDARD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ccbench.base.figures import Figure
    from ccbench.classify.filters import Filters
    from ccbench.classify.occupancy import Events
    from ccbench.classify.recording import Recording
    from ccbench.classify.trace import QueueTrace
    from ccbench.classify.verdict import Verdict
    from ccbench.emulate import Engine
    from ccbench.emulate.progress import CampaignProgress

    GivenSetting = str | Setting | Mapping[Path, str | Setting] | Mapping[str, str | Setting] | None

__all__ = ["RecordedQueues", "judge_files"]


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedQueues:
    """Recorded queues of one server, and its CCA.

    Attributes
    ----------
    recordings : tuple of Recording
        The events at each queue.
    traces : tuple of QueueTrace
        The filtered trace of each queue.
    training_set : TrainingSet
        The training set with the same filters.
    verdict : Verdict
        The CCA, with a vote of each trace.
    filters : Filters
        The filters of the traces.
    """

    recordings: tuple[Recording, ...]
    traces: tuple[QueueTrace, ...]
    training_set: TrainingSet
    verdict: Verdict
    filters: Filters

    @classmethod
    def read(  # noqa: PLR0913 - the options of the command
        cls,
        paths: Iterable[str | Path],
        setting: GivenSetting = None,
        *,
        training: str | Path | Engine | None = None,
        filters: Filters = NO_FILTERS,
        training_filters: Filters | None = None,
        on_progress: Callable[[CampaignProgress], None] | None = None,
    ) -> RecordedQueues:
        """Read files and classify them; see :func:`judge_files`."""
        if isinstance(paths, (str, Path)):
            raise validation.bad("paths", str(paths), "a list", f"write [{str(paths)!r}]")
        file, engine = (training, None) if isinstance(training, (str, Path)) else (None, training)
        loaded = TrainingSet.load(PACKAGED if file is None else Path(file))
        given = [Path(path) for path in paths]
        recordings = read_all(given, _resolved(setting), loaded.settings)
        # All recordings are checked before the training, which takes minutes.
        recordings, traces = _observed(recordings, filters, loaded, trains=engine is not None)
        settings = {each.setting for each in recordings}
        if engine is not None:
            from ccbench.classify.on_demand import with_settings  # noqa: PLC0415 - engines

            loaded = with_settings(loaded, settings, engine=engine, on_progress=on_progress)
        has_first = all(has_first_stage(trace, loaded) for trace in traces)
        if has_first or not loaded.has_windows:
            filters, training_filters = (
                each.of_length_of(loaded) for each in (filters, training_filters or filters)
            )
            loaded = training_filters.applied_to(loaded, settings)
            if filters.duration_s != loaded.duration_s:  # their measurements cannot be compared
                traces = tuple(replace(trace, measured=trace.measured[:0]) for trace in traces)
        return cls(
            recordings=tuple(recordings),
            traces=traces,
            training_set=loaded,
            verdict=judge(traces, loaded),
            filters=filters,
        )

    def by_connection(self) -> list[RecordedQueues]:
        """Return the recordings of each server apart, if a capture has connections of several.

        The recordings of one server are judged together.
        """
        servers = dict.fromkeys(each.server for each in self.recordings)
        if len(servers) == 1:
            return [self]
        return [self._of_server(server) for server in servers]

    def _of_server(self, server: str) -> RecordedQueues:
        own = [i for i, each in enumerate(self.recordings) if each.server == server]
        traces = tuple(self.traces[i] for i in own)
        return replace(
            self,
            recordings=tuple(self.recordings[i] for i in own),
            traces=traces,
            verdict=judge(traces, self.training_set),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The file or files of each queue."""
        return tuple(recording.name for recording in self.recordings)

    def shapes(self) -> list[Shape]:
        """Return the shape of the sender's window at each queue, in the part that is compared."""
        return [
            self._shape(recording.events, trace)
            for recording, trace in zip(self.recordings, self.traces, strict=True)
        ]

    def _shape(self, events: Events, trace: QueueTrace) -> Shape:
        setting = trace.setting
        part: dict[str, Any] = dict(self.filters.part(events))
        if trace.view != STANDARD:
            part["duration_s"] = trace.view.length_s
        return Shape.of(occupancy(events, **part), in_flight(events, setting, **part), setting)

    def figure(self, *, every_cca: bool = False, barycentres: bool = False) -> Figure:
        """Draw each trace over the nearest of the training set, or over that of each CCA.

        Traces that the first stage does not compare are drawn alone. With each CCA, the barycentre
        of its traces can be drawn too, which needs tslearn.
        """
        from ccbench.classify import figures  # noqa: PLC0415 - matplotlib

        has_first = all(has_first_stage(trace, self.training_set) for trace in self.traces)
        if every_cca and has_first:
            return figures.traces_over_each(
                self.names, self.traces, self.training_set, barycentres=barycentres
            )
        return figures.traces_over_nearest(self.traces, self.verdict, self.training_set)


def _observed(
    recordings: Sequence[Recording], filters: Filters, training_set: TrainingSet, *, trains: bool
) -> tuple[list[Recording], tuple[QueueTrace, ...]]:
    """Return the traces of recordings.

    A connection that cannot be compared is left out if another one of its file can be.
    """
    seen: list[tuple[Recording, QueueTrace]] = []
    errors: dict[str, InputError] = {}
    for each in recordings:
        try:
            seen.append((each, observed(each, filters, training_set, trains=trains)))
        except InputError as error:
            if not each.file:
                raise
            errors[each.file] = error
    for file, reason in errors.items():
        others = [i for i, (each, _) in enumerate(seen) if each.file == file]
        if not others:
            raise reason
        each, trace = seen[others[0]]
        note = f"another is left out: {reason}"
        seen[others[0]] = replace(each, notes=(*each.notes, note)), trace
    return [each for each, _ in seen], tuple(trace for _, trace in seen)


def _resolved(given: GivenSetting) -> Setting | dict[Path, Setting] | None:
    """Return settings instead of their names."""
    if given is None or isinstance(given, Setting):
        return given
    if isinstance(given, str):
        return Setting.named(given)
    return {
        Path(path): Setting.named(own) if isinstance(own, str) else own
        for path, own in given.items()
    }


def judge_files(
    paths: Iterable[str | Path],
    setting: GivenSetting = None,
    *,
    training: str | Path | Engine | None = None,
    filters: Filters = NO_FILTERS,
    training_filters: Filters | None = None,
) -> Verdict:
    """Identify the CCA of recorded queues, as ``ccbench classify FILE...`` does.

    Parameters
    ----------
    paths : iterable of path
        Files of one server, of any kind that :func:`ccbench.classify.recording.read_all` reads:
        folders of runs, captures, logs of windows, and records of queues.
    setting : str, Setting, or mapping of path to these, optional
        Setting of the recordings, such as ``"5bw-85rtt-64q"``: 5 Mbit/s, 85 ms, 64 packets, of all
        or of some files; by default that of the run, that in the name of the file, or that which a
        capture or log implies.
    training : path or Engine, optional
        Training set, or the engine whose runs are the training set, such as
        ``KernelEngine(kernel="7.3")``, which takes minutes for each setting once. By default, the
        packaged training set.
    filters : Filters
        Filters of the traces.
    training_filters : Filters, optional
        Filters of the training set; by default those of the traces.

    Raises
    ------
    InputError
        If a format is not supported, or the setting of a recording is unknown.

    Examples
    --------
    A pair of captures from before and after a queue:

    .. code-block:: python

        judge_files(["before.pcap", "after.pcap"], "5bw-85rtt-64q").label
    """
    return RecordedQueues.read(
        paths, setting, training=training, filters=filters, training_filters=training_filters
    ).verdict
