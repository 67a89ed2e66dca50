# SPDX-License-Identifier: Apache-2.0
"""What a report says in sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ccbench.raygen.figures import is_trusted
from ccbench.raygen.gene import Number
from ccbench.raygen.page.tables import title_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.raygen.analysis.predictor import Predictor
    from ccbench.raygen.config import SearchConfig
    from ccbench.raygen.gene import Gene
    from ccbench.raygen.page.cards import Card
    from ccbench.raygen.result import SearchResult

__all__ = [
    "facts",
    "harm_words",
    "heat_map_words",
    "importance_words",
    "importances",
    "lead",
    "unfinished",
    "worst_words",
]

#: A model that explains less of the variance of harm has understood little.
_UNDERSTOOD = 0.3


def lead(result: SearchResult, cards: Sequence[Card]) -> str:
    """Return the first sentences: how much was tried, and what the worst of it is."""
    config = result.config
    first = next((card for card in cards if not math.isnan(card.row["relative_harm"])), None)
    tried = f"{result.networks} networks were tried"
    if first is None:
        return f"{tried}."
    harm = first.row["relative_harm"]
    does = "harms" if harm > 0 else "does not harm"
    return (
        f"{tried}. In the worst, {config.alpha} {does} {config.beta}: relative harm {harm:+.3f} "
        f"with {first.title}."
    )


def unfinished(result: SearchResult) -> str:
    """Return what the search has not done yet; nothing if it has ended."""
    done, planned = len(result.experiments), result.config.planned
    if done < planned:
        return f"{done} of {planned} networks were tried. The same ccbench raygen goes on."
    if result.claims.empty:
        return (
            "The worst networks were not yet run with fresh seeds. The same ccbench raygen goes on."
        )
    return ""


def facts(result: SearchResult) -> dict[str, str]:
    """Return what was searched, how, and by what."""
    config, provenance = result.config, result.provenance
    space = (
        f"{title_of(config, gene)[0]} {_range(gene)}"
        for gene in config.space.genes
        if gene.size > 1
    )
    failed = len(result.failed)
    own = (name if value is True else f"{name} {value}" for name, value in config.strategy_options)
    copies = len(result.experiments) - result.networks
    facts = {
        "strategy": ", ".join([config.strategy, f"population {config.population}", *own]),
        "budget": f"{len(result.experiments)} of {config.planned} networks"
        + (f", {copies} of them copies" if copies else "")
        + (f", {failed} failed" if failed else ""),
        "each run": f"{config.duration_s:g} s"
        + (f", {config.repeat} repetitions" if config.repeat > 1 else ""),
        "noise": config.noise_words,
        "seed": str(config.seed),
        "made by": f"ccbench {provenance['ccbench']}, engine {provenance['engine']}",
    }
    if "kernel_release" in provenance:
        facts["kernel"] = f"Linux {provenance['kernel_release']}"
    return {**facts, "space": "; ".join(space)}


def _range(gene: Gene) -> str:
    if isinstance(gene, Number):
        return f"{gene.low:g} to {gene.high:g} {gene.unit}".removesuffix(" flows").strip()
    return ", ".join(map(str, gene.levels(gene.size)))


def worst_words(result: SearchResult) -> str:
    """Return how the worst networks were measured."""
    if result.claims.empty:
        return "As the search saw them so far. Luck is part of that: the most harmful of many."
    count = result.config.confirm
    return (
        "A search picks the largest of many noisy values, and luck is part of what it picks (the "
        "winner's curse): “the search saw” is too high on average. So the worst were run again "
        f"with {count} fresh {'seed' if count == 1 else 'seeds'} each, and are ranked by the mean "
        "of these, which is not. "
        + (
            "One run has no interval: with two or more, intervals and letters say which differ."
            if count == 1
            else "All intervals (±) hold together with 95 %. Networks that share a letter cannot "
            "be told apart (Welch's test, Holm's correction, 5 %)."
        )
    )


def heat_map_words(result: SearchResult, predictor: Predictor) -> str:
    """Return how to read the heat maps, and how far their predictions can be trusted."""
    explained = f"{max(predictor.explained, 0):.0%} of the variance of harm"
    if is_trusted(result, predictor):
        return (
            "On top, what was measured. In the middle, what a Gaussian process predicts, averaged "
            "over everything else that was varied; below, its prediction for the worst of "
            f"everything else. In experiments that it did not learn from it explains {explained}. "
            "Dots mark where it is unsure: the standard deviation is more than half of that of all "
            "measured harms."
        )
    return (
        "What was measured. Nothing is predicted between these points: that takes 20 networks or "
        "more, and a model that explains 30 % or more of the variance of harm in experiments that "
        f"it did not learn from. Here a model of {result.networks} networks explains {explained}."
    )


def harm_words(low: float, high: float, count: int) -> str:
    """Return how much harm there was in so many networks."""
    if count == 1:
        return f"One network, harm {high:+.3f}."
    return f"{count} networks, harm {low:+.3f} to {high:+.3f}."


def importances(config: SearchConfig, shares: Any) -> list[tuple[str, str, float]]:
    """Return name, share and width of its bar in percent, for each gene."""
    if shares.isna().any():
        return []
    genes = {gene.name: gene for gene in config.space.genes}
    longest = max(float(shares.max()), 1e-9)
    return [
        (title_of(config, genes[name])[0], f"{share:.2f}", round(70 * max(share, 0) / longest, 1))
        for name, share in shares.items()
    ]


def importance_words(explained: float) -> str:
    """Return what importances are, and how far these can be trusted.

    Parameters
    ----------
    explained : float
        Share of the variance of harm that the model explains.
    """
    trust = "" if explained >= _UNDERSTOOD else ": little, so take the numbers with care"
    return (
        "How much worse a model of harm predicts if it is told wrong values of one quantity "
        "(permutation importance). In experiments that it did not learn from, the model explains "
        f"{max(explained, 0):.0%} of the variance of harm{trust}."
    )
