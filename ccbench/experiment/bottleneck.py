# SPDX-License-Identifier: Apache-2.0
"""Bottlenecks: the queues and links that a scenario's flows share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from ccbench.base import dataclass_dicts, validation
from ccbench.base.errors import InputError
from ccbench.base.validation import Range
from ccbench.experiment import trace_library
from ccbench.experiment.flow import MTU_BYTES
from ccbench.experiment.qdiscs import QDISCS
from ccbench.experiment.trace import Trace
from ccbench.experiment.wifi import Wifi

__all__ = ["Bottleneck"]

Option: TypeAlias = int | float | str | bool

_QDISC_NAME = '"droptail" or the Linux name of a qdisc'


@dataclass(frozen=True, kw_only=True)
class Bottleneck:
    """A queue and the link that drains it.

    Parameters
    ----------
    bandwidth_mbps : float
        Rate of the link in Mbit/s of IP bytes, 0.001 to 100,000. Exactly one of `bandwidth_mbps`,
        `trace` and `wifi` is required.
    trace : Trace
        A link of varying rate. In TOML the path of a Mahimahi trace file, relative to the TOML
        file, or a name from ``ccbench traces list``.
    wifi : Wifi
        A Wi-Fi link. In TOML a table, ``wifi = {bitrates_mbps = [13, 65]}``.
    queue_packets : int
        Limit of the queue in packets, without the packet in transmission. Exactly one of
        `queue_packets` and `queue_bdp` is required. ``cake`` ignores it and counts bytes (option
        ``memory``); ``fq`` also has a limit for each flow (``flow_limit``, 100).
    queue_bdp : float
        Limit of the queue as a multiple of the bandwidth-delay product.
        :class:`~ccbench.experiment.scenario.Scenario`, which has the round-trip time, replaces it
        by `queue_packets`.
    qdisc : str
        ``"droptail"`` (a FIFO of exactly `queue_packets`) or the name of another queueing
        discipline, of Linux (:mod:`ccbench.experiment.qdiscs`) or of a module.
    qdisc_options : tuple of (str, value)
        Options of the queueing discipline; in TOML a table, ``qdisc_options = {target_ms = 5}``.
        The engine checks names and values.
    loss : float
        Probability of random loss before the queue, 0 or more and below 1.
    loss_every_packets : int
        Period of a deterministic loss before the queue, in packets of all flows, 2 to 1e12. By
        default, there is no such loss.
    clears_ecn : bool
        Whether packets lose their ECN codepoint and marks before the queue, as at some old routers
        (RFC 8311, section 2). By default, they keep them.

    Raises
    ------
    InputError
        If a setting is out of range or two settings exclude each other.

    Examples
    --------
    >>> Bottleneck(bandwidth_mbps=100, queue_packets=333).mean_mbps
    100.0
    """

    bandwidth_mbps: float | None = None
    trace: Trace | None = None
    wifi: Wifi | None = None
    queue_packets: int | None = None
    queue_bdp: float | None = None
    qdisc: str = "droptail"
    qdisc_options: tuple[tuple[str, Option], ...] = ()
    loss: float = 0.0
    loss_every_packets: int | None = None
    clears_ecn: bool | None = None

    def __post_init__(self) -> None:
        number, whole = validation.number, validation.whole
        self._exactly_one("bandwidth_mbps", "trace", "wifi", example="bandwidth_mbps = 100")
        self._exactly_one("queue_packets", "queue_bdp", example="queue_bdp = 1")
        qdisc = validation.text("qdisc", self.qdisc, r"[a-z0-9_]{1,15}", _QDISC_NAME, example="pie")
        options = _checked_options(self.qdisc_options)
        if qdisc == "droptail" and options:
            allowed = "left out for droptail, which has no options"
            raise validation.bad("qdisc_options", dict(options), allowed, "remove it, name a qdisc")
        if self.trace is not None and not isinstance(self.trace, Trace):
            raise validation.bad("trace", self.trace, "a Trace", "read one with Trace.from_file")
        if self.wifi is not None and not isinstance(self.wifi, Wifi):
            raise validation.bad("wifi", self.wifi, "a Wifi", "create one with Wifi(...)")
        values: dict[str, object] = {
            "qdisc": qdisc,
            "qdisc_options": options,
            "loss": number("loss", self.loss, Range(0, 1, high_open=True), example=0.01),
        }
        if self.bandwidth_mbps is not None:
            rate = Range(0.001, 100_000)
            values["bandwidth_mbps"] = number(
                "bandwidth_mbps", self.bandwidth_mbps, rate, example=100
            )
        if self.queue_packets is not None:
            room = Range(1, 1_000_000)
            values["queue_packets"] = whole("queue_packets", self.queue_packets, room, example=100)
        if self.loss_every_packets is not None:
            period = Range(2, 1e12)
            values["loss_every_packets"] = whole(
                "loss_every_packets", self.loss_every_packets, period, example=1_000_000
            )
        if self.clears_ecn is not None:
            # Absent rather than false, so that the identities of other scenarios remain the same.
            values["clears_ecn"] = validation.flag("clears_ecn", self.clears_ecn) or None
        if self.queue_bdp is not None:
            multiple = Range(0, 1000, low_open=True)
            values["queue_bdp"] = number("queue_bdp", self.queue_bdp, multiple, example=1)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def mean_mbps(self) -> float:
        """Mean rate of the link in Mbit/s."""
        if (varying := self.trace or self.wifi) is not None:
            return varying.mean_mbps
        return cast("float", self.bandwidth_mbps)  # exactly one of the three is present

    @property
    def packet_ms(self) -> float:
        """Transmission time of a full packet in milliseconds, at the mean rate.

        Examples
        --------
        >>> Bottleneck(bandwidth_mbps=12, queue_packets=1).packet_ms
        1.0
        """
        return MTU_BYTES * 8e-3 / self.mean_mbps

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of the two queues of a qdisc for L4S; empty for any other qdisc.

        Examples
        --------
        >>> Bottleneck(bandwidth_mbps=12, queue_packets=100, qdisc="dualpi2").queues
        ('classic', 'l4s')
        """
        return QDISCS[self.qdisc].queues if self.qdisc in QDISCS else ()

    def capacity_bytes(self, duration_s: float) -> float:
        """Return the link's capacity in IP bytes over the first `duration_s` seconds.

        Examples
        --------
        >>> Bottleneck(bandwidth_mbps=8, queue_packets=1).capacity_bytes(2)
        2000000.0
        """
        if (varying := self.trace or self.wifi) is not None:
            return varying.capacity_bytes(duration_s)
        return self.mean_mbps * 1e6 / 8 * duration_s

    def to_dict(self) -> dict[str, Any]:
        """Return the non-empty settings as a dictionary of plain values."""
        values = dataclass_dicts.present(self)
        if self.trace is not None:
            times = list(self.trace.opportunities_ms)
            values["trace"] = {"name": self.trace.name, "opportunities_ms": times}
        if self.wifi is not None:
            values["wifi"] = self.wifi.to_dict()
        if self.qdisc_options:
            values["qdisc_options"] = dict(self.qdisc_options)
        return values

    @classmethod
    def from_dict(cls, data: Mapping[str, object], base_dir: Path = Path()) -> Bottleneck:
        """Create a bottleneck from a dictionary; a string as `trace` is a file or a name."""

        def read_wifi(value: object) -> Wifi:
            if not isinstance(value, Mapping):
                step = "write for example wifi = {bitrates_mbps = [65]}"
                raise validation.bad("wifi", value, "a table", step)
            with validation.within("wifi."):
                return Wifi.from_dict(value)

        def read_trace(value: object) -> Trace:
            if isinstance(value, str):
                return trace_library.find(value, base_dir)
            if not isinstance(value, Mapping):
                allowed = "the path of a Mahimahi trace file or the name of a trace"
                step = "see `ccbench traces list`"
                raise validation.bad("trace", value, allowed, step)
            with validation.within("trace."):
                return dataclass_dicts.build(Trace, value, {})

        return dataclass_dicts.build(cls, data, {"trace": read_trace, "wifi": read_wifi})

    def _exactly_one(self, *names: str, example: str) -> None:
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) > 1:
            both = " and ".join(given)
            raise InputError(f"{both} exclude each other: remove all but one of them")
        if not given:
            raise InputError(f"{' or '.join(names)} is missing: write for example {example}")


def _checked_options(options: Any) -> tuple[tuple[str, Option], ...]:
    pairs = validation.pairs("qdisc_options", options, "write for example {target_ms = 5}")
    result: dict[str, Option] = {}
    allowed = "a name of lower-case letters, digits and _"
    for key, value in pairs.items():
        name = validation.text("qdisc_options", key, r"[a-z0-9_]+", allowed, example="target_ms")
        field = f"qdisc_options.{name}"
        if isinstance(value, str):
            result[name] = validation.text(field, value, r"\S+", "one word", example="dual")
        elif isinstance(value, bool | int):
            result[name] = value
        else:
            result[name] = validation.number(field, value, Range(), example=5)
    return tuple(sorted(result.items()))
