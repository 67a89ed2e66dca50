# SPDX-License-Identifier: Apache-2.0
"""Checks that two runs have the same network and beta flows, without and with alpha."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base import validation

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["check_samples", "flow_counts"]


def flow_counts(solo: Scenario, competing: Scenario) -> tuple[int, int]:
    """Return the numbers of beta and of alpha flows of two scenarios that belong together.

    Raises
    ------
    InputError
        If they do not: they differ in more than the flows that the competing one adds, and the
        seed, the sampling and the queue log.
    """
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
        allowed = "the same in both runs but for the flows that the competing run adds"
        raise validation.bad("network and beta flows", ", ".join(names), allowed, step)
    return solo.flow_count, competing.flow_count - solo.flow_count


def check_samples(run: Run, name: str) -> None:
    """Make sure that a run says of every flow how it did.

    Raises
    ------
    InputError
        If a flow neither has samples nor has completed.
    """
    sampled = set(run.flows["flow"].unique())
    completed = run.completions["end_ns"] >= 0
    for flow in range(run.scenario.flow_count):
        if flow not in sampled and not completed[flow]:
            raise validation.bad(
                f"{name}: samples of flow {flow}", 0, "1 or more", "run it with --fresh"
            )
