# SPDX-License-Identifier: Apache-2.0
"""Conversion between dataclasses and documents: dictionaries of plain values, as TOML has them.

The metadata of the fields describe their form (:mod:`ccbench.base.checked_fields`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ccbench.base import validation
from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import DataclassInstance
    from typing_extensions import Self

    T = TypeVar("T", bound=DataclassInstance)

__all__ = ["Document", "build", "plain", "settings"]

_EMPTY: tuple[object, ...] = (None, "", ())


class Document:
    """Base of dataclasses with a document."""

    def to_dict(self) -> dict[str, Any]:
        """Return all settings except empty ones as a dictionary of plain values."""
        return plain(cast("Any", self))

    @classmethod
    def from_dict(cls: type[Self], data: Mapping[str, object], base_dir: str | Path = ".") -> Self:
        """Create an instance from a dictionary such as :meth:`to_dict` returns.

        Parameters
        ----------
        data : mapping
            Settings. Unknown settings are errors.
        base_dir : path
            Base of relative paths of files.

        Raises
        ------
        InputError
            If a setting is invalid. The message starts with its path.
        """
        made: Self = build(cast("Any", cls), data, Path(base_dir))
        return made


def settings(cls: type[DataclassInstance]) -> dict[str, dataclasses.Field[Any]]:
    """Return the fields of a document for `cls` by their names, including those of inline parts."""
    return {field.name: field for field in _document_fields(cls)}


def plain(instance: DataclassInstance, *, defaults: bool = True) -> dict[str, Any]:
    """Return the document of an instance: all settings except ``None``, ``""`` and ``()``.

    Without `defaults`, it also omits defaults, of its own and of those in lists of tables.
    """
    document: dict[str, Any] = {}
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        if "inline" in field.metadata:
            document |= plain(value, defaults=defaults)
        elif value not in _EMPTY and not (
            value == field.default and (not defaults or field.metadata.get("omits_default"))
        ):
            document[field.name] = _plain_value(field, value, defaults=defaults)
    return document


def build(cls: type[T], document: Mapping[str, object], base_dir: Path = Path()) -> T:
    """Return a `cls` built from its document.

    Parameters
    ----------
    cls : type
        A dataclass.
    document : mapping
        Values by the names of the settings.
    base_dir : path
        Base of relative paths of files.

    Raises
    ------
    InputError
        If `document` has a key that is not a setting, or lacks one without default.
    """
    known = settings(cls)
    for name in document:
        if name not in known:
            elsewhere = {place: settings(part) for place, part in _suggested(known).items()}
            raise validation.unknown_key(str(name), known, elsewhere)
    required = [name for name, field in known.items() if field.default is dataclasses.MISSING]
    for name in required:
        if name not in document:
            raise InputError(f"{name} is missing: add it (required here: {', '.join(required)})")
    return _built(cls, {name: _read(known[name], v, base_dir) for name, v in document.items()})


def _document_fields(cls: type[DataclassInstance]) -> Iterator[dataclasses.Field[Any]]:
    for field in dataclasses.fields(cls):
        if part := field.metadata.get("inline"):
            yield from _document_fields(part)
        else:
            yield field


def _suggested(known: Mapping[str, dataclasses.Field[Any]]) -> dict[str, Any]:
    """Return the classes of tables by the first setting that holds each of them."""
    places: dict[Any, str] = {}
    for name, field in known.items():
        part = field.metadata.get("table") or field.metadata.get("tables")
        if part is not None and field.metadata.get("is_suggested", True):
            places.setdefault(part, name)
    return {name: part for part, name in places.items()}


def _plain_value(field: dataclasses.Field[Any], value: Any, *, defaults: bool) -> Any:
    if write := field.metadata.get("write"):
        return write(value)
    if "tables" in field.metadata:
        return [plain(part, defaults=defaults) for part in value]
    if "table" in field.metadata:
        return plain(value)
    return list(value) if isinstance(value, tuple) else value


def _read(field: dataclasses.Field[Any], value: object, base_dir: Path) -> object:
    name = field.name
    if read := field.metadata.get("read"):
        return read(name, value, base_dir)
    if part := field.metadata.get("table"):
        if not isinstance(value, Mapping):
            step = f"write for example {name} = {field.metadata['example']}"
            raise validation.bad(name, value, "a table", step)
        with validation.within(f"{name}."):
            return build(part, value, base_dir)
    if part := field.metadata.get("tables"):
        step = f"head each with [[{name}]]"
        if not isinstance(value, list | tuple):
            raise validation.bad(name, value, "a list of tables", step)
        parts = []
        for i, item in enumerate(value):
            if not isinstance(item, Mapping):
                raise validation.bad(f"{name}[{i}]", item, "a table", step)
            with validation.within(f"{name}[{i}]."):
                parts.append(build(part, item, base_dir))
        return parts
    return value


def _built(cls: type[T], values: Mapping[str, object]) -> T:
    own: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        if part := field.metadata.get("inline"):
            own[field.name] = _built(part, values)
        elif field.name in values:
            own[field.name] = values[field.name]
    return cls(**own)
