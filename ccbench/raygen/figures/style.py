# SPDX-License-Identifier: Apache-2.0
"""Colours and names shared by the figures of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.raygen.quantities import quantity_words

if TYPE_CHECKING:
    from ccbench.raygen.config import SearchConfig
    from ccbench.raygen.gene import Gene

__all__ = ["ALPHA_COLOUR", "BETA_COLOUR", "COLOURS", "SHOWN", "quantity_name"]

ALPHA_COLOUR = "tab:red"
BETA_COLOUR = "tab:blue"
#: Colours of baselines: those of Okabe and Ito, which are safe for colour-blind readers.
COLOURS = ("#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9") * 9
#: Number of the most harmful scenarios that are shown individually.
SHOWN = 20


def quantity_name(config: SearchConfig, gene: Gene) -> str:
    """Return the name of a gene's quantity with its unit.

    Examples
    --------
    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> quantity_name(config, DEFAULT_SPACE.genes[1])  # doctest: +SKIP
    'RTT (ms)'
    """
    name = quantity_words(gene.name, config.alpha, config.beta)
    return f"{name} ({gene.unit})" if gene.unit not in {"", "flows"} else name
