# SPDX-License-Identifier: Apache-2.0
"""``ccbench plot``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.cli._console import print_pairs
from ccbench.cli._options import completes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ccbench.run.run import Run

__all__ = ["plot"]


def _kinds() -> Iterable[str]:
    from ccbench.plots import KINDS

    return KINDS


def _quantities() -> Iterable[str]:
    from ccbench.plots import QUANTITIES

    return QUANTITIES


@click.command()
@click.argument(
    "folders",
    metavar="FOLDER...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
)
@click.option(
    "--as",
    "kind",
    metavar="KIND",
    default="time-series",
    show_default=True,
    shell_complete=completes(_kinds),
    help="Kind of plot: time-series, queue, cdf, quantiles, box or delay-throughput.",
)
@click.option(
    "--metric",
    "metrics",
    metavar="M",
    multiple=True,
    shell_complete=completes(_quantities),
    help="Quantity: throughput, goodput, srtt, cwnd, inflight, pacing_rate, one_way_delay, "
    "queueing_delay, queue_length, sojourn_time or fct; may be repeated, a panel each.",
)
@click.option(
    "--by",
    type=click.Choice(["group", "flow", "run"]),
    default="group",
    show_default=True,
    help="What has a line, box or cloud of its own.",
)
@click.option(
    "--columns",
    type=click.IntRange(1, 2),
    default=2,
    show_default=True,
    help="Width in columns of a paper: 3.33 or 7 inches.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Figure as .png, .pdf or .svg.  [default: KIND.png]",
)
def plot(
    *,
    folders: tuple[Path, ...],
    kind: str,
    metrics: tuple[str, ...],
    by: str,
    columns: int,
    output: Path | None,
) -> None:
    """Draw saved runs.

    A FOLDER is one of `ccbench run -o`; with --repeat, each repetition in it is a run. The runs of
    several folders are drawn over each other.
    """
    from ccbench import plots

    path = plots.check_path(output or f"{kind}.png")
    runs = dict(_runs(folders))
    figure = plots.draw(runs, kind, metrics=metrics, by=by, columns=columns)  # type: ignore[arg-type]
    plots.save(figure, path)
    print_pairs({"plot": str(path)})


def _runs(folders: Sequence[Path]) -> Iterator[tuple[str, Run]]:
    """Yield the runs in some folders with their names."""
    from ccbench.run.run import Run

    for folder in folders:
        inner = sorted(path.parent for path in folder.glob("*/run.json"))
        if not (inner or (folder / "run.json").exists()):
            step = f"save one with ccbench run SCENARIO.toml -o {folder}"
            raise validation.bad("FOLDER", str(folder), "the folder of a saved run", step)
        if (folder / "run.json").exists():
            yield _name(folder, folders), Run.load(folder)
            continue
        for each in inner:
            yield f"{_name(folder, folders)} {each.name}", Run.load(each)


def _name(folder: Path, folders: Sequence[Path]) -> str:
    """Return the shortest end of a folder's path that tells it from the others."""
    others = [other for other in folders if other != folder]
    if len(others) + 1 < len(folders):
        raise InputError(f"FOLDER is {folder} twice: name each folder once")
    for parts in range(1, len(folder.parts) + 1):
        name = "/".join(folder.parts[-parts:])
        if all("/".join(other.parts[-parts:]) != name for other in others):
            return name
    return str(folder)
