# SPDX-License-Identifier: Apache-2.0
"""The report of a search: one page that needs nothing else, and its figures as files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench import emulate
from ccbench.base import durable, validation
from ccbench.base.errors import CcbenchError
from ccbench.raygen.result import SearchResult

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ccbench.emulate import Engine, Store

__all__ = ["REPORT_HTML", "report"]

REPORT_HTML = "report.html"

#: Heat maps that every report has, as far as the space has both genes.
_HEAT_MAPS = (
    ("bandwidth_mbps", "rtt_ms"),
    ("queue_bdp", "alpha_flows"),
    ("queue_bdp", "beta_flows"),
    ("queue_packets", "alpha_flows"),
    ("queue_packets", "beta_flows"),
)
#: Searches can be compared if they agree in these settings.
_COMPARABLE = ("alpha", "beta", "duration_s", "space")


def report(  # noqa: PLR0913 - choices that are independent, all by keyword
    folder: str | Path,
    path: str | Path | None = None,
    *,
    baselines: Iterable[str | Path] = (),
    heatmaps: Iterable[tuple[str, str]] = (),
    engine: str | Engine = "kernel",
    store: Store | None = emulate.DEFAULT_STORE,
) -> tuple[Path, ...]:
    """Write the report of a search.

    Parameters
    ----------
    folder : path
        What the search has left, see :mod:`ccbench.raygen.folder`. It need not be finished.
    path : path, optional
        The page; left out, ``report.html`` in `folder`.
    baselines : iterable of path
        Folders of other searches of the same kind, to be compared with.
    heatmaps : iterable of (str, str)
        Pairs of genes over which harm is drawn, besides bandwidth and round-trip time, and queue
        and numbers of flows.
    engine, store
        As in :func:`ccbench.emulate.run`: where the runs come from that are drawn.

    Returns
    -------
    tuple of Path
        The page, then the figures: each as SVG and PNG in the folder ``figures`` beside the page.
        The page has them within it and needs no other file. The same search gives the same bytes.

    Raises
    ------
    InputError
        If there is no search in a folder, a baseline is of another kind, or there is no such gene.
    CcbenchError
        If no scenario has been measured yet.

    Examples
    --------
    >>> from ccbench import raygen
    >>> _ = raygen.search(config, output_dir="found")  # doctest: +SKIP
    >>> report("found", heatmaps=[("rtt_ms", "queue_bdp")])[0].name  # doctest: +SKIP
    'report.html'
    """
    folder = Path(folder)
    result = SearchResult.load(folder)
    # What draws takes most of a second to import: who named a wrong folder need not wait for it.
    from ccbench.raygen.figures import check_heat_map, predictor_of  # noqa: PLC0415
    from ccbench.raygen.page.cards import cards_of  # noqa: PLC0415
    from ccbench.raygen.page.pictures import (  # noqa: PLC0415
        FIGURES,
        Pictures,
        course_pictures,
        landscape_pictures,
    )
    from ccbench.raygen.page.render import page_of  # noqa: PLC0415

    others = dict(_baseline(result, Path(other)) for other in baselines)
    pairs = list(dict.fromkeys([*_usual_heat_maps(result), *heatmaps]))
    for x, y in pairs:
        check_heat_map(result.config.space, x, y)
    if result.experiments["relative_harm"].isna().all():
        raise CcbenchError(f"no scenario of {folder} has been measured yet: let the search go on")

    path = folder / REPORT_HTML if path is None else Path(path)
    pictures = Pictures(path.parent / FIGURES)
    run = partial(emulate.run, engine=engine, store=store)
    cards = list(cards_of(result, folder, run, pictures))
    course = course_pictures(result, others, pictures)
    predictor = predictor_of(result)
    landscape = landscape_pictures(result, pairs, predictor, pictures)
    page = page_of(result, cards, predictor, course=course, landscape=landscape)
    durable.write_text(path, page)
    return path, *pictures.files


def _baseline(result: SearchResult, folder: Path) -> tuple[str, SearchResult]:
    """Read a search to be compared with; return it and its name."""
    other = SearchResult.load(folder)
    for name in _COMPARABLE:
        ours, theirs = getattr(result.config, name), getattr(other.config, name)
        if ours != theirs:
            if name == "space":
                allowed = "the folder of a search of the same space"
            else:
                allowed = f"the folder of a search with {name} = {ours!r}, not {theirs!r}"
            raise validation.bad("baseline", str(folder), allowed, "name another one, or none")
    return f"{other.config.strategy} ({folder})", other


def _usual_heat_maps(result: SearchResult) -> list[tuple[str, str]]:
    varied = {gene.name for gene in result.config.space.genes if gene.size > 1}
    return [pair for pair in _HEAT_MAPS if varied.issuperset(pair)]
