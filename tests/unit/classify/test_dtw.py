# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench import _native
from ccbench.base.errors import InputError
from ccbench.classify import dtw
from ccbench.classify.dtw import distance, distances, nearest, pairwise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    Points = npt.NDArray[np.float64]

#: Lengths around the cores' block sizes: 32, 16, 8 and 4 series or rows, and single ones.
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40, 64, 65, 70)

#: Relative error of a sum of a hundred numbers in single precision.
SINGLE = 1e-5


def recurrence(x: list[float], y: list[float], window: int | None = None) -> float:
    """Return the distance by the definition, cell by cell and in double precision."""
    inf = float("inf")
    row = [0.0, *[inf] * len(y)]
    for i, point in enumerate(x):
        above, row = row, [inf]
        for j, other in enumerate(y):
            if window is None or abs(i - j) <= window:
                row.append(abs(point - other) + min(above[j], above[j + 1], row[j]))
            else:
                row.append(inf)
    return row[-1]


def table(
    queries: Iterable[Points], references: Iterable[Points], window: int | None = None
) -> list[list[float]]:
    """Return all distances by the definition."""
    return [[recurrence(x.tolist(), y.tolist(), window) for y in references] for x in queries]


def occupancy(rng: np.random.Generator, points: int, top: int = 100) -> Points:
    """Return a random walk of whole numbers like a queue's occupancy, at most `top`."""
    return np.clip(np.cumsum(rng.integers(-9, 10, points)) + top // 2, 0, top).astype(float)


def occupancies(seed: int, count: int, lengths: tuple[int, ...] = LENGTHS) -> list[Points]:
    """Return occupancies of several lengths."""
    rng = np.random.default_rng(seed)
    return [occupancy(rng, int(length)) for length in rng.choice(lengths, count)]


def needs(path: str) -> Any:
    """Return a path through the compiled core as a parameter; skip it if the processor lacks it."""
    lacks = path not in _native.dtw_paths()
    reason = f"this processor does not have {path}"
    return pytest.param(path, marks=pytest.mark.skipif(lacks, reason=reason))


PATHS = [needs(path) for path in ("avx512", "avx2", "portable")]


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make the module use each of the compiled cores in turn."""
    monkeypatch.setattr(dtw, "_PATH", request.param)
    return str(request.param)


@pytest.mark.usefixtures("path")
class TestDefinition:
    """The definition, on every path through the compiled core."""

    @pytest.mark.parametrize("seed", range(8))
    def test_recurrence(self, seed: int) -> None:
        """Distances equal the recurrence, for any two lengths; whole numbers are exact."""
        queries, references = occupancies(seed, 5), occupancies(seed + 100, 37)
        expected = table(queries, references)
        assert expected == distances(queries, references).tolist()

    @pytest.mark.parametrize("window", [0, 1, 2, 5, 8, 20, 69, 70, 1000])
    def test_recurrence_in_a_window(self, window: int) -> None:
        """Distances within a window equal the recurrence, where it permits the lengths."""
        rng = np.random.default_rng(window)
        lengths = (70 - min(window, 7), 70)
        queries = [occupancy(rng, int(length)) for length in rng.choice(lengths, 3)]
        references = [occupancy(rng, int(length)) for length in rng.choice(lengths, 18)]
        expected = table(queries, references, window)
        assert expected == distances(queries, references, window=window).tolist()

    @pytest.mark.parametrize("length", LENGTHS)
    def test_every_length(self, length: int) -> None:
        """Every length is computed to its last row and column, with windows of every kind."""
        rng = np.random.default_rng(length)
        x, y = occupancy(rng, length), occupancy(rng, length)
        for window in (0, 1, length // 2, length - 1, length, None):
            assert recurrence(x.tolist(), y.tolist(), window) == distance(x, y, window=window)

    def test_fractions(self) -> None:
        """Fractions are rounded to single precision along the path."""
        rng = np.random.default_rng(1)
        queries, references = rng.normal(size=(3, 50)), rng.normal(size=(20, 60))
        expected = table(queries, references)
        np.testing.assert_allclose(distances(queries, references), expected, rtol=SINGLE)

    def test_large_counts(self) -> None:
        """A full buffer of 10^5 packets against an empty one is exact while sums are."""
        assert distance(np.full(160, 1e5), np.zeros(160)) == 160e5
        many = distance(np.full(2000, 1e5), np.zeros(2000))
        assert many == pytest.approx(2000e5, rel=2000 * 6e-8)


@pytest.fixture
def series() -> Points:
    """Return occupancies of equal length: windows of unequal lengths are defined differently."""
    return np.stack(occupancies(5, 12, (60,)))


@pytest.fixture
def dtaidistance() -> Any:
    """Give the module of dtaidistance."""
    return pytest.importorskip("dtaidistance.dtw")


@pytest.fixture
def tslearn() -> Any:
    """Give the module of tslearn, without its compilation, which takes longer than the test.

    If another test has imported it already, it is compiled: numba cannot mix the two.
    """
    numba = pytest.importorskip("numba")
    if "tslearn" not in sys.modules:
        numba.config.DISABLE_JIT = True
    return pytest.importorskip("tslearn.metrics")


class TestOracles:
    """Other implementations, with the cost |x - y|."""

    @pytest.mark.parametrize("window", [None, 0, 3, 20])
    def test_dtaidistance(self, series: Points, window: int | None, dtaidistance: Any) -> None:
        """Dtaidistance computes the same distances; its window of 1 is our window of 0."""
        reference = dtaidistance.distance_matrix_fast(
            series, inner_dist="euclidean", window=None if window is None else window + 1
        )
        np.testing.assert_allclose(pairwise(series, window=window), reference, rtol=SINGLE)

    @pytest.mark.parametrize("window", [None, 0, 3, 20])
    def test_tslearn(self, series: Points, window: int | None, tslearn: Any) -> None:
        """Tslearn computes the same distances with its function for metrics, one pair at a time."""
        band: dict[str, object] = {}
        if window is not None:
            band = {"global_constraint": "sakoe_chiba", "sakoe_chiba_radius": window}
        for x, y in zip(series[:6], series[6:], strict=True):
            _, reference = tslearn.dtw_path_from_metric(x, y, metric="cityblock", **band)
            assert distance(x, y, window=window) == pytest.approx(reference, rel=SINGLE)

    def test_different_lengths(self, dtaidistance: Any, tslearn: Any) -> None:
        """Both agree on series of different lengths without a window."""
        for x, y in zip(occupancies(6, 8), occupancies(7, 8), strict=True):
            measured = distance(x, y)
            one = dtaidistance.distance(x, y, inner_dist="euclidean", use_c=True)
            assert measured == pytest.approx(one, rel=SINGLE)
            _, other = tslearn.dtw_path_from_metric(x, y, metric="cityblock")
            assert measured == pytest.approx(other, rel=SINGLE)


class TestIdentities:
    def test_itself(self) -> None:
        """A series is at a distance of 0 from itself, and from itself slowed down."""
        for x in occupancies(10, 20):
            assert distance(x, x) == 0
            assert distance(x, np.repeat(x, 3)) == 0

    def test_symmetry(self) -> None:
        """Distances are symmetric to the last bit, also of fractions."""
        rng = np.random.default_rng(11)
        series = [rng.normal(size=length) for length in LENGTHS]
        for window in (None, 69):
            there = distances(series, series, window=window)
            np.testing.assert_array_equal(there, there.T)

    def test_window_of_0(self) -> None:
        """A window of 0 allows no warping: the distance is the sum of the differences."""
        rng = np.random.default_rng(12)
        x, y = occupancy(rng, 65), occupancy(rng, 65)
        assert distance(x, y, window=0) == np.abs(x - y).sum()

    def test_wider_window(self) -> None:
        """A wider window never increases a distance; the widest equals no window."""
        rng = np.random.default_rng(13)
        x, y = occupancy(rng, 65), occupancy(rng, 65)
        by_window = [distance(x, y, window=window) for window in range(65)]
        assert by_window == sorted(by_window, reverse=True)
        assert by_window[-1] == distance(x, y)

    def test_invariances(self) -> None:
        """Shifting, negating or reversing both series does not change their distance."""
        for x, y in zip(occupancies(14, 10), occupancies(15, 10), strict=True):
            expected = distance(x, y)
            assert expected == distance(x + 1000, y + 1000)
            assert expected == distance(-x, -y)
            assert expected == distance(x[::-1], y[::-1])

    def test_scale(self) -> None:
        """Doubling the values doubles the distance."""
        for x, y in zip(occupancies(16, 10), occupancies(17, 10), strict=True):
            assert 2 * distance(x, y) == distance(2 * x, 2 * y)

    def test_pairwise(self, path: str) -> None:
        """Pairwise distances are those between all series, on every path."""
        del path
        for count in (1, 2, 16, 17, 35, 70):
            series = occupancies(count, count)
            expected = distances(series, series)
            np.testing.assert_array_equal(pairwise(series), expected)


def _all(queries: list[Points], references: list[Points], threads: int) -> list[bytes]:
    window = max(LENGTHS)
    actual, indices = nearest(queries, references, 5, threads=threads)
    in_window, _ = nearest(queries, references, 5, window=window, threads=threads)
    matrix = distances(queries, references, threads=threads)
    turned = distances(references, queries, window=window, threads=threads)
    square = pairwise(references, threads=threads)
    parts: list[npt.NDArray[Any]] = [actual, indices, in_window, matrix, turned, square]
    return [part.tobytes() for part in parts]


@pytest.fixture
def fractions() -> tuple[list[Points], list[Points]]:
    """Return series of fractions of all lengths, whose sums are rounded."""
    rng = np.random.default_rng(20)
    series = [rng.normal(size=length).cumsum() for length in rng.choice(LENGTHS, 80)]
    return series[:9], series[9:]


class TestSameEverywhere:
    def test_paths(
        self,
        fractions: tuple[list[Points], list[Points]],
        path: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Every path gives the same results to the last bit."""
        results = _all(*fractions, threads=2)
        monkeypatch.setattr(dtw, "_PATH", "portable")
        assert _all(*fractions, threads=2) == results, path

    def test_threads(self, fractions: tuple[list[Points], list[Points]]) -> None:
        """Any number of threads gives the same results to the last bit."""
        expected = _all(*fractions, threads=1)
        assert expected == _all(*fractions, threads=2)
        assert expected == _all(*fractions, threads=8)
        assert nearest(*fractions)[1].tolist() == nearest(*fractions, threads=3)[1].tolist()

    def test_fastest_first(self) -> None:
        """The fastest path of the processor is used; the portable one always exists."""
        assert _native.dtw_paths()[0] == dtw._PATH
        assert _native.dtw_paths()[-1] == "portable"

    def test_unknown_path(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A path that the processor lacks is refused."""
        monkeypatch.setattr(dtw, "_PATH", "abacus")
        with pytest.raises(ValueError, match="abacus"):
            distance([1], [1])


def brute_force(
    queries: list[Points], references: list[Points], k: int, window: int | None = None
) -> tuple[list[list[float]], list[list[int]]]:
    """Return the nearest by comparing with all, ties by index."""
    matrix = distances(queries, references, window=window)
    order = np.argsort(matrix, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(matrix, order, axis=1).tolist(), order.tolist()


def nearest_lists(
    queries: list[Points], references: list[Points], k: int, window: int | None = None
) -> tuple[list[list[float]], list[list[int]]]:
    """Return the result of :func:`nearest` as lists."""
    values, indices = nearest(queries, references, k, window=window)
    return values.tolist(), indices.tolist()


class TestNearest:
    @pytest.mark.parametrize("k", [1, 3, 17, 150])
    @pytest.mark.parametrize("window", [None, 70])
    def test_brute_force(self, k: int, window: int | None, path: str) -> None:
        """The nearest equal those of a comparison with every reference, on every path."""
        del path
        queries, references = occupancies(30, 6), occupancies(31, 150)
        assert brute_force(queries, references, k, window) == nearest_lists(
            queries, references, k, window
        )

    @pytest.mark.parametrize("window", [0, 1, 4, 16])
    def test_narrow_window(self, window: int, path: str) -> None:
        """The nearest are correct in narrow windows, where lower bounds are tight."""
        del path
        queries, references = occupancies(32, 6, (80,)), occupancies(33, 200, (80,))
        assert brute_force(queries, references, 2, window) == nearest_lists(
            queries, references, 2, window
        )

    def test_groups_far_apart(self) -> None:
        """The nearest are correct where most references are excluded early."""
        rng = np.random.default_rng(34)
        levels = rng.integers(0, 40, 300)
        references = [occupancy(rng, 200) / 2 + 50 * level for level in levels]
        queries = [occupancy(rng, 200) / 2 + 50 * level for level in range(0, 40, 3)]
        assert brute_force(queries, references, 4) == nearest_lists(queries, references, 4)

    def test_ties(self) -> None:
        """Of equally near references those with the lowest indices are returned, in order."""
        x = np.array([1.0, 5.0, 2.0])
        for count in (5, 40, 100):
            _, indices = nearest([x], [x + 3, *([x] * count), x + 3], 5)
            assert indices.tolist() == [[1, 2, 3, 4, 5]]

    def test_few_values(self) -> None:
        """Ties among many are broken by index, whatever the order of lower bounds."""
        rng = np.random.default_rng(35)
        queries = list(rng.integers(0, 2, (20, 12)).astype(float))
        references = list(rng.integers(0, 2, (300, 12)).astype(float))
        for window in (None, 0, 2):
            for k in (1, 7, 60):
                expected = brute_force(queries, references, k, window)
                assert expected == nearest_lists(queries, references, k, window)

    def test_many_queries(self) -> None:
        """Each of more queries than one block gets its own neighbours."""
        rng = np.random.default_rng(36)
        series = [occupancy(rng, 12) for _ in range(600)]
        values, indices = nearest(series, series)
        assert not values.any()
        assert all((series[i] == x).all() for x, (i,) in zip(series, indices, strict=True))

    def test_lower_bounds(self) -> None:
        """A lower bound never exceeds the distance, also where both are rounded."""
        rng = np.random.default_rng(37)
        for _ in range(300):
            size_x, size_y = (int(size) for size in rng.integers(1, 80, 2))
            x = (rng.normal(size=size_x) * 100).astype(np.float32)
            y = (rng.normal(size=size_y) * 100).astype(np.float32)
            least = abs(size_x - size_y)
            for window in (least, least + 2, 80):
                bound = _native.dtw_lower_bound(x, y, window)
                assert 0 <= bound <= distance(x, y, window=window)

    def test_tight_lower_bounds(self) -> None:
        """Lower bounds of distant series, or of single points, almost equal the distance."""
        x, y = np.zeros(90, dtype=np.float32), np.full(90, 3, dtype=np.float32)
        for size_x, size_y, expected in ((90, 90, 270), (1, 1, 3), (1, 2, 6), (2, 1, 6)):
            first, second = x[:size_x], y[:size_y]
            assert distance(first, second) == expected
            bound = _native.dtw_lower_bound(first, second, 1)
            assert bound == pytest.approx(expected, rel=1e-4)
            assert bound < expected


def _several(queries: object) -> Callable[[], object]:
    return lambda: distances(queries, [[1, 2]])  # type: ignore[arg-type]


class TestInput:
    def test_kinds(self) -> None:
        """Lists, arrays of any number type, views and rows of an array are all series."""
        rows = np.arange(12, dtype=np.int16).reshape(3, 4)
        expected = distances([[0, 4, 8]], rows.T.tolist())
        assert expected.tolist() == distances(rows[:, :1].T, rows.T).tolist()
        assert distances([np.array([0, 4, 8], dtype=np.uint8)], [(0, 4, 8)]).tolist() == [[0]]

    def test_result_types(self) -> None:
        """Distances are a float or single precision, with a row for each query; indices int64."""
        assert isinstance(distance([1], [2]), float)
        assert distances([[1]] * 3, [[2]] * 2).shape == (3, 2)
        assert distances([[1]] * 2, [[2]] * 3).shape == (2, 3)
        values, indices = nearest([[1]] * 3, [[2]] * 2, k=2)
        assert values.shape == indices.shape == (3, 2)
        assert values.dtype == np.float32
        assert indices.dtype == np.int64

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: distance([], [1]), r"^x is \[\]; it must be one or more numbers"),
            (lambda: distance([1], [[1], [2]]), r"^y is .* in one dimension: write"),
            (lambda: distance([1, np.nan], [1]), r"^x\[1\] is nan; it must be a finite number"),
            (lambda: distance([1], [1, 2, -np.inf]), r"^y\[2\] is -inf; it must be a finite"),
            (lambda: distance([1e39], [1]), r"^x\[0\] is 1e\+39; .* within ±1e\+30: check"),
            (lambda: distance(["many"], [1]), r"^x is \['many'\]; it must be one or more numbers"),
            (_several([[1, 2], [3, np.nan]]), r"^queries\[1\]\[1\] is nan"),
            (_several([[1, 2], []]), r"^queries\[1\] is \[\]; it must be one or more numbers"),
            (_several([1, 2]), r"^queries\[0\] is 1; .* in one dimension"),
            (_several([]), r"^queries is \[\]; it must be a sequence of one or more series: write"),
            (_several(7), r"^queries is 7; it must be a sequence"),
            (_several("12"), r"^queries is '12'; it must be a sequence"),
            (lambda: pairwise([[1], [2, np.inf]]), r"^series\[1\]\[1\] is inf"),
            (lambda: nearest([[1]], []), r"^references is \[\]"),
        ],
    )
    def test_bad_series(self, call: Callable[[], object], message: str) -> None:
        """An invalid series is named with its position."""
        with pytest.raises(InputError, match=message):
            call()

    @pytest.mark.parametrize("window", [-1, 1.5, True, "wide"])
    def test_bad_window(self, window: Any) -> None:
        """A window is a whole number of points."""
        with pytest.raises(InputError, match=r"^window is .* a whole number at least 0: write"):
            distance([1, 2], [1, 2], window=window)

    def test_window_too_small(self) -> None:
        """A window that lets no path reach the end is an error with the minimum."""
        message = r"^window is 1; it must be at least 3, .*: write for example window = 3$"
        short, long = [[1, 2], [1, 2, 3]], [[1, 2, 3, 4, 5], [1, 2, 3]]
        for call in (
            lambda: distances(short, long, window=1),
            lambda: distances(long, short, window=1),
            lambda: nearest(short, long, window=1),
            lambda: pairwise(short + long, window=1),
        ):
            with pytest.raises(InputError, match=message):
                call()
        assert distances(short, long, window=3).shape == (2, 2)

    @pytest.mark.parametrize("k", [0, 3, 1.5])
    def test_bad_k(self, k: Any) -> None:
        """There are at most as many neighbours as references."""
        with pytest.raises(InputError, match=r"^k is .* at least 1 and at most 2"):
            nearest([[1]], [[1], [2]], k)

    @pytest.mark.parametrize("threads", [0, -1, 2.5])
    def test_bad_threads(self, threads: Any) -> None:
        """There is at least one thread."""
        for call in (distances, nearest):
            with pytest.raises(InputError, match=r"^threads is .* a whole number at least 1"):
                call([[1]], [[1]], threads=threads)


class TestLongComputation:
    """Computations that would take minutes."""

    def test_interrupt(self) -> None:
        """Ctrl-C stops a computation within a moment."""
        series = np.zeros((3000, 2000))
        timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])

        def compute() -> None:
            timer.start()
            pairwise(series)

        started_s = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            compute()
        assert time.monotonic() - started_s < 60
        timer.join()

    def test_other_threads_go_on(self) -> None:
        """Other Python threads run during a computation."""
        series = np.zeros((3000, 2000))
        counted = 0

        def count() -> None:
            nonlocal counted
            for counted in range(50):  # noqa: B007 - it is read by the test
                time.sleep(0.005)
            signal.raise_signal(signal.SIGINT)

        counter = threading.Thread(target=count)

        def compute() -> None:
            counter.start()
            pairwise(series, threads=1)

        with pytest.raises(KeyboardInterrupt):
            compute()
        counter.join()
        assert counted == 49
