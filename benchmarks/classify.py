# SPDX-License-Identifier: Apache-2.0
"""Measure how fast series are compared by dynamic time warping, beside other libraries.

    .venv/bin/python benchmarks/classify.py

Distances per second between series of several lengths, with the cost ``|x - y|`` and without a
window: on one core with each path through the compiled core that the processor has, on all cores,
and with tslearn, dtaidistance and aeon, each where it is installed, on one core. Everybody gets the
same series and as many of them as fill the time; the best of several rounds counts, and in each
round everybody has a turn. tslearn and aeon have no fast function for this cost: theirs squares
differences, which takes as long.

Then the search for the nearest of many series, beside computing the distances to all of them. These
are traces of the kind that is searched: sawtooths of several periods and depths, as queues have
under different algorithms, each with another phase and noise.

Last what users wait for: the verdict on a website, four traces against the training set that comes
with ccbench, on all cores, and how that grows with the length of traces and the number of them.

Leave the machine alone meanwhile: the output says how busy it was.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from ccbench import _native
from ccbench.base.random_streams import stream
from ccbench.classify import dtw
from ccbench.classify.occupancy import STEP_S
from ccbench.classify.setting import SETTINGS
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.verdict import judge
from ccbench.emulate import cores

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Series = npt.NDArray[np.float64]

LENGTHS = (500, 1000, 2000)
#: Series in the search: as many kinds as there are algorithms, so many of each kind.
KINDS, OF_EACH, QUERIES = 15, 60, 45
#: Windows of the search, as parts of the length.
WINDOWS = (None, 0.1, 0.02)


@dataclass(kw_only=True)
class Contestant:
    """Something that computes distances.

    Attributes
    ----------
    name : str
    compute : callable
        Takes one series and several, of which it computes the distances.
    at_once : int
        To how many series the distances are computed in one call.
    best : float
        Distances per second in the best round so far.
    """

    name: str
    compute: Callable[[Series, Series], object]
    at_once: int
    best: float = field(default=0.0)

    def take_turn(self, length: int, seconds: float) -> None:
        """Compute distances for some time."""
        rng = stream(1, "turn", length)
        query = rng.integers(0, 64, length).astype(float)
        references = rng.integers(0, 64, (self.at_once, length)).astype(float)
        self.compute(query, references[:1])  # what is compiled or loaded at first use
        started_s = time.perf_counter()
        for calls in count(1):
            self.compute(query, references)
            took_s = time.perf_counter() - started_s
            if took_s >= seconds:
                self.best = max(self.best, calls * self.at_once / took_s)
                return


def ours(path: str, threads: int) -> Callable[[Series, Series], object]:
    """Return what computes distances by one path through the compiled core."""

    def compute(query: Series, references: Series) -> object:
        dtw._PATH = path  # noqa: SLF001 - users need not choose
        return dtw.distances(query[np.newaxis], references, threads=threads)

    return compute


def one_by_one(distance: Callable[[Series, Series], object]) -> Callable[[Series, Series], object]:
    """Return what computes distances with a function for two series."""
    return lambda query, references: [distance(query, reference) for reference in references]


def contestants() -> list[Contestant]:
    """Return who is here."""
    here = [
        Contestant(name=f"ccbench, {path}, 1 core", compute=ours(path, 1), at_once=96)
        for path in _native.dtw_paths()
    ]
    fastest = _native.dtw_paths()[0]
    everything = ours(fastest, cores())
    here.append(
        Contestant(
            name=f"ccbench, {fastest}, {cores()} cores", compute=everything, at_once=96 * cores()
        )
    )
    if find_spec("dtaidistance"):
        theirs: Any = import_module("dtaidistance.dtw")
        distance = partial(theirs.distance_fast, inner_dist="euclidean", use_pruning=False)
        here.append(Contestant(name="dtaidistance (C)", compute=one_by_one(distance), at_once=4))
    if find_spec("tslearn"):
        theirs = import_module("tslearn.metrics")
        here.append(Contestant(name="tslearn", compute=one_by_one(theirs.dtw), at_once=4))
    if find_spec("aeon"):
        theirs = import_module("aeon.distances")
        compute = one_by_one(theirs.dtw_distance)
        here.append(Contestant(name="aeon", compute=compute, at_once=4))
    return here


def sawtooths(length: int, seed: int, of_each: int) -> Series:
    """Return traces of several kinds, shape (KINDS * of_each, length), in packets."""
    rng = stream(seed, "sawtooths")
    time_of = np.arange(length)
    rows = []
    for kind in range(KINDS):
        period, depth = 40 * 1.25**kind, 0.3 + 0.7 * (kind * 7 % KINDS) / KINDS
        for _ in range(of_each):
            phase = (time_of / (period * rng.uniform(0.9, 1.1)) + rng.uniform()) % 1
            rows.append(np.rint(100 * (1 - depth + depth * phase) + rng.normal(0, 2, length)))
    traces: Series = np.stack(rows)
    return traces.clip(min=0)


def timed(run: Callable[[], object], rounds: int) -> float:
    """Return the shortest time that something took, in seconds."""
    times_s = []
    for _ in range(rounds):
        started_s = time.perf_counter()
        run()
        times_s.append(time.perf_counter() - started_s)
    return min(times_s)


def compare_speed(seconds: float, rounds: int) -> Table:
    """Let all compute distances, and return how many each computed."""
    table = Table(box=box.SIMPLE_HEAD, title="Distances per second")
    table.add_column("")
    for length in LENGTHS:
        table.add_column(f"{length} points", justify="right")
        table.add_column("ratio", justify="right")
    by_length = {length: contestants() for length in LENGTHS}
    for length, everybody in by_length.items():
        for _ in range(rounds):
            for one in everybody:
                one.take_turn(length, seconds)
    for same in zip(*by_length.values(), strict=True):
        cells = []
        for length, one in zip(LENGTHS, same, strict=True):
            cells += [f"{one.best:,.0f}", f"{by_length[length][0].best / one.best:.2f}"]
        table.add_row(same[0].name, *cells)
    return table


def compare_search(rounds: int) -> Table:
    """Search with and without computing all distances, and return how long it took."""
    table = Table(box=box.SIMPLE_HEAD, title="Search for the nearest, seconds")
    headings = ("points", "window", "queries", "references", "all distances", "nearest", "ratio")
    for heading in headings:
        table.add_column(heading, justify="right")
    dtw._PATH = _native.dtw_paths()[0]  # noqa: SLF001 - the benchmark above has changed it
    for length in LENGTHS:
        references = sawtooths(length, 1, OF_EACH)
        queries = sawtooths(length, 2, QUERIES // KINDS)
        for part in WINDOWS:
            window = None if part is None else int(part * length)
            all_s = timed(partial(dtw.distances, queries, references, window=window), rounds)
            nearest_s = timed(partial(dtw.nearest, queries, references, window=window), rounds)
            table.add_row(
                *(str(length), "none" if window is None else str(window)),
                *(str(len(queries)), str(len(references))),
                *(f"{all_s:.3f}", f"{nearest_s:.3f}", f"{all_s / nearest_s:.1f}"),
            )
    return table


def compare_verdicts(rounds: int) -> Table:
    """Judge a website with parts of the packaged training set, and return how long it took."""
    table = Table(box=box.SIMPLE_HEAD, title="Verdict on a website of four traces, seconds")
    for heading in ("traces in the training set", "seconds long", "points", "read", "judge"):
        table.add_column(heading, justify="right")
    known = TrainingSet.load(PACKAGED)
    read_s = timed(partial(TrainingSet.load, PACKAGED), rounds)
    of_settings = [one for one in known.samples if one.setting in SETTINGS]
    website = [next(one for one in of_settings if one.setting == setting) for setting in SETTINGS]
    rng = stream(1, "website")
    for part in (4, 2, 1):
        for seconds in (10.0, 20.0):
            points = round(seconds / STEP_S)
            some = [replace(one, trace=one.trace[:points]) for one in of_settings[::part]]
            # Like none of them exactly.
            traces = [
                (one.setting, one.trace[:points] + rng.integers(0, 3, points)) for one in website
            ]
            judge_s = timed(partial(judge, traces, replace(known, samples=tuple(some))), rounds)
            read = f"{read_s:.2f}" if (part, points) == (1, len(website[0].trace)) else ""
            table.add_row(str(len(some)), f"{seconds:g}", str(points), read, f"{judge_s:.2f}")
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=0.5, metavar="S", help="of each turn")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}; it must be at least 1: write --rounds 3")
    console = Console(width=110, highlight=False)
    console.print(f"{cores()} cores, load {os.getloadavg()[0]:.1f} at the start")
    console.print(compare_speed(options.seconds, options.rounds))
    console.print(compare_search(options.rounds))
    console.print(compare_verdicts(options.rounds))
    console.print("Ratios say how many times faster the first line, or the search, is.")


if __name__ == "__main__":
    main()
