# SPDX-License-Identifier: Apache-2.0
"""Networks and workloads of measurements of harm (Ware section 4.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ccbench.base import dataclass_dicts, toml_files, validation
from ccbench.base.checked_fields import inline, set_field
from ccbench.base.counts import counted
from ccbench.base.dataclass_dicts import settings
from ccbench.base.errors import InputError
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import Flow
from ccbench.experiment.noise import typical
from ccbench.experiment.path import NetworkPath, typical_path
from ccbench.harm.comparison import metrics_named

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "NETWORKS",
    "WORKLOADS",
    "Network",
    "Workload",
    "load_networks",
    "load_workloads",
    "workload_named",
]

_Named = TypeVar("_Named", "Network", "Workload")


@dataclass(frozen=True, kw_only=True)
class Network:
    """A named network path.

    Parameters
    ----------
    name : str
        Unique name.
    path : NetworkPath

    Examples
    --------
    >>> path = typical_path(bandwidth_mbps=12, queue_bdp=2, rtt_ms=30)
    >>> Network(name="dsl", path=path).path.noise.describe()
    'forward jitter 0.7 ms, reverse jitter 0.7 ms, start spread 20 ms'
    """

    name: str
    path: NetworkPath

    def __post_init__(self) -> None:
        validation.one_line("name", self.name)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The traffic of a service, independent of its congestion control.

    Parameters
    ----------
    name : str
        Unique name.
    flow : Flow
        The flows; `cca` is ignored. UDP flows can only be harmed: their effect on others is neither
        judged nor a bound.
    metrics : tuple of str
        Keys of `METRICS` by which harm to the workload is judged.

    Raises
    ------
    InputError
        If a metric is unknown or does not exist for the flows, or there is none.

    Examples
    --------
    >>> Workload(name="long", flow=Flow(), metrics=("throughput",)).with_cca("bbr").cca
    'bbr'
    """

    name: str
    flow: Flow = field(metadata=inline(Flow))
    metrics: tuple[str, ...]

    def __post_init__(self) -> None:
        validation.one_line("name", self.name)
        names: object = self.metrics
        if not isinstance(names, tuple | list) or not names:
            step = 'write for example metrics = ["throughput"]'
            raise validation.bad("metrics", self.metrics, "a list of one metric or more", step)
        metrics = metrics_named(self.metrics)
        for metric in metrics:
            if not metric.exists_for(self.flow):
                allowed = f"metrics that flows of kind {self.flow.kind!r} have"
                raise validation.bad("metrics", metric.name, allowed, "remove it")
        set_field(self, "metrics", tuple(metric.name for metric in metrics))

    def check_duration(self, duration_s: float) -> None:
        """Check that all flows start within a run.

        Raises
        ------
        InputError
            If the run is too short.
        """
        last_s = self.flow.arrivals[-1][0] if self.flow.arrivals else self.flow.start_s
        if duration_s <= last_s:
            allowed = f"above {last_s:g}, the start of the last flow of workload {self.name!r}"
            raise validation.bad("duration", duration_s, allowed, "run for longer")

    def suits(self, cca: str) -> bool:
        """Return whether a congestion control can send these flows: a stack's only long ones.

        Examples
        --------
        >>> workload = Workload(name="long", flow=Flow(), metrics=("throughput",))
        >>> workload.suits("quic:ngtcp2/bbr")
        True
        """
        try:
            self.with_cca(cca)
        except InputError:
            return False
        return True

    def with_cca(self, cca: str) -> Flow:
        """Return the flows of this workload with a congestion control, which UDP ignores."""
        if self.flow.is_udp:
            return replace(self.flow, label=self.name)
        return replace(self.flow, cca=cca, label=f"{cca} {self.name}")


def _network(name: str, bandwidth_mbps: float, rtt_ms: float, queue_bdp: float) -> Network:
    path = typical_path(bandwidth_mbps=bandwidth_mbps, rtt_ms=rtt_ms, queue_bdp=queue_bdp)
    return Network(name=name, path=path)


#: Default networks: slow and fast links, short and long paths, shallow and deep queues.
NETWORKS = (
    _network("10 Mbit/s, 40 ms, 0.5 BDP", 10, 40, 0.5),
    _network("10 Mbit/s, 40 ms, 4 BDP", 10, 40, 4),
    _network("50 Mbit/s, 20 ms, 1 BDP", 50, 20, 1),
    _network("50 Mbit/s, 100 ms, 1 BDP", 50, 100, 1),
)

#: Default workloads: an unlimited download, a web page every second, a video at its rate, a call.
WORKLOADS = (
    Workload(name="long", flow=Flow(), metrics=("throughput",)),
    Workload(
        name="short",
        flow=Flow(kind="bytes", arrivals=tuple((5.0 + i, 250_000) for i in range(20))),
        metrics=("fct",),
    ),
    Workload(
        name="video",
        flow=Flow(kind="rate", rate_mbps=3),
        metrics=("throughput", "one_way_delay_p95"),
    ),
    Workload(
        name="call",
        flow=Flow(kind="cbr", rate_mbps=0.1, packet_bytes=250),
        metrics=("one_way_delay_p95",),
    ),
)


def workload_named(name: str) -> Workload:
    """Return the workload of `WORKLOADS` with a given name.

    Raises
    ------
    InputError
        If there is none.

    Examples
    --------
    >>> workload_named("short").metrics
    ('fct',)
    """
    workloads = {workload.name: workload for workload in WORKLOADS}
    if name not in workloads:
        hint = validation.choice_hint(name, workloads)
        raise InputError(f"workload = {name!r}: there are {', '.join(workloads)}: {hint}")
    return workloads[name]


def load_networks(path: str | Path) -> tuple[Network, ...]:
    """Read networks from a TOML file with a table ``[[networks]]`` for each.

    The keys are ``name`` (default: a description of the settings), those of a path in a scenario,
    such as ``rtt_ms`` and ``ecn``, and for a single bottleneck also its own settings. Without
    ``noise``, a network has typical noise.

    Raises
    ------
    InputError
        If the file is unreadable or a table is not a valid network. The message names the setting.

    Examples
    --------
    >>> [network.name for network in load_networks("examples/deployable/networks.toml")][0]
    '12 Mbit/s, 30 ms, 2 BDP'
    """

    def read(table: Mapping[str, object], base_dir: Path) -> Network:
        of_path, of_link = settings(NetworkPath), settings(Bottleneck)
        for key in table:
            if key not in {"name", *of_path, *of_link}:
                raise validation.unknown_key(str(key), ["name", *of_path, *of_link])
        document: dict[str, Any] = {key: value for key, value in table.items() if key in of_path}
        link = {key: value for key, value in table.items() if key in of_link}
        if link and "bottlenecks" in document:
            allowed = "left out with bottlenecks"
            raise validation.bad(", ".join(link), "given", allowed, "move it into a bottleneck")
        if "bottlenecks" not in document:
            Bottleneck.from_dict(link, base_dir)  # for errors with the names in the table
            document["bottlenecks"] = [link]
        network = NetworkPath.from_dict(document, base_dir)
        if "noise" not in table:
            network = replace(network, noise=typical(rtt_ms=network.rtt_ms))
        first = Bottleneck.from_dict(document["bottlenecks"][0], base_dir)
        given: Any = table.get("name", "")
        return Network(name=given or _described(first, network), path=network)

    return _load(Path(path), "networks", read)


def load_workloads(path: str | Path) -> tuple[Workload, ...]:
    """Read workloads from a TOML file with a table ``[[workloads]]`` for each.

    The keys are ``name``, ``metrics`` and those of a scenario's flow except ``cca``.

    Raises
    ------
    InputError
        If the file is unreadable or a table is not a valid workload. The message names the setting.

    Examples
    --------
    >>> [workload.name for workload in load_workloads("examples/deployable/workloads.toml")]
    ['download', 'page', 'stream']
    """

    def read(table: Mapping[str, object], base_dir: Path) -> Workload:
        if "cca" in table:
            step = "remove it: the workload is run with both CCAs"
            raise validation.bad("cca", table["cca"], "left out", step)
        return dataclass_dicts.build(Workload, table, base_dir)

    return _load(Path(path), "workloads", read)


def _load(
    path: Path, kind: str, read: Callable[[Mapping[str, object], Path], _Named]
) -> tuple[_Named, ...]:
    with validation.within(f"{path}: "):
        document: Mapping[str, Any] = toml_files.loads(validation.text_file(path, f"{kind} file"))
        for key in document:
            if key != kind:
                raise validation.unknown_key(key, [kind])
        tables = document.get(kind)
        if not isinstance(tables, list) or not tables:
            raise InputError(f"{kind} is missing: head each of them with [[{kind}]]")
        items: list[_Named] = []
        for i, table in enumerate(tables):
            if not isinstance(table, Mapping):
                raise validation.bad(f"{kind}[{i}]", table, "a table", f"head each with [[{kind}]]")
            with validation.within(f"{kind}[{i}]."):
                item = read(table, path.parent)
                if any(item.name == other.name for other in items):
                    allowed = f"different from the names of the other {kind}"
                    raise validation.bad("name", item.name, allowed, "choose another name")
                items.append(item)
    return tuple(items)


def _described(bottleneck: Bottleneck, path: NetworkPath) -> str:
    """Describe a path by its first bottleneck, as given."""
    room = (
        f"{bottleneck.queue_bdp:g} BDP"
        if bottleneck.queue_bdp is not None
        else counted(bottleneck.queue_packets or 0, "packet")
    )
    qdisc = "" if bottleneck.qdisc == "droptail" else f", {bottleneck.qdisc}"
    loss = f", {bottleneck.loss:.2%} lost" if bottleneck.loss else ""
    trace = bottleneck.trace
    link = trace.name if trace is not None else f"{bottleneck.mean_mbps:.4g} Mbit/s"
    return f"{link}, {path.rtt_ms:g} ms, {room}{qdisc}{loss}"
