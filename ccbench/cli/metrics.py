# SPDX-License-Identifier: Apache-2.0
"""``ccbench metrics``."""

from __future__ import annotations

import click

from ccbench.cli._console import print_json, print_table
from ccbench.cli._options import json_option

__all__ = ["metrics"]


@click.command()
@json_option
def metrics(*, as_json: bool) -> None:
    """List the metrics that --metric takes.

    Each group of flows, bottleneck, queue or run has a value. `ccbench harm` and `ccbench
    deployable` take those of flows.
    """
    from ccbench.sweeps import METRICS

    rows = [
        {
            "name": metric.name,
            "unit": metric.unit,
            "of": metric.of_each,
            "definition": metric.definition,
        }
        for metric in METRICS.values()
    ]
    if as_json:
        print_json({"metrics": rows})
        return
    print_table(
        ["metric", "unit", "of each", "definition"],
        [[row["name"], row["unit"], row["of"], row["definition"]] for row in rows],
        words=4,
    )
