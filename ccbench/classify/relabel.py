# SPDX-License-Identifier: Apache-2.0
"""Labels for unknown servers by clustering the traces of many servers (Ware, section 2.5).

A trace that is too far from the training set may be close to traces of other servers. Within a
group of servers that probably run the same CCA, such as those of a CDN, the traces of each setting
are clustered, and unknown and invalid traces get the label of a sufficient part of their cluster.
Then the settings vote again. Servers that remain unknown are clustered across groups: those in one
cluster probably run the same unknown CCA.

The thesis leaves four details open. Here,

- if several CCAs have a sufficient part of a cluster, its label is the most frequent one; a tie is
  decided, as in the vote, by the smallest distance to the training set;
- servers without a valid trace are not clustered, as they get no label and would dilute the
  fractions of the other labels;
- invalid traces that get no label do not vote;
- unknown servers are clustered instead of their traces, so that each is in one cluster that
  considers all four settings: :func:`unknown_servers`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.classify.clusters import Clustering, cluster, trace_distances
from ccbench.classify.trace import QueueTrace
from ccbench.classify.vote import UNKNOWN, vote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ccbench.classify.setting import Setting

__all__ = [
    "MIN_SHARE",
    "GroupClusters",
    "ObservedTrace",
    "Server",
    "UnknownServers",
    "group_clusters",
    "relabelled",
    "unknown_servers",
]

#: Minimum fraction of a cluster with a label for the rest to get that label (section 2.5.1).
MIN_SHARE = 0.05


@dataclass(frozen=True, kw_only=True, eq=False)
class ObservedTrace(QueueTrace):
    """A trace of a server with its label.

    Parameters
    ----------
    setting, points, measured
        See :class:`~ccbench.classify.trace.QueueTrace`.
    label : str or None
        A CCA, or unknown; None if the trace is invalid, for example if it does not use the link.
    distance : float
        Distance to the nearest trace of the training set, in packets per point; infinite if it is
        not available.
    """

    label: str | None
    distance: float = math.inf


@dataclass(frozen=True, kw_only=True, eq=False)
class Server:
    """A server with its label.

    Parameters
    ----------
    target : str
        Name of the server.
    group : str
        Group of the server, such as a CDN.
    label : str or None
        A CCA, or unknown; None if there is no verdict.
    traces : tuple of ObservedTrace
    """

    target: str
    group: str
    label: str | None
    traces: tuple[ObservedTrace, ...]

    @property
    def is_valid(self) -> bool:
        """Whether any of its traces is valid."""
        return any(trace.label is not None for trace in self.traces)


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupClusters:
    """Clusters of a group's traces in one setting.

    Parameters
    ----------
    group : str
    setting : Setting
    traces : tuple of (int, int)
        Indices of the server and of its trace, for each clustered trace.
    clustering : Clustering
        The clusters, of indices into `traces`.
    labels : tuple of str
        Label that each cluster gives to its unknown and invalid traces; unknown if it gives none.
    """

    group: str
    setting: Setting
    traces: tuple[tuple[int, int], ...]
    clustering: Clustering
    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class UnknownServers:
    """Clusters of unknown servers.

    Parameters
    ----------
    servers : tuple of int
        Indices of the servers.
    clustering : Clustering
        The clusters, of indices into `servers`. Distances are multiples of the setting's cut.
    """

    servers: tuple[int, ...]
    clustering: Clustering

    @property
    def labels(self) -> dict[int, str]:
        """Cluster of each server: ``unknown #1`` and so on."""
        return {
            self.servers[member]: f"{UNKNOWN} #{number}"
            for number, cluster in enumerate(self.clustering.clusters, start=1)
            for member in cluster.members
        }


def group_clusters(
    servers: Sequence[Server], cuts: Mapping[Setting, float], *, min_share: float = MIN_SHARE
) -> Iterator[GroupClusters]:
    """Yield the clusters of the traces of each group and setting.

    Parameters
    ----------
    servers : sequence of Server
        All observed servers.
    cuts : mapping of Setting to float
        Minimum distance between clusters, in packets per point.
    min_share : float
        Minimum fraction of a cluster's traces with a label for the cluster to give it: above 0, at
        most 1.

    Raises
    ------
    InputError
        If the fraction is out of range, a setting has no cut, or the lengths of traces differ.
    """
    shares = validation.Range(0, 1, low_open=True)
    validation.number("min_share", min_share, shares, example=MIN_SHARE)
    indices_of: dict[tuple[str, Setting], list[tuple[int, int]]] = {}
    for i, server in enumerate(servers):
        if server.is_valid:
            for j, trace in enumerate(server.traces):
                indices_of.setdefault((server.group, trace.setting), []).append((i, j))
    for (group, setting), indices in indices_of.items():
        traces = [servers[i].traces[j] for i, j in indices]
        distances = trace_distances([trace.points for trace in traces])
        clustering = cluster(distances, _cut(setting, cuts))
        labels = [
            _label_of([traces[member] for member in part.members], min_share)
            for part in clustering.clusters
        ]
        yield GroupClusters(
            group=group,
            setting=setting,
            traces=tuple(indices),
            clustering=clustering,
            labels=tuple(labels),
        )


def relabelled(servers: Sequence[Server], clustered: Sequence[GroupClusters]) -> list[Server]:
    """Label unknown and invalid traces with their cluster's label, and repeat the vote.

    Traces with the label of another CCA keep it. Servers without a valid trace do not change.

    Parameters
    ----------
    servers : sequence of Server
        All observed servers.
    clustered : sequence of GroupClusters
        The clusters of their traces.

    Examples
    --------
    >>> from ccbench.classify.setting import SETTINGS
    >>> def server(name, label, level):
    ...     points = np.full(1000, level, dtype=np.float32)
    ...     trace = ObservedTrace(setting=SETTINGS[0], points=points, label=label)
    ...     return Server(target=name, group="cdn", label=label, traces=(trace,))
    >>> servers = [server("a", "cubic", 30), server("b", "unknown", 31), server("c", "unknown", 3)]
    >>> clustered = list(group_clusters(servers, {SETTINGS[0]: 2.0}))
    >>> [server.label for server in relabelled(servers, clustered)]
    ['cubic', 'cubic', 'unknown']
    """
    new_labels = {
        group.traces[member]: label
        for group in clustered
        for part, label in zip(group.clustering.clusters, group.labels, strict=True)
        for member in part.members
        if label != UNKNOWN
    }
    return [_voted(i, server, new_labels) for i, server in enumerate(servers)]


def unknown_servers(
    servers: Sequence[Server], cuts: Mapping[Setting, float]
) -> UnknownServers | None:
    """Cluster the unknown servers of all groups.

    The distance of two servers is the distance of their traces as a multiple of the setting's cut,
    averaged over the settings in which both were observed; so the cut of servers is 1. Two servers
    without a common setting are in one cluster only if other servers link them.

    Parameters
    ----------
    servers : sequence of Server
        All observed servers, as returned by :func:`relabelled`.
    cuts : mapping of Setting to float
        See :func:`group_clusters`.

    Returns
    -------
    UnknownServers or None
        None if no server is unknown.

    Raises
    ------
    InputError
        See :func:`group_clusters`.
    """
    unknown = [i for i, server in enumerate(servers) if server.label == UNKNOWN]
    if not unknown:
        return None
    sums, counts = np.zeros((2, len(unknown), len(unknown)))
    traces: dict[Setting, list[tuple[int, ObservedTrace]]] = {}
    for row, i in enumerate(unknown):
        for trace in servers[i].traces:
            if trace.label is not None:
                traces.setdefault(trace.setting, []).append((row, trace))
    for setting, observed in traces.items():
        distances = trace_distances([trace.points for _, trace in observed])
        rows = [row for row, _ in observed]
        # A server may have several traces in one setting; add.at sums over all of them.
        pairs = tuple(np.meshgrid(rows, rows, indexing="ij"))
        np.add.at(sums, pairs, distances / _cut(setting, cuts))
        np.add.at(counts, pairs, 1)
    # Greater than all measured distances and than the cut.
    incomparable = 2 * max(1.0, float((sums / np.maximum(counts, 1)).max()))
    means = np.where(counts > 0, sums / np.maximum(counts, 1), incomparable)
    means = (means + means.T) / 2  # sums in another order may differ in the last bit
    np.fill_diagonal(means, 0)
    return UnknownServers(servers=tuple(unknown), clustering=cluster(means, cut=1))


def _cut(setting: Setting, cuts: Mapping[Setting, float]) -> float:
    if setting not in cuts:
        names = [each.name for each in cuts]
        raise validation.bad("cuts", names, f"given for {setting.name} too", "add it")
    above_0 = validation.Range(0, low_open=True)
    return validation.number("cut", cuts[setting], above_0, example=1)


def _label_of(traces: Sequence[ObservedTrace], min_share: float) -> str:
    """Return the label of a cluster."""
    labelled = [trace for trace in traces if trace.label not in {None, UNKNOWN}]
    counts = Counter(trace.label for trace in labelled)
    enough = [trace for trace in labelled if counts[trace.label] / len(traces) >= min_share]
    if not enough:
        return UNKNOWN
    best = min(enough, key=lambda trace: (-counts[trace.label], trace.distance, trace.label))
    return str(best.label)


def _voted(i: int, server: Server, new_labels: Mapping[tuple[int, int], str]) -> Server:
    """Return a server with the new labels and, if it had no label, their vote."""
    traces = tuple(
        replace(trace, label=new_labels[i, j])
        if trace.label in {None, UNKNOWN} and (i, j) in new_labels
        else trace
        for j, trace in enumerate(server.traces)
    )
    if all(new is old for new, old in zip(traces, server.traces, strict=True)):
        return server
    if server.label not in {None, UNKNOWN}:  # the second stage has decided
        return replace(server, traces=traces)
    votes = [(trace.label, trace.distance) for trace in traces if trace.label is not None]
    label = vote([label for label, _ in votes], [distance for _, distance in votes])
    return replace(server, label=label, traces=traces)
