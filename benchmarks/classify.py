# SPDX-License-Identifier: Apache-2.0
"""Measure the speed of dynamic time warping, compared with other libraries.

    .venv/bin/python benchmarks/classify.py

Distances per second between series of several lengths, with the cost ``|x - y|`` and without a
window: on one core with each path through the compiled core that the processor has, on all cores,
and with tslearn, dtaidistance and aeon, if installed, on one core. All get the same series, as many
as fill the time; the best of several rounds counts, and all take turns in each round. tslearn and
aeon have no fast function for this cost: theirs squares differences, which takes equally long.

Then the search for the nearest of many series, compared with computing the distances to all of
them. The series resemble the traces of classification: sawtooths of several periods and depths, as
of queues under different algorithms, each with its own phase and noise.

Then the verdict on a website, four traces against the packaged training set, on all cores, and its
growth with the length and the number of traces.

Finally the answer to a recording in a new process: its time and memory, also with trees that are
grown anew by scikit-learn instead of those in the training set, and the time of each further one.

Do not use the machine meanwhile; the output states its load.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from ccbench import _native
from ccbench.base.random_streams import stream
from ccbench.classify import dtw
from ccbench.classify.files import RecordedQueues
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
#: Series in the search: kinds (like algorithms), series of each kind, queries.
KINDS, OF_EACH, QUERIES = 15, 60, 45
#: Windows of the search, as parts of the length.
WINDOWS = (None, 0.1, 0.02)


@dataclass(kw_only=True)
class Contestant:
    """A function that computes distances.

    Attributes
    ----------
    name : str
    compute : callable
        Takes one series and several others, and computes the distances.
    at_once : int
        Number of distances computed in one call.
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
        self.compute(query, references[:1])  # compilation and loading at first use
        started_s = time.perf_counter()
        for calls in count(1):
            self.compute(query, references)
            took_s = time.perf_counter() - started_s
            if took_s >= seconds:
                self.best = max(self.best, calls * self.at_once / took_s)
                return


def compiled_core(path: str, threads: int) -> Callable[[Series, Series], object]:
    """Return a function that computes distances by one path through the compiled core."""

    def compute(query: Series, references: Series) -> object:
        dtw._PATH = path  # noqa: SLF001 - users need not choose
        return dtw.distances(query[np.newaxis], references, threads=threads)

    return compute


def one_by_one(distance: Callable[[Series, Series], object]) -> Callable[[Series, Series], object]:
    """Return a function that computes distances one pair at a time."""
    return lambda query, references: [distance(query, reference) for reference in references]


def contestants() -> list[Contestant]:
    """Return the installed contestants."""
    here = [
        Contestant(name=f"ccbench, {path}, 1 core", compute=compiled_core(path, 1), at_once=96)
        for path in _native.dtw_paths()
    ]
    fastest = _native.dtw_paths()[0]
    everything = compiled_core(fastest, cores())
    here.append(
        Contestant(
            name=f"ccbench, {fastest}, {cores()} cores", compute=everything, at_once=96 * cores()
        )
    )
    if find_spec("dtaidistance"):
        library: Any = import_module("dtaidistance.dtw")
        distance = partial(library.distance_fast, inner_dist="euclidean", use_pruning=False)
        here.append(Contestant(name="dtaidistance (C)", compute=one_by_one(distance), at_once=4))
    if find_spec("tslearn"):
        library = import_module("tslearn.metrics")
        here.append(Contestant(name="tslearn", compute=one_by_one(library.dtw), at_once=4))
    if find_spec("aeon"):
        library = import_module("aeon.distances")
        compute = one_by_one(library.dtw_distance)
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
    """Return the shortest time of a call, in seconds."""
    times_s = []
    for _ in range(rounds):
        started_s = time.perf_counter()
        run()
        times_s.append(time.perf_counter() - started_s)
    return min(times_s)


def compare_speed(seconds: float, rounds: int) -> Table:
    """Return the distances per second of all contestants."""
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
    """Return the times of searches with and without computing all distances."""
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
    """Return the times of verdicts on a website with parts of the packaged training set."""
    table = Table(box=box.SIMPLE_HEAD, title="Verdict on a website of four traces, seconds")
    for heading in ("traces in the training set", "seconds long", "points", "read", "judge"):
        table.add_column(heading, justify="right")
    training_set = TrainingSet.load(PACKAGED)
    read_s = timed(partial(TrainingSet.load, PACKAGED), rounds)
    of_settings = [sample for sample in training_set.samples if sample.setting in SETTINGS]
    website = [
        next(item for item in of_settings if item.setting == setting) for setting in SETTINGS
    ]
    rng = stream(1, "website")
    for part in (4, 2, 1):
        for seconds in (10.0, 20.0):
            points = round(seconds / STEP_S)
            some = [replace(one, points=one.points[:points]) for one in of_settings[::part]]
            # Similar to the training set, not equal.
            traces = [
                replace(one, points=one.points[:points] + rng.integers(0, 3, points))
                for one in website
            ]
            judge_s = timed(
                partial(judge, traces, replace(training_set, samples=tuple(some))), rounds
            )
            read = f"{read_s:.2f}" if (part, points) == (1, len(website[0].points)) else ""
            table.add_row(str(len(some)), f"{seconds:g}", str(points), read, f"{judge_s:.2f}")
    return table


#: Judges a file; prints the processor time since the start of the process, and the memory in MB.
_ANSWERS = """
import resource, sys, time
from dataclasses import replace
from ccbench.classify import TrainingSet, judge_files
load = TrainingSet.load
if sys.argv[2] == "grown":
    TrainingSet.load = staticmethod(lambda path: replace(load(path), trees={}))
judge_files(sys.argv[1:2])
print(time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
"""


def _answer(path: Path, trees: str) -> tuple[float, float]:
    """Return the processor time of an answer in seconds, and the memory of its process in MB."""
    words = [sys.executable, "-c", _ANSWERS, str(path), trees]
    done = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    seconds, megabytes = map(float, done.split())
    return seconds, megabytes


def compare_answers(rounds: int) -> Table:
    """Return the time and the memory of the first answer, and the time of each further one."""
    table = Table(box=box.SIMPLE_HEAD, title="First answer of a process, processor time")
    for heading in ("recording", "seconds", "MB", "trees grown", "MB", "ratio", "each further"):
        table.add_column(heading, justify="right")
    packaged = TrainingSet.load(PACKAGED)
    one = next(sample for sample in packaged.samples if sample.setting == SETTINGS[0])
    with tempfile.TemporaryDirectory() as folder:
        for name, first in (("whole", 0), ("without its first 4 s", round(4 / STEP_S))):
            path = Path(folder) / f"{first}-{SETTINGS[0].name}.csv"
            rows = [f"{i * STEP_S:.2f},{each:g}" for i, each in enumerate(one.points[first:])]
            path.write_text("\n".join(["time_s,occupancy_packets", *rows]), encoding="utf-8")
            (stored_s, stored_mb), (grown_s, grown_mb) = (
                min(_answer(path, trees) for _ in range(rounds)) for trees in ("stored", "grown")
            )
            queues = RecordedQueues.read([path])
            further_s = timed(partial(judge, queues.traces, queues.training_set), rounds)
            table.add_row(
                *(name, f"{stored_s:.2f}", f"{stored_mb:.0f}", f"{grown_s:.2f}", f"{grown_mb:.0f}"),
                *(f"{grown_s / stored_s:.1f}", f"{further_s:.3f}"),
            )
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=0.5, metavar="S", help="time of each turn")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}; it must be at least 1: write --rounds 3")
    console = Console(width=110, highlight=False)
    console.print(f"{cores()} cores, load {os.getloadavg()[0]:.1f} at the start")
    console.print(compare_speed(options.seconds, options.rounds))
    console.print(compare_search(options.rounds))
    console.print(compare_verdicts(options.rounds))
    console.print(compare_answers(options.rounds))
    console.print("Ratios are speed-ups of the first line, or of the search.")


if __name__ == "__main__":
    main()
