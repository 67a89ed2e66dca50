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
        Numbers of runs that are complete or have failed, and of all runs that are planned or
        expected so far.
    fraction : float
        Completed fraction of the work of the planned runs, 0 to 1; it never decreases.
    """

    done: int
    planned: int
    fraction: float

    @property
    def stage(self) -> str:
        """Name of the current part of the campaign; empty if it has no parts."""
        return ""

    @property
    def state(self) -> str:
        """What is complete, in words."""
        return f"{self.done} of {self.planned} runs"


class Tally:
    """Counts of the runs of a campaign and of their work."""

    def __init__(self) -> None:
        self._done = self._planned = self._expected = 0
        self._done_mbit = self._planned_mbit = self._fraction = 0.0

    def expect(self, runs: int) -> CampaignProgress:
        """Expect so many runs, which resemble those so far, after the planned ones."""
        self._expected = runs
        return self.now

    def add(self, scenarios: Iterable[Scenario]) -> None:
        """Add planned runs."""
        for scenario in scenarios:
            self._planned += 1
            self._planned_mbit += work_mbit(scenario)

    def finish(self, scenario: Scenario) -> CampaignProgress:
        """Record a finished run."""
        self._done += 1
        self._done_mbit += work_mbit(scenario)
        return self.now

    @property
    def now(self) -> CampaignProgress:
        """The present progress."""
        planned = self._planned + self._expected
        if self._done:
            expected_mbit = self._planned_mbit * planned / self._planned
            # Sums in another order differ in the last digit; the whole is 1, and no part more.
            is_all = self._done == planned
            fraction = 1.0 if is_all else min(self._done_mbit / expected_mbit, 1.0)
            self._fraction = max(self._fraction, fraction)
        return CampaignProgress(done=self._done, planned=planned, fraction=self._fraction)


@contextmanager
def shown(title: str) -> Iterator[Callable[[CampaignProgress], None]]:
    """Show a progress bar in terminals and notebooks; yield the function that updates it.

    The bar appears with the first run.
    """
    with progress("{task.fields[state]}") as bar:
        task = bar.add_task(title, total=1.0, state="", visible=False)

        def show(now: CampaignProgress) -> None:
            stage = now.stage or title
            bar.update(
                task, description=stage, completed=now.fraction, state=now.state, visible=True
            )

        yield show
