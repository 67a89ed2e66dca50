# SPDX-License-Identifier: Apache-2.0
"""Progress of a campaign, and its display."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccbench.base.progress_bars import progress
from ccbench.emulate._load import work_mbit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ccbench.experiment.scenario import Scenario

__all__ = ["CampaignProgress", "Tally", "shown"]


@dataclass(frozen=True, kw_only=True)
class CampaignProgress:
    """Progress of a campaign after a run.

    Attributes
    ----------
    done, planned : int
        Numbers of runs that are complete or have failed, and of all runs that are planned so far.
    fraction : float
        Completed fraction of the work of the planned runs, 0 to 1.
    """

    done: int
    planned: int
    fraction: float


class Tally:
    """Counts of the runs of a campaign and of their work."""

    def __init__(self) -> None:
        self._done = self._planned = 0
        self._done_mbit = self._planned_mbit = 0.0

    def add(self, scenarios: Iterable[Scenario]) -> None:
        """Add planned runs."""
        for scenario in scenarios:
            self._planned += 1
            self._planned_mbit += work_mbit(scenario)

    def finish(self, scenario: Scenario) -> CampaignProgress:
        """Record a finished run."""
        self._done += 1
        self._done_mbit += work_mbit(scenario)
        # Sums in another order may differ in the last digit and exceed 1.
        fraction = min(self._done_mbit / self._planned_mbit, 1.0)
        return CampaignProgress(done=self._done, planned=self._planned, fraction=fraction)


@contextmanager
def shown(title: str) -> Iterator[Callable[[CampaignProgress], None]]:
    """Show a progress bar in terminals and notebooks; yield the function that updates it.

    The bar appears with the first run.
    """
    with progress("{task.fields[runs]}") as bar:
        task = bar.add_task(title, total=1.0, runs="", visible=False)

        def show(now: CampaignProgress) -> None:
            runs = f"{now.done} of {now.planned} runs"
            bar.update(task, completed=now.fraction, runs=runs, visible=True)

        yield show
