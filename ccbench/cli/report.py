# SPDX-License-Identifier: Apache-2.0
"""``ccbench report``."""

from __future__ import annotations

from pathlib import Path

import click

from ccbench.cli._console import print_json, print_pairs
from ccbench.cli._options import json_option

__all__ = ["report"]


@click.command(short_help="Write the report of a search: one HTML page.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to write the page.  [default: DIR/report.html]",
)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Another search of the same pair and space, to compare with. As often as you like.",
)
@click.option(
    "--heatmap",
    "heatmaps",
    multiple=True,
    nargs=2,
    metavar="GENE GENE",
    help="Draw harm over these two, such as rtt_ms queue_bdp. As often as you like.",
)
@json_option
def report(
    *,
    folder: Path,
    output: Path | None,
    baselines: tuple[Path, ...],
    heatmaps: tuple[tuple[str, str], ...],
    as_json: bool,
) -> None:
    """Write the report of the search in DIR: one HTML page that needs no other file.

    It has the worst networks and the commands that repeat them, where in the space harm is, as
    measured and as predicted, and how the search went. All figures are also written to the folder
    figures beside the page, as PNG and SVG. The search need not be finished.
    """
    from ccbench.raygen.html import report as write

    page, *figures = write(folder, output, baselines=baselines, heatmaps=heatmaps)
    if as_json:
        print_json({"page": page, "figures": figures})
        return
    print_pairs({"report": str(page), "figures": str(figures[0].parent)})
