# SPDX-License-Identifier: Apache-2.0
"""``ccbench report``."""

from __future__ import annotations

from pathlib import Path

import click

from ccbench.cli._console import print_json, print_pairs
from ccbench.cli._options import json_option

__all__ = ["report"]


@click.command(short_help="Write the report of a search as one HTML page.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File of the page.  [default: DIR/report.html]",
)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Another search of the same CCAs and space to compare with; may be repeated.",
)
@click.option(
    "--heatmap",
    "heatmaps",
    multiple=True,
    nargs=2,
    metavar="GENE GENE",
    help="Draw harm over two genes, such as rtt_ms queue_bdp; may be repeated.",
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
    """Write the report of the search in DIR as one self-contained HTML page.

    It shows the worst networks with the commands that repeat them, harm over the search space as
    measured and as predicted, and the progress of the search. All figures are also written to the
    folder figures next to the page as PNG and SVG. The search may be unfinished.
    """
    from ccbench.raygen.html import report as write

    page, *figures = write(folder, output, baselines=baselines, heatmaps=heatmaps)
    if as_json:
        print_json({"page": page, "figures": figures})
        return
    print_pairs({"report": str(page), "figures": str(figures[0].parent)})
