# SPDX-License-Identifier: Apache-2.0
"""Colours and words that the pictures of a search share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ccbench.raygen.config import SearchConfig
    from ccbench.raygen.gene import Gene

__all__ = ["ALPHA_COLOUR", "BETA_COLOUR", "COLOURS", "HARM", "SHOWN", "quantity_name"]

ALPHA_COLOUR = "tab:red"
BETA_COLOUR = "tab:blue"
#: Of baselines: Okabe and Ito's, which all kinds of eyes tell apart.
COLOURS = ("#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9") * 9
HARM = "relative harm"

#: How many of the most harmful scenarios are shown one by one.
SHOWN = 20

_NAMES = {
    "bandwidth_mbps": "link",
    "rtt_ms": "RTT",
    "queue_bdp": "queue",
    "queue_packets": "queue",
    "alpha_flows": "{alpha} flows",
    "beta_flows": "{beta} flows",
    "alpha_start_s": "{alpha} starts at",
    "beta_start_s": "{beta} starts at",
    "alpha_rtt_ratio": "RTT of {alpha} / RTT of {beta}",
    "loss": "random loss",
    "qdisc": "queueing discipline",
}


def quantity_name(config: SearchConfig, gene: Gene) -> str:
    """Return what a gene varies, for people, with its unit.

    Examples
    --------
    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> quantity_name(config, DEFAULT_SPACE.genes[1])  # doctest: +SKIP
    'RTT (ms)'
    """
    name = _NAMES.get(gene.name, gene.name).format(alpha=config.alpha, beta=config.beta)
    return f"{name} ({gene.unit})" if gene.unit not in {"", "flows"} else name
