# SPDX-License-Identifier: Apache-2.0
"""Observation of a server in every setting, and its verdict (Ware, section 2.3.4)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ccbench.base.errors import EngineError, ServerError
from ccbench.classify.filters import NO_FILTERS
from ccbench.classify.setting import SETTINGS, Setting
from ccbench.classify.verdict import TraceVerdict, Verdict, judge
from ccbench.classify.vote import UNKNOWN
from ccbench.classify.web.download import UTILISATION, check_download, download, utilisation
from ccbench.classify.web.manners import visit
from ccbench.classify.web.site import Site, find_site
from ccbench.classify.web.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ccbench.classify.filters import Filters
    from ccbench.classify.trace import QueueTrace
    from ccbench.classify.training_set import TrainingSet
    from ccbench.classify.web.client import Client
    from ccbench.classify.web.download import Recorder
    from ccbench.classify.web.folder import ServerFolder
    from ccbench.classify.web.manners import Manners
    from ccbench.emulate.recording import CommandRecording

__all__ = ["Observation", "ServerVerdict", "classify_server"]

#: Kinds of errors that would recur in the other settings.
_FINAL_KINDS = {"loopback", "refused", "status", "connections", "tls"}


@dataclass(frozen=True, kw_only=True)
class Observation:
    """An observation of a server in one setting.

    Parameters
    ----------
    setting : Setting
    verdict : TraceVerdict, optional
        Vote of the trace, if it is valid.
    utilisation : float, optional
        Utilisation of the link; None without a download.
    error, kind : str, optional
        Reason for the lack of a valid trace, as a sentence and as a word.
    protocol : str, optional
        Protocol of the download, such as ``"h2"``; None without a response.
    megabytes, seconds : float
        Size and duration of the download.
    trace : QueueTrace, optional
        The trace, if the download is valid.
    """

    setting: Setting
    verdict: TraceVerdict | None = None
    utilisation: float | None = None
    error: str | None = None
    kind: str | None = None
    protocol: str | None = None
    megabytes: float = 0.0
    seconds: float = 0.0
    trace: QueueTrace | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        verdict = {} if self.verdict is None else self.verdict.to_dict()
        names = ("label", "nearest", "distance", "second", "second_distance", "threshold")
        return {
            "setting": self.setting.name,
            **{name: verdict.get(name) for name in names},
            "protocol": self.protocol,
            "utilisation": self.utilisation,
            "error": self.error,
            "kind": self.kind,
            "megabytes": self.megabytes,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, kw_only=True)
class ServerVerdict:
    """The result of a server.

    Parameters
    ----------
    target : Target
        The server as given by the user.
    site : Site, optional
        The server as found on the Internet.
    verdict : Verdict, optional
        The verdict of the valid traces, if there are any.
    error, kind : str, optional
        Reason for the lack of a label, as a sentence and as a word.
    observations : tuple of Observation
    """

    target: Target
    site: Site | None = None
    verdict: Verdict | None = None
    error: str | None = None
    kind: str | None = None
    observations: tuple[Observation, ...] = ()

    @property
    def label(self) -> str | None:
        """A CCA, or unknown; None if there is no valid trace."""
        return None if self.verdict is None else self.verdict.label

    @property
    def votes(self) -> str:
        """Number of valid traces with the label.

        Examples
        --------
        >>> from ccbench.classify.web.target import Target
        >>> ServerVerdict(target=Target.named("example.com")).votes
        '0 of 0'
        """
        labels = [each.verdict.label for each in self.observations if each.verdict is not None]
        return f"{labels.count(self.label or UNKNOWN)} of {len(labels)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``result.json`` as JSON-able values."""
        site = self.site
        return {
            "target": self.target.name,
            "url": self.target.url if site is None else site.target.url,
            "address": None if site is None else site.address,
            "rtt_ms": None if site is None else site.rtt_ms,
            "group": self.target.group,
            "label": self.label,
            "variant": "" if self.verdict is None else self.verdict.variant,
            "reactions": None if self.verdict is None else self.verdict.to_dict()["reactions"],
            "votes": self.votes,
            "error": self.error,
            "kind": self.kind,
            "megabytes": sum(observation.megabytes for observation in self.observations),
            "seconds": sum(observation.seconds for observation in self.observations),
            "traces": [observation.to_dict() for observation in self.observations],
        }


def classify_server(  # noqa: PLR0913 - the settings of a Survey
    target: Target,
    training_set: TrainingSet,
    record: Recorder,
    folder: ServerFolder,
    *,
    settings: Sequence[Setting] = SETTINGS,
    manners: Manners,
    client: Client,
    verify: bool = True,
    filters: Filters = NO_FILTERS,
    min_utilisation: float = UTILISATION,
    on_step: Callable[[str], None] = lambda _: None,
) -> ServerVerdict:
    """Observe a server in every setting, and identify its CCA.

    Parameters
    ----------
    target : Target
    training_set : TrainingSet
        The training set with the same filters, as returned by
        :meth:`~ccbench.classify.filters.Filters.applied_to`.
    record : callable
        See :func:`~ccbench.classify.web.download.download`.
    folder : ServerFolder
        Folder of completed downloads, which are reused.
    settings : sequence of Setting
        The bottlenecks of the observations.
    manners : Manners
        Limits on the load of the server.
    client : Client
        Program of the downloads.
    verify : bool
        Whether to require a valid certificate.
    filters : Filters
        Filters of the traces.
    min_utilisation : float
        Minimum utilisation of the link for a trace to be valid.
    on_step : callable, optional
        Called at the start of each step.

    Returns
    -------
    ServerVerdict
        A server that cannot be observed has an error instead of a label.

    Raises
    ------
    MissingRequirement
        If this machine cannot emulate the link.
    """
    stored = {setting: folder.load(setting) for setting in settings}
    completed = [recording for recording in stored.values() if recording is not None]
    failure = None
    if len(completed) == len(stored):
        site = _stored_site(completed[-1])
    else:
        on_step("connecting")
        try:
            site = find_site(target, manners, verify=verify)
        except ServerError as error:
            if not completed:
                return ServerVerdict(target=target, error=str(error), kind=error.kind)
            site, failure = _stored_site(completed[-1]), error  # stored downloads still vote
    observations: list[Observation] = []
    for setting in settings:
        on_step(setting.name)
        try:
            recording = stored[setting]
            if recording is None and failure is not None:
                raise failure
            if recording is None or recording.provenance["address"] != site.address:
                recording = _downloaded(
                    site, setting, manners, record, client=client, settings=settings
                )
                folder.keep(setting, recording)
        except ServerError as error:
            observation = Observation(setting=setting, error=str(error), kind=error.kind)
        else:
            observation = _observation(recording, setting, filters, min_utilisation)
        observations.append(observation)
        if observation.kind in _FINAL_KINDS:
            break
    return _judged(target, site, observations, training_set)


def _stored_site(recording: CommandRecording) -> Site:
    """Return the site of a stored download."""
    provenance = recording.provenance
    return Site(
        target=Target.named(provenance["url"]),
        address=provenance["address"],
        rtt_ms=provenance["server_rtt_ms"],
        body_bytes=0,
    )


def _downloaded(  # noqa: PLR0913 - those of a download
    site: Site,
    setting: Setting,
    manners: Manners,
    record: Recorder,
    *,
    client: Client,
    settings: Sequence[Setting],
) -> CommandRecording:
    with visit(site.address, manners.pause_s):
        try:
            return download(site, setting, manners, record, client=client, others=settings)
        except EngineError as error:  # other settings may still succeed
            raise ServerError(str(error), "link") from error


def _observation(
    recording: CommandRecording, setting: Setting, filters: Filters, min_utilisation: float
) -> Observation:
    queue = recording.queue
    measured: dict[str, Any] = {
        "setting": setting,
        "utilisation": utilisation(queue, setting),
        "protocol": recording.provenance["answers"]["protocol"] or None,
        "megabytes": float(queue.loc[queue["event"] == "dequeue", "bytes"].sum()) / 1e6,
        "seconds": recording.provenance["seconds"],
    }
    try:
        check_download(recording, setting, min_utilisation)
    except ServerError as error:
        return Observation(**measured, error=str(error), kind=error.kind)
    return Observation(**measured, trace=filters.trace(queue, setting))


def _judged(
    target: Target, site: Site, observations: Sequence[Observation], training_set: TrainingSet
) -> ServerVerdict:
    row = ServerVerdict(target=target, site=site, observations=tuple(observations))
    traces = [observation.trace for observation in observations if observation.trace is not None]
    if not traces:
        first = observations[0]
        return replace(row, error=first.error, kind=first.kind)
    verdict = judge(traces, training_set)
    votes = {vote.setting: vote for vote in verdict.traces}
    judged = tuple(
        replace(observation, verdict=votes.get(observation.setting)) for observation in observations
    )
    return replace(row, verdict=verdict, observations=judged)
