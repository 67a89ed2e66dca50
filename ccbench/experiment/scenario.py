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
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench.base import durable, toml_files, validation
from ccbench.base.checked_fields import (
    check_fields,
    checked,
    document_form,
    inline,
    number,
    tables,
    whole,
)
from ccbench.base.dataclass_dicts import Document, plain, settings
from ccbench.base.random_streams import stream
from ccbench.base.validation import Range
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.change import Change
from ccbench.experiment.flow import MAX_FLOWS, MTU_BYTES, Flow
from ccbench.experiment.kinds import KINDS
from ccbench.experiment.noise import Noise
from ccbench.experiment.path import LEAST_MTU_BYTES, MSS_BYTES, NetworkPath, check_holds
from ccbench.experiment.rtt_trace import RttTrace
from ccbench.experiment.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt
    import pandas as pd

__all__ = [
    "CRITERION_TABLE",
    "DATE",
    "MSS_BYTES",
    "MTU_BYTES",
    "Bottleneck",
    "Change",
    "Flow",
    "NetworkPath",
    "Noise",
    "RttTrace",
    "Scenario",
    "Trace",
    "load_path",
]

#: Table of a scenario file that makes it a criterion (:mod:`ccbench.evaluate`).
CRITERION_TABLE = "criterion"

#: Maximum number of single flows from the receiving host, which has that many ports for them.
MAX_REVERSE_FLOWS = 25_000

#: Maximum number of hosts that remember connections, and of the flows of each.
MAX_HOSTS = 10_000
MAX_FLOWS_PER_HOST = 25_000

#: Date at the boot of the virtual kernel by default, and possible years.
DATE = "2020-01-01"
_YEARS = range(2001, 2100)

#: Maximum number of times that a change occurs.
MAX_OCCURRENCES = 100_000


def _date(name: str, value: object) -> str:
    allowed, step = "a date from 2001 to 2099", 'write for example date = "2026-05-01"'
    try:
        day = value if isinstance(value, date) else date.fromisoformat(str(value))
    except ValueError:
        raise validation.bad(name, value, allowed, step) from None
    if day.year not in _YEARS:
        raise validation.bad(name, str(day), allowed, step)
    return str(day)


def _queue_log(name: str, value: object) -> bool | str:
    if isinstance(value, bool) or value == "summary":
        return value
    allowed, step = 'true, false or "summary"', 'write for example queue_log = "summary"'
    raise validation.bad(name, value, allowed, step)


@dataclass(frozen=True, kw_only=True)
class Scenario(Document):
    """One experiment: flows between two hosts through one or more bottlenecks in a row.

    Parameters
    ----------
    flows : tuple of Flow
        Groups of flows. Single flows are numbered from 0, group by group.
    path : NetworkPath
        The path. Documents have its settings next to those of the scenario.
    duration_s : float
        Length in seconds, 0.001 or more.
    seed : int
        Seed of all random numbers.
    sample_interval_ms : float
        Time between samples of a flow, 0.01 ms or more. Sampling times are multiples of it. Each
        sample needs 400 bytes of memory while its table is built.
    queue_log : bool or "summary"
        Whether to record every event of every packet at the queues. Large searches that do not need
        the events switch them off. With ``"summary"``, a run has distributions, counters and
        samples instead (:class:`~ccbench.run.queue_summary.QueueSummary`), whose size does not grow
        with the number of packets. At 10 Gbit/s there are 1.7 million events a second, which need
        24 bytes of memory each and up to 95 bytes while their table is built.
    date : str
        Date of the programs' clock at the boot of the virtual kernel, as ``"2026-05-01"``, from
        2001 to 2099, in UTC; certificates must be valid then. Default: 2020-01-01.
    name : str
        Description. Not part of the scenario's identity.

    Raises
    ------
    InputError
        If a setting is out of range. The message starts with the path of the setting, such as
        ``bottlenecks[0].bandwidth_mbps``.

    Examples
    --------
    >>> path = NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=100, queue_bdp=1),), rtt_ms=40)
    >>> scenario = Scenario(flows=(Flow(cca="bbr"), Flow(cca="cubic")), path=path, duration_s=60)
    >>> scenario.path.bottlenecks[0].queue_packets
    333
    """

    flows: tuple[Flow, ...] = field(metadata=tables(Flow))
    path: NetworkPath = field(metadata=inline(NetworkPath))
    duration_s: float = field(metadata=number(Range(0.001, 1e6), example=60))
    seed: int = field(default=1, metadata=whole(Range(0, 2**63 - 1), example=1))
    sample_interval_ms: float = field(default=100.0, metadata=number(Range(0.01, 1e9), example=100))
    queue_log: bool | str = field(default=True, metadata=checked(_queue_log))
    date: str = field(default=DATE, metadata=checked(_date) | document_form(omits_default=True))
    name: str = field(default="", compare=False, metadata=checked(validation.one_line))

    def __post_init__(self) -> None:
        check_fields(self)
        if self.flow_count > MAX_FLOWS:
            allowed, step = f"at most {MAX_FLOWS} single flows", "lower the counts"
            raise validation.bad("flows", self.flow_count, allowed, step)
        for i, flow in enumerate(self.flows):
            self._check_times(f"flows[{i}]", flow)
        for where, flow in self.named_split_flows():
            self._check_places(where, flow)
        self._check_reverse_flows()
        self._check_hosts()
        self._check_mtu()
        for i, change in enumerate(self.path.changes):
            with validation.within(f"changes[{i}]."):
                self._check_change(change)
                self._check_ends(change)

    @property
    def flow_count(self) -> int:
        """Number of single flows."""
        return sum(flow.flow_count for flow in self.flows)

    @property
    def split_flows(self) -> tuple[Flow, ...]:
        """The flows, with one for each subflow in place of a connection of Multipath TCP."""
        return tuple(one for flow in self.flows for one in flow.split)

    def named_split_flows(self) -> Iterator[tuple[str, Flow]]:
        """Yield the settings of each of `split_flows`, such as ``flows[0].subflows[1]``, and it."""
        for i, flow in enumerate(self.flows):
            for k, one in enumerate(flow.split):
                yield f"flows[{i}].subflows[{k}]" if flow.subflows else f"flows[{i}]", one

    def split_numbers(self) -> list[int]:
        """Return the position in `split_flows` of each single flow.

        Examples
        --------
        >>> link = Bottleneck(bandwidth_mbps=10, queue_bdp=1)
        >>> flows = (Flow(), Flow(count=2, subflows=({}, {"cca": "reno"})))
        >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=40)
        >>> Scenario(flows=flows, path=path, duration_s=60).split_numbers()
        [0, 1, 2, 1, 2]
        """
        numbers: list[int] = []
        first = 0
        for flow in self.flows:
            own = range(first, first + len(flow.split))
            numbers += [*own] * (flow.flow_count // len(own))
            first += len(own)
        return numbers

    def group_of(self, number: int) -> int:
        """Return the position in `flows` of a single flow.

        Examples
        --------
        >>> link = Bottleneck(bandwidth_mbps=10, queue_bdp=1)
        >>> flows = (Flow(count=2), Flow(cca="bbr"))
        >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=40)
        >>> Scenario(flows=flows, path=path, duration_s=60).group_of(2)
        1
        """
        ends = itertools.accumulate(flow.flow_count for flow in self.flows)
        return next(i for i, end in enumerate(ends) if number < end)

    @property
    def draws_at_random(self) -> bool:
        """Whether the scenario is random: noise, links that draw, or Poisson arrivals.

        Otherwise a congestion control (BBR) or queueing discipline (FQ-CoDel) may still be random.
        """
        return self.path.draws_at_random or any(
            KINDS[flow.kind].draws_at_random or flow.is_stack for flow in self.flows
        )

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
        >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=40)
        >>> scenario = Scenario(flows=flows, path=path, duration_s=60)
        >>> list(scenario.flow_table()["label"])
        ['bbr', 'bbr', 'cbr']
        """
        return self._flow_table.copy()  # the caller's own

    @cached_property
    def _flow_table(self) -> pd.DataFrame:
        """The table of :meth:`flow_table`, which every metric of a run needs."""
        import pandas as pd  # noqa: PLC0415 - takes most of a second; not needed to read a scenario

        flows = self.split_flows
        groups = pd.DataFrame(
            {
                "group": [i for i, flow in enumerate(self.flows) for _ in flow.split],
                "label": [flow.name for flow in flows],
                "kind": [flow.kind for flow in flows],
                "cca": [flow.cca for flow in flows],
                "stop_s": [flow.stop_s or self.duration_s for flow in flows],
                "size_bytes": pd.array(list(_of_first(self.flows, "size_bytes")), dtype="Int64"),
                "rate_mbps": pd.Series([*_of_first(self.flows, "rate_mbps")], dtype="float64"),
                "extra_rtt_ms": [flow.extra_rtt_ms for flow in flows],
                "first_bottleneck": [self.path.links_of(flow)[0] for flow in flows],
                "last_bottleneck": [self.path.links_of(flow)[1] for flow in flows],
            }
        )
        counts = [flow.flow_count for flow in self.flows]
        table = groups.loc[self.split_numbers()].reset_index(drop=True)
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
        >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=40)
        >>> scenario = Scenario(flows=flows, path=path, duration_s=60)
        >>> scenario.starts_s().tolist()
        [0.0, 0.0, 5.0]
        """
        import numpy as np  # noqa: PLC0415 - likewise

        counts = [flow.flow_count for flow in self.flows]
        starts_s = np.repeat([flow.start_s for flow in self.flows], counts)
        if self.path.noise.start_spread_ms:
            spread_s = self.path.noise.start_spread_ms / 1e3
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

    def to_toml(self) -> str:
        """Return the scenario as a self-contained TOML document without default values.

        Examples
        --------
        >>> link = Bottleneck(bandwidth_mbps=12, queue_bdp=1)
        >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=50)
        >>> scenario = Scenario(flows=(Flow(),), path=path, duration_s=60)
        >>> Scenario.from_toml(scenario.to_toml()) == scenario
        True
        """
        return toml_files.dumps(plain(self, defaults=False))

    @classmethod
    def from_toml(cls, text: str, base_dir: str | Path = ".") -> Scenario:
        """Read a scenario from a TOML document; its file names are relative to `base_dir`.

        The table of a criterion (:mod:`ccbench.evaluate`) is not part of the scenario.
        """
        document = toml_files.loads(text)
        document.pop(CRITERION_TABLE, None)
        return cls.from_dict(document, base_dir)

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
        if flow.start_s + self.path.noise.start_spread_ms / 1e3 >= until_s:
            allowed = f"below {1e3 * (until_s - flow.start_s):g}, the length of {where}"
            step = "lower it, or let the flow send for longer"
            raise validation.bad(
                "noise.start_spread_ms", self.path.noise.start_spread_ms, allowed, step
            )

    def _check_places(self, where: str, flow: Flow) -> None:
        name = "reverse_bottlenecks" if flow.is_reverse else "bottlenecks"
        links = self.path.reverse_bottlenecks if flow.is_reverse else self.path.bottlenecks
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
        if count and self.path.receiver_ecn is not None:
            allowed = "left out with flows in the reverse direction"
            raise validation.bad("receiver_ecn", self.path.receiver_ecn, allowed, "use ecn")

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
        """Check what of the flows has to fit into a full packet, or has to hold one."""
        mtu = self.path.mtu_bytes
        least = max(LEAST_MTU_BYTES[flow.ip_version] for flow in self.flows)
        if mtu < least:
            raise validation.bad("mtu_bytes", mtu, f"at least {least} with IPv6", "raise it")
        for i, flow in enumerate(self.flows):
            if flow.is_udp and flow.packet_bytes > mtu:
                allowed, step = f"at most mtu_bytes, {mtu}", "lower it, or raise mtu_bytes"
                raise validation.bad(f"flows[{i}].packet_bytes", flow.packet_bytes, allowed, step)
            window = flow.receiver.window_bytes if flow.receiver else None
            check_holds(f"flows[{i}].receiver.window_bytes", window, mtu)

    def _check_change(self, change: Change) -> None:
        for name in ("at_s", "after_s"):
            if (time_s := getattr(change, name)) is not None and time_s >= self.duration_s:
                allowed, step = f"below duration_s = {self.duration_s:g}", "change earlier"
                raise validation.bad(name, time_s, allowed, step)
        if change.when is not None and change.when.flow >= self.flow_count:
            allowed = f"at most {self.flow_count - 1}, the last flow"
            raise validation.bad("when.flow", change.when.flow, allowed, "name another one")
        if change.every_s is not None and self.duration_s / change.every_s > MAX_OCCURRENCES:
            allowed = (
                f"at least {self.duration_s / MAX_OCCURRENCES:g}: at most {MAX_OCCURRENCES} times"
            )
            raise validation.bad("every_s", change.every_s, allowed, "change less often")

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
        if change.changes_application and not KINDS[flow.kind].has_rate:
            kinds = ", ".join(kind.name for kind in KINDS.values() if kind.has_rate)
            allowed = f"that of a flow of kind {kinds}, as kind {flow.kind!r} has no rate to change"
            raise validation.bad("flow", number, allowed, "name another one")


def _check_window(change: Change, flow: Flow) -> None:
    """Check that a change can set the receive window of a flow."""
    if flow.is_udp or KINDS[flow.kind].is_program or flow.is_stack:
        allowed = "that of a TCP flow in the kernel, which has a receive window"
        raise validation.bad("flow", change.flow, allowed, "name another one")
    if flow.receiver is not None and flow.receiver.read_mbps is not None:
        allowed = "left out for a receiver with read_mbps, whose buffer sets the window"
        raise validation.bad("window_bytes", change.window_bytes, allowed, "remove it")


def load_path(path: str | Path) -> NetworkPath:
    """Read the network path of a scenario file, whose other settings are not required.

    Raises
    ------
    InputError
        If the file is unreadable or its path is invalid. The message names the file.

    Examples
    --------
    >>> load_path("examples/bbr-vs-cubic.toml").rtt_ms
    40.0
    """
    path = Path(path)
    text = validation.text_file(path, "path file")
    with validation.within(f"{path}: "):
        document = toml_files.loads(text)
        document.pop(CRITERION_TABLE, None)
        for name in document:
            if name not in settings(Scenario):
                raise validation.unknown_key(name, settings(NetworkPath))
        own = {name: value for name, value in document.items() if name in settings(NetworkPath)}
        return NetworkPath.from_dict(own, path.parent)


def _of_first(flows: tuple[Flow, ...], name: str) -> Iterator[Any]:
    """Yield a setting of each flow, and None for the further subflows of a connection."""
    for flow in flows:
        yield getattr(flow, name)
        yield from (None for _ in flow.subflows[1:])
