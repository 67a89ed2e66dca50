# SPDX-License-Identifier: Apache-2.0
"""``ccbench plot``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.base.result_folders import KINDS
from ccbench.cli._console import print_pairs
from ccbench.cli._options import completes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ccbench.base.figures import Figure
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
    shell_complete=completes(_kinds),
    help="Kind of plot of runs: time-series, queue, cdf, quantiles, box or delay-throughput.  "
    "[default: time-series]",
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
    help="What has a line, box or cloud of its own.  [default: group]",
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
    help="Figure as .png, .pdf or .svg.  [default: KIND.png, or sweep.png]",
)
def plot(
    *,
    folders: tuple[Path, ...],
    kind: str | None,
    metrics: tuple[str, ...],
    by: Literal["group", "flow", "run"] | None,
    columns: int,
    output: Path | None,
) -> None:
    """Draw saved runs, or a saved sweep.

    A FOLDER is one of `ccbench run -o`; with --repeat, each repetition in it is a run. The runs of
    several folders are drawn over each other. The folder of a sweep (`ccbench sweep -o`) is drawn
    as by --plot; searches have `ccbench report`.
    """
    from ccbench import plots

    if any((folder / KINDS["sweep"]).exists() for folder in folders):
        options = {"--as": kind, "--metric": metrics, "--by": by}
        given = [name for name, value in options.items() if value]
        if given or len(folders) > 1:
            left_out = given[0] if given else "another FOLDER"
            raise InputError(f"{left_out} is for saved runs: leave it out to draw a sweep")
        path = plots.check_path(output or "sweep.png")
        figure = _of_sweep(folders[0], columns)
    else:
        kind = kind or "time-series"
        path = plots.check_path(output or f"{kind}.png")
        runs = dict(_runs(folders))
        figure = plots.draw(runs, kind, metrics=metrics, by=by or "group", columns=columns)
    plots.save(figure, path)
    print_pairs({"plot": str(path)})


def _of_sweep(folder: Path, columns: int) -> Figure:
    from ccbench.sweeps import SavedSweep
    from ccbench.sweeps.figures import check_figure, drawn

    sweep = SavedSweep.load(folder)
    check_figure(sweep)
    return drawn(sweep, sweep.medians, columns=columns)


def _runs(folders: Sequence[Path]) -> Iterator[tuple[str, Run]]:
    """Yield the runs in some folders with their names."""
    from ccbench.run.run import Run

    for folder in folders:
        inner = sorted(path.parent for path in folder.glob("*/run.json"))
        if not (inner or (folder / "run.json").exists()):
            is_search = (folder / KINDS["search"]).exists()
            step = "save one with ccbench run SCENARIO.toml -o NAME"
            step = f"draw a search with ccbench report {folder}" if is_search else step
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
