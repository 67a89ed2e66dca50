# SPDX-License-Identifier: Apache-2.0
"""Surveys of servers, one after the other: results are kept, and not asked for again."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import IO, TYPE_CHECKING, Any

from ccbench.base import result_folders, validation
from ccbench.classify.figures import traces_over_nearest
from ccbench.classify.filters import NO_FILTERS, Filters
from ccbench.classify.setting import SETTINGS
from ccbench.classify.verdict import Verdict
from ccbench.classify.web import download
from ccbench.classify.web.download import ASKED_S, UTILISATION, check_utilisation
from ccbench.classify.web.folder import RESULT, ServerFolder
from ccbench.classify.web.manners import Manners
from ccbench.classify.web.server import classify_server
from ccbench.emulate.engine import require
from ccbench.emulate.registry import resolve_link
from ccbench.run import plots

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from ccbench.classify.setting import Setting
    from ccbench.classify.training_set import TrainingSet
    from ccbench.classify.web.server import ServerVerdict
    from ccbench.classify.web.target import Target
    from ccbench.emulate.engine import Engine, LinkEngine
    from ccbench.emulate.realtime.recording import Recording
    from ccbench.experiment.bottleneck import Bottleneck

__all__ = ["FIGURE", "Survey"]

FIGURE = "traces.png"


@dataclass(frozen=True, kw_only=True)
class Survey:
    """Servers to classify, and how.

    Parameters
    ----------
    targets : sequence of Target
        The servers, such as :func:`~ccbench.classify.web.target.read_targets` returns them.
    settings : sequence of Setting
        The bottlenecks at which to observe them.
    training : Path, optional
        The training set that their traces are compared with; left out, ccbench's own.
    filters : Filters
        Applied to traces before they are compared.
    manners : Manners
        How to ask.
    min_utilisation : float
        The part of a link that a server must use for its trace to count.
    verify : bool
        Whether certificates have to be valid.

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
    verify: bool = True

    def __post_init__(self) -> None:
        self.manners.check(self.settings, ASKED_S)
        check_utilisation(self.min_utilisation)

    def plan(self, folder: Path) -> dict[str, Any]:
        """Return what :meth:`run` would ask for at most, as JSON-able values, and ask nobody.

        Returns
        -------
        dict
            ``servers``: for each its ``url`` and whether the folder ``has_result``; ``each``: the
            downloads from one of them.

        Raises
        ------
        InputError
            If the training set has nothing of a setting.
        """
        self._load()
        count = len(self.settings)
        return {
            "servers": [
                {"url": one.url, "has_result": (folder / one.folder_name / RESULT).exists()}
                for one in self.targets
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
        """Classify the servers, in their order.

        Parameters
        ----------
        folder : Path
            Where each has a folder: its downloads, ``result.json`` and a figure. Results that were
            made with the same settings, filters, training set and engine are taken from there;
            otherwise downloads that are there are judged again, and only missing ones are asked
            for.
        engine : str or Engine
            The engine whose links lead to the servers.
        retry : bool
            Whether to ask those again that have no label, or for which the emulated link failed:
            for invalid traces only.
        on_step : callable, optional
            Is told of each step when it begins.

        Yields
        ------
        dict
            The content of ``result.json``: see
            :meth:`~ccbench.classify.web.server.ServerVerdict.to_dict`, the ``limits`` beyond which
            traces are like no other, the survey's settings, and ``provenance``.

        Raises
        ------
        MissingRequirement
            If this machine cannot emulate the links.
        InputError
            If the engine has no such links, the training set nothing of a setting, or a result in
            the folder is damaged.
        """
        links = resolve_link(engine)
        for setting in self.settings:
            with validation.within(f"setting {setting.name}: "):
                links.nearest_link(download.link_of(setting))
        require(download.checks(links))
        known = self._load()
        provenance = {**links.provenance(), "training": dict(known.provenance)}
        compared = self.filters.known(known, set(self.settings))
        result_folders.prepare(folder, None)
        made = {
            "settings": [setting.name for setting in self.settings],
            "filters": asdict(self.filters),
            "min_utilisation": self.min_utilisation,
            "training": compared.digest,
            "engine": links.name,
        }
        limits = {one.name: compared.thresholds[one].typical for one in self.settings}
        about = {"limits": limits, **made, "provenance": provenance}
        places = [ServerFolder(folder / target.folder_name, links.name) for target in self.targets]
        for own in places:  # what is damaged is said before anybody is asked
            own.result()
        for target, own in zip(self.targets, places, strict=True):
            row = own.result()
            if row is not None and retry:
                row = _without_failures(row, own)
            if row is None or any(row.get(name) != value for name, value in made.items()):
                verdict = self._observe(target, compared, links, own, on_step)
                row = {**verdict.to_dict(), **about}
                if verdict.label is not None:
                    plots.save(_figure(verdict, compared), own.path / FIGURE)
                own.finish(row)
            yield row

    def _load(self) -> TrainingSet:
        """Return the training set, which must have samples of all settings."""
        # Not before the rest has been checked: scikit-learn takes seconds.
        from ccbench.classify.training_set import PACKAGED, TrainingSet  # noqa: PLC0415

        known = TrainingSet.load(PACKAGED if self.training is None else self.training)
        for setting in self.settings:
            known.samples_of(setting)
        return known

    def _observe(
        self,
        target: Target,
        known: TrainingSet,
        links: LinkEngine,
        folder: ServerFolder,
        on_step: Callable[[Target, str], None],
    ) -> ServerVerdict:
        def record(
            command: Sequence[str], link: Bottleneck, rtt_ms: float, *, output: IO[bytes]
        ) -> Recording:
            return links.record(command, links.nearest_link(link), rtt_ms, output=output)

        return classify_server(
            target,
            known,
            record,
            folder,
            settings=self.settings,
            manners=self.manners,
            verify=self.verify,
            filters=self.filters,
            min_utilisation=self.min_utilisation,
            on_step=lambda step: on_step(target, step),
        )


def _without_failures(row: dict[str, Any], folder: ServerFolder) -> dict[str, Any] | None:
    """Return a row that needs no other try; of one that does, what has failed is forgotten."""
    failed = [trace["setting"] for trace in row["traces"] if trace["error"] is not None]
    if row["label"] is not None and all(trace["kind"] != "link" for trace in row["traces"]):
        return row
    for name in failed:
        folder.forget(name)
    return None


def _figure(verdict: ServerVerdict, known: TrainingSet) -> Figure:
    seen = [one for one in verdict.observations if one.verdict is not None]
    return traces_over_nearest(
        [(one.setting, one.trace) for one in seen if one.trace is not None],
        Verdict(
            label=verdict.label or "",
            traces=tuple(one.verdict for one in seen if one.verdict is not None),
        ),
        known,
        title=f"{verdict.target.name}: {verdict.label}",
    )
