# SPDX-License-Identifier: Apache-2.0
"""Lazy imports of a package's public names."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["lazy_names"]


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package, which imports names on first use.

    Parameters
    ----------
    package : str
        The package's name, for the error about an unknown attribute.
    homes : mapping of str to str
        The module that defines each name.

    Examples
    --------
    >>> lookup = lazy_names("circles", {"pi": "math"})
    >>> lookup("pi")
    3.141592653589793
    >>> lookup("tau")
    Traceback (most recent call last):
    ...
    AttributeError: module 'circles' has no attribute 'tau'
    """

    def lookup(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return lookup
