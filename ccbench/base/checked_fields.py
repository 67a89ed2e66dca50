# SPDX-License-Identifier: Apache-2.0
"""Validation of the fields of frozen dataclasses, declared in the fields' metadata.

:func:`check_fields` runs all checks and replaces each value by its normal form. Dataclasses have no
converters; those of attrs would add a dependency, turn parameter types into ``Any`` and break
``dataclasses.replace``.

Examples
--------
>>> @dataclasses.dataclass(frozen=True)
... class Path:
...     rtt_ms: float = dataclasses.field(metadata=number(validation.Range(0), example=40))
...
...     def __post_init__(self) -> None:
...         check_fields(self)
>>> Path(rtt_ms=40)
Path(rtt_ms=40.0)
>>> Path(rtt_ms=-1)
Traceback (most recent call last):
...
ccbench.base.errors.InputError: rtt_ms is -1; it must be a number at least 0: ...
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from ccbench.base.validation import Range

__all__ = [
    "check_exactly_one",
    "check_fields",
    "checked",
    "instance_of",
    "number",
    "set_field",
    "whole",
]

_CHECK = "check"

Metadata = Mapping[str, Callable[[str, Any], object]]


def checked(check: Callable[[str, Any], object], *, optional: bool = False) -> Metadata:
    """Return the metadata of a field with a check.

    Parameters
    ----------
    check : callable
        Takes the field's name and value; returns the value in its normal form or raises
        :class:`~ccbench.base.errors.InputError`.
    optional : bool
        Whether None is also allowed.
    """
    if optional:
        return {_CHECK: lambda name, value: None if value is None else check(name, value)}
    return {_CHECK: check}


def number(allowed: Range, *, example: float, optional: bool = False) -> Metadata:
    """Return the metadata of a numeric field with values within `allowed`."""
    return checked(
        lambda name, value: validation.number(name, value, allowed, example=example),
        optional=optional,
    )


def whole(allowed: Range, *, example: int, optional: bool = False) -> Metadata:
    """Return the metadata of an integer field with values within `allowed`."""
    return checked(
        lambda name, value: validation.whole(name, value, allowed, example=example),
        optional=optional,
    )


def instance_of(cls: type, example: str) -> Callable[[str, object], Any]:
    """Return a check for an instance of a class, created as in `example`."""

    def check(name: str, value: object) -> Any:
        if not isinstance(value, cls):
            raise validation.bad(name, value, f"a {cls.__name__}", f"create one with {example}")
        return value

    return check


def check_fields(instance: DataclassInstance) -> None:
    """Run the checks of a dataclass's fields in order; call this from ``__post_init__``.

    Raises
    ------
    InputError
        For the first field with an invalid value.
    """
    for field in dataclasses.fields(instance):
        if check := field.metadata.get(_CHECK):
            set_field(instance, field.name, check(field.name, getattr(instance, field.name)))


def check_exactly_one(instance: DataclassInstance, *names: str, example: str) -> None:
    """Check that exactly one of some optional fields is present.

    Raises
    ------
    InputError
        If none or several are.
    """
    given = [name for name in names if getattr(instance, name) is not None]
    if len(given) > 1:
        both = " and ".join(given)
        raise InputError(f"{both} exclude each other: remove all but one of them")
    if not given:
        raise InputError(f"{' or '.join(names)} is missing: write for example {example}")


def set_field(instance: DataclassInstance, name: str, value: object) -> None:
    """Set a field of a frozen dataclass during its initialization."""
    object.__setattr__(instance, name, value)
