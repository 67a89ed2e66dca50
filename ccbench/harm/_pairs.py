# SPDX-License-Identifier: Apache-2.0
"""Checks of the solo and the competing run of an experiment."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["check_samples", "check_shared", "flow_counts"]


def flow_counts(solo: Scenario, competing: Scenario) -> tuple[int, int]:
    """Return the numbers of beta and alpha flows of the two scenarios of an experiment.

    Raises
    ------
    InputError
        If the scenarios differ in more than the added flows, the seed, the sampling and the queue
        log, or no bottleneck is on the path of all flows.
    """
    check_shared(competing)
    shared = len(solo.flows)
    step = "run the two scenarios of one Experiment"
    if len(competing.flows) <= shared:
        allowed = f"more than the {shared} of the solo run"
        raise validation.bad(
            "flow groups of the competing run", len(competing.flows), allowed, step
        )
    without_alpha = replace(
        competing,
        flows=competing.flows[:shared],
        seed=solo.seed,
        sample_interval_ms=solo.sample_interval_ms,
        queue_log=solo.queue_log,
    )
    if without_alpha.key() != solo.key():
        settings, expected = solo.to_dict(), without_alpha.to_dict()
        names = [
            name for name in expected if name != "name" and settings.get(name) != expected[name]
        ]
        allowed = "the same in both runs except for the flows that the competing run adds"
        raise validation.bad("network and beta flows", ", ".join(names), allowed, step)
    return solo.flow_count, competing.flow_count - solo.flow_count


def check_shared(scenario: Scenario) -> None:
    """Check that a bottleneck is on the path of all flows, which fair sharing presupposes.

    Raises
    ------
    InputError
        If there is none, as for flows of opposite directions.

    Examples
    --------
    >>> from ccbench import Bottleneck, Flow, Scenario
    >>> links = (Bottleneck(bandwidth_mbps=10, queue_bdp=1),) * 2
    >>> flows = (Flow(last_bottleneck=0), Flow(first_bottleneck=1))
    >>> check_shared(Scenario(flows=flows, bottlenecks=links, rtt_ms=40, duration_s=60))
    Traceback (most recent call last):
    ...
    ccbench.base.errors.InputError: harm compares with fair shares of a bottleneck, but no ...
    """
    crossed: list[set[int]] = []
    for flow in scenario.flows:
        ends = (scenario.links_of(path) for path in flow.paths)
        crossed.append({link for first, last in ends for link in range(first, last + 1)})
    if not set.intersection(*crossed):
        raise InputError(
            "harm compares with fair shares of a bottleneck, but no bottleneck is on the path of "
            "the data of all flows: give them a common one, or choose another metric"
        )


def check_samples(run: Run, name: str) -> None:
    """Check that a run has a result for every flow.

    Raises
    ------
    InputError
        If a flow has neither samples nor a completion.
    """
    sampled = set(run.flows["flow"].unique())
    completed = run.completions["end_ns"] >= 0
    for flow in range(run.scenario.flow_count):
        if flow not in sampled and not completed[flow]:
            raise validation.bad(
                f"{name}: samples of flow {flow}", 0, "1 or more", "run it with --fresh"
            )
