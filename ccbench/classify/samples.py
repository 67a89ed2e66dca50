# SPDX-License-Identifier: Apache-2.0
"""Sources of a training set: runs of known CCAs, and recordings of servers with known CCAs."""

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
    """Create a training set from runs, as ``ccbench classify-train`` does.

    Parameters
    ----------
    ccas : sequence of str
        The CCAs of the training set.
    settings : sequence of Setting
        The bottlenecks at which they are observed.
    repetitions : int
        Runs of each CCA in each setting and variation, each with its own seed.
    engine : str or Engine
        The engine of the runs.
    on_progress : callable, optional
        Called with the number of finished runs and the total number.

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

    training_samples, test_samples = (tuple(observed(*part)) for part in parts)
    return train(training_samples, test_samples, resolved.provenance())


def recorded_samples(
    files: Mapping[str, Sequence[Path]],
    setting: Setting | None = None,
    settings: Sequence[Setting] = SETTINGS,
) -> list[Sample]:
    """Return samples of recordings with known CCAs, to extend a training set.

    Parameters
    ----------
    files : mapping of str to sequence of Path
        The recordings of each CCA.
    setting, settings
        See :func:`ccbench.classify.recording.read_all`.

    Raises
    ------
    InputError
        If a recording cannot be read, or a CCA has the name ``unknown``.
    """
    if UNKNOWN in files:
        raise validation.bad("cca", UNKNOWN, "the name of a CCA", "choose another name")
    return [
        Sample(
            cca=cca,
            setting=recording.setting,
            variation=Variation(name="recorded"),
            seed=number,
            trace=occupancy(recording.events),
        )
        for cca, paths in files.items()
        for number, recording in enumerate(read_all(paths, setting, settings))
    ]
