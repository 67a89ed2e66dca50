# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the fields of frozen dataclasses: their checks and their form in documents.

A description is the field's metadata; several are joined with ``|``. :func:`check_fields` runs all
checks and replaces each value by its normal form. Dataclasses have no converters; those of attrs
would add a dependency, turn parameter types into ``Any`` and break ``dataclasses.replace``.
:mod:`ccbench.base.dataclass_dicts` converts to and from documents.

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
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from _typeshed import DataclassInstance

    from ccbench.base.validation import Range

__all__ = [
    "check_exactly_one",
    "check_fields",
    "checked",
    "document_form",
    "inline",
    "instance_of",
    "number",
    "open_table",
    "set_field",
    "table",
    "tables",
    "whole",
]

#: Metadata of a field, to be joined with ``|``.
Metadata = dict[str, Any]


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
        return {"check": lambda name, value: None if value is None else check(name, value)}
    return {"check": check}


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


def document_form(
    *,
    read: Callable[[str, Any, Path], object] | None = None,
    write: Callable[[Any], object] | None = None,
    omits_default: bool = False,
) -> Metadata:
    """Return the metadata of a field whose form in documents is not its value.

    Parameters
    ----------
    read : callable, optional
        Takes the field's name, the value in the document and the base of relative paths of files;
        returns the field's value.
    write : callable, optional
        Takes a value that is not empty; returns that of a document.
    omits_default : bool
        Whether documents omit the default, so that the identities of documents without this
        setting remain the same.
    """
    return {"read": read, "write": write, "omits_default": omits_default}


def table(cls: type, example: str, *, optional: bool = False) -> Metadata:
    """Return the metadata of a field with a `cls`, in documents a table such as `example`."""
    check = instance_of(cls, f"{cls.__name__}(...)")
    return {**checked(check, optional=optional), "table": cls, "example": example}


def tables(cls: type, *, least: int = 1, is_suggested: bool = True) -> Metadata:
    """Return the metadata of a field with a tuple of `cls`, in documents a list of tables.

    The settings of tables that are suggested are next steps for misplaced ones.
    """

    def check(name: str, parts: object) -> tuple[Any, ...]:
        if not isinstance(parts, tuple | list) or len(parts) < least:
            allowed = f"a list of {'one' if least else 'any number of'} {cls.__name__}"
            allowed += " or more" if least else ""
            step = f"add one; in TOML it is a table headed [[{name}]]"
            raise validation.bad(name, parts, allowed, step)
        of_one = instance_of(cls, f"{cls.__name__}(...)")
        return tuple(of_one(f"{name}[{i}]", part) for i, part in enumerate(parts))

    return {**checked(check), "tables": cls, "is_suggested": is_suggested}


def open_table(
    check: Callable[[str, Any], object],
    *,
    read: Callable[[str, Any, Path], object] | None = None,
    has_dots: bool = False,
) -> Metadata:
    """Return the metadata of a field with pairs, in documents a table with any names.

    Parameters
    ----------
    check, read : callable
        As in :func:`checked` and :func:`document_form`.
    has_dots : bool
        Whether names contain dots.
    """
    form = document_form(read=read, write=dict)
    return {**checked(check), **form, "is_open": True, "has_dots": has_dots}


def inline(cls: type) -> Metadata:
    """Return the metadata of a field with a `cls`, whose settings documents list with the others.

    Documents have no table for it.
    """
    return {**checked(instance_of(cls, f"{cls.__name__}(...)")), "inline": cls}


def check_fields(instance: DataclassInstance) -> None:
    """Run the checks of a dataclass's fields in order; call this from ``__post_init__``.

    Raises
    ------
    InputError
        For the first field with an invalid value.
    """
    for field in dataclasses.fields(instance):
        if check := field.metadata.get("check"):
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
