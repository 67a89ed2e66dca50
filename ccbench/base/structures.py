# SPDX-License-Identifier: Apache-2.0
"""Structures of the kernel whose fields have names and units.

NumPy is imported only to decode them, because commands that run nothing describe fields, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

__all__ = ["Field", "decode", "states", "structure"]


@dataclass(frozen=True)
class Field:
    """A field of a structure.

    Parameters
    ----------
    name : str
        Name with its unit.
    dtype : str
        NumPy type in the kernel's structure.
    scale : float
        Factor from the kernel's unit.
    names : tuple of str
        Names of the values 0, 1, ..., if it is a state.
    """

    name: str
    dtype: str = "u4"
    scale: float = 1
    names: tuple[str, ...] = ()


def structure(fields: Sequence[Field]) -> np.dtype[np.void]:
    """Return the structure of the fields, which has no padding.

    Raises
    ------
    ValueError
        If two fields have the same name.
    """
    import numpy as np  # noqa: PLC0415 - see above

    return np.dtype([(field.name, field.dtype) for field in fields])


def states(fields: Sequence[Field]) -> dict[str, list[str]]:
    """Return the names of the values of each field that is a state.

    Examples
    --------
    >>> states((Field("mode", "u1", names=("slow", "fast")), Field("eta", "u2", 0.01)))
    {'mode': ['slow', 'fast']}
    """
    return {field.name: list(field.names) for field in fields if field.names}


def decode(fields: Sequence[Field], records: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    """Decode structures.

    Parameters
    ----------
    fields : sequence of Field
        Fields of the structure.
    records : numpy.ndarray
        The structures in bytes or words, shape (n, length); the rest of a row is ignored.

    Returns
    -------
    tuple of numpy.ndarray
        Arrays of shape (n,), in the order of `fields`.

    Examples
    --------
    >>> import numpy as np
    >>> fields = (Field("mode", "u1"), Field("role", "u1"), Field("eta", "u2", 0.01))
    >>> words = np.array([[1 | 2 << 8 | 250 << 16, 0, 0, 0, 0]], dtype=np.uint32)
    >>> [float(values[0]) for values in decode(fields, words)]
    [1.0, 2.0, 2.5]
    """
    import numpy as np  # noqa: PLC0415 - see above

    layout = structure(fields)
    rest: Any = records.dtype.itemsize * records.shape[1] - layout.itemsize
    whole = np.dtype([*layout.descr, ("", "V", rest)]) if rest else layout
    rows = np.ascontiguousarray(records).view(whole)[:, 0]
    return tuple(rows[field.name] * float(field.scale) for field in fields)
