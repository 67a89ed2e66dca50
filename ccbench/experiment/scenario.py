# SPDX-License-Identifier: Apache-2.0
"""Scenarios: experiments as data.

A :class:`Scenario` is a value: it can be compared, hashed, written to a file and read back, and
running the same scenario on the same engine gives the same result. All rates count IP bytes, 1500
for a full packet.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ccbench.base import dataclass_dicts, durable, toml_files, validation
from ccbench.base.checked_fields import (
    check_fields,
    checked,
    instance_of,
    number,
    set_field,
    whole,
)
from ccbench.base.random_streams import stream
from ccbench.base.validation import Range
from ccbench.experiment import kernel_settings
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.change import Change
from ccbench.experiment.flow import LARGEST_MTU_BYTES, MAX_FLOWS, MTU_BYTES, Flow
from ccbench.experiment.noise import NO_NOISE, Noise, read_noise
from ccbench.experiment.rtt_trace import RttTrace
from ccbench.experiment.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

__all__ = [
    "MSS_BYTES",
    "MTU_BYTES",
    "Bottleneck",
    "Change",
    "Flow",
    "Noise",
    "RttTrace",
    "Scenario",
    "Trace",
]

#: Headers of a full TCP packet in bytes: 20 of IP, 20 of TCP and 12 of timestamps.
TCP_HEADER_BYTES = 52

#: TCP payload of a full packet in bytes by default.
MSS_BYTES = MTU_BYTES - TCP_HEADER_BYTES

#: Least size of a full packet of each version of IP: that which every host of IPv4 can receive (RFC
#: 1122, section 3.3.2), and that of every path of IPv6 (RFC 8200, section 5).
_LEAST_MTU_BYTES = {4: 576, 6: 1280}

#: Maximum number of bottlenecks in each direction.
MAX_BOTTLENECKS = 8

#: Maximum number of single flows from the receiving host, which has that many ports for them.
MAX_REVERSE_FLOWS = 25_000

#: Maximum number of hosts that remember connections, and of the flows of each.
MAX_HOSTS = 10_000
MAX_FLOWS_PER_HOST = 25_000

#: Maximum number of times that a change occurs.
MAX_OCCURRENCES = 100_000

#: Kinds of flows whose application can change during a run.
_CHANGING_KINDS = ("bulk", "rate", "cbr")

_Part = TypeVar("_Part", Flow, Bottleneck, Change)


def _parts_of(cls: type, *, least: int = 1) -> Callable[[str, object], tuple[Any, ...]]:
    """Return a check for a tuple of at least this number of `cls`."""

    def check(name: str, parts: object) -> tuple[Any, ...]:
        if not isinstance(parts, tuple | list) or len(parts) < least:
            allowed = f"a list of {'one' if least else 'any number of'} {cls.__name__}"
            allowed += " or more" if least else ""
            step = f"add one; in TOML it is a table headed [[{name}]]"
            raise validation.bad(name, parts, allowed, step)
        for i, part in enumerate(parts):
            if not isinstance(part, cls):
                step = f"create one with {cls.__name__}(...)"
                raise validation.bad(f"{name}[{i}]", part, f"a {cls.__name__}", step)
        return tuple(parts)

    return check


def _noise(name: str, value: object) -> Noise:
    if isinstance(value, Noise):
        return value
    step = "write for example Noise(reverse_jitter_ms=0.1)"
    raise validation.bad(name, value, "a Noise", step)


def _ecn(name: str, value: object) -> bool | str:
    if isinstance(value, bool) or value == "accecn":
        return value
    allowed, step = 'true, false or "accecn"', f'write for example {name} = "accecn"'
    raise validation.bad(name, value, allowed, step)


def _queue_log(name: str, value: object) -> bool | str:
    if isinstance(value, bool) or value == "summary":
        return value
    allowed, step = 'true, false or "summary"', 'write for example queue_log = "summary"'
    raise validation.bad(name, value, allowed, step)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One experiment: flows between two hosts through one or more bottlenecks in a row.

    Parameters
    ----------
    flows : tuple of Flow
        Groups of flows. Single flows are numbered from 0, group by group.
    bottlenecks : tuple of Bottleneck
        1 to 8 bottlenecks in the order of the path from the sending to the receiving host. The
        scenario replaces each `queue_bdp` by the equivalent `queue_packets`.
    reverse_bottlenecks : tuple of Bottleneck
        Up to 8 bottlenecks in the order of the way back, which ACKs cross, and data of flows with
        ``direction="reverse"``. By default, ACKs are neither queued nor lost. In a run, their
        numbers follow those of `bottlenecks` (:attr:`links`).
    rtt_ms : float
        Base round-trip time in milliseconds, 0.001 to 10,000, without queueing and transmission.
    forward_delay_ms : float, optional
        Part of `rtt_ms` on the way from the bottlenecks to the receiving host; the rest is on the
        way back. By default 0: all of it is on the way back, as flows and queues of one direction
        depend on the sum only. Analysis (:func:`ccbench.run.packets.delivered`) then counts half of
        it in each direction.
    mtu_bytes : int
        Size of a full IP packet, as both hosts know it: 576 (IPv6: 1280) to 9216. `queue_bdp` and
        limits of queues in bytes count such packets.
    rtt_trace : RttTrace, optional
        Base round-trip time over time, instead of `rtt_ms`, which then is the one of `queue_bdp`.
        In TOML a list of pairs ``[time_s, rtt_ms]`` or the path of a CSV file with these two
        columns, relative to the TOML file.
    duration_s : float
        Length in seconds, 0.001 or more.
    seed : int
        Seed of all random numbers.
    changes : tuple of Change
        Changes of the path or of applications at given times or after events; in TOML tables
        headed ``[[changes]]``.
    noise : Noise
        Random disturbance of the path and the hosts; none by default. In TOML a table,
        ``noise = {reverse_jitter_ms = 0.1}``. Without noise, deterministic flows (Reno, CUBIC) can
        synchronise.
    ack_batch_ms : float
        Interval, in milliseconds, at whose multiples the receiving host sends all ACKs that are
        ready. This models ACK compression by interrupt coalescing, Wi-Fi and cable modems. 0 sends
        each ACK when it is ready.
    sample_interval_ms : float
        Time between samples of a flow, 0.01 ms or more. Sampling times are multiples of it. Each
        sample needs 400 bytes of memory while its table is built.
    queue_log : bool or "summary"
        Whether to record every event of every packet at the queues. Large searches that do not need
        the events switch them off. With ``"summary"``, a run has distributions, counters and
        samples instead (:class:`~ccbench.run.queue_summary.QueueSummary`), whose size does not grow
        with the number of packets. At 10 Gbit/s there are 1.7 million events a second, which need
        24 bytes of memory each and up to 95 bytes while their table is built.
    ecn : bool or "accecn"
        The most accurate ECN that the end hosts negotiate: none, ECN of RFC 3168, or with
        ``"accecn"`` accurate ECN (RFC 9768), which Linux has since 7.0. A flow whose ends differ
        uses the less accurate one. Some congestion controls (dctcp) negotiate ECN in any case.
    receiver_ecn : bool or "accecn", optional
        The same for the receiving host, which then is an ordinary host without the flows'
        congestion controls. By default it has them, and `ecn`.
    sysctls : tuple of (str, str), or mapping
        Settings below ``net.`` for both end hosts, such as ``{"net.ipv4.tcp_sack": 0}``; in TOML a
        table. Numbers become strings.
    module_parameters : tuple of (str, str), or mapping
        Parameters of modules of the virtual kernel, from ccbench or Linux, by ``module.parameter``,
        such as ``{"tcp_rapid.tolerance": 64}``; in TOML a table. They are set before the start.
        Numbers become strings; booleans become the kernel's ``Y`` and ``N``.
    name : str
        Description. Not part of the scenario's identity.

    Raises
    ------
    InputError
        If a setting is out of range. The message starts with the path of the setting, such as
        ``bottlenecks[0].bandwidth_mbps``.

    Examples
    --------
    >>> scenario = Scenario(
    ...     flows=(Flow(cca="bbr"), Flow(cca="cubic")),
    ...     bottlenecks=(Bottleneck(bandwidth_mbps=100, queue_bdp=1),),
    ...     rtt_ms=40,
    ...     duration_s=60,
    ... )
    >>> scenario.bottlenecks[0].queue_packets
    333
    """

    flows: tuple[Flow, ...] = field(metadata=checked(_parts_of(Flow)))
    bottlenecks: tuple[Bottleneck, ...] = field(metadata=checked(_parts_of(Bottleneck)))
    rtt_ms: float = field(metadata=number(Range(0.001, 10_000), example=40))
    duration_s: float = field(metadata=number(Range(0.001, 1e6), example=60))
    reverse_bottlenecks: tuple[Bottleneck, ...] = field(
        default=(), metadata=checked(_parts_of(Bottleneck, least=0))
    )
    forward_delay_ms: float | None = field(
        default=None, metadata=number(Range(0, 10_000), example=20, optional=True)
    )
    mtu_bytes: int = field(
        default=MTU_BYTES,
        metadata=whole(Range(_LEAST_MTU_BYTES[4], LARGEST_MTU_BYTES), example=9000),
    )
    rtt_trace: RttTrace | None = field(
        default=None,
        metadata=checked(instance_of(RttTrace, "RttTrace(points=...)"), optional=True),
    )
    changes: tuple[Change, ...] = field(default=(), metadata=checked(_parts_of(Change, least=0)))
    seed: int = field(default=1, metadata=whole(Range(0, 2**63 - 1), example=1))
    noise: Noise = field(default=NO_NOISE, metadata=checked(_noise))
    ack_batch_ms: float = field(default=0.0, metadata=number(Range(0, 1_000), example=1))
    sample_interval_ms: float = field(default=100.0, metadata=number(Range(0.01, 1e9), example=100))
    queue_log: bool | str = field(default=True, metadata=checked(_queue_log))
    ecn: bool | str = field(default=False, metadata=checked(_ecn))
    receiver_ecn: bool | str | None = field(default=None, metadata=checked(_ecn, optional=True))
    sysctls: tuple[tuple[str, str], ...] = field(
        default=(), metadata=checked(kernel_settings.sysctls)
    )
    module_parameters: tuple[tuple[str, str], ...] = field(
        default=(), metadata=checked(kernel_settings.module_parameters)
    )
    name: str = field(default="", compare=False, metadata=checked(validation.one_line))

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("bottlenecks", "reverse_bottlenecks"):
            if (count := len(getattr(self, name))) > MAX_BOTTLENECKS:
                raise validation.bad(name, count, f"at most {MAX_BOTTLENECKS}", "remove some")
        shortest_ms = self.rtt_ms if self.rtt_trace is None else self.rtt_trace.shortest_ms
        if self.forward_delay_ms is not None and self.forward_delay_ms > shortest_ms:
            allowed, step = f"at most the RTT, {shortest_ms:g}", "lower it, or raise the RTT"
            raise validation.bad("forward_delay_ms", self.forward_delay_ms, allowed, step)
        if self.flow_count > MAX_FLOWS:
            allowed, step = f"at most {MAX_FLOWS} single flows", "lower the counts"
            raise validation.bad("flows", self.flow_count, allowed, step)
        for i, flow in enumerate(self.flows):
            self._check_times(f"flows[{i}]", flow)
        for where, path in self.named_paths():
            self._check_places(where, path)
        self._check_reverse_flows()
        self._check_hosts()
        self._check_mtu()
        for i, change in enumerate(self.changes):
            with validation.within(f"changes[{i}]."):
                self._check_change(change)
                self._check_ends(change)
        self._check_delays()
        sized = tuple(map(self._with_queue_packets, range(len(self.links))))
        set_field(self, "bottlenecks", sized[: len(self.bottlenecks)])
        set_field(self, "reverse_bottlenecks", sized[len(self.bottlenecks) :])

    @property
    def flow_count(self) -> int:
        """Number of single flows."""
        return sum(flow.flow_count for flow in self.flows)

    @property
    def links(self) -> tuple[Bottleneck, ...]:
        """The bottlenecks of both directions, by their numbers in runs."""
        return self.bottlenecks + self.reverse_bottlenecks

    @property
    def paths(self) -> tuple[Flow, ...]:
        """The flows, with one for each subflow in place of a connection of Multipath TCP."""
        return tuple(path for flow in self.flows for path in flow.paths)

    @property
    def mss_bytes(self) -> int:
        """TCP payload of a full packet of IPv4 in bytes.

        Examples
        --------
        >>> link = Bottleneck(bandwidth_mbps=10, queue_bdp=1)
        >>> settings = {"rtt_ms": 40, "duration_s": 60, "mtu_bytes": 9000}
        >>> Scenario(flows=(Flow(),), bottlenecks=(link,), **settings).mss_bytes
        8948
        """
        return self.mtu_bytes - TCP_HEADER_BYTES

    def named_paths(self) -> Iterator[tuple[str, Flow]]:
        """Yield the settings of each of `paths`, such as ``flows[0].subflows[1]``, and the path."""
        for i, flow in enumerate(self.flows):
            for k, path in enumerate(flow.paths):
                yield f"flows[{i}].subflows[{k}]" if flow.subflows else f"flows[{i}]", path

    def path_numbers(self) -> list[int]:
        """Return the position in `paths` of each single flow.

        Examples
        --------
        >>> link = Bottleneck(bandwidth_mbps=10, queue_bdp=1)
        >>> flows = (Flow(), Flow(count=2, subflows=({}, {"cca": "reno"})))
        >>> Scenario(flows=flows, bottlenecks=(link,), rtt_ms=40, duration_s=60).path_numbers()
        [0, 1, 2, 1, 2]
        """
        numbers: list[int] = []
        first = 0
        for flow in self.flows:
            own = range(first, first + len(flow.paths))
            numbers += [*own] * (flow.flow_count // len(own))
            first += len(own)
        return numbers

    def group_of(self, number: int) -> int:
        """Return the position in `flows` of a single flow.

        Examples
        --------
        >>> link = Bottleneck(bandwidth_mbps=10, queue_bdp=1)
        >>> flows = (Flow(count=2), Flow(cca="bbr"))
        >>> Scenario(flows=flows, bottlenecks=(link,), rtt_ms=40, duration_s=60).group_of(2)
        1
        """
        ends = itertools.accumulate(flow.flow_count for flow in self.flows)
        return next(i for i, end in enumerate(ends) if number < end)

    def longest_queue(self, number: int) -> int:
        """Return the largest limit of a bottleneck's queue during the run, in packets."""
        own = (change for change in self.changes if change.bottleneck == number)
        limits = (self.links[number].queue_packets, *(change.queue_packets for change in own))
        return max(limit or 0 for limit in limits)

    def highest_mbps(self, number: int) -> float:
        """Return the highest rate of a bottleneck in Mbit/s, or the mean rate of a trace."""
        own = (change for change in self.changes if change.bottleneck == number)
        rates = (self.links[number].mean_mbps, *(change.bandwidth_mbps for change in own))
        return max(rate or 0 for rate in rates)

    @property
    def longest_rtt_ms(self) -> float:
        """The longest base round-trip time during the run in milliseconds, of flows without extra.

        Examples
        --------
        >>> link = Bottleneck(bandwidth_mbps=10, queue_bdp=1)
        >>> settings = {"rtt_ms": 40, "duration_s": 60, "changes": (Change(at_s=9, rtt_ms=80),)}
        >>> Scenario(flows=(Flow(),), bottlenecks=(link,), **settings).longest_rtt_ms
        80.0
        """
        base_ms = self.rtt_ms if self.rtt_trace is None else self.rtt_trace.longest_ms
        return max(base_ms, *(change.rtt_ms or 0.0 for change in self.changes), 0.0)

    def loses(self, number: int) -> bool:
        """Return whether packets are lost before a bottleneck's queue at some time."""
        own = (change for change in self.changes if change.bottleneck == number)
        return self.links[number].loses or any(change.loss for change in own)

    def link_name(self, number: int) -> str:
        """Return a bottleneck's place in the scenario, such as ``reverse_bottlenecks[0]``."""
        position = number - len(self.bottlenecks)
        is_reverse = position >= 0
        return f"reverse_bottlenecks[{position}]" if is_reverse else f"bottlenecks[{number}]"

    def links_of(self, flow: Flow) -> tuple[int, int]:
        """Return the numbers of the first and of the last bottleneck of a flow's data."""
        before = len(self.bottlenecks) if flow.is_reverse else 0
        count = len(self.reverse_bottlenecks if flow.is_reverse else self.bottlenecks)
        last = count - 1 if flow.last_bottleneck is None else flow.last_bottleneck
        return before + flow.first_bottleneck, before + last

    @property
    def hosts_ecn(self) -> tuple[bool | str, bool | str]:
        """The ECN of the sending and of the receiving host."""
        return self.ecn, self.ecn if self.receiver_ecn is None else self.receiver_ecn

    @property
    def draws_at_random(self) -> bool:
        """Whether the scenario is random: noise, links that draw, or Poisson arrivals.

        Otherwise a congestion control (BBR) or queueing discipline (FQ-CoDel) may still be random.
        """
        return (
            bool(self.noise)
            or any(link.draws_at_random for link in self.links)
            or any(change.draws_at_random for change in self.changes)
            or any(flow.kind == "poisson" for flow in self.flows)
        )

    def bdp_packets(self, bottleneck: int = 0) -> float:
        """Return the bandwidth-delay product in full packets: mean rate times `rtt_ms`.

        Examples
        --------
        >>> link = Bottleneck(bandwidth_mbps=12, queue_bdp=1)
        >>> Scenario(flows=(Flow(),), bottlenecks=(link,), rtt_ms=50, duration_s=60).bdp_packets()
        50.0
        """
        return self.links[bottleneck].mean_mbps * 1e3 * self.rtt_ms / (8 * self.mtu_bytes)

    def flow_table(self) -> pd.DataFrame:
        """Return one row per single flow.

        Returns
        -------
        DataFrame
            Index ``flow`` from 0; columns ``group`` (position in `flows`), ``label``, ``kind``,
            ``cca``, ``start_s`` (with noise), ``stop_s`` (default: `duration_s`), ``size_bytes``
            and ``rate_mbps`` (missing for kinds without them, and for further subflows of a
            connection), ``extra_rtt_ms``, and the numbers of the ``first_bottleneck`` and
            ``last_bottleneck`` of its data.

        Examples
        --------
        >>> link = Bottleneck(bandwidth_mbps=10, queue_bdp=1)
        >>> flows = (Flow(cca="bbr", count=2), Flow(kind="cbr", rate_mbps=1))
        >>> scenario = Scenario(flows=flows, bottlenecks=(link,), rtt_ms=40, duration_s=60)
        >>> list(scenario.flow_table()["label"])
        ['bbr', 'bbr', 'cbr']
        """
        import pandas as pd  # noqa: PLC0415 - takes most of a second; not needed to read a scenario

        paths = self.paths
        groups = pd.DataFrame(
            {
                "group": [i for i, flow in enumerate(self.flows) for _ in flow.paths],
                "label": [flow.label or flow.cca or flow.kind for flow in paths],
                "kind": [flow.kind for flow in paths],
                "cca": [flow.cca for flow in paths],
                "stop_s": [flow.stop_s or self.duration_s for flow in paths],
                "size_bytes": pd.array(list(_of_first(self.flows, "size_bytes")), dtype="Int64"),
                "rate_mbps": pd.Series([*_of_first(self.flows, "rate_mbps")], dtype="float64"),
                "extra_rtt_ms": [flow.extra_rtt_ms for flow in paths],
                "first_bottleneck": [self.links_of(flow)[0] for flow in paths],
                "last_bottleneck": [self.links_of(flow)[1] for flow in paths],
            }
        )
        counts = [flow.flow_count for flow in self.flows]
        table = groups.loc[self.path_numbers()].reset_index(drop=True)
        table.index.name = "flow"
        table.insert(4, "start_s", self.starts_s())  # before stop_s
        for i, flow in enumerate(self.flows):
            if flow.arrivals and flow.connections is None:
                first = sum(counts[:i])
                rows = slice(first, first + counts[i] - 1)  # label slices include their end
                table.loc[rows, "size_bytes"] = [size for _, size in flow.arrivals]
        return table

    def starts_s(self) -> npt.NDArray[np.float64]:
        """Return the start of each single flow in seconds, with noise.

        Examples
        --------
        >>> link = Bottleneck(bandwidth_mbps=10, queue_bdp=1)
        >>> flows = (Flow(count=2), Flow(start_s=5))
        >>> scenario = Scenario(flows=flows, bottlenecks=(link,), rtt_ms=40, duration_s=60)
        >>> scenario.starts_s().tolist()
        [0.0, 0.0, 5.0]
        """
        import numpy as np  # noqa: PLC0415 - likewise

        counts = [flow.flow_count for flow in self.flows]
        starts_s = np.repeat([flow.start_s for flow in self.flows], counts)
        if self.noise.start_spread_ms:
            spread_s = self.noise.start_spread_ms / 1e3
            starts_s += stream(self.seed, "start").uniform(0, spread_s, self.flow_count)
        first = 0
        for flow in self.flows:
            if flow.arrivals:
                # The first flow of a connection opens it.
                arrivals_s = [start_s for start_s, _ in flow.arrivals[: flow.flow_count]]
                starts_s[first : first + flow.flow_count] = arrivals_s
            elif flow.subflows:
                # The first subflow opens the connection.
                own = starts_s[first : first + flow.flow_count]
                own[:] = np.repeat(own[:: len(flow.subflows)], len(flow.subflows))
            first += flow.flow_count
        return starts_s

    def key(self) -> str:
        """Return the SHA-256, in hexadecimal, of all settings that can change the result.

        These are all settings except the name, the labels and the names of traces.
        """
        document = self.to_dict()
        document.pop("name", None)
        for flow in document["flows"]:
            flow.pop("label", None)
        for bottleneck in (*document["bottlenecks"], *document.get("reverse_bottlenecks", ())):
            bottleneck.get("trace", {}).pop("name", None)
        canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the non-empty settings as a dictionary of JSON-able values."""
        values = dataclass_dicts.present(self)
        if self.mtu_bytes == MTU_BYTES:
            del values["mtu_bytes"]  # so that the identities of other scenarios remain the same
        values["flows"] = [flow.to_dict() for flow in self.flows]
        for name in ("bottlenecks", "reverse_bottlenecks"):
            if name in values:
                values[name] = [bottleneck.to_dict() for bottleneck in values[name]]
        if self.sysctls:
            values["sysctls"] = dict(self.sysctls)
        if self.module_parameters:
            values["module_parameters"] = dict(self.module_parameters)
        if self.rtt_trace is not None:
            values["rtt_trace"] = [list(point) for point in self.rtt_trace.points]
        if self.changes:
            values["changes"] = [change.to_dict() for change in self.changes]
        values["noise"] = self.noise.to_dict()
        return values

    @classmethod
    def from_dict(cls, data: Mapping[str, object], base_dir: str | Path = ".") -> Scenario:
        """Create a scenario from a dictionary such as :meth:`to_dict` returns.

        Parameters
        ----------
        data : mapping
            Settings. Unknown settings are errors.
        base_dir : path
            Base of relative paths of files (traces, arrivals).

        Raises
        ------
        InputError
            If `data` is not a valid scenario. The message starts with the path of the setting.
        """
        base = Path(base_dir)

        def read_flows(value: object) -> list[Flow]:
            return _read_parts("flows", value, lambda item: Flow.from_dict(item, base))

        def bottlenecks_of(name: str) -> Callable[[object], list[Bottleneck]]:
            return lambda value: _read_parts(
                name, value, lambda item: Bottleneck.from_dict(item, base)
            )

        def read_rtt_trace(value: object) -> RttTrace:
            if isinstance(value, str):
                return RttTrace.from_file(base / value)
            if not value:  # the other messages name the point
                allowed, step = "a list of pairs", "write for example [[0, 40], [60, 80]]"
                raise validation.bad("rtt_trace", value, allowed, step)
            with validation.within("rtt_trace."):
                return RttTrace(points=value)  # type: ignore[arg-type]

        readers: dataclass_dicts.Readers = {
            "flows": read_flows,
            "rtt_trace": read_rtt_trace,
            "bottlenecks": bottlenecks_of("bottlenecks"),
            "reverse_bottlenecks": bottlenecks_of("reverse_bottlenecks"),
            "changes": lambda value: _read_parts("changes", value, Change.from_dict),
            "noise": read_noise,
            "sysctls": lambda value: kernel_settings.flattened("sysctls", value),
            "module_parameters": lambda value: kernel_settings.flattened(
                "module_parameters", value
            ),
        }
        parts = {"flows": Flow, "bottlenecks": Bottleneck, "noise": Noise}
        return dataclass_dicts.build(cls, data, readers, parts)

    def to_toml(self) -> str:
        """Return the scenario as a self-contained TOML document without default values.

        Examples
        --------
        >>> link = Bottleneck(bandwidth_mbps=12, queue_bdp=1)
        >>> scenario = Scenario(flows=(Flow(),), bottlenecks=(link,), rtt_ms=50, duration_s=60)
        >>> Scenario.from_toml(scenario.to_toml()) == scenario
        True
        """
        document = dataclass_dicts.without_defaults(Scenario, self.to_dict())
        if not self.noise:
            del document["noise"]
        parts: dict[str, Any] = {"flows": Flow, "changes": Change}
        parts |= dict.fromkeys(("bottlenecks", "reverse_bottlenecks"), Bottleneck)
        for name in parts.keys() & document.keys():
            document[name] = [
                dataclass_dicts.without_defaults(parts[name], part) for part in document[name]
            ]
        return toml_files.dumps(document)

    @classmethod
    def from_toml(cls, text: str, base_dir: str | Path = ".") -> Scenario:
        """Read a scenario from a TOML document; its file names are relative to `base_dir`."""
        return cls.from_dict(toml_files.loads(text), base_dir)

    def save(self, path: str | Path) -> None:
        """Write the scenario to a TOML file, atomically."""
        durable.write_text(Path(path), self.to_toml())

    @classmethod
    def load(cls, path: str | Path) -> Scenario:
        """Read a scenario from a TOML file.

        Raises
        ------
        InputError
            If the file is unreadable or not a valid scenario. The message names the file.

        Examples
        --------
        >>> Scenario.load("examples/bbr-vs-cubic.toml").flow_count
        3
        """
        path = Path(path)
        text = validation.text_file(path, "scenario file")
        with validation.within(f"{path}: "):
            return cls.from_toml(text, path.parent)

    def _check_times(self, where: str, flow: Flow) -> None:
        last = len(flow.arrivals) - 1
        start_s = flow.arrivals[last][0] if flow.arrivals else flow.start_s
        if start_s >= self.duration_s:
            name = f"{where}.arrivals[{last}].start_s" if flow.arrivals else f"{where}.start_s"
            allowed, step = f"below duration_s = {self.duration_s:g}", "start earlier or run longer"
            raise validation.bad(name, start_s, allowed, step)
        if not flow.arrivals:
            self._check_spread(where, flow)
        if flow.stop_s is not None and flow.stop_s > self.duration_s:
            allowed, step = f"at most duration_s = {self.duration_s:g}", "remove it to stop there"
            raise validation.bad(f"{where}.stop_s", flow.stop_s, allowed, step)

    def _check_spread(self, where: str, flow: Flow) -> None:
        until_s = self.duration_s if flow.stop_s is None else flow.stop_s
        if flow.start_s + self.noise.start_spread_ms / 1e3 >= until_s:
            allowed = f"below {1e3 * (until_s - flow.start_s):g}, the length of {where}"
            step = "lower it, or let the flow send for longer"
            raise validation.bad("noise.start_spread_ms", self.noise.start_spread_ms, allowed, step)

    def _check_places(self, where: str, flow: Flow) -> None:
        name = "reverse_bottlenecks" if flow.is_reverse else "bottlenecks"
        links = self.reverse_bottlenecks if flow.is_reverse else self.bottlenecks
        if not links:
            allowed = '"forward" without reverse_bottlenecks'
            step = "add a bottleneck; in TOML it is a table headed [[reverse_bottlenecks]]"
            raise validation.bad(f"{where}.direction", flow.direction, allowed, step)
        for field_name, position, step in (
            ("first_bottleneck", flow.first_bottleneck, "join the path earlier"),
            ("last_bottleneck", flow.last_bottleneck or 0, "leave it out"),
        ):
            if position >= len(links):
                allowed = f"at most {len(links) - 1}, the last position in {name}"
                raise validation.bad(f"{where}.{field_name}", position, allowed, step)

    def _check_reverse_flows(self) -> None:
        count = sum(flow.flow_count for flow in self.flows if flow.is_reverse)
        if count > MAX_REVERSE_FLOWS:
            allowed = f"at most {MAX_REVERSE_FLOWS} single flows in the reverse direction"
            raise validation.bad("flows", count, allowed, "lower the counts")
        if count and self.receiver_ecn is not None:
            allowed = "left out with flows in the reverse direction"
            raise validation.bad("receiver_ecn", self.receiver_ecn, allowed, "use ecn")

    def _check_hosts(self) -> None:
        counts: dict[str, int] = {}
        for flow in self.flows:
            if flow.host:
                counts[flow.host] = counts.get(flow.host, 0) + flow.flow_count
        if len(counts) > MAX_HOSTS:
            allowed = f"at most {MAX_HOSTS} different names of hosts"
            raise validation.bad("flows", len(counts), allowed, "remove some")
        for name, count in counts.items():
            if count > MAX_FLOWS_PER_HOST:
                allowed = f"at most {MAX_FLOWS_PER_HOST} single flows with host = {name!r}"
                raise validation.bad("flows", count, allowed, "add another host")

    def _check_mtu(self) -> None:
        """Check what has to fit into a full packet, or has to hold one."""
        mtu = self.mtu_bytes
        least = max(_LEAST_MTU_BYTES[flow.ip_version] for flow in self.flows)
        if mtu < least:
            raise validation.bad("mtu_bytes", mtu, f"at least {least} with IPv6", "raise it")
        for i, flow in enumerate(self.flows):
            if flow.is_udp and flow.packet_bytes > mtu:
                allowed, step = f"at most mtu_bytes, {mtu}", "lower it, or raise mtu_bytes"
                raise validation.bad(f"flows[{i}].packet_bytes", flow.packet_bytes, allowed, step)
            window = flow.receiver.window_bytes if flow.receiver else None
            _check_holds(f"flows[{i}].receiver.window_bytes", window, mtu)
        for i, change in enumerate(self.changes):
            _check_holds(f"changes[{i}].window_bytes", change.window_bytes, mtu)
        for i, link in enumerate(self.links):
            burst = link.policer.burst_bytes if link.policer else None
            _check_holds(f"{self.link_name(i)}.policer.burst_bytes", burst, mtu)
            if link.wifi is not None and mtu != MTU_BYTES:
                allowed, step = f"{MTU_BYTES} with Wi-Fi", "leave it out, or wifi"
                raise validation.bad("mtu_bytes", mtu, allowed, step)

    def _check_change(self, change: Change) -> None:
        for name in ("at_s", "after_s"):
            if (time_s := getattr(change, name)) is not None and time_s >= self.duration_s:
                allowed, step = f"below duration_s = {self.duration_s:g}", "change earlier"
                raise validation.bad(name, time_s, allowed, step)
        if change.when is not None and change.when.flow >= self.flow_count:
            allowed = f"at most {self.flow_count - 1}, the last flow"
            raise validation.bad("when.flow", change.when.flow, allowed, "name another one")
        if change.changes_delay and self.rtt_trace is not None:
            name = "forward_delay_ms" if change.rtt_ms is None else "rtt_ms"
            allowed, step = "left out with rtt_trace", "write it into the trace"
            raise validation.bad(name, getattr(change, name), allowed, step)
        if change.every_s is not None and self.duration_s / change.every_s > MAX_OCCURRENCES:
            allowed = (
                f"at least {self.duration_s / MAX_OCCURRENCES:g}: at most {MAX_OCCURRENCES} times"
            )
            raise validation.bad("every_s", change.every_s, allowed, "change less often")
        if change.bottleneck >= len(self.links):
            allowed = f"at most {len(self.links) - 1}, the last bottleneck"
            raise validation.bad("bottleneck", change.bottleneck, allowed, "name another one")
        link = self.links[change.bottleneck]
        for name in ("bandwidth_mbps", "outage_s"):
            if (value := getattr(change, name)) is not None and link.bandwidth_mbps is None:
                allowed = "left out, as the bottleneck has no constant rate"
                raise validation.bad(name, value, allowed, "remove it")

    def _check_ends(self, change: Change) -> None:
        """Check that a change's flow, if any, has ends that can change so."""
        if (number := change.flow) is None:
            return
        if number >= self.flow_count:
            allowed = f"at most {self.flow_count - 1}, the last flow"
            raise validation.bad("flow", number, allowed, "name another one")
        flow = self.flows[self.group_of(number)]
        if flow.subflows:
            allowed = "that of a flow without subflows, whose application can change"
            raise validation.bad("flow", number, allowed, "name another one")
        if change.window_bytes is not None:
            _check_window(change, flow)
        if change.changes_application and flow.kind not in _CHANGING_KINDS:
            kinds = ", ".join(_CHANGING_KINDS)
            allowed = f"that of a flow of kind {kinds}, as kind {flow.kind!r} has no rate to change"
            raise validation.bad("flow", number, allowed, "name another one")

    def _check_delays(self) -> None:
        """Check that the way to the receiver is never longer than the round trip."""
        # Any change without one of the two may follow any change of the other.
        rtts_ms = (self.rtt_ms, *(change.rtt_ms for change in self.changes))
        parts_ms = (self.forward_delay_ms, *(change.forward_delay_ms for change in self.changes))
        least_ms = min(rtt_ms for rtt_ms in rtts_ms if rtt_ms is not None)
        longest_ms = max((part_ms for part_ms in parts_ms if part_ms is not None), default=0.0)
        for i, change in enumerate(self.changes):
            if change.changes_delay:
                with validation.within(f"changes[{i}]."):
                    _check_delay(change, least_ms, longest_ms)

    def _with_queue_packets(self, i: int) -> Bottleneck:
        bottleneck = self.links[i]
        if bottleneck.queue_bdp is None:
            return bottleneck
        packets = max(1, round(bottleneck.queue_bdp * self.bdp_packets(i)))
        with validation.within(f"{self.link_name(i)}.queue_bdp = {bottleneck.queue_bdp:g}: "):
            return replace(bottleneck, queue_bdp=None, queue_packets=packets)


def _check_delay(change: Change, least_ms: float, longest_ms: float) -> None:
    """Check a change of delays, given the least RTT and the longest part of all other changes."""
    rtt_ms, part_ms = change.rtt_ms, change.forward_delay_ms
    if part_ms is None:
        if rtt_ms is not None and rtt_ms < longest_ms:
            allowed = f"at least forward_delay_ms, {longest_ms:g}"
            step = "raise it, or change forward_delay_ms as well"
            raise validation.bad("rtt_ms", rtt_ms, allowed, step)
    elif part_ms > (shortest_ms := rtt_ms or least_ms):
        allowed, step = f"at most the RTT, {shortest_ms:g}", "lower it, or raise rtt_ms"
        raise validation.bad("forward_delay_ms", part_ms, allowed, step)


def _check_window(change: Change, flow: Flow) -> None:
    """Check that a change can set the receive window of a flow."""
    if flow.is_udp:
        allowed = "that of a TCP flow, which has a receive window"
        raise validation.bad("flow", change.flow, allowed, "name another one")
    if flow.receiver is not None and flow.receiver.read_mbps is not None:
        allowed = "left out for a receiver with read_mbps, whose buffer sets the window"
        raise validation.bad("window_bytes", change.window_bytes, allowed, "remove it")


def _check_holds(where: str, size_bytes: int | None, mtu_bytes: int) -> None:
    """Check that a window or a bucket holds a full packet."""
    if size_bytes is not None and size_bytes < mtu_bytes:
        allowed, step = f"at least mtu_bytes, {mtu_bytes}", "raise it, or lower mtu_bytes"
        raise validation.bad(where, size_bytes, allowed, step)


def _of_first(flows: tuple[Flow, ...], name: str) -> Iterator[Any]:
    """Yield a setting of each flow, and None for the further subflows of a connection."""
    for flow in flows:
        yield getattr(flow, name)
        yield from (None for _ in flow.subflows[1:])


def _read_parts(
    name: str, value: object, read: Callable[[Mapping[str, object]], _Part]
) -> list[_Part]:
    if not isinstance(value, list | tuple):
        raise validation.bad(name, value, "a list of tables", f"head each with [[{name}]]")
    parts = []
    for i, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise validation.bad(f"{name}[{i}]", item, "a table", f"head each with [[{name}]]")
        with validation.within(f"{name}[{i}]."):
            parts.append(read(item))
    return parts
