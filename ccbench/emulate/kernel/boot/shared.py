# SPDX-License-Identifier: Apache-2.0
"""Formats that guest and host share, read from ``kernel_modules/include/ccbench.h``.

Only the part for both is read: constants, enumerations, and structures without padding.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.emulate.kernel.source.home import HEADERS, sources_dir

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy.typing as npt

__all__ = ["constant", "constants", "enumeration", "rows", "structure", "structures", "unset"]

_GUEST_ONLY = "#ifdef __KERNEL__"
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CONSTANT = re.compile(r"^#define CCBENCH_(\w+)\s+(\d+)\s*$", re.MULTILINE)
_ENUMERATION = re.compile(r"^enum ccbench_(\w+) {(.*?)};", re.DOTALL | re.MULTILINE)
_STRUCTURE = re.compile(r"^struct ccbench_(\w+) {(.*?)^};", re.DOTALL | re.MULTILINE)
#: A field: type or fields of its own, name, and length of an array or bits.
_FIELD = re.compile(r"(?:struct ccbench_(\w+)|struct {(.*?)}|(\w+))\s+(\w+)([^;]*);", re.DOTALL)
_ARRAY = re.compile(r"\[(\w*)\]")


@cache
def _text() -> str:
    header = sources_dir() / HEADERS / "ccbench.h"
    common, _, _ = header.read_text(encoding="utf-8").partition(_GUEST_ONLY)
    return _COMMENT.sub("", common)


@cache
def enumeration(name: str) -> tuple[str, ...]:
    """Return the names of an enumeration's values 0, 1, ...

    Examples
    --------
    >>> enumeration("acks")
    ('acks_default', 'acks_delayed', 'acks_every')
    """
    (body,) = (body for found, body in _ENUMERATION.findall(_text()) if found == name)
    return tuple(value.lower() for value in re.findall(r"CCBENCH_(\w+)", body))


@cache
def constants() -> Mapping[str, int]:
    """Return the constants, also those of enumerations, without the prefix CCBENCH_."""
    found = {name: int(value) for name, value in _CONSTANT.findall(_text())}
    for name, _ in _ENUMERATION.findall(_text()):
        found |= {value.upper(): i for i, value in enumerate(enumeration(name))}
    return found


def constant(name: str) -> int:
    """Return a constant.

    Examples
    --------
    >>> constant("CCA_MAX"), constant("ACKS_DELAYED")
    (16, 1)
    """
    return constants()[name]


@cache
def structure(name: str) -> np.dtype[np.void]:
    """Return a structure. The name of a byte that consists of bits is that of the lowest ones.

    Examples
    --------
    >>> structure("message").names, structure("message").itemsize
    (('time_ns', 'bytes'), 16)
    """
    (body,) = (body for found, body in _STRUCTURE.findall(_text()) if found == name)
    return np.dtype([*_fields(body)])


def structures() -> tuple[str, ...]:
    """Return the names of all structures."""
    return tuple(name for name, _ in _STRUCTURE.findall(_text()))


def _fields(body: str) -> Iterator[tuple[str, Any] | tuple[str, Any, int]]:
    bits = 0
    for shared, own, scalar, name, rest in _FIELD.findall(body):
        if ":" in rest:
            bits += int(rest.strip(" :"))
            if bits % 8 != int(rest.strip(" :")) % 8:  # not the first bits of a byte
                continue
        array = _ARRAY.search(rest)
        if array and not array[1]:  # what follows the structure
            continue
        length = (int(array[1]) if array[1].isdecimal() else _length(array[1])) if array else 1
        if scalar == "char":
            yield name, f"S{length}"
            continue
        kind: Any = structure(shared) if shared else np.dtype([*_fields(own)]) if own else None
        kind = kind or f"{scalar[2]}{int(scalar[3:]) // 8}".replace("s", "i")
        yield (name, kind, length) if array else (name, kind)


def _length(name: str) -> int:
    return constant(name.removeprefix("CCBENCH_"))


def unset(name: str) -> dict[str, Any]:
    """Return the fields of a structure with zeros."""
    return dict(zip(structure(name).names or (), np.zeros((), structure(name)).item(), strict=True))


def rows(name: str, values: Iterable[Mapping[str, object]]) -> npt.NDArray[Any]:
    """Return structures with these values, one for each mapping.

    Raises
    ------
    KeyError
        If a field has no value.
    """
    dtype = structure(name)
    fields = dtype.names or ()
    records = [tuple(each[field] for field in fields) for each in values]
    return np.array(records, dtype)
