# SPDX-License-Identifier: Apache-2.0
"""Internal state that congestion controls report.

In Linux, a congestion control can report up to 20 bytes of state through inet_diag, which ``ss -i``
displays. Its descriptor assigns names and units to these values (``CCA_INFO`` in
``kernel_modules/include/ccbench_describe.h``), in the order of the columns ``cca_info_0`` to
``cca_info_6`` of a run's samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["COLUMNS", "MAX_BYTES", "Field", "decode", "layout"]

#: Columns of a run's samples.
COLUMNS = tuple(f"cca_info_{i}" for i in range(7))

#: Size of the state that inet_diag reports.
MAX_BYTES = 20


@dataclass(frozen=True)
class Field:
    """A value of the state that a congestion control reports.

    Parameters
    ----------
    name : str
        Name with its unit.
    dtype : str
        NumPy type in the kernel's structure.
    scale : float
        Factor from the kernel's unit.
    """

    name: str
    dtype: str = "u4"
    scale: float = 1


def layout(fields: Sequence[Field]) -> np.dtype[np.void]:
    """Return the structure of the fields, which has no padding.

    Raises
    ------
    ValueError
        If two fields have the same name, or the fields do not fit.
    """
    structure = np.dtype([(field.name, field.dtype) for field in fields])
    if len(fields) > len(COLUMNS) or structure.itemsize > MAX_BYTES:
        raise ValueError(f"more than {len(COLUMNS)} fields or {MAX_BYTES} bytes")
    return structure


def decode(
    fields: Sequence[Field], words: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.float64], ...]:
    """Decode the state that a congestion control reports.

    Parameters
    ----------
    fields : sequence of Field
        Fields of the congestion control.
    words : numpy.ndarray
        The state from inet_diag in 32-bit words, shape (n, 5).

    Returns
    -------
    tuple of numpy.ndarray
        Arrays of shape (n,), in the order of `fields`.

    Examples
    --------
    >>> fields = (Field("mode", "u1"), Field("role", "u1"), Field("eta", "u2", 0.01))
    >>> words = np.array([[1 | 2 << 8 | 250 << 16, 0, 0, 0, 0]], dtype=np.uint32)
    >>> [float(values[0]) for values in decode(fields, words)]
    [1.0, 2.0, 2.5]
    """
    structure = layout(fields)
    rest: Any = words.dtype.itemsize * words.shape[1] - structure.itemsize
    whole = np.dtype([*structure.descr, ("", "V", rest)]) if rest else structure
    records = np.ascontiguousarray(words).view(whole)[:, 0]
    return tuple(records[field.name] * float(field.scale) for field in fields)
