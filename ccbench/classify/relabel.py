# SPDX-License-Identifier: Apache-2.0
"""Second thoughts about what is unknown, once many servers were observed (Ware, section 2.5).

A trace that is too far from all of the training set may be near to those of other servers. Within a
group of servers that probably run the same, such as those of a CDN, the traces of each setting are
clustered, and unknown and invalid ones get the label that part of their cluster has. Then the
settings vote again. What is unknown after that is clustered across groups: servers in one cluster
probably run the same unknown CCA.

The thesis leaves room in four places. Here

- a cluster in which several CCAs have their share gives the label that most of its traces have; of
  a tie, the one whose nearest trace is nearest to the training set, as the vote does;
- servers whose traces are all invalid are not clustered at all, as nothing becomes of them and they
  would only dilute the shares of others;
- invalid traces that get no label do not vote;
- unknown servers are clustered and not their traces, so that one of them is in one cluster, and
  four settings tell more than one: :func:`unknown_servers`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.classify.clusters import Clustering, cluster, trace_distances
from ccbench.classify.vote import UNKNOWN, vote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

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

#: What part of a cluster must have a label to give it to the rest (section 2.5.1).
MIN_SHARE = 0.05


@dataclass(frozen=True, kw_only=True, eq=False)
class ObservedTrace:
    """A trace of a server, and what was concluded from it.

    Parameters
    ----------
    setting : Setting
        Where it was observed.
    points : ndarray, shape (n_points,)
        Packets in the queue.
    label : str or None
        A CCA, or unknown; None if the trace is invalid, such as one that has not used the link.
    distance : float
        To the nearest one of the training set, in packets per point; infinite if that is not known.
    """

    setting: Setting
    points: npt.NDArray[np.float32]
    label: str | None
    distance: float = math.inf


@dataclass(frozen=True, kw_only=True, eq=False)
class Server:
    """A server, and what was concluded about it.

    Parameters
    ----------
    target : str
        Its name.
    group : str
        What it belongs to, such as a CDN.
    label : str or None
        A CCA, or unknown; None if there is no verdict.
    traces : tuple of ObservedTrace
        Its traces.
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
    """The clusters of a group's traces of one setting.

    Parameters
    ----------
    group : str
        The group.
    setting : Setting
        The setting.
    traces : tuple of (int, int)
        What was clustered: which server, and which of its traces.
    clustering : Clustering
        The clusters; its numbers are positions in `traces`.
    labels : tuple of str
        For each cluster the label that it gives to its unknown and invalid traces, or unknown if it
        gives none.
    """

    group: str
    setting: Setting
    traces: tuple[tuple[int, int], ...]
    clustering: Clustering
    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class UnknownServers:
    """Servers that nothing known is like, by what they are like.

    Parameters
    ----------
    servers : tuple of int
        Which ones.
    clustering : Clustering
        The clusters; its numbers are positions in `servers`. Distances are in multiples of the
        cut of the setting.
    """

    servers: tuple[int, ...]
    clustering: Clustering

    @property
    def labels(self) -> dict[int, str]:
        """For each of the servers ``unknown #1`` and so on: the cluster that it is in."""
        return {
            self.servers[member]: f"{UNKNOWN} #{number}"
            for number, one in enumerate(self.clustering.clusters, start=1)
            for member in one.members
        }


def group_clusters(
    servers: Sequence[Server], cuts: Mapping[Setting, float], *, min_share: float = MIN_SHARE
) -> Iterator[GroupClusters]:
    """Cluster the traces of each group and setting, one after the other.

    Parameters
    ----------
    servers : sequence of Server
        All that were observed.
    cuts : mapping of Setting to float
        How far apart clusters are at least, in packets per point.
    min_share : float
        What part of a cluster's traces must have a label for the cluster to give it: above 0, at
        most 1.

    Raises
    ------
    InputError
        If the share is out of range, there is no cut for a setting, or the lengths of traces
        differ.
    """
    shares = validation.Range(0, 1, low_open=True)
    validation.number("min_share", min_share, shares, example=MIN_SHARE)
    found: dict[tuple[str, Setting], list[tuple[int, int]]] = {}
    for i, server in enumerate(servers):
        if server.is_valid:
            for j, trace in enumerate(server.traces):
                found.setdefault((server.group, trace.setting), []).append((i, j))
    for (group, setting), where in found.items():
        traces = [servers[i].traces[j] for i, j in where]
        distances = trace_distances([trace.points for trace in traces])
        clustering = cluster(distances, _cut(setting, cuts))
        labels = [
            _given([traces[member] for member in one.members], min_share)
            for one in clustering.clusters
        ]
        yield GroupClusters(
            group=group,
            setting=setting,
            traces=tuple(where),
            clustering=clustering,
            labels=tuple(labels),
        )


def relabelled(servers: Sequence[Server], clustered: Sequence[GroupClusters]) -> list[Server]:
    """Give labels of clusters to their unknown and invalid traces, and let the settings vote again.

    Traces of another known CCA keep their label, and servers without a valid trace stay as they
    are.

    Parameters
    ----------
    servers : sequence of Server
        All that were observed.
    clustered : sequence of GroupClusters
        Theirs.

    Examples
    --------
    >>> from ccbench.classify.setting import SETTINGS
    >>> def server(name, label, level):
    ...     points = np.full(1000, level, dtype=np.float32)
    ...     trace = ObservedTrace(setting=SETTINGS[0], points=points, label=label)
    ...     return Server(target=name, group="cdn", label=label, traces=(trace,))
    >>> servers = [server("a", "cubic", 30), server("b", "unknown", 31), server("c", "unknown", 3)]
    >>> clustered = list(group_clusters(servers, {SETTINGS[0]: 2.0}))
    >>> [one.label for one in relabelled(servers, clustered)]
    ['cubic', 'cubic', 'unknown']
    """
    given = {
        group.traces[member]: label
        for group in clustered
        for one, label in zip(group.clustering.clusters, group.labels, strict=True)
        for member in one.members
        if label != UNKNOWN
    }
    return [_voted(i, server, given) for i, server in enumerate(servers)]


def unknown_servers(
    servers: Sequence[Server], cuts: Mapping[Setting, float]
) -> UnknownServers | None:
    """Cluster the servers that are unknown, of all groups.

    The distance of two servers is the mean, over the settings in which both were observed, of the
    distance of their traces as a multiple of the setting's cut; so the cut of servers is 1. Two
    that have no setting in common are in no cluster together unless others link them.

    Parameters
    ----------
    servers : sequence of Server
        All that were observed, such as :func:`relabelled` returns them.
    cuts : mapping of Setting to float
        As for :func:`group_clusters`.

    Returns
    -------
    UnknownServers or None
        None if no server is unknown.

    Raises
    ------
    InputError
        As for :func:`group_clusters`.
    """
    unknown = [i for i, server in enumerate(servers) if server.label == UNKNOWN]
    if not unknown:
        return None
    sums, counts = np.zeros((2, len(unknown), len(unknown)))
    traces: dict[Setting, list[tuple[int, ObservedTrace]]] = {}
    for place, i in enumerate(unknown):
        for trace in servers[i].traces:
            if trace.label is not None:
                traces.setdefault(trace.setting, []).append((place, trace))
    for setting, some in traces.items():
        distances = trace_distances([trace.points for _, trace in some])
        places = [place for place, _ in some]
        # Adds up what several traces of a server in one setting have.
        pairs = tuple(np.meshgrid(places, places, indexing="ij"))
        np.add.at(sums, pairs, distances / _cut(setting, cuts))
        np.add.at(counts, pairs, 1)
    # Farther than any that were compared, and than the cut.
    apart = 2 * max(1.0, float((sums / np.maximum(counts, 1)).max()))
    means = np.where(counts > 0, sums / np.maximum(counts, 1), apart)
    means = (means + means.T) / 2  # sums in another order may differ in the last bit
    np.fill_diagonal(means, 0)
    return UnknownServers(servers=tuple(unknown), clustering=cluster(means, cut=1))


def _cut(setting: Setting, cuts: Mapping[Setting, float]) -> float:
    if setting not in cuts:
        known = [one.name for one in cuts]
        raise validation.bad("cuts", known, f"given for {setting.name} too", "add it")
    above_0 = validation.Range(0, low_open=True)
    return validation.number("cut", cuts[setting], above_0, example=1)


def _given(traces: Sequence[ObservedTrace], min_share: float) -> str:
    """Return the label that a cluster gives."""
    known = [trace for trace in traces if trace.label not in {None, UNKNOWN}]
    counts = Counter(trace.label for trace in known)
    enough = [one for one in known if counts[one.label] / len(traces) >= min_share]
    if not enough:
        return UNKNOWN
    best = min(enough, key=lambda one: (-counts[one.label], one.distance, one.label))
    return str(best.label)


def _voted(i: int, server: Server, given: Mapping[tuple[int, int], str]) -> Server:
    """Return a server with new labels."""
    traces = tuple(
        replace(trace, label=given[i, j])
        if trace.label in {None, UNKNOWN} and (i, j) in given
        else trace
        for j, trace in enumerate(server.traces)
    )
    if all(new is old for new, old in zip(traces, server.traces, strict=True)):
        return server
    votes = [(trace.label, trace.distance) for trace in traces if trace.label is not None]
    label = vote([label for label, _ in votes], [distance for _, distance in votes])
    return replace(server, label=label, traces=traces)
