# SPDX-License-Identifier: Apache-2.0
"""``ccbench diff``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ccbench.base import validation
from ccbench.cli._console import made_by, print_json, print_pairs, print_table
from ccbench.cli._options import json_option
from ccbench.cli._status import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccbench.run.difference import Difference, Row
    from ccbench.run.run import Run

__all__ = ["diff"]

#: Columns of a sample that are always shown, with those that differ.
_STATE = ("cwnd_packets", "ssthresh_packets", "srtt_us", "inflight_packets", "state")
_PACKET = ("event", "flow", "bytes", "backlog_packets")


@click.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Figure around the first difference, as .png, .pdf or .svg.",
)
@json_option
def diff(*, a: Path, b: Path, output: Path | None, as_json: bool) -> ExitStatus:
    """Name the first packet and state that differ in two runs.

    A and B are folders of `ccbench run -o`, of one scenario with two seeds, kernels, modules or
    settings. The exit status is 0 if the runs are alike and 1 if they differ.
    """
    from ccbench import plots
    from ccbench.run.difference import difference

    if output is not None:
        output = plots.check_path(output)
    own, other = _load("A", a), _load("B", b)
    found = difference(own, other)
    plot = None
    if output is not None:
        figure = plots.around_difference(own, other, found)
        if figure is not None:
            plots.save(figure, output)
            plot = str(output)
    if as_json:
        document = {"alike": found.is_alike, **asdict(found), "plot": plot}
        print_json(document)
    else:
        _print(own, other, found, plot)
    return ExitStatus.OK if found.is_alike else ExitStatus.FAILED


def _load(field: str, folder: Path) -> Run:
    from ccbench.run.run import Run

    if not (folder / "run.json").exists():
        repetitions = sorted(path.parent for path in folder.glob("*/run.json"))
        step = (
            f"name one of its repetitions, such as {repetitions[0]}"
            if repetitions
            else "save one with ccbench run SCENARIO.toml -o NAME"
        )
        raise validation.bad(field, str(folder), "the folder of a saved run", step)
    return Run.load(folder)


def _print(a: Run, b: Run, found: Difference, plot: str | None) -> None:
    pairs = {"A": made_by(a.provenance), "B": made_by(b.provenance)}
    for name, (own, other) in found.settings.items():
        pairs[name] = f"{_text(own)} in A, {_text(other)} in B"
    for name, (own, other) in found.modules.items():
        pairs[f"module {name}"] = f"{_text(own)} in A, {_text(other)} in B"
    if found.is_alike:
        pairs["result"] = "alike: every sample" + ("" if found.without_packets else " and packet")
    else:
        pairs["result"] = f"different: {', '.join(found.tables)}"
    for name in found.without_packets:
        pairs[f"packets of {name.upper()}"] = "not recorded: run with queue_log = true"
    if found.packet:
        where = f"bottleneck {found.packet.bottleneck}"
        pairs["first packet"] = f"{found.packet.time_ns / 1e9:.9f} s, {where}"
    if found.state:
        pairs["first state"] = f"{found.state.time_ns / 1e9:.9f} s, flow {found.state.flow}"
    if plot:
        pairs["plot"] = plot
    print_pairs(pairs, words=True)
    rows = list(_rows(found))
    if rows:
        click.echo()
        print_table(["", "", "A", "B"], rows)


def _rows(found: Difference) -> Iterator[list[str]]:
    """Yield the rows of the table of values at the first packet and the first state."""
    if found.packet:
        yield from _pair("packet", ("time_ns", *_PACKET), found.packet.a, found.packet.b)
        for flow, (own, other) in found.packet.states.items():
            yield from _pair(f"flow {flow} before", ("time_ns", *_STATE), own, other)
    if found.state:
        columns = dict.fromkeys(("time_ns", *_STATE, *found.state.columns))
        yield from _pair(f"flow {found.state.flow}", columns, found.state.a, found.state.b)


def _pair(part: str, columns: Any, own: Row | None, other: Row | None) -> Iterator[list[str]]:
    for column in columns:
        values = [_text(row[column]) if row else "-" for row in (own, other)]
        yield [part, column, *values]
        part = ""


def _text(value: object) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
