# SPDX-License-Identifier: Apache-2.0
"""Sources of a training set: runs of known CCAs, and recordings of servers with known CCAs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.classify import training
from ccbench.classify.measurements import measured_events
from ccbench.classify.occupancy import DURATION_S, occupancy
from ccbench.classify.recording import read_all
from ccbench.classify.setting import SETTINGS
from ccbench.classify.training import Sample, Variation
from ccbench.classify.training_set import train
from ccbench.classify.view import View
from ccbench.classify.vote import UNKNOWN
from ccbench.classify.windows import samples_of_run, windows_needed
from ccbench.emulate import Campaign, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from ccbench.classify.setting import Setting
    from ccbench.classify.training_set import TrainingSet
    from ccbench.emulate import CampaignPlan, Engine
    from ccbench.emulate.progress import CampaignProgress
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["N_NOISY", "recorded_samples", "train_on_runs", "training_plan"]

#: Random noisy paths of a training set.
N_NOISY = 225


def training_plan(  # noqa: PLR0913 - as in train_on_runs
    ccas: Sequence[str],
    settings: Sequence[Setting] = SETTINGS,
    repetitions: int = 1,
    *,
    n_noisy: int = N_NOISY,
    n_networks: int = 0,
    duration_s: float = DURATION_S,
    engine: str | Engine = "kernel",
) -> CampaignPlan:
    """Return the extent and the expected cost of :func:`train_on_runs`."""
    parts = _parts(ccas, settings, repetitions, n_noisy, n_networks, duration_s)
    return Campaign(engine=engine).plan(_joined(parts))


def _parts(  # noqa: PLR0913, PLR0917 - as in train_on_runs
    ccas: Sequence[str],
    settings: Sequence[Setting],
    repetitions: int,
    n_noisy: int,
    n_networks: int,
    duration_s: float,
) -> tuple[Mapping[Any, tuple[Scenario]], ...]:
    """Return the runs of training, tested and noisy samples, and of windows, by their keys."""
    seeds = range(1, repetitions + 1)
    paths = (
        [(variation, seed) for variation in training.VARIATIONS for seed in seeds],
        [(variation, 0) for variation in training.TESTED_VARIATIONS],
        [(training.noisy_variation(number), number) for number in range(n_noisy)],
    )
    return (
        *(training.needed(part, ccas, settings, duration_s=duration_s) for part in paths),
        windows_needed(range(n_networks), ccas),
    )


def _joined(parts: Iterable[Mapping[Any, tuple[Scenario]]]) -> dict[Any, tuple[Scenario]]:
    return {key: own for part in parts for key, own in part.items()}


def train_on_runs(  # noqa: PLR0913 - three dimensions, the noisy paths, and two options
    ccas: Sequence[str],
    settings: Sequence[Setting] = SETTINGS,
    repetitions: int = 1,
    *,
    n_noisy: int = N_NOISY,
    n_networks: int = 0,
    duration_s: float = DURATION_S,
    engine: str | Engine = "kernel",
    executor: Executor | None = None,
    jobs: int | None = None,
    on_progress: Callable[[CampaignProgress], None] | None = None,
) -> TrainingSet:
    """Create a training set from runs, as ``ccbench classify-train`` does.

    Parameters
    ----------
    ccas : sequence of str
        Descriptions for :meth:`~ccbench.classify.implementation.Implementation.named`.
    settings : sequence of Setting
        The bottlenecks at which they are observed.
    repetitions : int
        Runs of each CCA in each setting and variation, each with its own seed.
    n_noisy : int
        Random noisy paths (:func:`~ccbench.classify.training.noisy_variation`), on each of which
        each CCA runs once in each setting, for the second stage; 0 for none.
    n_networks : int
        Random networks (:mod:`.windows`), on each of which each CCA runs once, for recordings of
        any part of a connection on any network; 0 for none.
    duration_s : float
        Length of the traces in seconds.
    engine, executor, jobs
        As in :func:`ccbench.emulate.run_many`.
    on_progress : callable, optional
        As in a :class:`~ccbench.emulate.Campaign`.

    Raises
    ------
    InputError
        If the engine has no such CCA.
    EngineError
        If a run fails.
    """
    resolved = resolve(engine)
    campaign = Campaign(engine=resolved, executor=executor, jobs=jobs, on_progress=on_progress)
    parts = _parts(ccas, settings, repetitions, n_noisy, n_networks, duration_s)
    windows, needs = parts[-1], _joined(parts)

    def measure(key: Any, run: Run) -> list[Sample]:
        if key in windows:
            return samples_of_run(key, run)
        return [training.sample_of(key, run, duration_s=duration_s)]

    own = campaign.measured(
        needs, measure, named=lambda key: f"{needs[key][0].name}, seed {needs[key][0].seed}"
    )
    training_samples, test_samples, noisy, of_windows = (
        tuple(sample for key in part for sample in own[key]) for part in parts
    )
    return train(training_samples, test_samples, resolved.provenance(), noisy, of_windows)


def recorded_samples(
    files: Mapping[str, Sequence[Path]],
    setting: Setting | None = None,
    settings: Sequence[Setting] = SETTINGS,
    *,
    duration_s: float = DURATION_S,
) -> list[Sample]:
    """Return samples of recordings with known CCAs, to extend a training set.

    Parameters
    ----------
    files : mapping of str to sequence of Path
        The recordings of each CCA.
    setting, settings
        See :func:`ccbench.classify.recording.read_all`.
    duration_s : float
        Length of the traces in seconds.

    Raises
    ------
    InputError
        If a recording cannot be read or is too short, or a CCA has the name ``unknown``.
    """
    if UNKNOWN in files:
        raise validation.bad("cca", UNKNOWN, "the name of a CCA", "choose another name")
    return [
        Sample(
            cca=cca,
            setting=recording.setting,
            variation=Variation(name="recorded"),
            seed=number,
            points=occupancy(recording.events, duration_s=duration_s),
            measured=measured_events(
                recording.events, recording.setting, view=View(length_s=duration_s)
            ),
        )
        for cca, paths in files.items()
        for number, recording in enumerate(read_all(paths, setting, settings))
    ]
