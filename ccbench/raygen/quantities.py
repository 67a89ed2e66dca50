# SPDX-License-Identifier: Apache-2.0
"""Quantities of a scenario that a search can vary: short names, and settings by their paths.

A path is that of the setting in a scenario file, such as ``bottlenecks.0.policer.rate_mbps``,
``reverse_bottlenecks.0.loss`` or ``noise.reverse_jitter_ms``, as in a sweep. ``flows.0`` are the
alpha flows, ``flows.1`` the beta flows: ``flows.1.receiver.window_bytes``. Short names:

==================  ======================================================================
``bandwidth_mbps``  link rate
``trace``           name of a trace of a link of varying rate, instead of ``bandwidth_mbps``
``rtt_ms``          base round-trip time of the beta flows
``queue_bdp``       queue capacity as a multiple of the bandwidth-delay product
``queue_packets``   queue capacity in packets, instead of ``queue_bdp``
``alpha_flows``     number of alpha flows (default: 1)
``beta_flows``      number of beta flows (default: 1)
``alpha_start_s``   start of the alpha flows (default: 0)
``beta_start_s``    start of the beta flows (default: 0; the middle of the run for short flows)
``alpha_rtt_ratio`` base round-trip time of the alpha flows as a multiple of the beta flows'
``loss``            probability of random packet loss
``qdisc``           queueing discipline of the bottleneck
``workload``        workload of the beta flows: ``"long"`` or ``"short"``
==================  ======================================================================

Perturbations have names of their own: :mod:`ccbench.raygen.perturbations`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from ccbench.base.dataclass_dicts import settings
from ccbench.base.validation import Range
from ccbench.experiment.path import NetworkPath
from ccbench.experiment.setting_paths import field_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "NUMBERS",
    "SHORT",
    "WORDS",
    "Quantity",
    "is_of_flows",
    "is_setting",
    "quantity_of",
    "quantity_words",
]


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A number of a scenario.

    Attributes
    ----------
    unit : str
    limits : Range
        Allowed values; the scenario checks further constraints.
    example : float
    decimals : int
        Default number of decimals of values.
    whole : bool
        Whether values are whole numbers.
    """

    unit: str
    limits: Range
    example: float
    decimals: int = 0
    whole: bool = False


_ABOVE_0 = Range(0, low_open=True)
_COUNT = Range(1, 100_000)
_START = Range(0, 1_000_000)

#: Numeric quantities.
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

#: Units of settings by the ends of their names.
_UNITS = {
    "_mbps": "Mbit/s",
    "_ms": "ms",
    "_s": "s",
    "_packets": "packets",
    "_bytes": "bytes",
    "_bdp": "BDP",
}

#: Paths of the settings with short names, in a document of a path.
SHORT: Mapping[str, str] = MappingProxyType(
    {name: f"bottlenecks.0.{name}" for name in ("bandwidth_mbps", "queue_bdp", "queue_packets")}
    | {"trace": "bottlenecks.0.trace", "loss": "bottlenecks.0.loss", "rtt_ms": "rtt_ms"}
    | {"qdisc": "bottlenecks.0.qdisc"}
)


#: Settings of flows that the search, or a short name, determines.
_OF_SEARCH = frozenset({"cca", "count", "extra_rtt_ms", "kind", "label", "start_s", "stop_s"})


def is_of_flows(name: str) -> bool:
    """Return whether a name is the path of a setting of the alpha or the beta flows.

    Examples
    --------
    >>> is_of_flows("flows.1.receiver.window_bytes"), is_of_flows("flows.2.acks")
    (True, False)
    """
    table, _, rest = name.partition(".")
    group, _, setting = rest.partition(".")
    is_free = setting.partition(".")[0] not in _OF_SEARCH
    return table == "flows" and group in ("0", "1") and is_free and field_of(name) is not None


def is_setting(name: str) -> bool:
    """Return whether a name is the path of a setting of a network path.

    Examples
    --------
    >>> is_setting("changes.0.rtt_ms"), is_setting("seed"), is_setting("changes.0.rtt")
    (True, False, False)
    """
    table, _, rest = name.partition(".")
    about = settings(NetworkPath)
    if table not in about or (not rest and name in NUMBERS):
        return False
    is_open = about[table].metadata.get("is_open") or ".qdisc_options." in name
    return bool(rest) if is_open else field_of(name) is not None


def quantity_of(name: str) -> Quantity:
    """Return the numeric quantity of a short name or a path.

    Examples
    --------
    >>> quantity_of("bottlenecks.0.policer.burst_bytes").whole, quantity_of("changes.0.rtt_ms").unit
    (True, 'ms')
    """
    if name in NUMBERS:
        return NUMBERS[name]
    field = field_of(name)
    ends = [unit for end, unit in _UNITS.items() if name.endswith(end)]
    is_whole = field is not None and str(field.type).startswith("int")
    return Quantity(unit=ends[0] if ends else "", limits=Range(), example=1, whole=is_whole)


#: Quantities whose values are words, with an example of each.
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
    """Return the name of a quantity in words, with the names of both CCAs.

    Examples
    --------
    >>> quantity_words("alpha_flows", "bbr", "cubic")
    'bbr flows'
    """
    return _NAMES.get(name, name).format(alpha=alpha, beta=beta)
