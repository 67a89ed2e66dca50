# SPDX-License-Identifier: Apache-2.0
"""Harm of BBRv3 in random scenarios (Ware 2024, Figure 5.12).

The caption names BBRv1 vs. BBRv3, of which the first is the harmed one; BBRv3's harm to CUBIC
is compared with BBRv1's in the same scenarios (``ware-5.12``). The thesis states no harm of these
pairs. Harm above 0.1 counts, as in ``ware-5.12``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import unbounded
from ccbench.studies.study import Comparison, Findings, SearchStudy
from ccbench.studies.ware.raygen import draw_cdf, labelled, quickly, search_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ccbench.raygen import SearchConfig, SearchResult

_ALPHA = "bbr3"
#: The CCAs that it may harm, and their names.
_BETAS = {"bbr": "BBRv1", "cubic": "CUBIC"}
_LOW = 0.1
_PUBLISHED = unbounded("a curve only", "Figure 5.12")


def _searches(*, quick: bool, full: bool) -> tuple[SearchConfig, ...]:  # noqa: ARG001 - as published
    searches = tuple(search_of(_ALPHA, beta, "random") for beta in _BETAS)
    return tuple(map(quickly, searches[1:])) if quick else searches


def _conclude(results: Sequence[SearchResult]) -> Findings:
    harms = {result.config.beta: result.experiments["relative_harm"].dropna() for result in results}
    return Findings(
        table=pd.concat([labelled(r, r.experiments) for r in results], ignore_index=True),
        figure=_figure(harms),
        comparisons=tuple(
            comparison for beta, values in harms.items() for comparison in _of_pair(beta, values)
        ),
    )


def _of_pair(beta: str, harms: pd.Series[float]) -> Iterator[Comparison]:
    name = _BETAS[beta]
    yield Comparison(
        quantity=f"scenarios in which BBRv3 does harm above {_LOW:g} to {name}",
        measured=100 * float((harms > _LOW).mean()),
        published=_PUBLISHED,
        unit="%",
    )
    yield Comparison(
        quantity=f"relative harm of BBRv3 to {name}, median",
        measured=float(harms.median()),
        published=_PUBLISHED,
        note=f"90th percentile {harms.quantile(0.9):.2f}, largest {harms.max():.2f}.",
    )


def _figure(harms: dict[str, pd.Series[float]]) -> Figure:
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for beta, values in harms.items():
        draw_cdf(axes, values, f"{_BETAS[beta]} vs. BBRv3")
    axes.axvline(0, color="0.6", linewidth=0.8)
    axes.set_xlabel("relative harm to the first-named")
    axes.legend(fontsize="small")
    return figure


STUDY = SearchStudy(
    info=info("ware-5.12-bbr3"),
    searches=_searches,
    conclude=_conclude,
)
