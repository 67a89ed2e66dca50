# SPDX-License-Identifier: Apache-2.0
"""Clustering of many observed servers, with counts and figures (Ware, section 2.5).

:mod:`.relabel` implements the method; :func:`recluster` applies it to folders of results.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ccbench.classify.observed import read_groups, read_servers, server_folders, thresholds
from ccbench.classify.relabel import MIN_SHARE, group_clusters, relabelled, unknown_servers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ccbench.base.figures import Figure
    from ccbench.classify.relabel import GroupClusters, Server, UnknownServers
    from ccbench.classify.setting import Setting

    #: Function of the items of a step, their number and its name; returns the items.
    Track = Callable[[Iterable[Any], int, str], Iterable[Any]]

__all__ = ["Reclustering", "recluster"]

#: Labels of servers without a verdict and of invalid traces.
_NO_VERDICT, _INVALID = "no verdict", "invalid"
#: Maximum number of clusters in a figure, the largest ones.
_MAX_DRAWN = 8


def recluster(
    folders: Sequence[Path],
    *,
    groups: Path | None = None,
    min_share: float = MIN_SHARE,
    cut: float | None = None,
    track: Track = lambda items, _total, _step: items,
) -> Reclustering:
    """Cluster the traces of observed servers, and relabel the unknown ones.

    Parameters
    ----------
    folders : sequence of Path
        Output folders of :meth:`ccbench.classify.web.survey.Survey.run`, or folders of single
        servers.
    groups : Path, optional
        A CSV file with the columns ``target`` and ``group``, as for
        :func:`ccbench.classify.observed.read_groups`; by default the groups in the results.
    min_share : float
        Minimum fraction of a cluster with a label for the rest to get that label.
    cut : float, optional
        Distance between clusters, in packets per point. By default, in each setting, the mean of
        the CCAs' limits, above which a trace is unknown.
    track : callable, optional
        Called with the items of each step, their number and the step's name; returns the items.

    Raises
    ------
    InputError
        If a folder has no results, or a result cannot be read.

    Examples
    --------
    .. code-block:: python

        recluster([Path("servers")]).counts("all")
    """
    paths = server_folders(folders)
    group_of = None if groups is None else read_groups(groups)
    cuts = thresholds(paths) if cut is None else {}
    servers = read_servers(track(paths, len(paths), "reading servers"), group_of)
    if cut is not None:
        cuts = {trace.setting: cut for server in servers for trace in server.traces}
    sets = len({(s.group, t.setting) for s in servers if s.is_valid for t in s.traces})
    clusters = group_clusters(servers, cuts, min_share=min_share)
    clustered = tuple(track(clusters, sets, "clustering traces"))
    after = relabelled(servers, clustered)
    return Reclustering(
        before=servers,
        after=after,
        clustered=clustered,
        unknown=unknown_servers(after, cuts),
        cuts=cuts,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Reclustering:
    """Servers before and after the clustering of their traces.

    Parameters
    ----------
    before, after : sequence of Server
        The servers with the labels of their results, and with those of their clusters.
    clustered : sequence of GroupClusters
        The clusters of each group and setting.
    unknown : UnknownServers, optional
        The clusters of the servers that remain unknown; None without such servers.
    cuts : mapping of Setting to float
        Distance between clusters, in packets per point.
    """

    before: Sequence[Server]
    after: Sequence[Server]
    clustered: Sequence[GroupClusters]
    unknown: UnknownServers | None
    cuts: Mapping[Setting, float]

    def counts(self, group: str) -> dict[str, tuple[int, int]]:
        """Return the numbers of servers of a group with each label, before and after."""
        before, after = (
            Counter(server.label or _NO_VERDICT for server in servers if server.group == group)
            for servers in (self.before, self.after)
        )
        # CCAs first, then servers without a CCA.
        order = sorted(before | after, key=lambda name: (name in {"unknown", _NO_VERDICT}, name))
        return {name: (before[name], after[name]) for name in order}

    def groups(self) -> list[str]:
        """Return the groups' names, sorted."""
        return sorted({server.group for server in self.before})

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        numbered = {} if self.unknown is None else self.unknown.labels
        return {
            "groups": {
                group: {name: {"before": b, "after": a} for name, (b, a) in counts.items()}
                for group, counts in ((name, self.counts(name)) for name in self.groups())
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
        ids = group.traces
        return [
            {
                "group": group.group,
                "setting": group.setting.name,
                "cut": group.clustering.cut,
                "label": label,
                "size": cluster.size,
                "medoid": self.before[ids[cluster.medoid][0]].target,
                "labels": dict(
                    Counter(self.label_of(ids[m]) for m in cluster.members).most_common()
                ),
                "targets": [self.before[ids[member][0]].target for member in cluster.members],
            }
            for cluster, label in zip(group.clustering.clusters, group.labels, strict=True)
        ]

    def label_of(self, trace_id: tuple[int, int]) -> str:
        """Return the previous label of a trace, given the indices of its server and the trace."""
        server, trace = trace_id
        return self.before[server].traces[trace].label or _INVALID

    def name_of(self, trace_id: tuple[int, int]) -> str:
        """Return the server of a trace with the trace's previous and new label."""
        server, trace = trace_id
        old, new = self.label_of(trace_id), self.after[server].traces[trace].label or _INVALID
        return f"{self.before[server].target} ({old if old == new else f'{old}, now {new}'})"

    def unknown_rows(self) -> list[dict[str, Any]]:
        """Return the clusters of unknown servers."""
        if self.unknown is None:
            return []
        servers, numbered = self.unknown.servers, self.unknown.labels
        return [
            {
                "label": numbered[servers[cluster.medoid]],
                "size": cluster.size,
                "medoid": self.after[servers[cluster.medoid]].target,
                "targets": [self.after[servers[member]].target for member in cluster.members],
            }
            for cluster in self.unknown.clustering.clusters
        ]

    def figures(self, *, barycentres: bool = False) -> Iterator[tuple[str, Figure]]:
        """Yield the dendrogram and the medoids of each group and setting, and of unknown servers.

        Parameters
        ----------
        barycentres : bool
            Whether to draw the barycentre of each cluster over its medoid, which needs tslearn.

        Yields
        ------
        str
            A file name without its suffix.
        Figure
            The figure.
        """
        yield from _group_figures(self, barycentres=barycentres)
        yield from _unknown_figures(self, barycentres=barycentres)


def _group_figures(report: Reclustering, *, barycentres: bool) -> Iterator[tuple[str, Figure]]:
    from ccbench.classify.clusters_plot import (  # noqa: PLC0415 - matplotlib
        ClusterPanel,
        dendrogram_figure,
        medoids_figure,
    )

    for group in report.clustered:
        points = [report.before[i].traces[j].points for i, j in group.traces]
        names = [report.name_of(trace_id) for trace_id in group.traces]
        title = f"{group.group}, {group.setting.name}"
        name = f"{_file_name(group.group)}-{group.setting.name}"
        dendrogram = dendrogram_figure(group.clustering, names, group.labels, title=title)
        yield f"{name}-dendrogram", dendrogram
        rows = [
            [
                ClusterPanel(
                    title=f"{label} (N = {cluster.size}): {names[cluster.medoid]}",
                    medoid=points[cluster.medoid],
                    others=[points[i] for i in cluster.members if i != cluster.medoid],
                    has_barycentre=barycentres,
                )
            ]
            for cluster, label in zip(group.clustering.clusters, group.labels, strict=True)
        ]
        yield f"{name}-medoids", medoids_figure(rows[:_MAX_DRAWN], title=title)


def _file_name(group: str) -> str:
    """Return a unique valid file name for a group."""
    safe = re.sub(r"[^\w.-]+", "-", group)[:80]
    digest = hashlib.sha256(group.encode()).hexdigest()[:8]
    return safe if safe == group else f"{safe}-{digest}"


def _unknown_figures(report: Reclustering, *, barycentres: bool) -> Iterator[tuple[str, Figure]]:
    from ccbench.classify.clusters_plot import (  # noqa: PLC0415 - matplotlib
        ClusterPanel,
        dendrogram_figure,
        medoids_figure,
    )

    if report.unknown is None:
        return
    servers = [report.after[i] for i in report.unknown.servers]
    clusters = report.unknown.clustering.clusters[:_MAX_DRAWN]
    names = [servers[cluster.medoid].target for cluster in clusters]
    labels = [row["label"] for row in report.unknown_rows()]
    numbered = report.unknown.labels
    yield (
        "unknown-dendrogram",
        dendrogram_figure(
            report.unknown.clustering,
            [f"{report.after[i].target} ({numbered[i]})" for i in report.unknown.servers],
            labels,
            unit="multiples of each setting's cut, mean over settings",
            title="unknown servers",
        ),
    )
    traces = [
        {trace.setting: trace.points for trace in server.traces if trace.label is not None}
        for server in servers
    ]
    settings = [setting for setting in report.cuts if any(setting in points for points in traces)]
    rows = [
        [
            ClusterPanel(
                title=f"{label} (N = {cluster.size}): {name}, {setting.name}",
                medoid=traces[cluster.medoid][setting],
                others=[
                    traces[i][setting]
                    for i in cluster.members
                    if i != cluster.medoid and setting in traces[i]
                ],
                has_barycentre=barycentres,
            )
            if setting in traces[cluster.medoid]
            else None
            for setting in settings
        ]
        for cluster, label, name in zip(clusters, labels, names, strict=False)
    ]
    yield "unknown-medoids", medoids_figure(rows)
