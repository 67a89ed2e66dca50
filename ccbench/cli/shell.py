# SPDX-License-Identifier: Apache-2.0
"""``ccbench shell``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ccbench.base import result_folders
from ccbench.cli._console import made_by, print_pairs
from ccbench.cli._options import (
    link_engine_options,
    output_option,
    quantity,
    queue_option,
    rtt_option,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.cli._options import EngineChoice
    from ccbench.experiment.bottleneck import Bottleneck

__all__ = ["shell"]


@click.command(
    context_settings={"allow_interspersed_args": False},
    short_help="Run any program behind an emulated link.",
)
@click.option(
    "--bandwidth", type=quantity("Mbit/s"), metavar="MBPS", help="Rate of the link in Mbit/s."
)
@click.option("--trace", metavar="NAME|FILE", help="Trace of a link of varying rate instead.")
@rtt_option
@queue_option
@click.option("--loss", type=float, default=0.0, metavar="P", help="Probability of random loss.")
@click.option(
    "--direction",
    type=click.Choice(["down", "up"]),
    default="down",
    show_default=True,
    help="Traffic that passes the link: downloads or uploads of the command.",
)
@link_engine_options
@output_option("Folder for queue.parquet (every event at the queue) and shell.json.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def shell(
    context: click.Context,
    *,
    bandwidth: float | None,
    trace: str | None,
    rtt: float,
    queue_setting: dict[str, Any],
    loss: float,
    direction: str,
    engine: EngineChoice,
    output: Path | None,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND behind an emulated link, and record the link's queue.

    The default COMMAND is your shell. Standard input, standard output and the exit status are those
    of the command; a summary is printed on standard error. Behind Mahimahi, $MAHIMAHI_BASE is the
    address of this machine.

    \b
        sudo ccbench shell --bandwidth 12 --rtt 80 --queue 64 -- curl -O https://example.com/file
    """  # noqa: D301 - click needs the backslash
    from ccbench.emulate.registry import resolve_link

    if (bandwidth is None) == (trace is None):
        message = "a link needs either --bandwidth or --trace: give one of the two"
        raise click.UsageError(message)
    if output is not None:
        result_folders.prepare(output, "recorded queue")
    link = _link(bandwidth, trace, queue_setting, loss, rtt)
    words = command or (os.environ.get("SHELL", "/bin/sh"),)
    recording = resolve_link(engine.make()).record(words, link, rtt, direction=direction)
    if output is not None:
        recording.save(output)
    saved = {} if output is None else {"saved to": str(output)}
    shown = {
        name.replace("_", " "): f"{value:.6g}"
        for name, value in recording.summary().items()
        if value is not None
    }
    print_pairs({**shown, "made by": made_by(recording.provenance), **saved}, err=True)
    context.exit(recording.status)


def _link(
    bandwidth: float | None, trace: str | None, queue: dict[str, Any], loss: float, rtt: float
) -> Bottleneck:
    """Return the link of the options; a Scenario converts a queue in BDPs to packets."""
    from ccbench.experiment.scenario import Scenario

    values = {"bandwidth_mbps": bandwidth, "trace": trace, "loss": loss, **queue}
    link = {name: value for name, value in values.items() if value is not None}
    document = {"flows": [{}], "bottlenecks": [link], "rtt_ms": rtt, "duration_s": 1}
    return Scenario.from_dict(document).path.bottlenecks[0]
