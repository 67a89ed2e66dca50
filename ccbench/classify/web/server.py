# SPDX-License-Identifier: Apache-2.0
"""A server from its name to the verdict, in every setting (Ware, section 2.3.4)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ccbench.base.errors import EngineError, ServerError
from ccbench.classify.filters import NO_FILTERS
from ccbench.classify.setting import SETTINGS, Setting
from ccbench.classify.verdict import TraceVerdict, judge
from ccbench.classify.vote import UNKNOWN
from ccbench.classify.web.download import UTILISATION, check_download, download, utilisation
from ccbench.classify.web.manners import visit
from ccbench.classify.web.site import Site, find_site
from ccbench.classify.web.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt

    from ccbench.classify.filters import Filters
    from ccbench.classify.training_set import TrainingSet
    from ccbench.classify.web.download import Recorder
    from ccbench.classify.web.folder import ServerFolder
    from ccbench.classify.web.manners import Manners
    from ccbench.emulate.realtime.recording import Recording

__all__ = ["Observation", "ServerVerdict", "classify_server"]

#: After these nothing more is to be learnt by asking in other settings.
_LAST_WORDS = {"loopback", "refused", "status", "connections"}


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What was seen of a server in one setting.

    Parameters
    ----------
    setting : Setting
        Where.
    verdict : TraceVerdict, optional
        What the trace tells, if it is valid.
    utilisation : float, optional
        Which part of the link was used; nothing if the server was not asked there.
    error, kind : str, optional
        Why there is no valid trace, in a line and in a word.
    megabytes, seconds : float
        What it took.
    trace : ndarray, optional
        The queue's occupancy, if it is valid.
    """

    setting: Setting
    verdict: TraceVerdict | None = None
    utilisation: float | None = None
    error: str | None = None
    kind: str | None = None
    megabytes: float = 0.0
    seconds: float = 0.0
    trace: npt.NDArray[np.float32] | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        said = {} if self.verdict is None else self.verdict.to_dict()
        names = ("label", "nearest", "distance", "second", "second_distance", "threshold")
        return {
            "setting": self.setting.name,
            **{name: said.get(name) for name in names},
            "utilisation": self.utilisation,
            "error": self.error,
            "kind": self.kind,
            "megabytes": self.megabytes,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, kw_only=True)
class ServerVerdict:
    """What all was found out about a server: a row of results.

    Parameters
    ----------
    target : Target
        Whom was meant.
    site : Site, optional
        Where it was found.
    label : str, optional
        Its CCA, or unknown; nothing if there is no valid trace.
    error, kind : str, optional
        Why there is no label, in a line and in a word.
    observations : tuple of Observation
        The evidence.
    """

    target: Target
    site: Site | None = None
    label: str | None = None
    error: str | None = None
    kind: str | None = None
    observations: tuple[Observation, ...] = ()

    @property
    def votes(self) -> str:
        """How many valid traces are for the label.

        Examples
        --------
        >>> from ccbench.classify.web.target import Target
        >>> ServerVerdict(target=Target.named("example.com")).votes
        '0 of 0'
        """
        said = [one.verdict.label for one in self.observations if one.verdict is not None]
        return f"{said.count(self.label or UNKNOWN)} of {len(said)}"

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values: what ``result.json`` has."""
        site = self.site
        return {
            "target": self.target.name,
            "url": self.target.url if site is None else site.target.url,
            "address": None if site is None else site.address,
            "rtt_ms": None if site is None else site.rtt_ms,
            "group": self.target.group,
            "label": self.label,
            "votes": self.votes,
            "error": self.error,
            "kind": self.kind,
            "megabytes": sum(one.megabytes for one in self.observations),
            "seconds": sum(one.seconds for one in self.observations),
            "traces": [one.to_dict() for one in self.observations],
        }


def classify_server(  # noqa: PLR0913 - whom, with what, and how
    target: Target,
    known: TrainingSet,
    record: Recorder,
    folder: ServerFolder,
    *,
    settings: Sequence[Setting] = SETTINGS,
    manners: Manners,
    verify: bool = True,
    filters: Filters = NO_FILTERS,
    min_utilisation: float = UTILISATION,
    on_step: Callable[[str], None] = lambda _: None,
) -> ServerVerdict:
    """Ask a server in every setting, and say which CCA it runs.

    Parameters
    ----------
    target : Target
        Whom to ask.
    known : TrainingSet
        What its traces are compared with.
    record : callable
        As for :func:`~ccbench.classify.web.download.download`.
    folder : ServerFolder
        Where each download is kept as soon as it is there, and taken from if it is.
    settings : sequence of Setting
        Where to observe it.
    manners : Manners
        How to ask.
    verify : bool
        Whether its certificate has to be valid.
    filters : Filters
        What is done to traces before they are compared. `known` has to be what
        :meth:`~ccbench.classify.filters.Filters.known` makes of a training set.
    min_utilisation : float
        Which part of a link a valid trace has used at least.
    on_step : callable, optional
        Is told of each step when it begins.

    Returns
    -------
    ServerVerdict
        A server that cannot be observed has an error in place of a label.

    Raises
    ------
    MissingRequirement
        If this machine cannot emulate the link.
    """
    kept = {setting: folder.load(setting) for setting in settings}
    there = [recording for recording in kept.values() if recording is not None]
    failure = None
    if len(there) == len(kept):
        site = _known_site(there[-1])
    else:
        on_step("finding it")
        try:
            site = find_site(target, manners, verify=verify)
        except ServerError as error:
            if not there:
                return ServerVerdict(target=target, error=str(error), kind=error.kind)
            site, failure = _known_site(there[-1]), error  # what was observed before still counts
    observations: list[Observation] = []
    for setting in settings:
        on_step(setting.name)
        try:
            recording = kept[setting]
            if recording is None and failure is not None:
                raise failure
            if recording is None or recording.provenance["address"] != site.address:
                recording = _downloaded(site, setting, manners, record)
                folder.keep(setting, recording)
        except ServerError as error:
            seen = Observation(setting=setting, error=str(error), kind=error.kind)
        else:
            seen = _observation(recording, setting, filters, min_utilisation)
        observations.append(seen)
        if seen.kind in _LAST_WORDS:
            break
    return _judged(target, site, observations, known)


def _known_site(recording: Recording) -> Site:
    """Return where a server was when it was observed."""
    about = recording.provenance
    target = Target.named(about["url"])
    return Site(
        target=target, address=about["address"], rtt_ms=about["server_rtt_ms"], body_bytes=0
    )


def _downloaded(site: Site, setting: Setting, manners: Manners, record: Recorder) -> Recording:
    with visit(site.address, manners.pause_s):
        try:
            return download(site, setting, manners, record)
        except EngineError as error:  # the other settings may do better
            raise ServerError(str(error), "link") from error


def _observation(
    recording: Recording, setting: Setting, filters: Filters, min_utilisation: float
) -> Observation:
    queue = recording.queue
    seen: dict[str, Any] = {
        "setting": setting,
        "utilisation": utilisation(queue, setting),
        "megabytes": float(queue.loc[queue["event"] == "dequeue", "bytes"].sum()) / 1e6,
        "seconds": recording.provenance["seconds"],
    }
    try:
        check_download(recording, setting, min_utilisation)
    except ServerError as error:
        return Observation(**seen, error=str(error), kind=error.kind)
    return Observation(**seen, trace=filters.trace(queue))


def _judged(
    target: Target, site: Site, observations: Sequence[Observation], known: TrainingSet
) -> ServerVerdict:
    row = ServerVerdict(target=target, site=site, observations=tuple(observations))
    traces = [(one.setting, one.trace) for one in observations if one.trace is not None]
    if not traces:
        first = observations[0]
        return replace(row, error=first.error, kind=first.kind)
    verdict = judge(traces, known)
    of_setting = {one.setting: one for one in verdict.traces}
    judged = tuple(replace(one, verdict=of_setting.get(one.setting)) for one in observations)
    return replace(row, label=verdict.label, observations=judged)
