# SPDX-License-Identifier: Apache-2.0
"""Many servers, one after the other: what is known of one is kept, and not asked again."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ccbench.classify.figures import traces_over_nearest
from ccbench.classify.filters import NO_FILTERS
from ccbench.classify.verdict import Verdict
from ccbench.classify.web.download import UTILISATION, check_utilisation
from ccbench.classify.web.folder import ServerFolder
from ccbench.classify.web.server import classify_server
from ccbench.run import plots

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from ccbench.classify.filters import Filters
    from ccbench.classify.setting import Setting
    from ccbench.classify.training_set import TrainingSet
    from ccbench.classify.web.download import Recorder
    from ccbench.classify.web.manners import Manners
    from ccbench.classify.web.server import ServerVerdict
    from ccbench.classify.web.target import Target

__all__ = ["FIGURE", "survey"]

FIGURE = "traces.png"


def survey(  # noqa: PLR0913 - whom, with what, and how
    targets: Sequence[Target],
    known: TrainingSet,
    record: Recorder,
    folder: Path,
    *,
    settings: Sequence[Setting],
    manners: Manners,
    verify: bool = True,
    filters: Filters = NO_FILTERS,
    min_utilisation: float = UTILISATION,
    retry: bool = False,
    provenance: Mapping[str, Any],
    on_step: Callable[[Target, str], None] = lambda _target, _step: None,
) -> Generator[dict[str, Any], None, None]:
    """Classify servers, in their order.

    Parameters
    ----------
    targets : sequence of Target
        Whom to ask.
    known, record, settings, manners, verify, filters, min_utilisation
        As for :func:`~ccbench.classify.web.server.classify_server`.
    folder : Path
        Where each has a folder: its downloads, ``result.json`` and a figure. What was made with the
        same settings, filters, training set and engine is taken from there; otherwise downloads
        that are there are judged again, and only what is missing is asked for.
    retry : bool
        Whether to ask those again that have no label, or for which the emulated link failed: for
        what was no valid trace.
    provenance : mapping
        What every result is to say of what made it.
    on_step : callable, optional
        Is told of each step when it begins.

    Yields
    ------
    dict
        What is in ``result.json``: see
        :meth:`~ccbench.classify.web.server.ServerVerdict.to_dict`, the ``limits`` beyond which
        traces are like no other, what this was made with, and ``provenance``.

    Raises
    ------
    MissingRequirement
        If this machine cannot emulate the link.
    InputError
        If a result in the folder is damaged.
    """
    check_utilisation(min_utilisation)
    compared = filters.known(known, set(settings))
    made = {
        "settings": [setting.name for setting in settings],
        "filters": asdict(filters),
        "min_utilisation": min_utilisation,
        "training": compared.digest,
        "engine": provenance["engine"],
    }
    limits = {one.name: compared.thresholds[one].typical for one in settings}
    about = {"limits": limits, **made, "provenance": dict(provenance)}
    places = [
        ServerFolder(folder / target.folder_name, str(provenance["engine"])) for target in targets
    ]
    for own in places:  # what is damaged is said before anybody is asked
        own.result()
    for target, own in zip(targets, places, strict=True):
        row = own.result()
        if row is not None and retry:
            row = _without_failures(row, own)
        if row is None or any(row.get(name) != value for name, value in made.items()):

            def step(words: str, target: Target = target) -> None:
                on_step(target, words)

            verdict = classify_server(
                target,
                compared,
                record,
                own,
                settings=settings,
                manners=manners,
                verify=verify,
                filters=filters,
                min_utilisation=min_utilisation,
                on_step=step,
            )
            row = {**verdict.to_dict(), **about}
            if verdict.label is not None:
                plots.save(_figure(verdict, compared), own.path / FIGURE)
            own.finish(row)
        yield row


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
