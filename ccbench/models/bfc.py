# SPDX-License-Identifier: Apache-2.0
r"""Models of BFC: idle time due to late resumes, number of active flows, and deadlocks.

**Pause threshold** (appendix C). A long flow that arrives at a switch x times as fast as it departs
fills its queue beyond Th and is paused; its queue drains, and the flow is resumed when the queue is
empty. Pause and resume take effect one HRTT later. With :math:`\theta = Th / (HRTT \mu_f)`, its
queue is empty for a fraction of the time of

.. math:: E_f(x, Th) = \frac{x - 1}{\theta x + x^2 - 1}

(C.4), at most :math:`1 / ((\sqrt\theta + 1)^2 + 1)` (C.5), at :math:`x = \sqrt\theta + 1`. For
BFC's threshold, this maximum is 0.2.

**Active flows** (section 3.2.3). A fair queue at load :math:`\rho` with Poisson arrivals of flows
is an M/G/1 queue with processor sharing: the number of its flows has a geometric distribution of
mean :math:`\rho / (1 - \rho)`, independent of the rate of the link and the sizes of the flows.

**Deadlock** (appendix D). A node of the backpressure graph is an egress port. An edge leads from B
to A if packets from A can wait in a queue of B, which then pauses a queue of A. BFC cannot deadlock
if the graph has no cycle.

References
----------
P. Goyal's thesis, section 3.2.3 and appendices C and D, whose equation numbers are used. The rule
for removing edges in arbitrary networks is that of up*/down* routing: M. Schroeder et al.,
"Autonet", 1991.
"""

from __future__ import annotations

from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ccbench.base import validation
from ccbench.base.arrays import broadcastable, numbers
from ccbench.base.errors import InputError
from ccbench.base.validation import Range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Edge",
    "Port",
    "active_flows_exceed",
    "backpressure_graph",
    "clos",
    "closes_valley",
    "empty_fraction",
    "find_cycle",
    "mean_active_flows",
    "without",
    "worst_empty_fraction",
    "worst_rate_ratio",
]

_RATIO = Range(1, 1e9, low_open=True)
_THRESHOLD = Range(0, 1e9)
_LOAD = Range(0, 1, high_open=True)
_FLOWS = Range(0, 1e9)
_SWITCHES = Range(1, 10_000)


def empty_fraction(rate_ratio: ArrayLike, threshold: ArrayLike = 1.0) -> NDArray[np.float64]:
    """Return the fraction E_f of time in which a long flow has no packets at its bottleneck (C.4).

    Parameters
    ----------
    rate_ratio : array_like
        Ratio x of the flow's arrival rate while not paused to its departure rate, above 1.
    threshold : array_like
        Th in units of HRTT times the departure rate, at least 0; BFC's is 1. Broadcast against
        `rate_ratio`.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> empty_fraction([1.1, 2, 10]).round(3).tolist()
    [0.076, 0.2, 0.083]
    """
    x = numbers("rate_ratio", rate_ratio, _RATIO, example=2)
    theta = numbers("threshold", threshold, _THRESHOLD, example=1)
    broadcastable(rate_ratio=x, threshold=theta)
    return np.asarray((x - 1) / (theta * x + (x - 1) * (x + 1)))


def worst_rate_ratio(threshold: ArrayLike = 1.0) -> NDArray[np.float64]:
    """Return the rate ratio x at which a flow's queue is empty for the largest fraction of time.

    Parameters
    ----------
    threshold : array_like
        As in :func:`empty_fraction`.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> worst_rate_ratio([1, 4]).tolist()
    [2.0, 3.0]
    """
    return np.asarray(np.sqrt(numbers("threshold", threshold, _THRESHOLD, example=1)) + 1)


def worst_empty_fraction(threshold: ArrayLike = 1.0) -> NDArray[np.float64]:
    """Return the largest fraction of time in which a flow's queue can be empty (C.5).

    Parameters
    ----------
    threshold : array_like
        As in :func:`empty_fraction`.

    Examples
    --------
    >>> worst_empty_fraction([0, 1, 4]).tolist()
    [0.5, 0.2, 0.1]
    """
    return np.asarray(1 / (worst_rate_ratio(threshold) ** 2 + 1))


def mean_active_flows(load: ArrayLike) -> NDArray[np.float64]:
    """Return the mean number of flows with packets in a fair queue (section 3.2.3).

    Parameters
    ----------
    load : array_like
        Offered load rho as a fraction of the link's rate, 0 or more and below 1.

    Raises
    ------
    InputError
        If a load is out of range.

    Examples
    --------
    >>> mean_active_flows([0.5, 0.6, 0.9]).round(6).tolist()
    [1.0, 1.5, 9.0]
    """
    rho = numbers("load", load, _LOAD, example=0.6)
    return np.asarray(rho / (1 - rho))


def active_flows_exceed(count: ArrayLike, load: ArrayLike) -> NDArray[np.float64]:
    """Return the probability of more than `count` active flows in a fair queue: rho^(count + 1).

    Parameters
    ----------
    count : array_like
        Number of flows, such as the number of a port's queues, at least 0; broadcast against
        `load`.
    load : array_like
        As in :func:`mean_active_flows`.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    The 31 data queues of a Tofino 2 port at 60 and 90 % load:

    >>> ["%.1g" % probability for probability in active_flows_exceed(31, [0.6, 0.9])]
    ['8e-08', '0.03']
    """
    n = np.floor(numbers("count", count, _FLOWS, example=31))
    rho = numbers("load", load, _LOAD, example=0.6)
    broadcastable(count=n, load=rho)
    return np.asarray(rho ** (n + 1))


class Port(NamedTuple):
    """The egress port of `switch` to `neighbour`."""

    switch: str
    neighbour: str


class Edge(NamedTuple):
    """Backpressure between egress ports: `pauser` can pause a queue of `paused`."""

    pauser: Port
    paused: Port


def clos(
    tors: int, spines: int, hosts_per_tor: int = 1
) -> tuple[list[tuple[str, str]], dict[str, int]]:
    """Return the links and layers of a two-level Clos network.

    Each ToR is connected to every spine and to its own hosts.

    Returns
    -------
    links : list of (str, str)
        Pairs of node names, such as spine0, tor0 and host0.0.
    layers : dict
        Layer of each node: 2 for spines, 1 for ToRs, 0 for hosts.

    Raises
    ------
    InputError
        If a number is out of range.

    Examples
    --------
    >>> links, layers = clos(tors=2, spines=1)
    >>> links
    [('tor0', 'spine0'), ('host0.0', 'tor0'), ('tor1', 'spine0'), ('host1.0', 'tor1')]
    """
    tors = validation.whole("tors", tors, _SWITCHES, example=8)
    spines = validation.whole("spines", spines, _SWITCHES, example=8)
    hosts = validation.whole("hosts_per_tor", hosts_per_tor, _SWITCHES, example=16)
    links = []
    for tor in range(tors):
        links += [(f"tor{tor}", f"spine{spine}") for spine in range(spines)]
        links += [(f"host{tor}.{host}", f"tor{tor}") for host in range(hosts)]
    heights = {"spine": 2, "tor": 1, "host": 0}
    nodes = {node for link in links for node in link}
    return links, {node: heights[node.rstrip("0123456789.")] for node in nodes}


def backpressure_graph(
    links: Iterable[tuple[str, str]],
    hosts: Iterable[str],
    *,
    goes: Callable[[str, str, str], bool] | None = None,
) -> frozenset[Edge]:
    """Return the edges of the backpressure graph of a network (appendix D).

    Hosts are not nodes of the graph: their network cards obey pauses but do not cause any.

    Parameters
    ----------
    links : iterable of (str, str)
        Names of the two ends of each bidirectional link.
    hosts : iterable of str
        Names of the hosts.
    goes : callable, optional
        Returns whether a packet from the first node may pass through the second to the third. By
        default, packets take any direction but back, as with failed links and wrong routes.

    Raises
    ------
    InputError
        If a link's ends are the same.

    Examples
    --------
    >>> graph = backpressure_graph([("h", "a"), ("a", "b"), ("b", "g")], hosts=["h", "g"])
    >>> for pauser, paused in sorted(graph):
    ...     print(*pauser, "pauses", *paused)
    a h pauses b a
    b g pauses a b
    """
    neighbours: defaultdict[str, set[str]] = defaultdict(set)
    for node, neighbour in links:
        if node == neighbour:
            raise InputError(f"links: {node!r} is linked to itself; name two different ends")
        neighbours[node].add(neighbour)
        neighbours[neighbour].add(node)
    switches = set(neighbours) - set(hosts)
    return frozenset(
        Edge(Port(middle, to), Port(come_from, middle))
        for middle in switches
        for come_from in neighbours[middle] & switches
        for to in neighbours[middle] - {come_from}
        if goes is None or goes(come_from, middle, to)
    )


def closes_valley(edge: Edge, layers: Mapping[str, int]) -> bool:
    """Return whether packets of an edge come down to the switch and go up again.

    Without such edges there is no cycle in any network, since packets would have to go up forever
    or down forever. Within a layer, the node with the greater name is the higher. In a Clos
    network, these are the edges of packets that come from a higher layer and return to one
    (appendix D), which regular routes do not have.

    Parameters
    ----------
    edge : Edge
        An edge of :func:`backpressure_graph`.
    layers : mapping
        Layer of each node; only the order of the numbers matters.

    Raises
    ------
    InputError
        If a node has no layer.

    Examples
    --------
    >>> links, layers = clos(tors=8, spines=8)
    >>> graph = backpressure_graph(links, hosts=[name for name in layers if layers[name] == 0])
    >>> removed = {edge for edge in graph if closes_valley(edge, layers)}
    >>> len(graph), len(removed), find_cycle(graph) is None, find_cycle(graph - removed)
    (960, 448, False, None)
    """
    (middle, to), (come_from, _) = edge
    for node in (come_from, middle, to):
        if node not in layers:
            raise InputError(f"layers has no {node!r}: give every switch and host a layer")

    def height(node: str) -> tuple[int, str]:
        return layers[node], node

    return height(come_from) > height(middle) < height(to)


def find_cycle(graph: Iterable[Edge]) -> tuple[Port, ...] | None:
    """Return a cycle of ports, each of which can pause the next, or None.

    None proves that BFC cannot deadlock in this network (theorem 2).

    Examples
    --------
    A ring of three switches:

    >>> ring = backpressure_graph([("a", "b"), ("b", "c"), ("c", "a")], hosts=[])
    >>> len(find_cycle(ring))
    3
    """
    after: defaultdict[Port, set[Port]] = defaultdict(set)
    for pauser, paused in graph:
        after[paused].add(pauser)
    try:
        TopologicalSorter(after).prepare()
    except CycleError as error:
        return tuple(error.args[1][1:])  # the first and last entries are the same port
    return None


def without(removed: Iterable[Edge], switch: str) -> frozenset[tuple[str, str]]:
    """Return the pairs of ports of a switch whose packets must not cause a pause.

    These are the ingress and egress ports of its match-action table, given by their neighbours.

    Examples
    --------
    >>> links, layers = clos(tors=2, spines=2)
    >>> graph = backpressure_graph(links, hosts=["host0.0", "host1.0"])
    >>> removed = {edge for edge in graph if closes_valley(edge, layers)}
    >>> sorted(without(removed, "tor0"))
    [('spine0', 'spine1'), ('spine1', 'spine0')]
    """
    return frozenset(
        (paused.switch, pauser.neighbour) for pauser, paused in removed if pauser.switch == switch
    )
