# SPDX-License-Identifier: Apache-2.0
"""Conversion between dataclasses and plain dictionaries."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ccbench.base import validation
from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    T = TypeVar("T", bound=DataclassInstance)

__all__ = ["Readers", "build", "present", "without_defaults"]

#: Functions that convert a document's values, for fields with another representation there.
Readers = Mapping[str, Callable[[object], object]]


def present(instance: DataclassInstance) -> dict[str, Any]:
    """Return all fields except ``None``, empty strings and empty tuples."""
    values = ((f.name, getattr(instance, f.name)) for f in dataclasses.fields(instance))
    return {name: value for name, value in values if value not in (None, "", ())}


def without_defaults(cls: type[DataclassInstance], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of `document` that differ from the defaults of `cls`."""
    defaults = {f.name: f.default for f in dataclasses.fields(cls)}  # MISSING equals nothing else
    return {name: value for name, value in document.items() if value != defaults[name]}


def build(
    cls: type[T],
    data: Mapping[str, object],
    readers: Readers,
    parts: Mapping[str, type[DataclassInstance]] | None = None,
) -> T:
    """Return a `cls` built from a dictionary of its fields.

    The settings of `parts`, by the fields that hold them, are suggested for unknown keys.

    Raises
    ------
    InputError
        If `data` has a key that is not a field, or lacks a field without default.
    """
    settings = {f.name: f for f in dataclasses.fields(cls)}
    for name in data:
        if name not in settings:
            elsewhere = {
                place: [f.name for f in dataclasses.fields(part)]
                for place, part in (parts or {}).items()
            }
            raise validation.unknown_key(str(name), settings, elsewhere)
    required = [name for name, f in settings.items() if f.default is dataclasses.MISSING]
    for name in required:
        if name not in data:
            raise InputError(f"{name} is missing: add it (required here: {', '.join(required)})")
    values: dict[str, Any] = {
        name: readers[name](value) if name in readers else value for name, value in data.items()
    }
    return cls(**values)
