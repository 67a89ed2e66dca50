# SPDX-License-Identifier: Apache-2.0
"""Dynamic time warping: the distance of two series after aligning their time axes.

A warping path through the matrix of all pairs of points starts at both first points and ends at
both last points. Each step advances by one point in one or both series. The distance is the sum of
``|x[i] - y[j]|`` along the path with the smallest sum, in the unit of the series. It is not a mean,
so it grows with the length of the series. The series are not normalised. A window allows only pairs
with ``|i - j| <= window``.

A compiled core compares one series with several at once, on all cores and with the widest vector
instructions of the processor. It computes in single precision, which doubles the speed: whole
numbers up to 2**24, such as packet counts and their sums, are exact; above, each step along the
path rounds by at most 6e-8 of the sum so far. The results are identical to the last bit on every
processor and with any number of threads.

References
----------
H. Sakoe and S. Chiba, "Dynamic programming algorithm optimization for spoken word recognition",
IEEE Transactions on Acoustics, Speech, and Signal Processing 26(1), 1978: the recurrence and the
window (there a diagonal step counts twice; here, as usual today, every step counts once). S.-W.
Kim, S. Park and W. W. Chu, "An index-based approach for similarity search supporting time warping
in large sequence databases", ICDE 2001, and E. Keogh and C. A. Ratanamahatana, "Exact indexing of
dynamic time warping", Knowledge and Information Systems 7(3), 2005: the lower bounds that let
:func:`nearest` skip most comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ccbench import _native
from ccbench.base import validation
from ccbench.base.cores import cores

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["Many", "distance", "distances", "nearest", "pairwise", "per_point"]

#: Several series of any lengths, or an array with a series in each row.
Many: TypeAlias = "Sequence[npt.ArrayLike] | npt.NDArray[np.generic]"

#: Name of the fastest compiled core on this processor; all give the same results.
_PATH = _native.dtw_paths()[0]

#: Maximum absolute value of a point: sums of differences do not overflow single precision.
_LARGEST = 1e30


def distance(x: npt.ArrayLike, y: npt.ArrayLike, *, window: int | None = None) -> float:
    """Return the distance between two series.

    To compare a series with many others, :func:`distances` is much faster.

    Parameters
    ----------
    x, y : array_like, shape (n_points,)
        The series, such as packets in a queue at equal intervals; their lengths may differ.
    window : int, optional
        Maximum distance of two matched points in points; by default unlimited.

    Returns
    -------
    float
        At least 0, in the unit of the series.

    Raises
    ------
    InputError
        If a series is empty, has another shape or a value that is not finite; or if the window is
        negative or smaller than the difference of the lengths.

    Examples
    --------
    >>> distance([0, 2, 4], [0, 0, 2, 4, 4])
    0.0
    >>> distance([0, 2, 4], [1, 2, 4])
    1.0
    """
    first, second = _one("x", x), _one("y", y)
    return float(_matrix(first, second, window=_window(window, first, second), threads=1)[0, 0])


def distances(
    queries: Many,
    references: Many,
    *,
    window: int | None = None,
    threads: int | None = None,
) -> npt.NDArray[np.float32]:
    """Return the distances between all queries and all references.

    Parameters
    ----------
    queries, references : sequence of array_like of shape (n_points,), or one array of rows
        The series; lengths may differ.
    window : int, optional
        See :func:`distance`.
    threads : int, optional
        Number of threads; by default one per core. The result does not depend on it.

    Returns
    -------
    ndarray, shape (n_queries, n_references)
        Single precision, in the unit of the series.

    Raises
    ------
    InputError
        See :func:`distance`; or if there are no series, or `threads` is less than 1.

    Examples
    --------
    >>> distances([[0, 2, 4]], [[0, 0, 2, 4], [1, 2, 4]])
    array([[0., 1.]], dtype=float32)
    """
    first, second = _many("queries", queries), _many("references", references)
    allowed = _window(window, first, second)
    if len(first) > len(second):  # the core vectorises over the references
        return _matrix(second, first, window=allowed, threads=_threads(threads)).T
    return _matrix(first, second, window=allowed, threads=_threads(threads))


def pairwise(
    series: Many, *, window: int | None = None, threads: int | None = None
) -> npt.NDArray[np.float32]:
    """Return the distances between all pairs of series.

    It takes half the time of :func:`distances` between the series and themselves.

    Parameters
    ----------
    series : sequence of array_like of shape (n_points,), or one array of rows
        The series; lengths may differ.
    window, threads : int, optional
        See :func:`distances`.

    Returns
    -------
    ndarray, shape (n_series, n_series)
        Single precision, in the unit of the series; symmetric, with 0 on the diagonal.

    Raises
    ------
    InputError
        See :func:`distances`.

    Examples
    --------
    >>> pairwise([[0, 2, 4], [0, 0, 2, 4], [1, 2, 4]])
    array([[0., 0., 1.],
           [0., 0., 2.],
           [1., 2., 0.]], dtype=float32)
    """
    flat = _many("series", series)
    out = np.empty((len(flat), len(flat)), dtype=np.float32)
    allowed = _window(window, flat, flat)
    _native.dtw_pairwise(flat.values, flat.starts, allowed, _PATH, _threads(threads), out)
    return out


def nearest(
    queries: Many,
    references: Many,
    k: int = 1,
    *,
    window: int | None = None,
    threads: int | None = None,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return the nearest references of each query.

    The result equals that of sorting :func:`distances`. Lower bounds skip most of the computation:
    only distances that may be among the smallest are computed, and abandoned early if they are not.

    Parameters
    ----------
    queries, references : sequence of array_like of shape (n_points,), or one array of rows
        The series; lengths may differ.
    k : int
        Number of references for each query, from 1 to the number of references.
    window, threads : int, optional
        See :func:`distances`.

    Returns
    -------
    distances : ndarray, shape (n_queries, k)
        Single precision, in the unit of the series, in ascending order.
    indices : ndarray, shape (n_queries, k)
        Indices of the references; equal distances are in order of index.

    Raises
    ------
    InputError
        See :func:`distances`; or if `k` is out of range.

    Examples
    --------
    >>> nearest([[0, 2, 4]], [[9, 9, 9], [0, 2, 5], [0, 2, 2, 4]], k=2)
    (array([[0., 1.]], dtype=float32), array([[2, 1]]))
    """
    first, second = _many("queries", queries), _many("references", references)
    k = validation.whole("k", k, validation.Range(1, len(second)), example=1)
    smallest = np.empty((len(first), k), dtype=np.float32)
    indices = np.empty((len(first), k), dtype=np.int64)
    _native.dtw_nearest(
        first.values,
        first.starts,
        second.values,
        second.starts,
        _window(window, first, second),
        _PATH,
        _threads(threads),
        smallest,
        indices,
    )
    return smallest, indices


def per_point(rows: npt.NDArray[np.floating[Any]], series: Many) -> npt.NDArray[np.float64]:
    """Return distances divided by the number of points, comparable for series of any length.

    Parameters
    ----------
    rows : ndarray, shape (n_series, n)
        A row of distances for each series.
    series : sequence of array_like of shape (n_points,), or one array of rows
        The series.

    Examples
    --------
    >>> per_point(distances([[0, 0]], [[3, 3]]), [[0, 0]])
    array([[3.]])
    """
    lengths = np.array([[np.size(one)] for one in series], dtype=np.float64)
    return np.asarray(rows / lengths)


@dataclass(frozen=True)
class _Series:
    """Concatenated series in the format of the compiled core.

    Parameters
    ----------
    values : ndarray, shape (n_points of all,)
    starts : ndarray, shape (n_series + 1,)
        Series ``i`` is ``values[starts[i] : starts[i + 1]]``.
    """

    values: npt.NDArray[np.float32]
    starts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, parts: Sequence[npt.NDArray[np.float32]]) -> _Series:
        starts = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return cls(values=np.concatenate(parts), starts=starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def shortest(self) -> int:
        return int(np.diff(self.starts).min())

    @property
    def longest(self) -> int:
        return int(np.diff(self.starts).max())


def _matrix(
    queries: _Series, references: _Series, *, window: int, threads: int
) -> npt.NDArray[np.float32]:
    out = np.empty((len(queries), len(references)), dtype=np.float32)
    _native.dtw_distances(
        queries.values,
        queries.starts,
        references.values,
        references.starts,
        window,
        _PATH,
        threads,
        out,
    )
    return out


def _one(field: str, series: npt.ArrayLike) -> _Series:
    return _Series.of([_points(field, series)])


def _many(field: str, series: Many) -> _Series:
    if isinstance(series, str) or not hasattr(series, "__len__") or len(series) == 0:
        step = f"write for example {field} = [[0, 2, 4], [1, 2, 4]]"
        raise validation.bad(field, series, "a sequence of one or more series", step)
    return _Series.of([_points(f"{field}[{i}]", one) for i, one in enumerate(series)])


def _points(field: str, series: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Check a series and convert it to the format of the compiled core."""
    try:
        exact = np.asarray(series, dtype=np.float64)
    except (TypeError, ValueError):
        exact = np.empty(())
    if exact.ndim != 1 or exact.size == 0:
        step = "write for example [0, 2, 4]"
        raise validation.bad(field, series, "one or more numbers in one dimension", step)
    wrong = np.flatnonzero(~(np.abs(exact) <= _LARGEST))
    if wrong.size:
        i = int(wrong[0])
        allowed = f"a finite number within ±{_LARGEST:g}"
        raise validation.bad(f"{field}[{i}]", float(exact[i]), allowed, "check the measurement")
    return exact.astype(np.float32)


def _window(window: int | None, queries: _Series, references: _Series) -> int:
    """Check a window and convert it to the format of the compiled core."""
    unlimited = max(queries.longest, references.longest)
    if window is None:
        return unlimited
    window = validation.whole("window", window, validation.Range(0), example=unlimited // 10)
    longer = queries.longest - references.shortest
    least = max(longer, references.longest - queries.shortest)
    if window < least:
        allowed = f"at least {least}, the largest difference of the lengths"
        raise validation.bad("window", window, allowed, f"write for example window = {least}")
    return min(window, unlimited)


def _threads(threads: int | None) -> int:
    if threads is None:
        return cores()
    return validation.whole("threads", threads, validation.Range(1), example=1)
