# SPDX-License-Identifier: Apache-2.0
"""``ccbench traces list``."""

from __future__ import annotations

import click

from ccbench.cli._console import print_json, print_table
from ccbench.cli._options import json_option

__all__ = ["traces"]


@click.group()
def traces() -> None:
    """Say which links of varying rate there are, by name."""


@traces.command("list", short_help="List them.")
@json_option
def list_traces(*, as_json: bool) -> None:
    """List the traces that a scenario can name, as in trace = "Verizon-LTE-driving.down".

    They are those of the package mahimahi-traces, and the files *.up, *.down and *.trace of the
    folder $CCBENCH_TRACES. The percentiles are those of the rate over 1 s.
    """
    from ccbench.experiment import trace_library

    figures = trace_library.figures()
    if as_json:
        print_json({"traces": [{"name": name, **each} for name, each in figures.items()]})
        return
    print_table(
        ["trace", "period\ns", "mean\nMbit/s", "5th perc.\nMbit/s", "95th perc.\nMbit/s", "gap\ns"],
        [
            [
                name,
                f"{each['duration_s']:.0f}",
                f"{each['mean_mbps']:.2f}",
                f"{each['p5_mbps']:.2f}",
                f"{each['p95_mbps']:.2f}",
                f"{each['longest_gap_s']:.1f}",
            ]
            for name, each in figures.items()
        ],
    )
