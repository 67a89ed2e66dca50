# SPDX-License-Identifier: Apache-2.0
"""Plans of campaigns, as ``--dry-run`` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ccbench.cli._console import in_hours, print_json, print_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.emulate import CampaignPlan

__all__ = ["dry_run_option", "print_plan"]

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Only print the number of runs and expected time."
)


def print_plan(
    plan: CampaignPlan, jobs: int | None, about: Mapping[str, str], *, as_json: bool
) -> None:
    """Print a plan, after some words about it."""
    from ccbench.emulate import cores

    if as_json:
        print_json(plan.to_dict())
        return
    parallel = jobs or cores()
    print_pairs(
        {
            **about,
            "runs": f"{plan.runs} ({plan.stored} are stored)",
            "in real time": in_hours(plan.virtual_hours),
            "expected here": f"{in_hours(plan.core_hours / parallel)} with {parallel} side by side",
            "memory": f"{plan.memory_bytes / 1e9:.2g} GB for the largest run",
        }
    )
