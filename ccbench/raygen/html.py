# SPDX-License-Identifier: Apache-2.0
"""The report of a search: one self-contained page, and its figures as files."""

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

#: Heat maps of every report whose space has both genes.
_HEAT_MAPS = (
    ("bandwidth_mbps", "rtt_ms"),
    ("queue_bdp", "alpha_flows"),
    ("queue_bdp", "beta_flows"),
    ("queue_packets", "alpha_flows"),
    ("queue_packets", "beta_flows"),
)
#: Settings in which comparable searches must agree.
_COMPARABLE = ("alpha", "beta", "duration_s", "space", "metric", "objective")


def report(  # noqa: PLR0913 - independent options, all by keyword
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
        Folder of the search, which may be unfinished; see :mod:`ccbench.raygen.folder`.
    path : path, optional
        File of the page; by default ``report.html`` in `folder`.
    baselines : iterable of path
        Folders of other searches with the same CCAs, duration and space to compare with.
    heatmaps : iterable of (str, str)
        Pairs of genes for further heat maps, in addition to bandwidth and round-trip time, and
        queue and numbers of flows.
    engine, store
        Engine and store of the drawn runs; see :func:`ccbench.emulate.run`.

    Returns
    -------
    tuple of Path
        The page, then the figures as SVG and PNG in the folder ``figures`` beside the page. The
        page is self-contained. The same search gives the same bytes.

    Raises
    ------
    InputError
        If a folder does not contain a search, a baseline is not comparable, or a gene does not
        exist.
    CcbenchError
        If no scenario has been measured yet.

    Examples
    --------
    >>> from ccbench import raygen
    >>> _ = raygen.search(config, output_dir="search")  # doctest: +SKIP
    >>> report("search", heatmaps=[("rtt_ms", "queue_bdp")])[0].name  # doctest: +SKIP
    'report.html'
    """
    folder = Path(folder)
    result = SearchResult.load(folder)
    # Imports matplotlib, after the check of the folder.
    from ccbench.pages import FIGURES, Pictures  # noqa: PLC0415
    from ccbench.raygen.figures import check_heat_map, predictor_of  # noqa: PLC0415
    from ccbench.raygen.page.cards import cards_of  # noqa: PLC0415
    from ccbench.raygen.page.pictures import (  # noqa: PLC0415
        course_pictures,
        landscape_pictures,
    )
    from ccbench.raygen.page.render import page_of  # noqa: PLC0415

    others = dict(_baseline(result, Path(other)) for other in baselines)
    pairs = list(dict.fromkeys([*_usual_heat_maps(result), *heatmaps]))
    for x, y in pairs:
        check_heat_map(result.config.space, x, y)
    if result.experiments["relative_harm"].isna().all():
        raise CcbenchError(f"no scenario of {folder} has been measured yet: continue the search")

    path = folder / REPORT_HTML if path is None else Path(path)
    pictures = Pictures(path.parent / FIGURES)
    run = partial(emulate.run, engine=engine, store=store)
    cards = list(cards_of(result, folder, run, pictures))
    course = course_pictures(result, others, pictures)
    predictor = predictor_of(result)
    landscape = landscape_pictures(result, pairs, predictor, pictures)
    page = page_of(result, folder, cards, predictor, course=course, landscape=landscape)
    durable.write_text(path, page)
    return path, *pictures.files


def _baseline(result: SearchResult, folder: Path) -> tuple[str, SearchResult]:
    """Read a baseline and check that it is comparable; return its name and result."""
    other = SearchResult.load(folder)
    for name in _COMPARABLE:
        expected, actual = getattr(result.config, name), getattr(other.config, name)
        if actual != expected:
            if name == "space":
                allowed = "the folder of a search of the same space"
            else:
                allowed = f"the folder of a search with {name} = {expected!r}, not {actual!r}"
            raise validation.bad("baseline", str(folder), allowed, "name another search")
    return f"{other.config.strategy} ({folder})", other


def _usual_heat_maps(result: SearchResult) -> list[tuple[str, str]]:
    varied = {gene.name for gene in result.config.space.genes if gene.size > 1}
    return [pair for pair in _HEAT_MAPS if varied.issuperset(pair)]
