# SPDX-License-Identifier: Apache-2.0
"""Data-centre networks: servers, switches and the links between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.base.validation import Range

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Link", "Topology", "clos", "dumbbell", "star", "two_data_centres"]

_COUNT = Range(1, 65_536)
_GBPS = Range(0.1, 10_000)
_DELAY_US = Range(0.001, 10_000)
_BUFFER_MB = Range(0.01, 100_000)


@dataclass(frozen=True)
class Link:
    """A cable with the same rate in both directions.

    Parameters
    ----------
    a, b : int
        The nodes at its ends. Servers are numbered from 0, switches follow.
    gbps : float
        Rate in Gbit/s, 0.1 to 10,000, including packet headers.
    delay_us : float
        One-way propagation delay in μs.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> Link(0, 2, gbps=100, delay_us=1).gbps
    100.0
    """

    a: int
    b: int
    gbps: float
    delay_us: float

    def __post_init__(self) -> None:
        whole, number = validation.whole, validation.number
        object.__setattr__(self, "a", whole("link.a", self.a, Range(0), example=0))
        object.__setattr__(self, "b", whole("link.b", self.b, Range(0), example=128))
        object.__setattr__(self, "gbps", number("link.gbps", self.gbps, _GBPS, example=100))
        delay_us = number("link.delay_us", self.delay_us, _DELAY_US, example=1)
        object.__setattr__(self, "delay_us", delay_us)


@dataclass(frozen=True, kw_only=True)
class Topology:
    """A network with shortest-path routing.

    Among equal paths, each switch selects one by the flow's hash.

    Parameters
    ----------
    servers, switches : int
        Number of nodes of each kind.
    links : tuple of Link
        At most one between two nodes, and exactly one per server.
    capacity_gbps : float
        Total payload rate of all flows at a load of 1.
    buffer_mb : float
        Shared buffer of each switch (10⁶ bytes).

    Raises
    ------
    InputError
        If a value is out of range, or a link names a node that does not exist.

    Examples
    --------
    >>> network = clos(racks=8, servers_per_rack=16, spines=8)
    >>> network.servers, network.switches, len(network.links)
    (128, 16, 192)
    """

    servers: int
    switches: int
    links: tuple[Link, ...]
    capacity_gbps: float
    buffer_mb: float = 12.0

    def __post_init__(self) -> None:
        whole, number = validation.whole, validation.number
        values = {
            "servers": whole("servers", self.servers, _COUNT, example=128),
            "switches": whole("switches", self.switches, _COUNT, example=16),
            "buffer_mb": number("buffer_mb", self.buffer_mb, _BUFFER_MB, example=12),
        }
        positive = Range(0, low_open=True)
        values["capacity_gbps"] = number(
            "capacity_gbps", self.capacity_gbps, positive, example=6400
        )
        for name, value in values.items():
            object.__setattr__(self, name, value)
        degree = [0] * (self.servers + self.switches)
        pairs = set()
        for link in self.links:
            pair = frozenset((link.a, link.b))
            if max(pair) >= len(degree) or len(pair) == 1 or pair in pairs:
                allowed = f"two different nodes of {len(degree)}, at most once"
                raise validation.bad("link", (link.a, link.b), allowed, "name other nodes")
            pairs.add(pair)
            degree[link.a] += 1
            degree[link.b] += 1
        for server in range(self.servers):
            if degree[server] != 1:
                step = "give every server one link"
                raise validation.bad("links", degree[server], f"one at server {server}", step)

    def racks(self) -> npt.NDArray[np.int64]:
        """Return the switch of each server.

        Examples
        --------
        >>> clos(racks=2, servers_per_rack=2, spines=1).racks().tolist()
        [4, 4, 5, 5]
        """
        switch = np.zeros(self.servers, dtype=np.int64)
        for link in self.links:
            server, other = sorted((link.a, link.b))
            if server < self.servers:
                switch[server] = other
        return switch


def clos(  # noqa: PLR0913 - named, and all have defaults
    *,
    racks: int = 8,
    servers_per_rack: int = 16,
    spines: int = 8,
    gbps: float = 100.0,
    spine_gbps: float | None = None,
    delay_us: float = 1.0,
    buffer_mb: float = 12.0,
) -> Topology:
    """Return a leaf-spine network; by default that of Goyal's thesis, section 3.6.2.1.

    At a load of 1, the payload equals the capacity of the links between racks and spines ("by X%
    load we mean X% load on the links in the core"). All flows count, including those within a rack;
    headers do not. The authors' simulator does the same, and under this definition, incast events
    of
    20 MB at a load of 5 % start every 500 μs, as section 3.6.2.2 says.

    Parameters
    ----------
    racks, servers_per_rack, spines : int
        Number of each; every rack's switch has a link to every spine. The switches of racks are
        numbered before the spines.
    gbps : float
        Rate of the servers' links in Gbit/s.
    spine_gbps : float, optional
        Rate of the links to the spines in Gbit/s; by default `gbps`.
    delay_us : float
        Propagation delay of each link in μs.
    buffer_mb : float
        Shared buffer of each switch (10⁶ bytes).

    Returns
    -------
    Topology
        The servers of a rack have consecutive numbers.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> clos(racks=8, servers_per_rack=16, spines=8).capacity_gbps
    6400.0
    """
    validation.whole("racks", racks, _COUNT, example=8)
    validation.whole("servers_per_rack", servers_per_rack, _COUNT, example=16)
    validation.whole("spines", spines, _COUNT, example=8)
    core_gbps = gbps if spine_gbps is None else spine_gbps
    servers = racks * servers_per_rack
    # Checked before the links are created, which is slow for millions of them.
    validation.whole("servers (racks * servers_per_rack)", servers, _COUNT, example=128)
    validation.whole("links to spines (racks * spines)", racks * spines, _COUNT, example=64)
    links = [
        Link(server, servers + server // servers_per_rack, gbps, delay_us)
        for server in range(servers)
    ]
    links += [
        Link(servers + rack, servers + racks + spine, core_gbps, delay_us)
        for rack in range(racks)
        for spine in range(spines)
    ]
    edge = servers * gbps
    core = racks * spines * core_gbps
    return Topology(
        servers=servers,
        switches=racks + spines,
        links=tuple(links),
        capacity_gbps=min(edge, core) if racks > 1 else edge,
        buffer_mb=buffer_mb,
    )


def two_data_centres(  # noqa: PLR0913 - named, and most have defaults
    *,
    one: Topology,
    spines: int,
    gbps: float = 100.0,
    delay_us: float = 1.0,
    interconnect_gbps: float = 200.0,
    interconnect_delay_us: float = 200.0,
) -> Topology:
    """Return two equal leaf-spine networks with a link between their gateways.

    Each gateway has a link to every spine of its data centre. A load of 1 fills the cores of both.

    Parameters
    ----------
    one : Topology
        A network of :func:`clos`.
    spines : int
        Its number of spines, which are its last switches.
    gbps, delay_us : float
        Rate in Gbit/s and delay in μs of the links between spines and gateways.
    interconnect_gbps, interconnect_delay_us : float
        Those of the link between the gateways.

    Returns
    -------
    Topology
        The servers of `one` come first, then those of the other; so do the switches. The last two
        switches are the gateways.

    Examples
    --------
    >>> both = two_data_centres(one=clos(racks=2, servers_per_rack=2, spines=2), spines=2)
    >>> both.servers, both.switches, both.links[-1]
    (8, 10, Link(a=16, b=17, gbps=200.0, delay_us=200.0))
    """
    validation.whole("spines", spines, Range(1, one.switches), example=8)

    def moved(node: int, centre: int) -> int:
        """Return the number of a node of one data centre among those of both."""
        if node < one.servers:
            return centre * one.servers + node
        return one.servers + centre * one.switches + node

    gateway = 2 * (one.servers + one.switches)
    links = [
        Link(moved(link.a, centre), moved(link.b, centre), link.gbps, link.delay_us)
        for centre in range(2)
        for link in one.links
    ]
    last = one.servers + one.switches
    links += [
        Link(moved(spine, centre), gateway + centre, gbps, delay_us)
        for centre in range(2)
        for spine in range(last - spines, last)
    ]
    links.append(Link(gateway, gateway + 1, interconnect_gbps, interconnect_delay_us))
    return Topology(
        servers=2 * one.servers,
        switches=2 * one.switches + 2,
        links=tuple(links),
        capacity_gbps=2 * one.capacity_gbps,
        buffer_mb=one.buffer_mb,
    )


def star(
    *, servers: int, gbps: float = 100.0, delay_us: float = 1.0, buffer_mb: float = 12.0
) -> Topology:
    """Return servers connected to one switch.

    A load of 1 fills one server's link, such as that of the common receiver of all others.

    Examples
    --------
    >>> star(servers=3).switches
    1
    """
    validation.whole("servers", servers, _COUNT, example=3)
    links = tuple(Link(server, servers, gbps, delay_us) for server in range(servers))
    return Topology(
        servers=servers,
        switches=1,
        links=links,
        capacity_gbps=gbps,
        buffer_mb=buffer_mb,
    )


def dumbbell(
    *,
    pairs: int,
    gbps: float = 100.0,
    bottleneck_gbps: float | None = None,
    delay_us: float = 1.0,
    buffer_mb: float = 12.0,
) -> Topology:
    """Return `pairs` senders and `pairs` receivers, with one link between their switches.

    Server i sends, server `pairs` + i receives. A load of 1 fills the link between the switches.

    Examples
    --------
    >>> dumbbell(pairs=2).servers
    4
    """
    validation.whole("pairs", pairs, _COUNT, example=2)
    bottleneck = gbps if bottleneck_gbps is None else bottleneck_gbps
    left = 2 * pairs
    links = [Link(server, left + (server >= pairs), gbps, delay_us) for server in range(2 * pairs)]
    links.append(Link(left, left + 1, bottleneck, delay_us))
    return Topology(
        servers=2 * pairs,
        switches=2,
        links=tuple(links),
        capacity_gbps=bottleneck,
        buffer_mb=buffer_mb,
    )
