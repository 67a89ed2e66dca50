# SPDX-License-Identifier: Apache-2.0
"""Texts of a report."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING, Any

from ccbench.base.counts import counted
from ccbench.raygen.figures import is_trusted
from ccbench.raygen.gene import Number
from ccbench.raygen.page.tables import title_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
    "simplest_words",
    "unfinished",
    "worst_words",
]

#: Minimum fraction of the variance of harm that a reliable model explains.
_RELIABLE = 0.3


def lead(result: SearchResult, cards: Sequence[Card]) -> str:
    """Return the introduction: the number of networks, and the worst of them."""
    config = result.config
    first = next((card for card in cards if not math.isnan(card.row["relative_harm"])), None)
    verb = "was" if result.networks == 1 else "were"
    tried = f"{counted(result.networks, 'network')} {verb} tried"
    if first is None:
        return f"{tried}."
    harm = first.row["relative_harm"]
    claim = config.maximised.claim(config.alpha, config.beta, harm)
    return f"{tried}. In the worst, {claim}: {config.harm_words} {harm:+.3f} with {first.title}."


def simplest_words(result: SearchResult, folder: Path) -> list[dict[str, Any]]:
    """Return the simplest networks with their harm and the commands that repeat them."""
    config = result.config
    return [
        {
            "title": result.describe_simplest(row["rank"]),
            "harm": f"{config.alpha} {row['absolute_harm']:.3f}, {config.beta} "
            f"{row['expected_harm']:.3f}, difference {row['relative_harm']:+.3f} "
            f"± {row['relative_harm_high'] - row['relative_harm']:.3f}",
            "commands": {
                cca: shlex.join(
                    ["ccbench", "run", str(folder / f"simplest-{row['rank']}{end}.toml")]
                )
                for cca, end in ((config.alpha, ""), (config.beta, "-solo"))
            },
        }
        for row in result.simplest[result.simplest["error"] == ""].to_dict("records")
    ]


def unfinished(result: SearchResult) -> str:
    """Return a note about the remaining work of an unfinished search, or an empty string."""
    done, planned = len(result.experiments), result.config.planned
    step = "The same ccbench raygen command continues the search."
    if done < planned:
        return f"{done} of {planned} networks were tried. {step}"
    if result.claims.empty:
        return f"The worst networks have not been run with fresh seeds yet. {step}"
    return ""


def facts(result: SearchResult) -> dict[str, str]:
    """Return the settings and versions of the search."""
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
        "budget": f"{len(result.experiments)} of {counted(config.planned, 'network')}"
        + (f", {copies} of them copies" if copies else "")
        + (f", {failed} failed" if failed else ""),
        "each run": f"{config.duration_s:g} s"
        + (f", {config.repeat} repetitions" if config.repeat > 1 else ""),
        "queue": config.queue_words,
        "noise": config.noise_words,
        "seed": str(config.seed),
        "made by": f"ccbench {provenance['ccbench']}, engine {provenance['engine']}",
    }
    if "kernel_release" in provenance:
        facts["kernel"] = f"Linux {provenance['kernel_release']}"
    if "kernel_name" in provenance:
        facts["kernel"] += f" ({provenance['kernel_name']})"
    return {**facts, "space": "; ".join(space)}


def _range(gene: Gene) -> str:
    if isinstance(gene, Number):
        return f"{gene.low:g} to {gene.high:g} {gene.unit}".removesuffix(" flows").strip()
    return ", ".join(map(str, gene.levels(gene.size)))


def worst_words(result: SearchResult) -> str:
    """Return a description of the measurement of the worst networks."""
    if result.claims.empty:
        return "Harm in the search so far, which is biased upwards by selecting the largest values."
    count = result.config.confirm
    return (
        "A search selects the largest of many noisy values, so “harm in the search” is biased "
        "upwards (the winner's curse). Therefore the worst networks were run again with "
        f"{counted(count, 'fresh seed')} each, and are ranked by the mean over "
        "these, which is unbiased. "
        + (
            "One run has no interval: with two or more, intervals and letters show differences."
            if count == 1
            else "The intervals (±) hold simultaneously with 95 % confidence. Networks that share "
            "a letter do not differ significantly (Welch's test, Holm's correction, 5 %)."
        )
    )


def heat_map_words(result: SearchResult, predictor: Predictor) -> str:
    """Return a description of the heat maps and the reliability of their predictions."""
    explained = f"{max(predictor.explained, 0):.0%} of the variance of harm"
    if is_trusted(result, predictor):
        return (
            "Top: measured harm. Middle: prediction of a Gaussian process, averaged over all other "
            "genes. Bottom: its prediction for the worst values of the other genes. In "
            f"cross-validation it explains {explained}. Dots mark uncertain predictions: their "
            "standard deviation exceeds half of that of all measured harms."
        )
    return (
        "Measured harm. A prediction between the points needs at least 20 networks, and a model "
        "that explains at least 30 % of the variance of harm in cross-validation. Here a model of "
        f"{result.networks} networks explains {explained}."
    )


def harm_words(low: float, high: float, count: int) -> str:
    """Return the range of harm in a number of networks."""
    if count == 1:
        return f"One network, harm {high:+.3f}."
    return f"{count} networks, harm {low:+.3f} to {high:+.3f}."


def importances(config: SearchConfig, shares: Any) -> list[tuple[str, str, float]]:
    """Return the name, the importance and the width of the bar in percent of each gene."""
    if shares.isna().any():
        return []
    genes = {gene.name: gene for gene in config.space.genes}
    longest = max(float(shares.max()), 1e-9)
    return [
        (title_of(config, genes[name])[0], f"{share:.2f}", round(70 * max(share, 0) / longest, 1))
        for name, share in shares.items()
    ]


def importance_words(explained: float) -> str:
    """Return a description of importances and their reliability.

    Parameters
    ----------
    explained : float
        Fraction of the variance of harm that the model explains.
    """
    trust = "" if explained >= _RELIABLE else ", so the numbers are not reliable"
    return (
        "Increase of the error of a model of harm if the values of one quantity are permuted "
        "(permutation importance). In cross-validation, the model explains "
        f"{max(explained, 0):.0%} of the variance of harm{trust}."
    )
