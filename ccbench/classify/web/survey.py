# SPDX-License-Identifier: Apache-2.0
"""Surveys of servers, with stored results."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import IO, TYPE_CHECKING, Any

from ccbench import plots
from ccbench.base import result_folders, validation
from ccbench.classify.figures import traces_over_nearest
from ccbench.classify.filters import LEAST_S, NO_FILTERS, Filters
from ccbench.classify.occupancy import DURATION_S
from ccbench.classify.setting import SETTINGS
from ccbench.classify.web.client import ASKED_S, Client
from ccbench.classify.web.download import UTILISATION, check_utilisation, link_of
from ccbench.classify.web.folder import RESULT, ServerFolder
from ccbench.classify.web.h2load import H2Load
from ccbench.classify.web.manners import Manners
from ccbench.classify.web.server import classify_server
from ccbench.emulate.engine import require
from ccbench.emulate.registry import resolve_link

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from ccbench.base.figures import Figure
    from ccbench.classify.setting import Setting
    from ccbench.classify.training_set import TrainingSet
    from ccbench.classify.web.server import ServerVerdict
    from ccbench.classify.web.target import Target
    from ccbench.emulate.engine import Engine, LinkEngine
    from ccbench.emulate.recording import CommandRecording
    from ccbench.experiment.bottleneck import Bottleneck

__all__ = ["FIGURE", "Survey"]

FIGURE = "traces.png"


@dataclass(frozen=True, kw_only=True)
class Survey:
    """A classification of several servers.

    Parameters
    ----------
    targets : sequence of Target
        The servers; see :func:`~ccbench.classify.web.target.read_targets`.
    settings : sequence of Setting
        The bottlenecks of the observations.
    training : Path, optional
        Training set; by default the packaged one.
    filters : Filters
        Filters of the traces.
    manners : Manners
        Limits on the load of each server.
    min_utilisation : float
        Minimum utilisation of the link for a trace to be valid.
    client : Client
        Program of the downloads: h2load, or that of HTTP/3, whose results have other folders.
    verify : bool
        Whether to require valid certificates.

    Raises
    ------
    InputError
        If the downloads take more than the manners allow, or a value is out of range.

    Examples
    --------
    As root, on a machine that forwards packets:

    .. code-block:: python

        manners = Manners(contact="mail@example.com")
        survey = Survey(targets=read_targets(["example.com"]), manners=manners)
        for row in survey.run(Path("servers")):
            print(row["target"], row["label"])
    """

    targets: Sequence[Target]
    settings: Sequence[Setting] = SETTINGS
    training: Path | None = None
    filters: Filters = NO_FILTERS
    manners: Manners = field(default_factory=Manners)
    min_utilisation: float = UTILISATION
    client: Client = field(default_factory=H2Load)
    verify: bool = True

    def __post_init__(self) -> None:
        self.manners.check(self.settings, ASKED_S)
        check_utilisation(self.min_utilisation)
        least_s = self.filters.skip_s + (self.filters.duration_s or LEAST_S)
        if least_s > DURATION_S:
            name = "skip_s" if self.filters.duration_s is None else "duration_s"
            allowed = f"at most {DURATION_S:g} with the other one: servers are observed so long"
            raise validation.bad(name, getattr(self.filters, name), allowed, "observe less")

    def plan(self, folder: Path) -> dict[str, Any]:
        """Return the requests of :meth:`run` as JSON-able values, without sending any.

        Returns
        -------
        dict
            ``servers``: the ``url`` of each server, and whether the folder ``has_result``;
            ``each``: the downloads from each server.

        Raises
        ------
        InputError
            If the training set has no samples of a setting.
        """
        self.filters.of_length_of(self._load(), observed_s=DURATION_S)
        count = len(self.settings)
        return {
            "servers": [
                {"url": target.url, "has_result": (self._folder(folder, target) / RESULT).exists()}
                for target in self.targets
            ],
            "each": {
                "settings": [setting.name for setting in self.settings],
                "seconds_at_least": count * ASKED_S + (count - 1) * self.manners.pause_s,
                "megabytes_at_most": self.manners.check(self.settings, ASKED_S),
                "connections_at_most": count * self.manners.max_connections,
                "user_agent": self.manners.user_agent,
            },
        }

    def run(
        self,
        folder: Path,
        *,
        engine: str | Engine = "mahimahi",
        retry: bool = False,
        on_step: Callable[[Target, str], None] = lambda _target, _step: None,
    ) -> Generator[dict[str, Any], None, None]:
        """Classify the servers in order.

        Parameters
        ----------
        folder : Path
            Folder with a folder for each server: its downloads, ``result.json`` and a figure.
            Stored results with the same settings, filters, training set and engine are reused.
            Otherwise stored downloads are classified again, and only missing ones are requested.
        engine : str or Engine
            The engine of the links to the servers.
        retry : bool
            Whether to repeat invalid downloads of servers that have no label or whose emulated
            link failed.
        on_step : callable, optional
            Called at the start of each step.

        Yields
        ------
        dict
            The content of ``result.json``: see
            :meth:`~ccbench.classify.web.server.ServerVerdict.to_dict`, the ``limits`` above which
            traces are unknown, the survey's settings, and ``provenance``.

        Raises
        ------
        MissingRequirement
            If this machine cannot emulate the links.
        InputError
            If the engine has no such links, the training set no samples of a setting, or a result
            in the folder is damaged.
        """
        links = resolve_link(engine)
        for setting in self.settings:
            with validation.within(f"setting {setting.name}: "):
                links.nearest_link(link_of(setting))
        require([*links.link_checks(), self.client.check(links.user)])
        loaded = self._load()
        provenance = {**links.provenance(), "training": dict(loaded.provenance)}
        filters = self.filters.of_length_of(loaded, observed_s=DURATION_S)
        training_set = filters.applied_to(loaded, set(self.settings))
        result_folders.prepare(folder, None)
        identity = {
            "settings": [setting.name for setting in self.settings],
            "filters": asdict(filters),
            "min_utilisation": self.min_utilisation,
            "training": training_set.digest,
            "engine": links.name,
        }
        thresholds = training_set.thresholds
        limits = {setting.name: thresholds[setting].typical for setting in self.settings}
        common = {"limits": limits, **identity, "provenance": provenance}
        folders = [
            ServerFolder(self._folder(folder, target), links.name) for target in self.targets
        ]
        for own in folders:  # raises for damaged results before the first request
            own.result()
        for target, own in zip(self.targets, folders, strict=True):
            row = own.result()
            if row is not None and retry:
                row = _without_failures(row, own)
            if row is None or any(row.get(name) != value for name, value in identity.items()):
                verdict = self._observe(
                    target,
                    training_set,
                    filters=filters,
                    links=links,
                    folder=own,
                    on_step=on_step,
                )
                row = {**verdict.to_dict(), **common}
                if verdict.label is not None:
                    plots.save(_figure(verdict, training_set), own.path / FIGURE)
                own.finish(row)
            yield row

    def _folder(self, folder: Path, target: Target) -> Path:
        return folder / f"{target.folder_name}{self.client.suffix}"

    def _load(self) -> TrainingSet:
        """Load the training set, which must have samples of all settings."""
        # Imported after the other checks, as scikit-learn takes seconds.
        from ccbench.classify.training_set import PACKAGED, TrainingSet  # noqa: PLC0415

        training_set = TrainingSet.load(PACKAGED if self.training is None else self.training)
        for setting in self.settings:
            training_set.samples_of(setting)
        return training_set

    def _observe(  # noqa: PLR0913 - all that a server shares with the others
        self,
        target: Target,
        training_set: TrainingSet,
        *,
        filters: Filters,
        links: LinkEngine,
        folder: ServerFolder,
        on_step: Callable[[Target, str], None],
    ) -> ServerVerdict:
        def record(
            command: Sequence[str], link: Bottleneck, rtt_ms: float, *, output: IO[bytes]
        ) -> CommandRecording:
            return links.record(command, links.nearest_link(link), rtt_ms, output=output)

        return classify_server(
            target,
            training_set,
            record,
            folder,
            settings=self.settings,
            manners=self.manners,
            client=self.client,
            verify=self.verify,
            filters=filters,
            min_utilisation=self.min_utilisation,
            on_step=lambda step: on_step(target, step),
        )


def _without_failures(row: dict[str, Any], folder: ServerFolder) -> dict[str, Any] | None:
    """Return a row without failures; otherwise remove its failed downloads and return None."""
    failed = [trace["setting"] for trace in row["traces"] if trace["error"] is not None]
    if row["label"] is not None and all(trace["kind"] != "link" for trace in row["traces"]):
        return row
    for name in failed:
        folder.forget(name)
    return None


def _figure(verdict: ServerVerdict, training_set: TrainingSet) -> Figure:
    assert verdict.verdict is not None
    return traces_over_nearest(
        [each.trace for each in verdict.observations if each.trace is not None],
        verdict.verdict,
        training_set,
        title=f"{verdict.target.name}: {verdict.label}",
    )
