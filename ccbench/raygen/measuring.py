# SPDX-License-Identifier: Apache-2.0
"""Measurements of harm in parallel experiments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from ccbench.base.errors import InputError
from ccbench.harm import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ccbench.emulate import Campaign
    from ccbench.experiment.scenario import Scenario
    from ccbench.harm import Experiment, HarmResult
    from ccbench.run.run import Run

__all__ = ["Measured", "measured"]

_Key = TypeVar("_Key")


@dataclass(frozen=True, kw_only=True)
class Measured(Generic[_Key]):
    """The outcome of an experiment.

    Attributes
    ----------
    key
        Key of the experiment.
    harm : HarmResult or None
        The harm; None if the experiment failed.
    error : str
        Reason of the failure; empty without one.
    """

    key: _Key
    harm: HarmResult | None = None
    error: str = ""


def measured(
    experiments: Mapping[_Key, Experiment],
    campaign: Campaign,
    *,
    on_run: Callable[[Scenario], None],
) -> Iterator[Measured[_Key]]:
    """Run experiments and yield each outcome as soon as it is complete or has failed.

    Parameters
    ----------
    experiments : mapping
        Experiments by arbitrary keys.
    campaign : Campaign
        Runs the scenarios; equal scenarios are run once.
    on_run : callable
        Called with each finished or failed scenario.
    """
    needs = {key: each.scenarios for key, each in experiments.items()}
    for gathered in campaign.gathered(needs, on_run=on_run):
        if gathered.error is not None:
            yield Measured(key=gathered.key, error=str(gathered.error))
        else:
            yield _measured(gathered.key, experiments[gathered.key], *gathered.runs)


def _measured(key: _Key, experiment: Experiment, solo: Run, competing: Run) -> Measured[_Key]:
    try:
        return Measured(key=key, harm=measure(solo, competing, experiment.measured_s))
    except InputError as error:  # caused by the runs, not by the user's input
        return Measured(key=key, error=str(error))
