# SPDX-License-Identifier: Apache-2.0
"""Compare ways to cluster unknown servers, on traces whose CCAs are known.

    .venv/bin/python scripts/classify_clusters.py

For each setting of the packaged training set, eight traces of each of its 16 CCAs are clustered by
`ccbench classify-cluster`'s method, which chooses the number of clusters by its cut, and by
k-medoids and tslearn's DTW k-means, which are given the right number. Printed are the purity (share
of pairs of traces in one cluster that have the same CCA), the adjusted Rand index (1: the clusters
are the CCAs; 0: as by chance), the number of clusters, and the time. Points are 100 ms apart.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import adjusted_rand_score

from ccbench.classify.clusters import cluster, trace_distances
from ccbench.classify.training_set import PACKAGED, TrainingSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

N_TRACES, EVERY, STARTS = 8, 5, 10


def agglomerative(
    traces: npt.NDArray[np.float32], limits: list[float], _: int
) -> npt.NDArray[np.intp]:
    """Return the clusters of `ccbench classify-cluster`: its cut is the mean limit of the CCAs."""
    numbers = np.empty(len(traces), dtype=np.intp)
    clusters = cluster(trace_distances(traces), float(np.mean(limits))).clusters
    for number, each in enumerate(clusters):
        numbers[list(each.members)] = number
    return numbers


def k_medoids(traces: npt.NDArray[np.float32], _: list[float], k: int) -> npt.NDArray[np.intp]:
    """Return the best of ten clusterings by k-medoids, each from random medoids."""
    distances = trace_distances(traces)
    random = np.random.default_rng(1)
    best, least = np.zeros(len(traces), dtype=np.intp), np.inf
    for _start in range(STARTS):
        medoids = random.choice(len(traces), k, replace=False)
        while True:
            numbers = distances[:, medoids].argmin(axis=1)
            numbers[medoids] = np.arange(k)  # also of equal traces
            moved = np.array(
                [
                    own[distances[np.ix_(own, own)].sum(axis=1).argmin()]
                    for own in (np.flatnonzero(numbers == i) for i in range(k))
                ]
            )
            if (moved == medoids).all():
                break
            medoids = moved
        if (cost := distances[np.arange(len(traces)), medoids[numbers]].sum()) < least:
            best, least = numbers, cost
    return best


def k_means(traces: npt.NDArray[np.float32], _: list[float], k: int) -> npt.NDArray[np.intp]:
    """Return the clusters of tslearn's DTW k-means."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tslearn.clustering import TimeSeriesKMeans  # noqa: PLC0415 - slow

        means = TimeSeriesKMeans(k, metric="dtw", max_iter=10, n_init=1, random_state=1, n_jobs=2)
        return np.asarray(means.fit_predict(traces[:, :, None]))


METHODS: dict[str, Callable[..., npt.NDArray[np.intp]]] = {
    "agglomerative": agglomerative,
    "k-medoids, k known": k_medoids,
    "DTW k-means, k known": k_means,
}


def cases() -> Iterator[tuple[str, list[str], npt.NDArray[np.float32], list[float]]]:
    """Yield the name of each setting, the CCAs, and the traces, and the limits."""
    training_set = TrainingSet.load(PACKAGED)
    for setting in training_set.settings:
        labels: list[str] = []
        traces = []
        for sample in training_set.samples_of(setting):
            if labels.count(sample.cca) < N_TRACES:
                labels.append(sample.cca)
                traces.append(sample.points[::EVERY])
        limits = list(training_set.thresholds[setting].limits.values())
        yield setting.name, labels, np.stack(traces), limits


def purity(labels: list[str], numbers: npt.NDArray[np.intp]) -> float:
    """Return the share of pairs in one cluster that have the same CCA."""
    together = np.triu(numbers[:, None] == numbers, 1)
    names = np.asarray(labels)
    return float((names[:, None] == names)[together].mean())


def main() -> None:
    """Print a row for each setting and method."""
    print(f"{'setting':22}{'method':24}{'purity':>8}{'index':>8}{'clusters':>10}{'s':>8}")
    for name, labels, traces, limits in cases():
        for method, clustered in METHODS.items():
            start = time.perf_counter()
            numbers = clustered(traces, limits, len(set(labels)))
            elapsed = time.perf_counter() - start
            index = adjusted_rand_score(labels, numbers)
            count = len(np.unique(numbers))
            pure = purity(labels, numbers)
            print(f"{name:22}{method:24}{pure:8.2f}{index:8.2f}{count:10}{elapsed:8.2f}")


if __name__ == "__main__":
    main()
