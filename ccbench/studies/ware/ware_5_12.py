# SPDX-License-Identifier: Apache-2.0
"""Harm in random scenarios, by pair of CCAs (Ware 2024, Figure 5.12).

``ware-5.12-bbr3`` has pairs with BBRv3. The thesis calls the tail of Reno against Westwood longer
than that of the other pairs; here a tail is the range of the most harmful tenth of the scenarios,
the flat end of the distribution. "Low" harm is here at most 0.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, unbounded
from ccbench.studies.study import Comparison, Findings, SearchStudy
from ccbench.studies.ware.raygen import draw_cdf, labelled, quickly, search_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.raygen import SearchConfig, SearchResult

#: Alpha, which does the harm, and beta. The pairs discussed in the text come first.
_PAIRS = (
    ("westwood", "reno"),
    ("bbr", "cubic"),
    ("vegas", "cubic"),
    ("bbr", "reno"),
    ("cubic", "reno"),
    ("illinois", "cubic"),
    ("cubic", "bbr"),
)
#: Maximum relative harm that counts as low.
_LOW = 0.1
_WHERE = "section 5.5"


def _searches(*, quick: bool, full: bool) -> tuple[SearchConfig, ...]:  # noqa: ARG001 - as published
    searches = tuple(search_of(alpha, beta, "random") for alpha, beta in _PAIRS)
    return tuple(map(quickly, searches[:3])) if quick else searches


def _conclude(results: Sequence[SearchResult]) -> Findings:
    harms = {
        (result.config.alpha, result.config.beta): result.experiments["relative_harm"].dropna()
        for result in results
    }
    hard = harms["westwood", "reno"]
    tails = {pair: values.max() - values.quantile(0.9) for pair, values in harms.items()}
    others = {pair: tail for pair, tail in tails.items() if pair != ("westwood", "reno")}
    longest = max(others, key=others.__getitem__)
    return Findings(
        table=pd.concat([labelled(r, r.experiments) for r in results], ignore_index=True),
        figure=_figure(harms),
        comparisons=(
            Comparison(
                quantity=f"scenarios in which BBR's harm to CUBIC is above {_LOW:g}",
                measured=100 * float((harms["bbr", "cubic"] > _LOW).mean()),
                published=unbounded("throw a stone and find a harmful one", _WHERE),
                unit="%",
            ),
            Comparison(
                quantity=f"scenarios in which Westwood does harm up to {_LOW:g} to Reno",
                measured=100 * float((hard <= _LOW).mean()),
                published=unbounded("the majority have low harm", _WHERE),
                unit="%",
            ),
            Comparison(
                quantity="tail of Westwood against Reno, minus the longest of the other pairs",
                measured=float(tails["westwood", "reno"] - others[longest]),
                published=at_least(0, _WHERE, text="a longer tail than the other pairs"),
                note="From the 90th percentile to the largest harm. "
                + ", ".join(f"{_name(pair)} {tail:.2f}" for pair, tail in tails.items())
                + ".",
            ),
        ),
    )


def _name(pair: tuple[str, str]) -> str:
    alpha, beta = pair
    return f"{beta} vs. {alpha}"


def _figure(harms: dict[tuple[str, str], pd.Series[float]]) -> Figure:
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for pair, values in harms.items():
        draw_cdf(axes, values, _name(pair), linewidth=2.5 if pair == _PAIRS[0] else 1.2)
    axes.axvline(0, color="0.6", linewidth=0.8)
    axes.set_xlabel("relative harm to the first-named")
    axes.legend(fontsize="small")
    return figure


STUDY = SearchStudy(
    info=info("ware-5.12"),
    searches=_searches,
    conclude=_conclude,
)
