# SPDX-License-Identifier: Apache-2.0
"""``ccbench classify-cluster``."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ccbench.base import result_folders
from ccbench.base.progress_bars import progress
from ccbench.cli._console import json_text, print_json, print_pairs, print_table
from ccbench.cli._options import json_option, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from ccbench.classify.relabel import GroupClusters, Server, UnknownServers
    from ccbench.classify.setting import Setting

__all__ = ["classify_cluster"]

#: Servers without a verdict, and traces that are none.
_NO_VERDICT, _INVALID = "no verdict", "invalid"
#: Pictures show no more clusters than these, the largest.
_MOST_DRAWN = 8


@click.command("classify-cluster", short_help="Think again about servers that are unknown.")
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
    help="What servers belong to, such as a CDN: CSV with the columns target and group. Left out: "
    "as the results say, or all are one group.",
)
@click.option(
    "--min-share",
    type=float,
    default=0.05,
    show_default=True,
    help="Part of a cluster that must have a label to give it to the rest.",
)
@click.option(
    "--cut",
    type=quantity("packets"),
    metavar="DISTANCE",
    help="How far apart clusters are, in packets per point.  [default: for each setting the mean "
    "of the CCAs' limits, beyond which a trace is unknown]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for relabelled.json and pictures of the clusters.",
)
@json_option
def classify_cluster(
    *,
    folders: tuple[Path, ...],
    group_file: Path | None,
    min_share: float,
    cut: float | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Think again about unknown servers, now that many were observed.

    FOLDER has what `ccbench classify HOST -o FOLDER` has written. Within each group of servers,
    traces are clustered, and unknown ones get the label of those that they are like; then the
    settings vote again. Servers that are still unknown are clustered: those in one cluster probably
    run the same. The results in FOLDER stay as they are.
    """
    from ccbench.classify.observed import read_groups, read_servers, server_folders, thresholds
    from ccbench.classify.relabel import group_clusters, relabelled, unknown_servers

    found = server_folders(folders)
    groups = None if group_file is None else read_groups(group_file)
    cuts = thresholds(found) if cut is None else {}
    if output is not None:
        result_folders.prepare(output, "clustering of servers")
    with progress("{task.completed:.0f} of {task.total:.0f}") as bar:
        servers = read_servers(bar.track(found, description="reading servers"), groups)
        if cut is not None:
            cuts = {trace.setting: cut for server in servers for trace in server.traces}
        sets = len({(s.group, t.setting) for s in servers if s.is_valid for t in s.traces})
        clusters = group_clusters(servers, cuts, min_share=min_share)
        clustered = list(bar.track(clusters, total=sets, description="clustering traces"))
        after = relabelled(servers, clustered)
        unknown = unknown_servers(after, cuts)
    report = _Report(before=servers, after=after, clustered=clustered, unknown=unknown, cuts=cuts)
    if output is not None:
        _write(report, output)
    if as_json:
        print_json(report.to_dict())
        return
    _print(report)
    if output is not None:
        print_pairs({"kept in": str(output)})


@dataclass(frozen=True, kw_only=True)
class _Report:
    """All that was found."""

    before: Sequence[Server]
    after: Sequence[Server]
    clustered: Sequence[GroupClusters]
    unknown: UnknownServers | None
    cuts: Mapping[Setting, float]

    def counts(self, group: str) -> dict[str, tuple[int, int]]:
        """Return how many servers of a group have each label, before and after."""
        before, after = (
            Counter(one.label or _NO_VERDICT for one in servers if one.group == group)
            for servers in (self.before, self.after)
        )
        # CCAs first, then those that have none.
        order = sorted(before | after, key=lambda name: (name in {"unknown", _NO_VERDICT}, name))
        return {name: (before[name], after[name]) for name in order}

    def groups(self) -> list[str]:
        return sorted({server.group for server in self.before})

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        numbered = {} if self.unknown is None else self.unknown.labels
        return {
            "groups": {
                group: {name: {"before": b, "after": a} for name, (b, a) in counts.items()}
                for group, counts in ((one, self.counts(one)) for one in self.groups())
            },
            "servers": [
                {
                    "target": old.target,
                    "group": old.group,
                    "before": old.label,
                    "after": new.label,
                    "unknown": numbered.get(i),
                    "traces": [
                        {"setting": t.setting.name, "before": t.label, "after": u.label}
                        for t, u in zip(old.traces, new.traces, strict=True)
                    ],
                }
                for i, (old, new) in enumerate(zip(self.before, self.after, strict=True))
            ],
            "clusters": [row for group in self.clustered for row in self.rows(group)],
            "unknown": self.unknown_rows(),
        }

    def rows(self, group: GroupClusters) -> list[dict[str, Any]]:
        """Return the clusters of a group and setting."""
        where = group.traces
        return [
            {
                "group": group.group,
                "setting": group.setting.name,
                "cut": group.clustering.cut,
                "label": label,
                "size": one.size,
                "medoid": self.before[where[one.medoid][0]].target,
                "labels": dict(Counter(self.label_of(where[m]) for m in one.members).most_common()),
                "targets": [self.before[where[member][0]].target for member in one.members],
            }
            for one, label in zip(group.clustering.clusters, group.labels, strict=True)
        ]

    def label_of(self, where: tuple[int, int]) -> str:
        """Return the label that a trace had."""
        server, trace = where
        return self.before[server].traces[trace].label or _INVALID

    def name_of(self, where: tuple[int, int]) -> str:
        """Return the server of a trace, and what became of its label."""
        server, trace = where
        old, new = self.label_of(where), self.after[server].traces[trace].label or _INVALID
        return f"{self.before[server].target} ({old if old == new else f'{old}, now {new}'})"

    def unknown_rows(self) -> list[dict[str, Any]]:
        """Return the clusters of unknown servers."""
        if self.unknown is None:
            return []
        servers, numbered = self.unknown.servers, self.unknown.labels
        return [
            {
                "label": numbered[servers[one.medoid]],
                "size": one.size,
                "medoid": self.after[servers[one.medoid]].target,
                "targets": [self.after[servers[member]].target for member in one.members],
            }
            for one in self.unknown.clustering.clusters
        ]


def _print(report: _Report) -> None:
    for group in report.groups():
        print_table(
            [f"group {group}", "servers\nbefore", "servers\nafter"],
            [[name, str(b), str(a)] for name, (b, a) in report.counts(group).items()],
        )
    rows = [row for group in report.clustered for row in report.rows(group)]
    several = [row for row in rows if row["size"] > 1]
    if several:
        print_table(
            ["clusters of traces in", "setting", "traces", "label", "of them labelled", "medoid"],
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
    click.echo(f"clusters of a single trace: {len(rows) - len(several)}")
    if report.unknown is not None:
        print_table(
            ["still unknown", "servers", "medoid"],
            [[row["label"], str(row["size"]), row["medoid"]] for row in report.unknown_rows()],
        )


def _write(report: _Report, folder: Path) -> None:
    from ccbench.base import durable
    from ccbench.run import plots

    figures = {**_group_figures(report), **_unknown_figures(report)}
    with progress("{task.completed:.0f} of {task.total:.0f}") as bar:
        for name, figure in bar.track(figures.items(), description="drawing"):
            plots.save(figure, folder / f"{name}.png")
    durable.write_text(folder / "relabelled.json", json_text(report.to_dict()))


def _group_figures(report: _Report) -> dict[str, Figure]:
    from ccbench.classify.clusters_plot import Panel, dendrogram_figure, medoids_figure

    figures = {}
    for group in report.clustered:
        where, clusters = group.traces, group.clustering.clusters
        points = [report.before[i].traces[j].points for i, j in where]
        names = [report.name_of(place) for place in where]
        title = f"{group.group}, {group.setting.name}"
        name = f"{_file_name(group.group)}-{group.setting.name}"
        figures[f"{name}-dendrogram"] = dendrogram_figure(
            group.clustering, names, group.labels, title=title
        )
        rows = [
            [
                Panel(
                    title=f"{label} (N = {one.size}): {names[one.medoid]}",
                    medoid=points[one.medoid],
                    others=[points[member] for member in one.members],
                )
            ]
            for one, label in zip(clusters, group.labels, strict=True)
        ]
        figures[f"{name}-medoids"] = medoids_figure(rows[:_MOST_DRAWN], title=title)
    return figures


def _file_name(group: str) -> str:
    """Return a name that no other group has, and that is a file's."""
    safe = re.sub(r"[^\w.-]+", "-", group)[:80]
    digest = hashlib.sha256(group.encode()).hexdigest()[:8]
    return safe if safe == group else f"{safe}-{digest}"


def _unknown_figures(report: _Report) -> dict[str, Figure]:
    from ccbench.classify.clusters_plot import Panel, dendrogram_figure, medoids_figure

    if report.unknown is None:
        return {}
    servers = [report.after[i] for i in report.unknown.servers]
    clusters = report.unknown.clustering.clusters[:_MOST_DRAWN]
    labels = [row["label"] for row in report.unknown_rows()]
    numbered = report.unknown.labels
    dendrogram = dendrogram_figure(
        report.unknown.clustering,
        [f"{report.after[i].target} ({numbered[i]})" for i in report.unknown.servers],
        labels,
        unit="multiples of each setting's cut, mean over settings",
        title="unknown servers",
    )
    traces = [
        {trace.setting: trace.points for trace in server.traces if trace.label is not None}
        for server in servers
    ]
    settings = [one for one in report.cuts if any(one in some for some in traces)]
    rows = [
        [
            Panel(
                title=f"{label} (N = {one.size}): {servers[one.medoid].target}, {setting.name}",
                medoid=traces[one.medoid][setting],
                others=[traces[i][setting] for i in one.members if setting in traces[i]],
            )
            if setting in traces[one.medoid]
            else None
            for setting in settings
        ]
        for one, label in zip(clusters, labels, strict=False)
    ]
    return {"unknown-dendrogram": dendrogram, "unknown-medoids": medoids_figure(rows)}
