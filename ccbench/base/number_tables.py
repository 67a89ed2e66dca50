# SPDX-License-Identifier: Apache-2.0
"""CSV files with a header and a few columns of numbers."""

from __future__ import annotations

import csv
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["column", "read"]


def read(
    path: Path, what: str, columns: Mapping[str, Callable[[str], Any]]
) -> list[tuple[Any, ...]]:
    """Read the rows of a CSV file.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        Kind of the file, for messages.
    columns : mapping of str to callable
        Names of the columns, and the types of their numbers.

    Raises
    ------
    InputError
        If the file is unreadable or invalid. The message names the file and the line.
    """
    where = f"{what} {path}"
    text = validation.text_file(path, what)
    try:
        rows = list(csv.reader(text.splitlines()))
    except csv.Error as error:
        raise InputError(f"{where} is not CSV ({error}): correct it") from error
    header = [cell.strip() for cell in rows[0]] if rows else []
    if header != [*columns]:
        allowed = f"the header {','.join(columns)}"
        raise validation.bad(f"{where} line 1", ",".join(header), allowed, "add it at the top")
    return [_row(f"{where} line {line}", row, columns) for line, row in enumerate(rows[1:], 2)]


def column(
    value: object, base_dir: Path, what: str, name: str, kind: Callable[[str], Any]
) -> object:
    """Return the numbers of a CSV file of one column, if a document names it, or the value itself.

    Parameters
    ----------
    value : object
        A string names a file relative to `base_dir`.
    base_dir : Path
        A folder.
    what : str
        Kind of the file, for messages.
    name : str
        The column.
    kind : callable
        Type of the numbers.
    """
    if not isinstance(value, str):
        return value
    return tuple(number for (number,) in read(base_dir / value, what, {name: kind}))


def _row(
    where: str, row: list[str], columns: Mapping[str, Callable[[str], Any]]
) -> tuple[Any, ...]:
    with suppress(ValueError):
        if "_" not in "".join(row):  # only Python reads 1_0 as 10
            kinds = zip(columns.values(), row, strict=True)
            return tuple(kind(cell) for kind, cell in kinds)
    allowed = f"the numbers {' and '.join(columns)}"
    raise validation.bad(where, ",".join(row), allowed, "correct the line")
