# SPDX-License-Identifier: Apache-2.0
"""``ccbench traces list``."""

from __future__ import annotations

import click

from ccbench.cli._console import print_json, print_table
from ccbench.cli._options import json_option

__all__ = ["traces"]


@click.group()
def traces() -> None:
    """List the traces of links of varying rate."""


@traces.command("list", short_help="List the traces by name.")
@json_option
def list_traces(*, as_json: bool) -> None:
    """List the traces that a scenario can use, as in trace = "Verizon-LTE-driving.down".

    They come from the package mahimahi-traces and from the files *.up, *.down and *.trace in the
    folder $CCBENCH_TRACES. Percentiles are of the rate over 1 s.
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
