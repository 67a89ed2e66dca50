# SPDX-License-Identifier: Apache-2.0
"""Samples as the columns of a table, which are read faster than rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa

from ccbench.base.arrow import from_arrow, lengths
from ccbench.classify.setting import Setting
from ccbench.classify.training import Sample, Variation
from ccbench.classify.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy.typing as npt

__all__ = ["TEXTS", "Samples", "table"]

#: Columns with few different texts, and what is made of a text.
TEXTS: dict[str, Callable[[str], Any]] = {
    "cca": str,
    "variant": str,
    "setting": lambda text: Setting(**json.loads(text)),
    "variation": lambda text: Variation(**json.loads(text)),
    "view": lambda text: View(**json.loads(text)),
}


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of few different values, which are made of texts on first use."""

    texts: list[Any]
    positions: npt.NDArray[np.int32]
    made: Callable[[Any], Any] = lambda value: value

    @classmethod
    def of(cls, values: Iterable[Any]) -> _Column:
        known: dict[Any, int] = {}
        positions = [known.setdefault(value, len(known)) for value in values]
        return cls([*known], np.array(positions, dtype=np.int32))

    @classmethod
    def read(cls, column: pa.ChunkedArray, made: Callable[[Any], Any]) -> _Column:
        encoded = column.combine_chunks()
        return cls(encoded.dictionary.to_pylist(), from_arrow(encoded.indices), cache(made))

    def each(self) -> list[Any]:
        """Return the value of each row."""
        return [self.made(self.texts[i]) for i in self.positions.tolist()]

    def where(self, chosen: npt.NDArray[Any]) -> _Column:
        return replace(self, positions=self.positions[chosen])

    def present(self) -> dict[int, Any]:
        """Return the values of rows by position, in the order of the first of each."""
        found, first = np.unique(self.positions, return_index=True)
        return {i: self.made(self.texts[i]) for i in found[np.argsort(first)].tolist()}

    def __add__(self, other: _Column) -> _Column:
        if self.texts is other.texts:
            return replace(self, positions=np.concatenate([self.positions, other.positions]))
        return _Column.of([*self.each(), *other.each()])


@dataclass(frozen=True, eq=False)
class _Parts:
    """Numbers of each row: parts of an array."""

    numbers: npt.NDArray[Any]
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int32]

    @classmethod
    def of(cls, numbers: npt.NDArray[Any], lengths: npt.NDArray[np.int32]) -> _Parts:
        return cls(numbers, np.cumsum(lengths, dtype=np.int64) - lengths, lengths)

    def each(self) -> list[npt.NDArray[Any]]:
        """Return the numbers of each row."""
        pairs = zip(self.starts.tolist(), (self.starts + self.lengths).tolist(), strict=True)
        return [self.numbers[i:j] for i, j in pairs]

    def where(self, chosen: npt.NDArray[np.bool_]) -> _Parts:
        return _Parts(self.numbers, self.starts[chosen], self.lengths[chosen])

    def __add__(self, other: _Parts) -> _Parts:
        lengths = np.concatenate([self.lengths, other.lengths])
        if self.numbers is other.numbers:
            return _Parts(self.numbers, np.concatenate([self.starts, other.starts]), lengths)
        return _Parts.of(np.concatenate([*self.each(), *other.each()]), lengths)


@dataclass(frozen=True, eq=False)
class Samples(Sequence["Sample"]):
    """A sequence of samples that makes them on first use, as an answer needs few of them.

    Parameters
    ----------
    columns : dict of str to _Column
        CCAs, variants, settings, variations and views.
    seeds : ndarray of int64, shape (n_samples,)
    measured, points : _Parts
        The numbers of each sample.
    """

    columns: dict[str, _Column]
    seeds: npt.NDArray[np.int64]
    measured: _Parts
    points: _Parts

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Samples:
        """Return samples in this form."""
        if isinstance(samples, Samples):
            return samples
        numbers = [[getattr(each, name) for each in samples] for name in ("measured", "points")]
        measured, points = (
            _Parts.of(
                np.concatenate([*parts, np.zeros(0, kind)], dtype=kind),
                np.array([len(part) for part in parts], dtype=np.int32),
            )
            for parts, kind in zip(numbers, (np.uint8, np.float32), strict=True)
        )
        return cls(
            {name: _Column.of(getattr(each, name) for each in samples) for name in TEXTS},
            np.array([sample.seed for sample in samples], dtype=np.int64),
            measured,
            points,
        )

    @classmethod
    def read(cls, table: pa.Table) -> tuple[Samples, str]:
        """Return the samples of a table, and the digest of all values.

        The digest is a SHA-256 and independent of the encoding of the file.
        """
        table = table.unify_dictionaries()
        measured, points = (table[name].combine_chunks() for name in ("measured", "trace"))
        sizes, numbers = lengths(measured), measured.buffers()[2] or b""
        result = cls(
            columns={name: _Column.read(table[name], made) for name, made in TEXTS.items()},
            seeds=from_arrow(table["seed"].combine_chunks()),
            measured=_Parts.of(np.frombuffer(numbers, dtype=np.uint8)[: sizes.sum()], sizes),
            points=_Parts.of(from_arrow(points.values), lengths(points)),
        )
        texts = {name: column.texts for name, column in result.columns.items()}
        digest = hashlib.sha256(repr(texts).encode())
        values: list[npt.NDArray[Any]] = [each.positions for each in result.columns.values()]
        values += [result.seeds, result.measured.lengths, result.measured.numbers]
        values += [result.points.lengths, result.points.numbers]
        for each in values:
            digest.update(each.data if each.flags.c_contiguous else each.tobytes())
        return result, digest.hexdigest()

    def __len__(self) -> int:
        return len(self.seeds)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self._made)

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Samples: ...
    def __getitem__(self, index: int | slice) -> Sample | Samples:
        if not isinstance(index, slice):
            return self._made[index]
        chosen = np.zeros(len(self), dtype=np.bool_)
        chosen[index] = True
        return self.where(chosen)

    def where(self, chosen: npt.NDArray[np.bool_]) -> Samples:
        """Return some of the samples, in the same order."""
        columns = {name: column.where(chosen) for name, column in self.columns.items()}
        measured, points = self.measured.where(chosen), self.points.where(chosen)
        return Samples(columns, self.seeds[chosen], measured, points)

    def by(self, name: str) -> dict[Any, Samples]:
        """Return the samples of each value of a column, in the order of the first of each."""
        column = self.columns[name]
        return {value: self.where(column.positions == i) for i, value in column.present().items()}

    def distinct(self, name: str) -> list[Any]:
        """Return the values of a column, in the order of the first of each."""
        return [*self.columns[name].present().values()]

    def mapped(self, function: Callable[..., Any], *names: str) -> npt.NDArray[Any]:
        """Return a function of the values of some columns, for each sample."""
        columns = [self.columns[name] for name in names]
        codes = np.zeros(len(self), dtype=np.int64)
        for column in columns:
            codes = codes * len(column.texts) + column.positions
        _, first, position = np.unique(codes, return_index=True, return_inverse=True)
        rows = zip(*(column.where(first).each() for column in columns), strict=True)
        return np.array([function(*row) for row in rows])[position]

    def measurements(self) -> npt.NDArray[np.uint8]:
        """Return the measurements, shape (n_samples, n_measurements)."""
        count = np.arange(self.measured.lengths[0])
        result: npt.NDArray[np.uint8] = self.measured.numbers[self.measured.starts[:, None] + count]
        return result

    def __add__(self, other: Samples) -> Samples:
        columns = {name: own + other.columns[name] for name, own in self.columns.items()}
        seeds = np.concatenate([self.seeds, other.seeds])
        return Samples(columns, seeds, self.measured + other.measured, self.points + other.points)

    @cached_property
    def _made(self) -> tuple[Sample, ...]:
        names = (*TEXTS, "seed", "measured", "points")
        columns = (
            *(self.columns[name].each() for name in TEXTS),
            *(self.seeds.tolist(), self.measured.each(), self.points.each()),
        )
        return tuple(
            Sample(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)
        )


def table(samples: Sequence[Sample]) -> pa.Table:
    """Return a table with a row for each sample, with settings, variations and views as JSON."""
    described = cache(lambda value: value if isinstance(value, str) else json.dumps(asdict(value)))
    texts = {name: pa.array(map(described, map(attrgetter(name), samples))) for name in TEXTS}
    return pa.table(
        {
            **{name: column.dictionary_encode() for name, column in texts.items()},
            "seed": pa.array([sample.seed for sample in samples], pa.int64()),
            "measured": pa.array([sample.measured.tobytes() for sample in samples], pa.binary()),
            "trace": pa.array([sample.points for sample in samples], pa.list_(pa.float32())),
        }
    )
