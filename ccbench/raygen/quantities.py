# SPDX-License-Identifier: Apache-2.0
"""What a gene can be: the quantities of a scenario that a search may vary.

==================  ======================================================================
``bandwidth_mbps``  rate of the link
``trace``           instead of it: a link of varying rate, by the name of its trace
``rtt_ms``          base round-trip time of the beta flows
``queue_bdp``       room in the queue as a multiple of the bandwidth-delay product
``queue_packets``   instead of it: in packets
``alpha_flows``     number of alpha flows (left out: 1)
``beta_flows``      number of beta flows (left out: 1)
``alpha_start_s``   when the alpha flows start (left out: 0)
``beta_start_s``    when the beta flows start (left out: 0, or in the middle if they are short)
``alpha_rtt_ratio`` base round-trip time of the alpha flows as a multiple of the beta flows'
``loss``            probability that a packet is lost at random
``qdisc``           queueing discipline of the bottleneck
``workload``        what the beta flows send: ``"long"`` or ``"short"``
==================  ======================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from ccbench.base.validation import Range

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NUMBERS", "WORDS", "Quantity", "quantity_words"]


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A number of a scenario.

    Attributes
    ----------
    unit : str
        For people.
    limits : Range
        What it may be at all; what else is wrong with a network, the scenario says.
    example : float
    decimals : int
        Values are rounded to this many, unless a gene wants it otherwise.
    whole : bool
        Whether it counts something.
    """

    unit: str
    limits: Range
    example: float
    decimals: int = 0
    whole: bool = False


_ABOVE_0 = Range(0, low_open=True)
_COUNT = Range(1, 100_000)
_START = Range(0, 1_000_000)

#: The numbers that may be genes.
NUMBERS: Mapping[str, Quantity] = MappingProxyType(
    {
        "bandwidth_mbps": Quantity(unit="Mbit/s", limits=_ABOVE_0, example=100, decimals=1),
        "rtt_ms": Quantity(unit="ms", limits=_ABOVE_0, example=40, decimals=1),
        "queue_bdp": Quantity(unit="BDP", limits=_ABOVE_0, example=1, decimals=2),
        "queue_packets": Quantity(unit="packets", limits=_COUNT, example=100, whole=True),
        "alpha_flows": Quantity(unit="flows", limits=_COUNT, example=1, whole=True),
        "beta_flows": Quantity(unit="flows", limits=_COUNT, example=1, whole=True),
        "alpha_start_s": Quantity(unit="s", limits=_START, example=10, whole=True),
        "beta_start_s": Quantity(unit="s", limits=_START, example=10, whole=True),
        "alpha_rtt_ratio": Quantity(unit="", limits=_ABOVE_0, example=2, decimals=2),
        "loss": Quantity(unit="", limits=Range(0, 1, high_open=True), example=0.01, decimals=5),
    }
)

#: The words that may be genes, with an example of each.
WORDS: Mapping[str, str] = MappingProxyType(
    {"qdisc": "droptail", "trace": "cellular.trace", "workload": "long"}
)

_NAMES = {
    "bandwidth_mbps": "link",
    "trace": "link",
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


def quantity_words(name: str, alpha: str, beta: str) -> str:
    """Return the name of a quantity for people; `alpha` and `beta` are the two kinds of flows.

    Examples
    --------
    >>> quantity_words("alpha_flows", "bbr", "cubic")
    'bbr flows'
    """
    return _NAMES.get(name, name).format(alpha=alpha, beta=beta)
