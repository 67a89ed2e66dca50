# SPDX-License-Identifier: Apache-2.0
"""``ccbench classify-cluster``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ccbench.base import result_folders, safe_json, validation
from ccbench.base.progress_bars import progress
from ccbench.cli._console import print_json, print_pairs, print_table
from ccbench.cli._options import json_option, output_option, quantity

if TYPE_CHECKING:
    from ccbench.classify.reclustering import Reclustering

__all__ = ["classify_cluster"]


@click.command("classify-cluster", short_help="Classify unknown servers by clustering.")
@click.argument(
    "folders",
    metavar="FOLDER...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
)
@click.option(
    "--group",
    "group_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Group of each server, such as a CDN: CSV with the columns target and group.  [default: "
    "the groups in the results, or else one group of all]",
)
@click.option(
    "--min-share",
    type=float,
    default=0.05,
    show_default=True,
    help="Minimum fraction of a cluster with a label for the rest to get that label.",
)
@click.option(
    "--cut",
    type=quantity("packets"),
    metavar="DISTANCE",
    help="Distance between clusters in packets per point.  [default: in each setting the mean of "
    "the CCAs' limits, above which a trace is unknown]",
)
@output_option("Folder for relabelled.json and pictures of the clusters.")
@click.option(
    "--barycentres",
    is_flag=True,
    help="Draw the barycentre of each cluster over its medoid. Needs ccbench[barycentres].",
)
@json_option
def classify_cluster(
    *,
    folders: tuple[Path, ...],
    group_file: Path | None,
    min_share: float,
    cut: float | None,
    output: Path | None,
    barycentres: bool,
    as_json: bool,
) -> None:
    """Classify unknown servers by clustering the traces of many servers.

    FOLDER is the output folder of `ccbench classify HOST -o FOLDER`. Traces are clustered within
    each group of servers, and an unknown trace gets the label of its cluster; then the settings
    vote again. Servers that remain unknown are clustered: those in one cluster probably run the
    same CCA. The results in FOLDER do not change.
    """
    from ccbench.classify.observed import server_folders
    from ccbench.classify.reclustering import recluster

    if barycentres and output is None:
        step = "add -o FOLDER, which has the pictures"
        raise validation.bad("--barycentres", "given alone", "given with -o FOLDER", step)
    servers = server_folders(folders)  # raises before the output folder is created
    if output is not None:
        result_folders.prepare(output, "clustering of servers")
    with progress("{task.completed:.0f} of {task.total:.0f}") as bar:
        result = recluster(
            servers,
            groups=group_file,
            min_share=min_share,
            cut=cut,
            track=lambda items, total, step: bar.track(items, total=total, description=step),
        )
    if output is not None:
        _write(result, output, barycentres=barycentres)
    if as_json:
        print_json(result.to_dict())
        return
    _print(result)
    if output is not None:
        print_pairs({"saved to": str(output)})


def _print(result: Reclustering) -> None:
    for group in result.groups():
        print_table(
            [f"group {group}", "servers\nbefore", "servers\nafter"],
            [[name, str(b), str(a)] for name, (b, a) in result.counts(group).items()],
        )
    rows = [row for group in result.clustered for row in result.rows(group)]
    several = [row for row in rows if row["size"] > 1]
    if several:
        print_table(
            ["clusters of traces in", "setting", "traces", "label", "labelled traces", "medoid"],
            [
                [
                    row["group"],
                    row["setting"],
                    str(row["size"]),
                    row["label"],
                    ", ".join(f"{label} {n}" for label, n in row["labels"].items()),
                    row["medoid"],
                ]
                for row in several
            ],
        )
    click.echo(f"clusters with a single trace: {len(rows) - len(several)}")
    if result.unknown is not None:
        print_table(
            ["still unknown", "servers", "medoid"],
            [[row["label"], str(row["size"]), row["medoid"]] for row in result.unknown_rows()],
        )


def _write(result: Reclustering, folder: Path, *, barycentres: bool) -> None:
    from ccbench import plots
    from ccbench.base import durable

    figures = dict(result.figures(barycentres=barycentres))
    with progress("{task.completed:.0f} of {task.total:.0f}") as bar:
        for name, figure in bar.track(figures.items(), description="drawing"):
            plots.save(figure, folder / f"{name}.png")
    durable.write_text(folder / "relabelled.json", safe_json.text(result.to_dict()))
