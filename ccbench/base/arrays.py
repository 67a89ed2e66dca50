# SPDX-License-Identifier: Apache-2.0
"""Checks of arrays of numbers, as :mod:`ccbench.base.validation` has them for single values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ccbench.base.validation import Range

__all__ = ["broadcastable", "check_increasing", "numbers"]


def numbers(
    field: str, values: ArrayLike, allowed: Range, *, example: float
) -> NDArray[np.float64]:
    """Return `values` as an array of floats, if all are finite numbers within `allowed`.

    Raises
    ------
    InputError
        For the first value that is none.
    """
    found = np.asarray(values)
    if found.dtype.kind in "iuf" and np.isfinite(found).all():
        extremes = (found.min(), found.max()) if found.size else ()
        if all(extreme in allowed for extreme in extremes):
            return found.astype(float)
    for value in np.asarray(values, dtype=object).flat:
        validation.number(field, value, allowed, example=example)
    return np.asarray(values, dtype=float)


def check_increasing(field: str, values: NDArray[np.float64], step: str) -> None:
    """Make sure that each of `values`, shape (n,), is above the one before it.

    Raises
    ------
    InputError
        For the first one that is not.
    """
    if np.any(early := np.diff(values) <= 0):
        allowed = f"above the one before, {values[:-1][early][0]:g}"
        raise validation.bad(field, float(values[1:][early][0]), allowed, step)


def broadcastable(**arrays: NDArray[np.float64]) -> tuple[int, ...]:
    """Return the shape of these arrays, broadcast against each other.

    Raises
    ------
    InputError
        If their shapes do not fit; it names all of them.
    """
    shapes = tuple(x.shape for x in arrays.values())
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        fields = f"the shape of {', '.join(arrays)}"
        step = "give as many values of each, or one for all"
        raise validation.bad(fields, shapes, "one that NumPy can broadcast", step) from None
