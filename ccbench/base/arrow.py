# SPDX-License-Identifier: Apache-2.0
"""Conversion between arrays of NumPy and of Arrow.

Arrow's own conversions import pandas and its compute functions, which takes longer than to read a
table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["from_arrow", "lengths", "to_arrow", "words"]


def to_arrow(values: npt.NDArray[Any], *, missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers as an array of Arrow without copying them.

    Parameters
    ----------
    values : ndarray
    missing : ndarray of bool, optional
        The values that are missing.

    Examples
    --------
    >>> to_arrow(np.array([1, 2]), missing=np.array([True, False])).to_pylist()
    [None, 2]
    """
    numbers = np.ascontiguousarray(values)
    valid = None
    if missing is not None and missing.any():
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    kind = pa.from_numpy_dtype(numbers.dtype)
    return pa.Array.from_buffers(kind, len(numbers), [valid, pa.py_buffer(numbers)])


def words(texts: Sequence[str]) -> pa.Array:
    """Return texts as an array of Arrow.

    Examples
    --------
    >>> words(["enqueue", "drop"]).to_pylist()
    ['enqueue', 'drop']
    """
    data = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, data)], dtype=np.int32)
    buffers = pa.py_buffer(ends), pa.py_buffer(b"".join(data))
    return pa.StringArray.from_buffers(len(data), *buffers)


def from_arrow(array: pa.Array, missing: float | None = None) -> npt.NDArray[Any]:
    """Return the numbers of an array of Arrow; without missing ones, they are not copied.

    Parameters
    ----------
    array : pyarrow.Array
    missing : float, optional
        In place of missing values.

    Examples
    --------
    >>> from_arrow(to_arrow(np.array([1.5, 2.5])), missing=np.nan)
    array([1.5, 2.5])
    """
    valid, numbers = array.buffers()
    part = slice(array.offset, array.offset + len(array))
    values = np.frombuffer(numbers or b"", dtype=array.type.to_pandas_dtype())[part]
    if array.null_count:
        bits = np.unpackbits(np.frombuffer(valid, dtype=np.uint8), bitorder="little")
        values = np.where(bits[part].astype(bool), values, values.dtype.type(missing))
    return values


def lengths(array: pa.Array) -> npt.NDArray[np.int32]:
    """Return the length of each list or binary of an array of Arrow, none of which is missing.

    Examples
    --------
    >>> lengths(words(["enqueue", "drop"]))
    array([7, 4], dtype=int32)
    """
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int32)
    return np.diff(offsets[array.offset : array.offset + len(array) + 1])
