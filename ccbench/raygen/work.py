# SPDX-License-Identifier: Apache-2.0
"""Estimates of the completed fraction and the remaining time of a search."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ccbench.emulate import work_mbit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ccbench.experiment.scenario import Scenario
    from ccbench.harm import Experiment

__all__ = ["Work"]

#: Minimum number of finished runs for an estimate of the speed: the first parallel runs finish
#: almost together, and only the time since their start shows the speed.
_MIN_RUNS = 8


class Work:
    """The work of a search, measured by the expected length of runs.

    Parameters
    ----------
    is_stored : callable
        Whether a scenario is stored, and therefore takes no time.
    clock : callable, optional
        Function that returns monotonic time in seconds.
    """

    def __init__(
        self, is_stored: Callable[[Scenario], bool], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._is_stored = is_stored
        self._clock = clock
        self._proposed = 0
        self._remaining = 0
        self._proposed_mbit = 0.0
        self._done_mbit = 0.0
        self._fraction = 0.0
        self._to_run: set[Scenario] = set()
        self._start_s: float | None = None
        self._ran = 0
        self._ran_mbit = 0.0

    def add(self, experiments: Iterable[Experiment], remaining: int) -> None:
        """Add the distinct runs of some experiments.

        Parameters
        ----------
        experiments : iterable of Experiment
            The next experiments.
        remaining : int
            Expected number of experiments after them.
        """
        pairs = [experiment.scenarios for experiment in experiments]
        self._proposed += len(pairs)
        self._remaining = remaining
        scenarios = {scenario for pair in pairs for scenario in pair}
        self._proposed_mbit += sum(map(work_mbit, scenarios))
        self._to_run = {scenario for scenario in scenarios if not self._is_stored(scenario)}
        if self._to_run and self._start_s is None:
            self._start_s = self._clock()

    def finish(self, scenario: Scenario) -> None:
        """Record a finished run."""
        self._done_mbit += work_mbit(scenario)
        if scenario in self._to_run:
            self._ran += 1
            self._ran_mbit += work_mbit(scenario)

    def fraction(self) -> float:
        """Return the completed fraction, assuming that generations are alike."""
        if self._done_mbit:
            # Sums in another order may differ in the last digit and exceed 1.
            done = min(self._done_mbit / self._expected_mbit(), 1.0)
            self._fraction = max(self._fraction, done)
        return self._fraction

    def left_s(self) -> float | None:
        """Return the expected remaining time in seconds; None before enough runs have finished.

        The speed is that of runs on this machine; stored runs take no time.
        """
        if self._ran < _MIN_RUNS or self._start_s is None:
            return None
        mbit_per_s = self._ran_mbit / max(self._clock() - self._start_s, 1e-9)
        return max(self._expected_mbit() - self._done_mbit, 0.0) / mbit_per_s

    def _expected_mbit(self) -> float:
        return self._proposed_mbit * (1 + self._remaining / self._proposed)
