# SPDX-License-Identifier: Apache-2.0
"""Measurements of harm in experiments that run side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from ccbench.base.errors import InputError
from ccbench.emulate import gather
from ccbench.harm import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ccbench.emulate import RunMany
    from ccbench.experiment.scenario import Scenario
    from ccbench.harm import Experiment, HarmResult
    from ccbench.run.run import Run

__all__ = ["Measured", "measured"]

_Key = TypeVar("_Key")


@dataclass(frozen=True, kw_only=True)
class Measured(Generic[_Key]):
    """What became of an experiment.

    Attributes
    ----------
    key
        Which it is.
    harm : HarmResult or None
        The harm; None if it failed.
    error : str
        Why it failed; empty if it did not.
    """

    key: _Key
    harm: HarmResult | None = None
    error: str = ""


def measured(
    experiments: Mapping[_Key, Experiment],
    run_many: RunMany,
    *,
    on_run: Callable[[Scenario], None],
) -> Iterator[Measured[_Key]]:
    """Run experiments and yield each as soon as it is complete, or cannot be any more.

    Parameters
    ----------
    experiments : mapping
        By keys of the caller's.
    run_many : callable
        What runs their scenarios; equal ones are run once.
    on_run : callable
        Is called with each scenario that is done or has failed.
    """
    needs = {key: (one.solo, one.competing) for key, one in experiments.items()}
    for one in gather(needs, run_many, on_run=on_run):
        if one.error is not None:
            yield Measured(key=one.key, error=str(one.error))
        else:
            yield _measured(one.key, experiments[one.key], *one.runs)


def _measured(key: _Key, experiment: Experiment, solo: Run, competing: Run) -> Measured[_Key]:
    try:
        return Measured(key=key, harm=measure(solo, competing, experiment.measured_s))
    except InputError as error:  # the runs are to blame, not what the user wrote
        return Measured(key=key, error=str(error))
