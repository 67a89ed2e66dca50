# SPDX-License-Identifier: Apache-2.0
"""Training for settings, or kernels, that a training set lacks; kept for the next time."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base.cache import cache_dir
from ccbench.base.code_digests import code_digest
from ccbench.base.errors import InputError
from ccbench.classify import samples, training
from ccbench.classify.implementation import IMPLEMENTATIONS
from ccbench.classify.training_set import TrainingSet
from ccbench.emulate import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from ccbench.classify.setting import Setting
    from ccbench.emulate import Engine
    from ccbench.emulate.progress import CampaignProgress

__all__ = ["with_settings"]


def with_settings(
    training_set: TrainingSet,
    settings: Iterable[Setting],
    *,
    engine: Engine | None = None,
    on_progress: Callable[[CampaignProgress], None] | None = None,
) -> TrainingSet:
    """Return a training set that has all of these settings.

    Missing settings are trained with the CCAs of the packaged training set, which takes minutes,
    and stored in the user's cache folder. The second stage's limits do not change.

    Parameters
    ----------
    training_set : TrainingSet
    settings : iterable of Setting
    engine : Engine, optional
        The engine whose runs train these settings, instead of the traces of `training_set`. By
        default, only missing settings are trained, on the default kernel.
    on_progress : callable, optional
        As in a :class:`~ccbench.emulate.Campaign`, for each setting.

    Raises
    ------
    MissingRequirement
        If a setting is missing, and the engine is not ready.
    EngineError
        If a run fails.
    """
    result = training_set
    if engine is not None:
        result = replace(training_set, samples=(), noisy=(), thresholds={})
    for setting in sorted(set(settings), key=lambda each: each.name):
        if setting not in result.settings:
            own = _trained(setting, engine or "kernel", on_progress)
            result = replace(
                result,
                samples=(*result.samples, *own.samples),
                noisy=(*result.noisy, *own.noisy),
                thresholds={**result.thresholds, **own.thresholds},
            )
    return result


def _trained(
    setting: Setting, engine: str | Engine, on_progress: Callable[[CampaignProgress], None] | None
) -> TrainingSet:
    resolved = resolve(engine)
    path = _path(setting, resolved)
    if path.is_file():
        with suppress(InputError):  # a damaged file is replaced
            return TrainingSet.load(path)
    own = samples.train_on_runs(
        IMPLEMENTATIONS, [setting], engine=resolved, on_progress=on_progress
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    own.save(path)
    return own


def _path(setting: Setting, engine: Engine) -> Path:
    """Return the file of a setting, whose name has a digest of everything that it depends on."""
    noisy = [training.noisy_variation(number) for number in range(samples.N_NOISY)]
    parts = (setting, training.VARIATIONS, training.TESTED_VARIATIONS, noisy, IMPLEMENTATIONS)
    software = (code_digest("ccbench.classify.samples"), engine.provenance())
    digest = hashlib.sha256(repr((parts, software)).encode()).hexdigest()[:16]
    return cache_dir() / "training" / f"{setting.name}-{digest}.parquet"
