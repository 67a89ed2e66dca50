# SPDX-License-Identifier: Apache-2.0
"""Search strategies, one module each.

A module sets ``STRATEGY`` to a class derived from
:class:`~ccbench.raygen.strategy.BaseStrategy`, whose attributes ``name`` (that of the module),
`summary` and `settings` describe it. Searches, options, help and documentation read this package;
:mod:`ccbench.raygen` exports the classes for use in Python.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from ccbench.base import validation

if TYPE_CHECKING:
    from ccbench.raygen.strategy import BaseStrategy

__all__ = ["get", "names"]


def names() -> tuple[str, ...]:
    """Return the names of all strategies.

    Examples
    --------
    >>> {"genetic", "random", "surrogate", "sweep"} <= {*names()}
    True
    """
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def get(name: str) -> type[BaseStrategy]:
    """Return the strategy of this name.

    Raises
    ------
    InputError
        If no strategy has this name.

    Examples
    --------
    >>> get("sweep").summary
    'a grid, evenly spaced on the scales of the genes, in random order'
    """
    available = names()
    if name not in available:
        allowed = f"one of {', '.join(available)}"
        raise validation.bad("strategy", name, allowed, validation.choice_hint(name, available))
    strategy: type[BaseStrategy] = importlib.import_module(f"{__name__}.{name}").STRATEGY
    return strategy
