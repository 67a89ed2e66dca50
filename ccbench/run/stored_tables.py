# SPDX-License-Identifier: Apache-2.0
"""Tables of a run as columns, before pandas: in memory, or in the bytes of a Parquet file.

A summary reads the columns that it shows. A DataFrame is made only for who asks for one, as pandas
takes longer to import than a summary to compute.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ccbench.run.tables import CATEGORIES, category, normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy.typing as npt
    import pandas as pd
    from typing_extensions import Self

    from ccbench.run.tables import Columns

__all__ = ["Arrays", "Encoded", "StoredTable", "TableHolder", "of_frame"]


class StoredTable(Protocol):
    """Columns of equal length; categories are columns of codes, -1 where they are missing."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def names(self) -> tuple[str, ...]:
        """Return the names of the columns."""

    def blocks(self, *names: str) -> Iterator[tuple[npt.NDArray[Any], ...]]:
        """Yield consecutive parts of some columns, together all rows."""

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return a column."""

    def frame(self) -> pd.DataFrame:
        """Return the table as a DataFrame."""

    def encoded(self) -> bytes:
        """Return the table as the content of a Parquet file."""


@dataclass(frozen=True, eq=False)
class Arrays:
    """Columns in memory.

    Examples
    --------
    >>> table = Arrays({"time_ns": np.array([5, 7]), "event": np.array([0, 2], dtype=np.int8)})
    >>> table.frame()["event"].tolist()
    ['enqueue', 'drop']
    """

    columns: Mapping[str, npt.NDArray[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(self.columns)

    def blocks(self, *names: str) -> Iterator[tuple[npt.NDArray[Any], ...]]:
        """Yield the columns in one part."""
        yield tuple(self.columns[name] for name in names)

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return a column."""
        return self.columns[name]

    def frame(self) -> pd.DataFrame:
        """Return the table as a DataFrame."""
        import pandas as pd  # noqa: PLC0415 - see above

        columns = {
            name: pd.Categorical.from_codes(values, dtype=category(name))
            if name in CATEGORIES
            else values
            for name, values in self.columns.items()
        }
        return pd.DataFrame(columns, copy=False)  # avoids a copy into blocks of one type

    def encoded(self) -> bytes:
        """Return the table as the content of a Parquet file."""
        from ccbench.run import table_files  # noqa: PLC0415 - Arrow takes a tenth of a second

        return table_files.content(self.columns)


@dataclass(frozen=True, eq=False)
class Encoded:
    """A table in a Parquet file.

    Parameters
    ----------
    data : bytes
        The content of the file.
    """

    data: bytes

    @cached_property
    def _header(self) -> tuple[int, tuple[str, ...]]:
        """The number of rows, and the names of the columns."""
        file = self._file()
        return file.metadata.num_rows, tuple(file.schema_arrow.names)

    def __len__(self) -> int:
        return self._header[0]

    def names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return self._header[1]

    def blocks(self, *names: str) -> Iterator[tuple[npt.NDArray[Any], ...]]:
        """Yield the parts in which the file was written."""
        file = self._file()
        for i in range(file.num_row_groups):
            part = file.read_row_group(i, columns=list(names), use_threads=False)
            yield tuple(_numbers(name, part[name]) for name in names)

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return a column."""
        table = self._file().read([name], use_threads=False)
        return _numbers(name, table[name])

    def frame(self) -> pd.DataFrame:
        """Return the table as a DataFrame."""
        table = self._file().read(use_threads=False)
        frame: pd.DataFrame = table.to_pandas(use_threads=False)
        return frame

    def encoded(self) -> bytes:
        """Return the content of the file."""
        return self.data

    def _file(self) -> Any:
        from ccbench.run import table_files  # noqa: PLC0415 - Arrow; see above

        return table_files.opened(self.data)


def _numbers(name: str, column: Any) -> npt.NDArray[Any]:
    """Return a column of Arrow as numbers; of categories, the codes."""
    from ccbench.base.arrow import from_arrow  # noqa: PLC0415 - Arrow; see above

    parts = []
    for chunk in column.chunks:
        if name not in CATEGORIES:
            parts.append(from_arrow(chunk, missing=np.nan))
            continue
        texts = tuple(chunk.dictionary.to_pylist())
        codes = from_arrow(chunk.indices, missing=-1)
        if texts != CATEGORIES[name]:  # of another program
            # The last is for missing values.
            codes = np.array([*map(CATEGORIES[name].index, texts), -1], dtype=np.int8)[codes]
        parts.append(codes.astype(np.int8, copy=False))
    if not parts:
        kind = np.int8 if name in CATEGORIES else column.type.to_pandas_dtype()
        return np.empty(0, dtype=kind)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class TableHolder:
    """An object with tables, each a DataFrame or columns that become one on first use.

    Attributes that are a :class:`StoredTable` are DataFrames to who
    reads them; :meth:`stored` returns their columns without pandas.
    """

    def stored(self, table: str) -> StoredTable:
        """Return the columns of a table."""
        held: dict[str, StoredTable] = self.__dict__.setdefault("_stored", {})
        if table not in held:
            held[table] = of_frame(getattr(self, table))
        return held[table]

    def columns(self, table: str, *names: str) -> tuple[npt.NDArray[Any], ...]:
        """Return columns of a table; of categories, the codes."""
        stored = self.stored(table)
        return tuple(stored.column(name) for name in names)

    def blocks(self, table: str, *names: str) -> Iterator[tuple[npt.NDArray[Any], ...]]:
        """Yield consecutive parts of columns of a long table."""
        return self.stored(table).blocks(*names)

    def packed_tables(self, names: Iterable[str]) -> Self:
        """Return a copy whose tables are encoded, unless they are empty."""
        packed = copy(self)
        tables = {name: self.stored(name) for name in names}
        for name in tables:
            packed.__dict__.pop(name, None)
        packed.__dict__["_stored"] = {
            name: Encoded(table.encoded()) if len(table) else table
            for name, table in tables.items()
        }
        return packed

    def _hold(self, name: str, columns: Columns, optional: Columns | None = None) -> None:
        """Check the table of an attribute, and hold its columns until a DataFrame is needed.

        Raises
        ------
        ValueError
            If it lacks a column or has an unknown one, or a value does not fit its type.
        """
        given = self.__dict__[name]
        if not hasattr(given, "frame"):
            object.__setattr__(self, name, normalised(name, given, columns, optional))
            return
        missing = {*(optional or {})} - {*given.names()}
        if {*given.names()} != {*columns, *(optional or {})} - missing:
            message = f"{name} has the columns {sorted(given.names())}, not {sorted(columns)}"
            raise ValueError(message)
        self.__dict__.setdefault("_stored", {})[name] = given
        del self.__dict__[name]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Make the DataFrame of a table that is held as columns."""
            held = self.__dict__.get("_stored", {})
            if name not in held:
                message = f"{type(self).__name__!r} object has no attribute {name!r}"
                raise AttributeError(message)
            frame = self._framed(name, held[name].frame())
            object.__setattr__(self, name, frame)
            return frame

    def _framed(self, name: str, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the DataFrame of a table's columns with its types and its index."""
        raise NotImplementedError


def of_frame(frame: pd.DataFrame) -> Arrays:
    """Return the columns of a DataFrame."""
    return Arrays(
        {
            str(name): (
                frame[name].astype(category(str(name))).cat.codes
                if name in CATEGORIES
                else frame[name]
            ).to_numpy()
            for name in frame
        }
    )
