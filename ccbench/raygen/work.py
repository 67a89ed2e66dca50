# SPDX-License-Identifier: Apache-2.0
"""Estimate of how much of a search is done, and how long the rest will take."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ccbench.emulate import work_mbit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ccbench.experiment.scenario import Scenario
    from ccbench.harm import Experiment

__all__ = ["Work"]

#: The speed is told from so many finished runs or more: the first few of those that run side by
#: side end almost together, and only the time since the first began says how fast they were.
_FEWEST_RUNS = 8


class Work:
    """The work of a search, by how long runs take, not by their number.

    Parameters
    ----------
    is_stored : callable
        Whether a scenario need not be run, as it was before: it takes no time.
    clock : callable, optional
        Seconds since any moment.
    """

    def __init__(
        self, is_stored: Callable[[Scenario], bool], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._is_stored = is_stored
        self._clock = clock
        self._proposed = 0
        self._to_come = 0
        self._known = 0.0
        self._done = 0.0
        self._shown = 0.0
        self._to_run: set[Scenario] = set()
        self._began_s: float | None = None
        self._ran = 0
        self._ran_mbit = 0.0

    def add(self, experiments: Iterable[Experiment], to_come: int) -> None:
        """Add the runs of some experiments, each different one once.

        Parameters
        ----------
        experiments : iterable of Experiment
            Those that are made next.
        to_come : int
            How many are expected after them.
        """
        pairs = [(experiment.solo, experiment.competing) for experiment in experiments]
        self._proposed += len(pairs)
        self._to_come = to_come
        scenarios = {scenario for pair in pairs for scenario in pair}
        self._known += sum(map(work_mbit, scenarios))
        self._to_run = {scenario for scenario in scenarios if not self._is_stored(scenario)}
        if self._to_run and self._began_s is None:
            self._began_s = self._clock()

    def finish(self, scenario: Scenario) -> None:
        """Count a run as done."""
        self._done += work_mbit(scenario)
        if scenario in self._to_run:
            self._ran += 1
            self._ran_mbit += work_mbit(scenario)

    def fraction(self) -> float:
        """Return the share that is done, if generations to come are like those before them."""
        if self._done:
            # In another order the same sum may differ in its last digit.
            self._shown = max(self._shown, min(self._done / self._expected(), 1.0))
        return self._shown

    def left_s(self) -> float | None:
        """Return the expected time that is left in seconds; None while that is a guess.

        It is told from what has been run here; what came from the store took no time.
        """
        if self._ran < _FEWEST_RUNS or self._began_s is None:
            return None
        mbit_per_s = self._ran_mbit / max(self._clock() - self._began_s, 1e-9)
        return max(self._expected() - self._done, 0.0) / mbit_per_s

    def _expected(self) -> float:
        return self._known * (1 + self._to_come / self._proposed)
