# SPDX-License-Identifier: Apache-2.0
"""Validation of numeric arrays, and a moving average."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base import validation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ccbench.base.validation import Range

__all__ = ["broadcastable", "check_increasing", "check_row", "exponential_average", "numbers"]


def numbers(
    field: str, values: ArrayLike, allowed: Range, *, example: float
) -> NDArray[np.float64]:
    """Return `values` as an array of floats if all are finite numbers within `allowed`.

    Raises
    ------
    InputError
        For the first invalid value.
    """
    array = np.asarray(values)
    if array.dtype.kind in "iuf" and np.isfinite(array).all():
        extremes = (array.min(), array.max()) if array.size else ()
        if all(extreme in allowed for extreme in extremes):
            return array.astype(float)
    for value in np.asarray(values, dtype=object).flat:
        validation.number(field, value, allowed, example=example)
    return np.asarray(values, dtype=float)


def check_increasing(field: str, values: NDArray[np.float64], step: str) -> None:
    """Check that `values`, shape (n,), increase strictly.

    Raises
    ------
    InputError
        For the first value that is not above its predecessor.
    """
    if np.any(early := np.diff(values) <= 0):
        allowed = f"above the one before, {values[:-1][early][0]:g}"
        raise validation.bad(field, float(values[1:][early][0]), allowed, step)


def broadcastable(**arrays: NDArray[np.float64]) -> tuple[int, ...]:
    """Return the common broadcast shape of these arrays.

    Raises
    ------
    InputError
        If the shapes are incompatible; the message lists all of them.
    """
    shapes = tuple(x.shape for x in arrays.values())
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        fields = f"the shape of {', '.join(arrays)}"
        step = "give as many values of each, or one for all"
        raise validation.bad(fields, shapes, "one that NumPy can broadcast", step) from None


def check_row(field: str, values: NDArray[np.float64], *, step: str, least: int = 0) -> None:
    """Check that an array has one axis of at least `least` values.

    Raises
    ------
    InputError
        If it does not.
    """
    if values.ndim != 1 or values.size < least:
        allowed = f"(n,), n at least {least}" if least else "(n,)"
        raise validation.bad(f"the shape of {field}", values.shape, allowed, step)


def exponential_average(series: NDArray[Any], *, decay: float) -> NDArray[Any]:
    """Return the exponentially weighted moving average of a series, starting at its first value.

    Parameters
    ----------
    series : numpy.ndarray
        At least one value, at equal intervals; the last axis is time.
    decay : float
        Weight of the previous average; a new value has weight `1 - decay`.

    Examples
    --------
    >>> exponential_average(np.array([8.0, 0, 0, 0]), decay=0.5).tolist()
    [8.0, 4.0, 2.0, 1.0]
    """
    from scipy.signal import lfilter  # noqa: PLC0415 - most of a second

    average, _ = lfilter([1 - decay], [1, -decay], series, zi=decay * series[..., :1])
    return np.asarray(average)
