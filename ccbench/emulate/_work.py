# SPDX-License-Identifier: Apache-2.0
"""Estimates of the run time of scenarios on this machine."""

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

#: Length of the sample run that measures the machine's speed, in Mbit sent; the start-up is
#: negligible.
_SAMPLE_MBIT = 4000.0


def expected_s(scenarios: Iterable[Scenario], engine: Engine) -> float | None:
    """Return the expected run time on one core in seconds, based on earlier runs.

    None if there are no earlier runs on that engine and machine.

    Examples
    --------
    >>> expected_s([scenario], engine) or "unknown"  # doctest: +SKIP
    """
    work = sum(engine.needs(scenario).work for scenario in scenarios)
    return _speed.expected_s(engine.name, work)


def measured_s(scenarios: Sequence[Scenario], engine: Engine) -> float:
    """Return :func:`expected_s`; without earlier runs, run part of a scenario first.

    Parameters
    ----------
    scenarios : sequence of Scenario
        The scenarios. The sample is part of the one with the median work.
    engine : Engine
        The engine.

    Examples
    --------
    >>> measured_s([scenario], engine) > 0  # doctest: +SKIP
    True
    """
    if not scenarios:
        return 0.0
    total_s = expected_s(scenarios, engine)
    if total_s is None:
        typical = sorted(scenarios, key=work_mbit)[len(scenarios) // 2]
        started_s = typical.starts_s().max() + typical.path.noise.start_spread_ms / 1e3
        enough_s = started_s + _SAMPLE_MBIT / typical.path.bottlenecks[0].mean_mbps
        stop_s = max(flow.stop_s or 0.0 for flow in typical.flows)
        sample = replace(typical, duration_s=min(max(enough_s, stop_s), typical.duration_s))
        run(sample, engine=engine, store=None)
        total_s = expected_s(scenarios, engine)
    return total_s or 0.0
