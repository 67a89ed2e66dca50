# SPDX-License-Identifier: Apache-2.0
"""Reduction of a scenario to the simplest one that still has a property.

A scenario is given by the values of some of its settings: by their paths in a scenario file, or by
the names of genes. Flows become fewer, durations shorter and numbers round, one setting at a time,
until nothing simpler has the property. Perturbations are left out, or become shorter and weaker.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ccbench.raygen.perturbations import NONE, is_of_perturbations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["DURATIONS_S", "digits", "shrunk"]

#: Durations to which a run may be shortened, in seconds.
DURATIONS_S = (5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300)

#: Leading digits of the roundest numbers.
_ROUND = (1, 2, 5)


def shrunk(
    settings: Mapping[str, Any], shows: Callable[[Mapping[str, Any]], bool]
) -> dict[str, Any]:
    """Return the simplest settings that a greedy search finds to have a property.

    Shrinking the result again changes nothing.

    Parameters
    ----------
    settings : mapping
        Values of settings by name, which have the property. Names that end in ``count`` or
        ``flows`` are numbers of flows, ``duration_s`` is the duration, and those of
        :mod:`~ccbench.raygen.perturbations` are of perturbations; of other settings, numbers become
        round, and words stay.
    shows : callable
        Returns whether settings have the property; equal settings, equal answers.

    Examples
    --------
    >>> found = {"bandwidth_mbps": 36.3, "rtt_ms": 188.6, "alpha_flows": 4, "duration_s": 180}
    >>> shrunk(found, lambda settings: settings["rtt_ms"] > 150)
    {'bandwidth_mbps': 50, 'rtt_ms': 200, 'alpha_flows': 1, 'duration_s': 5}
    """
    current = dict(settings)
    tried: dict[tuple[Any, ...], bool] = {}

    def has(changed: Mapping[str, Any]) -> bool:
        key = tuple(changed.values())
        if key not in tried:
            tried[key] = shows(changed)
        return tried[key]

    names = sorted(current, key=_order)
    is_changed = True
    while is_changed:
        is_changed = False
        for name in names:
            for value in _simpler(name, current[name]):
                if has({**current, name: value}):
                    current[name] = value
                    is_changed = True
                    break
    return current


def digits(value: float) -> int:
    """Return the significant digits of a number; 0 for 1, 2 and 5 times a power of ten.

    Examples
    --------
    >>> digits(50), digits(0.3), digits(36.3), digits(0)
    (0, 1, 3, 0)
    """
    mantissa = f"{abs(value):.11e}".partition("e")[0].replace(".", "").rstrip("0")
    return 0 if mantissa in ("", *map(str, _ROUND)) else len(mantissa)


def _order(name: str) -> int:
    """Return the order of settings: fewer flows and perturbations first, as they save the most."""
    is_first = _is_count(name) or _is_perturbation(name, "kind")
    return 0 if is_first else 2 if name == "duration_s" else 1


def _is_count(name: str) -> bool:
    return name.endswith(("count", "flows"))


def _is_perturbation(name: str, *settings: str) -> bool:
    return is_of_perturbations(name) and name.rpartition(".")[2] in settings


def _simpler(name: str, value: Any) -> Iterator[Any]:
    """Yield simpler values of a setting, the simplest first."""
    if _is_perturbation(name, "kind") and value != NONE:
        yield NONE
    if isinstance(value, (bool, str)) or not isinstance(value, (int, float)):
        return
    if _is_count(name):
        yield from sorted({count for count in (1, value // 2, value - 1) if 1 <= count < value})
    elif name == "duration_s":
        yield from (duration_s for duration_s in DURATIONS_S if duration_s < value)
    elif value:
        if _is_perturbation(name, "lasts_s", "share"):
            yield _plain(float(f"{value / 2:.0e}"))
        yield from _rounder(value)


def _rounder(value: float) -> Iterator[float]:
    """Yield numbers near a value with fewer digits, the roundest first."""
    exponent = math.floor(math.log10(abs(value)))
    steps = sorted(
        (_decimal(digit, power) for power in range(exponent - 1, exponent + 2) for digit in _ROUND),
        key=lambda step: abs(math.log(step / abs(value))),
    )
    rounds = [step if value > 0 else -step for step in steps[:2]]
    rounds += [_plain(float(f"{value:.{places}e}")) for places in (0, 1)]
    for rounder in dict.fromkeys(rounds):
        is_whole = isinstance(value, int) and not float(rounder).is_integer()
        if digits(rounder) < digits(value) and not is_whole:
            yield rounder


def _decimal(digit: int, power: int) -> float:
    return _plain(float(f"{digit}e{power}"))


def _plain(number: float) -> float:
    """Return a whole number as an int, so that it is written without a decimal point."""
    return int(number) if number.is_integer() else number
