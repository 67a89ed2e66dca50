# SPDX-License-Identifier: Apache-2.0
"""Estimates of the time that runs take on this machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.emulate import _speed
from ccbench.emulate._load import work_mbit
from ccbench.emulate._run import run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ccbench.emulate.engine import Engine
    from ccbench.experiment.scenario import Scenario

__all__ = ["expected_s", "measured_s"]

#: How much of a run is made to see how fast this machine is: enough for the start not to matter.
_SAMPLE_MBIT = 4000.0


def expected_s(scenarios: Iterable[Scenario], engine: Engine) -> float | None:
    """Return how long one core takes for runs, in seconds, by those that it has made before.

    None if this machine has run nothing on that engine yet.

    Examples
    --------
    >>> expected_s([scenario], engine) or "nothing has run yet"  # doctest: +SKIP
    """
    return _speed.expected_s(engine.name, sum(engine.needs(one).work for one in scenarios))


def measured_s(scenarios: Sequence[Scenario], engine: Engine) -> float:
    """Return the same as :func:`expected_s`; if nothing has run yet, run part of a scenario.

    Parameters
    ----------
    scenarios : sequence of Scenario
        The one in the middle by its work stands for all.
    engine : Engine
        What runs it.

    Examples
    --------
    >>> measured_s([scenario], engine) > 0  # doctest: +SKIP
    True
    """
    if not scenarios:
        return 0.0
    known_s = expected_s(scenarios, engine)
    if known_s is None:
        typical = sorted(scenarios, key=work_mbit)[len(scenarios) // 2]
        started_s = typical.flow_table()["start_s"].max() + typical.noise.start_spread_ms / 1e3
        enough_s = started_s + _SAMPLE_MBIT / typical.bottlenecks[0].mean_mbps
        stop_s = max(flow.stop_s or 0.0 for flow in typical.flows)
        sample = replace(typical, duration_s=min(max(enough_s, stop_s), typical.duration_s))
        run(sample, engine=engine, store=None)
        known_s = expected_s(scenarios, engine)
    return known_s or 0.0
