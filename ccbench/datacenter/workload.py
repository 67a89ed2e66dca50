# SPDX-License-Identifier: Apache-2.0
"""Data-centre traffic: flows between servers, with sizes and start times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.base import random_streams, validation
from ccbench.base.errors import InputError
from ccbench.base.validation import Range
from ccbench.datacenter import flow_sizes

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from ccbench.datacenter.topology import Topology
    from ccbench.experiment.flow_sizes import FlowSizes

__all__ = [
    "ARRIVALS",
    "KINDS",
    "KIND_DTYPE",
    "Incast",
    "Mice",
    "Workload",
    "flow_table",
    "payload_share",
]

#: Distributions of the time between flows.
ARRIVALS = ("lognormal", "poisson")
#: Kinds of flows; the position is the category's code.
KINDS = ("background", "incast", "long")
KIND_DTYPE = pd.CategoricalDtype(list(KINDS))

#: Bytes of headers of each packet, and of payload of a full packet.
HEADER_BYTES = 48
PAYLOAD_BYTES = 1000

_MOST_FLOWS = 100_000_000


@dataclass(frozen=True, kw_only=True)
class Incast:
    """Simultaneous flows from many servers to one, at regular intervals.

    Parameters
    ----------
    degree : int
        Flows of an event, 1 to 100,000, distributed evenly over randomly drawn servers.
    total_mb : float
        Total size of an event's flows (10⁶ bytes).
    load : float
        Share of the capacity that they take, which determines the interval between events. The
        first event is at time 0.

    Examples
    --------
    >>> Incast(degree=100, total_mb=20).load
    0.05
    """

    degree: int
    total_mb: float
    load: float = 0.05

    def __post_init__(self) -> None:
        number, whole = validation.number, validation.whole
        positive = Range(0, 1e6, low_open=True)
        values = {
            "degree": whole("incast.degree", self.degree, Range(1, 100_000), example=100),
            "total_mb": number("incast.total_mb", self.total_mb, positive, example=20),
            "load": number("incast.load", self.load, Range(0, 1, low_open=True), example=0.05),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def interval_s(self, topology: Topology) -> float:
        """Return the time between events, in seconds.

        Examples
        --------
        >>> from ccbench.datacenter.topology import clos
        >>> round(1e6 * Incast(degree=100, total_mb=20).interval_s(clos()))
        500
        """
        return self.total_mb * 8e6 / (self.load * topology.capacity_gbps * 1e9)


@dataclass(frozen=True, kw_only=True)
class Mice:
    """Small flows of one size to one server, from random other servers.

    Parameters
    ----------
    receiver : int
        The destination.
    bytes : int
        Size of each flow.
    gbps : float
        Total payload rate in Gbit/s; arrivals are a Poisson process.

    Examples
    --------
    >>> Workload(mice=Mice(receiver=0, bytes=1000, gbps=0.1)).mice.bytes
    1000
    """

    receiver: int
    bytes: int
    gbps: float

    def __post_init__(self) -> None:
        whole, positive = validation.whole, Range(0, 1e6, low_open=True)
        object.__setattr__(self, "receiver", whole("receiver", self.receiver, Range(0), example=0))
        object.__setattr__(self, "bytes", whole("bytes", self.bytes, Range(1, 1e9), example=1000))
        object.__setattr__(self, "gbps", validation.number("gbps", self.gbps, positive, example=3))


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Traffic as in Goyal's thesis, section 3.6.2.1: open-loop flows between random servers.

    Parameters
    ----------
    sizes : str
        Flow size distribution (:data:`ccbench.datacenter.flow_sizes.NAMES`).
    load : float
        Payload as a share of the topology's capacity; 0 for none.
    arrivals : str
        Distribution of the time between flows of the whole network: ``lognormal`` (bursty) or
        ``poisson``.
    sigma : float
        Standard deviation of the logarithm of log-normal times between flows.
    incast : Incast, optional
        Additional incast.
    long_flows : tuple of (int, int)
        Source and destination of flows that start at 0 and never end.
    transfers : tuple of (int, int, int)
        Source, destination and bytes of flows that start at 0.
    mice : tuple of Mice
        Additional small flows.
    receiver : int, optional
        Destination of all flows of the distribution; random by default.
    senders : tuple of int
        Servers from which their sources are drawn; by default all but the destination.
    local_share : float, optional
        Share of these flows between servers of one rack; by default that of uniformly drawn pairs.
    islands : int
        Equal groups of consecutive servers, such as data centres, that these flows do not leave.
    classes : int
        Priority classes, 1 to 64, to which these flows belong in equal shares; all others belong
        to the first.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> from ccbench.datacenter.topology import clos
    >>> flows = Workload(sizes="facebook", load=0.6).flows(clos(), duration_s=1e-4, seed=1)
    >>> sorted(flows.columns)
    ['bytes', 'destination', 'kind', 'priority', 'source', 'start_ps']
    """

    sizes: str = "google"
    load: float = 0.6
    arrivals: str = "lognormal"
    sigma: float = 2.0
    incast: Incast | None = None
    long_flows: tuple[tuple[int, int], ...] = ()
    transfers: tuple[tuple[int, int, int], ...] = ()
    mice: tuple[Mice, ...] = ()
    receiver: int | None = None
    senders: tuple[int, ...] = ()
    local_share: float | None = None
    islands: int = 1
    classes: int = 1

    def __post_init__(self) -> None:
        number, whole = validation.number, validation.whole
        validation.one_of("sizes", self.sizes, flow_sizes.NAMES)
        validation.one_of("arrivals", self.arrivals, ARRIVALS)
        load = number("load", self.load, Range(0, 2), example=0.6)
        sigma = number("sigma", self.sigma, Range(0.01, 5), example=2)
        object.__setattr__(self, "load", load)
        object.__setattr__(self, "sigma", sigma)
        object.__setattr__(self, "long_flows", tuple(map(tuple, self.long_flows)))
        for flow in self.long_flows:
            for end in flow:
                whole("long_flows", end, Range(0), example=0)
        object.__setattr__(self, "transfers", tuple(map(tuple, self.transfers)))
        for source, destination, size in self.transfers:
            whole("transfers", source, Range(0), example=0)
            whole("transfers", destination, Range(0), example=1)
            whole("transfers", size, Range(1), example=1_500_000)
        if self.receiver is not None:
            whole("receiver", self.receiver, Range(0), example=0)
        object.__setattr__(self, "senders", tuple(self.senders))
        for server in self.senders:
            whole("senders", server, Range(0), example=0)
        if self.local_share is not None:
            share = number("local_share", self.local_share, Range(0, 1), example=0.5)
            object.__setattr__(self, "local_share", share)
            if self.receiver is not None or self.senders:
                step = "remove receiver and senders"
                raise validation.bad("local_share", share, "left out with them", step)
        whole("islands", self.islands, Range(1, 1000), example=2)
        if self.islands > 1 and (self.receiver, self.senders, self.local_share) != (None, (), None):
            step = "remove receiver, senders and local_share"
            raise validation.bad("islands", self.islands, "1 with them", step)
        whole("classes", self.classes, Range(1, 64), example=4)

    def flows(self, topology: Topology, duration_s: float, seed: int) -> pd.DataFrame:
        """Return the flows that start in the first `duration_s` seconds, in order of their start.

        Parameters
        ----------
        topology : Topology
            The network.
        duration_s : float
            In seconds.
        seed : int
            Seed of the random draws.

        Returns
        -------
        DataFrame
            One row per flow. Columns: ``start_ps`` (picoseconds), ``source``, ``destination``,
            ``bytes`` of payload (0: unlimited), ``kind`` (:data:`KINDS`) and ``priority``, the
            class, of which 0 is the first.

        Raises
        ------
        InputError
            If the topology has too few servers, or there would be more than 10⁸ flows.
        """
        if topology.servers < 2 and self.load > 0:  # noqa: PLR2004
            raise validation.bad("servers", topology.servers, "2 or more", "add servers")
        tables = [self._background(topology, duration_s, seed)]
        if self.incast is not None:
            tables.append(_incast(self.incast, topology, duration_s, seed))
        tables += [
            _mice(mice, topology, duration_s, random_streams.stream(seed, "mice", i))
            for i, mice in enumerate(self.mice)
        ]
        if self.long_flows:
            tables.append(flow_table((0.0, *flow, 0, "long") for flow in self.long_flows))
        if self.transfers:
            tables.append(flow_table((0.0, *flow, "background") for flow in self.transfers))
        flows = pd.concat(tables, ignore_index=True)
        check_flows(flows, topology)
        return flows.sort_values("start_ps", kind="stable", ignore_index=True)

    def _background(self, topology: Topology, duration_s: float, seed: int) -> pd.DataFrame:
        if self.load == 0:
            return flow_table(())
        sizes = flow_sizes.get(self.sizes)
        mean_gap_s = sizes.mean_bytes * 8 / (self.load * topology.capacity_gbps * 1e9)
        expected = duration_s / mean_gap_s
        if expected > _MOST_FLOWS:
            step = "simulate less time or fewer servers"
            raise validation.bad("flows", round(expected), f"at most {_MOST_FLOWS}", step)
        gaps, destinations, sources, shares = (
            random_streams.stream(seed, "background", purpose)
            for purpose in ("gaps", "destinations", "sources", "sizes")
        )
        start_s = self._arrivals(mean_gap_s, duration_s, gaps)
        servers, count = topology.servers, len(start_s)
        if servers % self.islands or servers // self.islands < 2:  # noqa: PLR2004
            allowed = f"a divisor of {servers} servers, with at least 2 in each"
            raise validation.bad("islands", self.islands, allowed, "choose another number")
        if self.receiver is None:
            destination = destinations.integers(servers, size=count)
        else:
            destination = np.full(count, self.receiver)
        if self.local_share is not None:
            local = random_streams.stream(seed, "background", "local").random(count)
            source = _placed(topology, destination, local < self.local_share, sources)
        elif self.senders:
            source = np.array(self.senders)[sources.integers(len(self.senders), size=count)]
        else:
            size = servers // self.islands
            place = (destination % size + 1 + sources.integers(size - 1, size=count)) % size
            source = destination - destination % size + place
        flows = _table(start_s, source, destination, sizes.sample(count, shares), "background")
        if self.classes > 1:
            classes = random_streams.stream(seed, "background", "classes")
            flows["priority"] = classes.integers(self.classes, size=count).astype(np.uint8)
        return flows

    def _arrivals(
        self, mean_gap_s: float, duration_s: float, draws: np.random.Generator
    ) -> npt.NDArray[np.float64]:
        parts: list[npt.NDArray[np.float64]] = []
        now_s = 0.0
        while now_s < duration_s:
            chunk = int((duration_s - now_s) / mean_gap_s * 1.1) + 100
            if self.arrivals == "poisson":
                gaps = draws.exponential(mean_gap_s, chunk)
            else:
                log_mean = np.log(mean_gap_s) - self.sigma**2 / 2
                gaps = draws.lognormal(log_mean, self.sigma, chunk)
            times = now_s + np.cumsum(gaps)
            parts.append(times)
            now_s = float(times[-1])
        start_s = np.concatenate(parts)
        return np.asarray(start_s[start_s < duration_s])


def _placed(
    topology: Topology,
    destination: npt.NDArray[np.int64],
    local: npt.NDArray[np.bool_],
    draws: np.random.Generator,
) -> npt.NDArray[np.int64]:
    """Return sources in the racks of their destinations where `local`, and in others elsewhere."""
    racks = topology.racks()
    inside = {rack: np.flatnonzero(racks == rack) for rack in np.unique(racks)}
    outside = {rack: np.flatnonzero(racks != rack) for rack in inside}
    if any(len(servers) < 2 for servers in inside.values()) and local.any():  # noqa: PLR2004
        raise InputError("local_share needs racks of at least 2 servers: add servers to each")
    if any(len(servers) == 0 for servers in outside.values()) and not local.all():
        raise InputError("local_share below 1 needs at least 2 racks: add a rack")
    source = np.empty_like(destination)
    draw = draws.random(len(destination))
    for rack, servers in inside.items():
        here = racks[destination] == rack
        near, far = here & local, here & ~local
        place = np.searchsorted(servers, destination[near])
        step = 1 + (draw[near] * (len(servers) - 1)).astype(np.int64)
        source[near] = servers[(place + step) % len(servers)]
        others = outside[rack]
        source[far] = others[(draw[far] * len(others)).astype(np.int64)]
    return source


def _mice(
    mice: Mice, topology: Topology, duration_s: float, draws: np.random.Generator
) -> pd.DataFrame:
    count = int(draws.poisson(duration_s * mice.gbps * 1e9 / 8 / mice.bytes))
    start_s = np.sort(draws.random(count)) * duration_s
    source = (mice.receiver + 1 + draws.integers(topology.servers - 1, size=count)) % (
        topology.servers
    )
    destination = np.full(count, mice.receiver)
    return _table(start_s, source, destination, np.full(count, mice.bytes), "background")


@cache
def payload_share(sizes: FlowSizes) -> float:
    """Return payload bytes as a share of all bytes on a link, without ACKs.

    Examples
    --------
    >>> round(payload_share(flow_sizes.get("websearch")), 3)
    0.954
    """
    sample = sizes.at((np.arange(200_000) + 0.5) / 200_000)
    packets = float(np.ceil(sample / PAYLOAD_BYTES).mean())
    # The distribution has a long tail: its bytes come from the mean, not from the sample.
    packets += (sizes.mean_bytes - float(sample.mean())) / PAYLOAD_BYTES
    return sizes.mean_bytes / (sizes.mean_bytes + HEADER_BYTES * packets)


def _incast(incast: Incast, topology: Topology, duration_s: float, seed: int) -> pd.DataFrame:
    receivers = random_streams.stream(seed, "incast", "receivers")
    senders = random_streams.stream(seed, "incast", "senders")
    events = np.arange(0.0, duration_s, incast.interval_s(topology))
    size = max(round(incast.total_mb * 1e6 / incast.degree), 1)
    tables = [flow_table(())]
    for start_s in events:
        receiver = int(receivers.integers(topology.servers))
        others = np.delete(np.arange(topology.servers), receiver)
        rounds = -(-incast.degree // len(others))
        in_rounds = [senders.permutation(others) for _ in range(rounds)]
        source = np.concatenate(in_rounds)[: incast.degree]
        start = np.full(incast.degree, start_s)
        bytes_each = np.full(incast.degree, size)
        tables.append(_table(start, source, np.full_like(source, receiver), bytes_each, "incast"))
    return pd.concat(tables, ignore_index=True)


def flow_table(flows: Iterable[tuple[float, int, int, int, str]]) -> pd.DataFrame:
    """Return a table of flows, as :meth:`Workload.flows` does, from rows.

    Parameters
    ----------
    flows : iterable of tuple
        Start in seconds, source, destination, bytes (0: unlimited) and kind of each flow.

    Examples
    --------
    >>> flow_table([(0.0, 0, 1, 1000, "background")])["bytes"].tolist()
    [1000]
    """
    rows = sorted(flows, key=lambda flow: flow[0])
    kinds = pd.Categorical([row[4] for row in rows], dtype=KIND_DTYPE)
    return pd.DataFrame(
        {
            "start_ps": np.array([round(row[0] * 1e12) for row in rows], dtype=np.int64),
            "source": np.array([row[1] for row in rows], dtype=np.int32),
            "destination": np.array([row[2] for row in rows], dtype=np.int32),
            "bytes": np.array([row[3] for row in rows], dtype=np.int64),
            "kind": kinds,
            "priority": np.zeros(len(rows), dtype=np.uint8),
        }
    )


def _table(
    start_s: npt.NDArray[np.float64],
    source: npt.NDArray[np.int64],
    destination: npt.NDArray[np.int64],
    size_bytes: npt.NDArray[np.int64],
    kind: str,
) -> pd.DataFrame:
    codes = np.full(len(start_s), KINDS.index(kind), dtype=np.int8)
    return pd.DataFrame(
        {
            "start_ps": np.rint(start_s * 1e12).astype(np.int64),
            "source": source.astype(np.int32),
            "destination": destination.astype(np.int32),
            "bytes": size_bytes.astype(np.int64),
            "kind": pd.Categorical.from_codes(codes, dtype=KIND_DTYPE),
            "priority": np.zeros(len(start_s), dtype=np.uint8),
        }
    )


def check_flows(flows: pd.DataFrame, topology: Topology) -> None:
    """Check that the servers of a table of flows exist.

    Raises
    ------
    InputError
        If a server does not exist, or a flow has the same source and destination.
    """
    ends = flows[["source", "destination"]].to_numpy()
    if len(ends) == 0:
        return
    if ends.min() < 0 or ends.max() >= topology.servers:
        wrong = int(ends.max() if ends.max() >= topology.servers else ends.min())
        allowed = f"the number of a server, 0 to {topology.servers - 1}"
        raise validation.bad("server of a flow", wrong, allowed, "name another server")
    if (ends[:, 0] == ends[:, 1]).any():
        raise InputError("a flow goes from a server to itself: name another destination")
