# SPDX-License-Identifier: Apache-2.0
"""Samples as the columns of a table, which are read faster than rows."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ccbench.classify.setting import Setting
from ccbench.classify.training import Sample, Variation
from ccbench.classify.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

__all__ = ["TEXTS", "Columns", "table"]

#: Columns with few different texts, and what is made of a text.
TEXTS: dict[str, Callable[[str], Any]] = {
    "cca": str,
    "variant": str,
    "setting": lambda text: Setting(**json.loads(text)),
    "variation": lambda text: Variation(**json.loads(text)),
    "view": lambda text: View(**json.loads(text)),
}


class _Column(NamedTuple):
    """A column of few different texts."""

    texts: list[str]
    positions: npt.NDArray[np.int32]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> _Column:
        encoded = pc.dictionary_encode(column).combine_chunks()
        return cls(encoded.dictionary.to_pylist(), encoded.indices.to_numpy())

    def each(self, made: Callable[[str], Any]) -> list[Any]:
        """Return what is made of the text of each row."""
        values = [made(text) for text in self.texts]
        return [values[i] for i in self.positions.tolist()]


class Columns(NamedTuple):
    """The columns of a table of samples: texts, and numbers of different lengths."""

    texts: dict[str, _Column]
    seeds: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int32]
    measured: npt.NDArray[np.uint8]
    n_points: npt.NDArray[np.int32]
    points: npt.NDArray[np.float32]

    @classmethod
    def of(cls, table: pa.Table) -> Columns:
        """Return the columns of a table."""
        measured, traces = (table[name].combine_chunks() for name in ("measured", "trace"))
        return cls(
            texts={name: _Column.of(table[name]) for name in TEXTS},
            seeds=table["seed"].to_numpy(),
            lengths=pc.binary_length(measured).to_numpy(),
            measured=np.frombuffer(b"".join(measured.to_pylist()), dtype=np.uint8),
            n_points=traces.value_lengths().to_numpy(),
            points=traces.flatten().to_numpy(),
        )

    def digest(self) -> str:
        """Return the SHA-256 of all values, independent of the encoding of the file."""
        texts = {name: column.texts for name, column in self.texts.items()}
        parts = hashlib.sha256(repr(texts).encode())
        values: list[npt.NDArray[Any]] = [each.positions for each in self.texts.values()]
        values += [self.seeds, self.lengths, self.measured, self.n_points, self.points]
        for each in values:
            parts.update(each.tobytes())
        return parts.hexdigest()

    def samples(self) -> tuple[Sample, ...]:
        """Return the sample of each row."""
        return tuple(
            Sample(
                cca=cca,
                variant=variant,
                setting=setting,
                variation=variation,
                view=view,
                seed=seed,
                measured=measured,
                points=points,
            )
            for cca, variant, setting, variation, view, seed, measured, points in zip(
                *(self.texts[name].each(made) for name, made in TEXTS.items()),
                self.seeds.tolist(),
                _split(self.measured, self.lengths),
                _split(self.points, self.n_points),
                strict=True,
            )
        )


def _split(values: npt.NDArray[Any], lengths: npt.NDArray[np.int32]) -> list[npt.NDArray[Any]]:
    """Return consecutive parts of these lengths."""
    ends = np.cumsum(lengths)
    return [values[i:j] for i, j in zip((ends - lengths).tolist(), ends.tolist(), strict=True)]


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
