# SPDX-License-Identifier: Apache-2.0
"""Small searches, and engines that fail or wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccbench.base.errors import CcbenchError, MissingRequirement
from ccbench.raygen import (
    SearchConfig,
)

if TYPE_CHECKING:
    from typing_extensions import Self

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run


def small(**changes: Any) -> SearchConfig:
    """Return the settings of a search of eight scenarios, some of them changed."""
    settings: dict[str, Any] = {
        "alpha": "greedy",
        "beta": "even",
        "budget": 8,
        "population": 4,
        "duration_s": 4.0,
        "confirm": 2,  # the default takes as many runs again as the search
    }
    return SearchConfig(**settings | changes)


class Wrapped:
    """An engine that calls a hook before each run of another engine."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.ran: list[Scenario] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    @classmethod
    def of_version(cls, version: str) -> Self:
        """Refuse: a worker cannot create this engine."""
        raise MissingRequirement(version)

    def run(self, scenario: Scenario, **options: Any) -> Run:
        """Run the wrapped engine."""
        self.before(scenario)
        self.ran.append(scenario)
        result: Run = self._engine.run(scenario, **options)
        return result

    def before(self, scenario: Scenario) -> None:
        """Do nothing."""


class Breaks(Wrapped):
    """Raises an error after some runs, as a full disk does."""

    def __init__(self, engine: Any, after: int) -> None:
        super().__init__(engine)
        self._after = after

    def before(self, _: Scenario) -> None:
        """Raise the error once that many have run."""
        if len(self.ran) == self._after:
            raise CcbenchError("out of luck")
