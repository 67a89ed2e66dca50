# SPDX-License-Identifier: Apache-2.0
"""Perturbations of a path: short outages, losses, slow links and cross traffic.

The idea is that of CC-Fuzz (Ray and Seshan, "CC-Fuzz: genetic algorithm-based fuzzing for stress
testing congestion control algorithms", HotNets 2022): a search varies what happens to a link over
time. A gene is one property of the perturbation with a number, by its path:

===========================  =======================================================
``perturbations.0.kind``     one of :data:`KINDS`, or ``none``
``perturbations.0.at_s``     start in seconds
``perturbations.0.lasts_s``  length in seconds
``perturbations.0.share``    strength, above 0 and below 1; an outage has none
===========================  =======================================================
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.base.validation import Range
from ccbench.experiment.change import Change
from ccbench.experiment.flow import Flow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ccbench.experiment.path import NetworkPath

__all__ = [
    "KINDS",
    "NONE",
    "Perturbation",
    "changes",
    "cross_traffic",
    "is_absent",
    "is_of_perturbations",
    "perturbations_of",
    "words",
]

#: Kind of a perturbation that does not take place.
NONE = "none"

#: Kinds of perturbations with their effect in words.
KINDS: Mapping[str, str] = MappingProxyType(
    {
        "loss": "{share:.2g} of the packets are lost",
        "outage": "the link sends nothing",
        "slow": "the link loses {share:.2g} of its rate",
        "traffic": "cross traffic of {share:.2g} of the link's rate",
    }
)

_TABLE = "perturbations"
_SETTINGS = ("kind", "at_s", "lasts_s", "share")
#: Decimals of times and rates in scenarios.
_DECIMALS = 6


@dataclass(frozen=True, kw_only=True, order=True)
class Perturbation:
    """A perturbation of a path.

    Parameters
    ----------
    at_s, lasts_s : float
        Its start and length in seconds.
    kind : str
        One of :data:`KINDS`.
    share : float
        Its strength: the share of packets that is lost, of the link's rate that is missing, or
        cross traffic as a share of the link's rate.

    Raises
    ------
    InputError
        If a setting is out of range.

    Examples
    --------
    >>> Perturbation(at_s=2, lasts_s=0.3, kind="loss", share=0.5).describe()
    '0.5 of the packets are lost from 2 to 2.3 s'
    """

    at_s: float
    lasts_s: float
    kind: str
    share: float = 0.5

    def __post_init__(self) -> None:
        validation.one_of("kind", self.kind, [NONE, *KINDS])
        validation.number("at_s", self.at_s, Range(0, low_open=True), example=2)
        validation.number("lasts_s", self.lasts_s, Range(0, low_open=True), example=0.5)
        within = Range(0, 1, low_open=True, high_open=True)
        validation.number("share", self.share, within, example=0.5)

    @property
    def to_s(self) -> float:
        """Its end in seconds."""
        return round(self.at_s + self.lasts_s, _DECIMALS)

    def describe(self) -> str:
        """Return a description in one line."""
        effect = KINDS[self.kind].format(share=self.share)
        return f"{effect} from {self.at_s:g} to {self.to_s:g} s"


def is_of_perturbations(name: str) -> bool:
    """Return whether a name is the path of a property of a perturbation.

    Examples
    --------
    >>> is_of_perturbations("perturbations.3.at_s"), is_of_perturbations("perturbations.at_s")
    (True, False)
    """
    table, _, rest = name.partition(".")
    number, _, setting = rest.partition(".")
    return table == _TABLE and number.isdecimal() and setting in _SETTINGS


def is_absent(values: Mapping[str, Any], name: str) -> bool:
    """Return whether a name is the kind of a perturbation that does not take place."""
    return is_of_perturbations(name) and values[name] == NONE


def perturbations_of(values: Mapping[str, Any]) -> tuple[Perturbation, ...]:
    """Return the perturbations of values of genes in the order of their starts.

    Raises
    ------
    InputError
        If a property is missing or out of range.

    Examples
    --------
    >>> outage = {"perturbations.0.kind": "outage", "perturbations.0.at_s": 2}
    >>> [one.describe() for one in perturbations_of({**outage, "perturbations.0.lasts_s": 0.5})]
    ['the link sends nothing from 2 to 2.5 s']
    >>> perturbations_of({"rtt_ms": 40, "perturbations.1.kind": "none"})
    ()
    """
    tables: dict[int, dict[str, Any]] = {}
    for name, value in values.items():
        if is_of_perturbations(name):
            _, position, setting = name.split(".")
            tables.setdefault(int(position), {})[setting] = value
    found = []
    for number, table in tables.items():
        if table.get("kind") == NONE:
            continue
        for setting in _SETTINGS[:3]:
            if setting not in table:
                gene = f"{_TABLE}.{number}.{setting}"
                raise InputError(f"gene {gene} is missing: add a table [[genes]]")
        with validation.within(f"{_TABLE}.{number}: "):
            found.append(Perturbation(**table))
    return tuple(sorted(found))


def changes(
    perturbations: Iterable[Perturbation], path: NetworkPath, *, until_s: float
) -> tuple[Change, ...]:
    """Return the changes of a path with these perturbations in the order of time.

    Slow links and losses that overlap multiply; outages that overlap are one. Perturbations after
    `until_s` are left out.

    Raises
    ------
    InputError
        If the link has no constant rate, but is to be slow for a time.

    Examples
    --------
    >>> from ccbench import typical_path
    >>> path = typical_path(bandwidth_mbps=10, rtt_ms=40, queue_bdp=1)
    >>> slow = Perturbation(at_s=2, lasts_s=3, kind="slow", share=0.5)
    >>> slower = Perturbation(at_s=3, lasts_s=1, kind="slow", share=0.8)
    >>> [(c.at_s, c.bandwidth_mbps) for c in changes([slow, slower], path, until_s=10)]
    [(2.0, 5.0), (3.0, 1.0), (4.0, 5.0), (5.0, 10.0)]
    """
    within = [one for one in perturbations if one.at_s < until_s]
    link = path.bottlenecks[0]
    found = [
        Change(at_s=from_s, outage_s=round(to_s - from_s, _DECIMALS))
        for from_s, to_s in _united([one for one in within if one.kind == "outage"])
    ]
    for at_s, left in _levels([one for one in within if one.kind == "loss"]):
        loss = 1 - (1 - (link.loss or 0.0)) * left
        found.append(Change(at_s=at_s, loss=round(loss, _DECIMALS)))
    for at_s, left in _levels([one for one in within if one.kind == "slow"]):
        if link.bandwidth_mbps is None:
            allowed = "outage, loss or traffic, as the link has a trace"
            raise validation.bad("kind", "slow", allowed, "use bandwidth_mbps")
        rate_mbps = link.bandwidth_mbps if left == 1 else link.bandwidth_mbps * left
        found.append(Change(at_s=at_s, bandwidth_mbps=round(rate_mbps, _DECIMALS)))
    in_run = [change for change in found if change.at_s is not None and change.at_s < until_s]
    return tuple(sorted(in_run, key=lambda change: change.at_s or 0.0))


def cross_traffic(
    perturbations: Iterable[Perturbation], path: NetworkPath, *, until_s: float
) -> tuple[Flow, ...]:
    """Return the flows of cross traffic: UDP at constant rates. Those after `until_s` are left out.

    Examples
    --------
    >>> from ccbench import typical_path
    >>> path = typical_path(bandwidth_mbps=10, rtt_ms=40, queue_bdp=1)
    >>> burst = Perturbation(at_s=2, lasts_s=0.5, kind="traffic", share=0.9)
    >>> [(flow.kind, flow.rate_mbps) for flow in cross_traffic([burst], path, until_s=20)]
    [('cbr', 9.0)]
    """
    return tuple(
        Flow(
            kind="cbr",
            rate_mbps=round(one.share * path.bottlenecks[0].mean_mbps, _DECIMALS),
            start_s=one.at_s,
            stop_s=min(one.to_s, until_s),
        )
        for one in perturbations
        if one.kind == "traffic" and one.at_s + path.noise.start_spread_ms / 1e3 < until_s
    )


def words(perturbations: Iterable[Perturbation]) -> str:
    """Return a description of perturbations.

    Examples
    --------
    >>> words([]), words([Perturbation(at_s=1, lasts_s=0.5, kind="outage")])
    ('no perturbation', 'the link sends nothing from 1 to 1.5 s')
    """
    return "; ".join(one.describe() for one in perturbations) or "no perturbation"


def _united(perturbations: Iterable[Perturbation]) -> list[tuple[float, float]]:
    """Return the times of the union of perturbations."""
    found: list[tuple[float, float]] = []
    for one in sorted(perturbations):
        if found and one.at_s <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], one.to_s)
        else:
            found.append((one.at_s, one.to_s))
    return found


def _levels(perturbations: list[Perturbation]) -> list[tuple[float, float]]:
    """Return the product of what each perturbation leaves, from each time at which it changes."""
    times_s = sorted({time for one in perturbations for time in (one.at_s, one.to_s)})
    levels = [
        math.prod(1 - one.share for one in perturbations if one.at_s <= at_s < one.to_s)
        for at_s in times_s
    ]
    before = itertools.chain([1.0], levels)
    return [
        (at_s, level)
        for at_s, level, earlier in zip(times_s, levels, before, strict=False)
        if level != earlier
    ]
