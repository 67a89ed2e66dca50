# SPDX-License-Identifier: Apache-2.0
"""Sources of a training set: runs of known CCAs, and recordings of servers whose CCA is known."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.classify import training
from ccbench.classify.occupancy import occupancy
from ccbench.classify.recording import read_all
from ccbench.classify.setting import SETTINGS
from ccbench.classify.training import Sample, Variation, collect
from ccbench.classify.training_set import train
from ccbench.classify.vote import UNKNOWN
from ccbench.emulate import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ccbench.classify.setting import Setting
    from ccbench.classify.training_set import TrainingSet
    from ccbench.emulate import Engine

__all__ = ["recorded_samples", "train_on_runs"]


def train_on_runs(
    ccas: Sequence[str],
    settings: Sequence[Setting] = SETTINGS,
    repetitions: int = 2,
    *,
    engine: str | Engine = "kernel",
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> TrainingSet:
    """Make a training set of runs, as ``ccbench classify-train`` does.

    Parameters
    ----------
    ccas : sequence of str
        The CCAs to be known.
    settings : sequence of Setting
        The bottlenecks at which they are observed.
    repetitions : int
        Runs of each CCA in each setting and variation, with seeds of their own.
    engine : str or Engine
        The engine of the runs.
    on_progress : callable, optional
        Is called with the number of runs that are done, and of all.

    Raises
    ------
    InputError
        If the engine has no such CCA.
    EngineError
        If a run fails.
    """
    resolved = resolve(engine)
    parts = (
        (training.VARIATIONS, tuple(range(1, repetitions + 1))),
        (training.TESTED_VARIATIONS, (0,)),
    )
    total = len(ccas) * len(settings) * sum(len(kinds) * len(seeds) for kinds, seeds in parts)
    done = 0

    def observed(variations: Sequence[Variation], seeds: Sequence[int]) -> Iterator[Sample]:
        nonlocal done
        with closing(collect(ccas, settings, variations, seeds, engine=resolved)) as samples:
            for sample in samples:
                done += 1
                on_progress(done, total)
                yield sample

    learnt, tested = (tuple(observed(*part)) for part in parts)
    return train(learnt, tested, resolved.provenance())


def recorded_samples(
    files: Mapping[str, Sequence[Path]],
    setting: Setting | None = None,
    settings: Sequence[Setting] = SETTINGS,
) -> list[Sample]:
    """Return samples of recordings whose CCA is known, for a training set to be extended.

    Parameters
    ----------
    files : mapping of str to sequence of Path
        The recordings of each CCA.
    setting, settings
        As for :func:`ccbench.classify.recording.read_all`.

    Raises
    ------
    InputError
        If a recording cannot be read, or a CCA is called unknown.
    """
    if UNKNOWN in files:
        raise validation.bad("cca", UNKNOWN, "the name of a congestion control", "choose another")
    return [
        Sample(
            cca=cca,
            setting=one.setting,
            variation=Variation(name="recorded"),
            seed=number,
            trace=occupancy(one.events),
        )
        for cca, paths in files.items()
        for number, one in enumerate(read_all(paths, setting, settings))
    ]
