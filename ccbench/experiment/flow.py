# SPDX-License-Identifier: Apache-2.0
"""Flows: the traffic of a scenario's senders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench.base import dataclass_dicts, validation
from ccbench.base.checked_fields import check_fields, checked, number, set_field, whole
from ccbench.base.errors import InputError
from ccbench.base.validation import Range
from ccbench.experiment import arrivals

if TYPE_CHECKING:
    from ccbench.experiment.arrivals import Arrivals

__all__ = ["ACKS", "KINDS", "MAX_BITRATES", "MAX_FLOWS", "MTU_BYTES", "UDP_KINDS", "Flow"]

#: Size of a full IP packet in bytes. Every rate in ccbench counts IP bytes, so a full packet counts
#: as this many.
MTU_BYTES = 1500

#: Every kind of flow and the settings that it needs.
KINDS: dict[str, tuple[str, ...]] = {
    "bulk": (),
    "bytes": ("size_bytes",),
    "rate": ("rate_mbps",),
    "onoff": ("on_s", "off_s"),
    "video": ("bitrates_mbps", "segment_s", "buffer_s"),
    "cbr": ("rate_mbps",),
    "poisson": ("rate_mbps",),
}
#: The kinds that are UDP and so have no congestion control.
UDP_KINDS = frozenset({"cbr", "poisson"})

#: How a TCP receiver may acknowledge.
ACKS = ("default", "delayed", "every")

#: Most single flows that a scenario may have.
MAX_FLOWS = 1_000_000

#: Most bitrates that a video may have.
MAX_BITRATES = 16

_SECONDS = Range(0, 1e6)
_PHASE = Range(0.001, 1e6)
_RATE = Range(0.001, 100_000)
_LAST_POSITION = 7

#: Settings that some kinds need and that have no meaning for the others.
_KIND_SETTINGS = tuple(dict.fromkeys(name for names in KINDS.values() for name in names))


def _cca(name: str, value: object) -> str:
    form = "a Linux name: 1 to 15 lower-case letters, digits, - and _"
    return (
        ""
        if value == ""
        else validation.text(name, value, "[a-z0-9_-]{1,15}", form, example="cubic")
    )


def _bitrates(name: str, value: object) -> tuple[float, ...]:
    """Check the bitrates of a video, which ascend; other flows have none."""
    if value == ():
        return ()
    if not isinstance(value, tuple | list):
        raise _bad_bitrates(value)
    rates = tuple(
        validation.number(f"{name}[{i}]", rate, _RATE, example=5) for i, rate in enumerate(value)
    )
    if not 1 <= len(rates) <= MAX_BITRATES or sorted(set(rates)) != list(rates):
        raise _bad_bitrates(value)
    return rates


def _bad_bitrates(value: object) -> InputError:
    allowed = f"a list of 1 to {MAX_BITRATES} rates in ascending order"
    return validation.bad("bitrates_mbps", value, allowed, "write for example [1, 2.5, 5]")


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A group of identical flows, or a list of short ones.

    Parameters
    ----------
    cca : str
        Congestion control algorithm by its Linux name. Left out: ``"cubic"``, or nothing for the
        UDP kinds, which have none.
    kind : str
        ``"bulk"`` (TCP, always has data), ``"bytes"`` (TCP, `size_bytes` and done), ``"rate"``
        (TCP, the application offers `rate_mbps`), ``"onoff"`` (TCP, bulk for `on_s`, silent for
        `off_s`, and so on; starts on), ``"video"`` (TCP, a player asks for segment after segment,
        see below), ``"cbr"`` (UDP, evenly spaced packets at `rate_mbps`) or
        ``"poisson"`` (UDP, exponentially spaced packets, `rate_mbps` on average).
    count : int
        Number of flows in the group.
    start_s, stop_s : float
        When the flows start and stop sending, in seconds of the scenario. `stop_s` left out: at the
        end.
    size_bytes : int
        For ``"bytes"``: bytes of payload to send.
    rate_mbps : float
        For ``"rate"``: payload that the application offers, in Mbit/s. For the UDP kinds: IP bytes
        in Mbit/s. From 0.001 to 100,000.
    on_s, off_s : float
        For ``"onoff"``: length of the sending and of the silent phases in seconds, 0.001 or more.
    bitrates_mbps : tuple of float
        For ``"video"``: the bitrates that the video comes in, in Mbit/s, 1 to 16 in ascending
        order. The player takes the highest within 90 % of the mean rate at which the last three
        segments came, else the lowest.
    segment_s, buffer_s : float
        For ``"video"``: how long a segment plays, and how much of the video the player holds at
        most, in seconds; at least one segment. With room for another segment it asks for one at
        once, otherwise it waits until it has played enough.
    packet_bytes : int
        For the UDP kinds: size of the IP packets, 64 to 1500.
    extra_rtt_ms : float
        Added to the scenario's base round-trip time for these flows, in milliseconds.
    first_bottleneck : int
        Position of the bottleneck at which these flows join the path, 0 to 7; they do not pass
        those before it. Cross traffic of one link of several in a row.
    last_bottleneck : int, optional
        Position of the bottleneck after which they leave the path, at least `first_bottleneck`.
        Left out, the path's last.
    acks : str
        For TCP: how the receiver acknowledges. ``"default"``: as Linux does where the application
        only reads; about every second packet, and often at once what has been read.
        ``"delayed"``: as late as TCP allows, as where the application keeps asking like a web
        browser. ``"every"``: each packet at once, as on a route with ``quickack 1`` and in many
        simulators. CCAs that count ACKs rather than what these acknowledge (HighSpeed is one) grow
        the faster the more there are.
    arrivals : tuple of (float, int)
        For ``"bytes"``: many short flows as pairs of `start_s` and `size_bytes` in order of their
        start, in place of `count`, `start_s`, `stop_s` and `size_bytes`. In TOML also the name of a
        CSV file with these two columns, or a table: the settings of a
        :class:`~ccbench.experiment.traffic.FlowMix`, which draws them.
    connections : int, optional
        With `arrivals`: the number of TCP connections that carry these flows, each flow over the
        next in turn, behind what that one still has to send. A connection opens with its first
        flow and stays open. Left out, each flow has a connection of its own.
    label : str
        For people; left out, reports show the CCA or the kind. Not part of the flow's identity.

    Raises
    ------
    InputError
        If a setting is out of range, missing for this kind or without meaning for it.

    Examples
    --------
    >>> Flow(cca="bbr", count=2).is_udp
    False
    >>> Flow(kind="cbr", rate_mbps=5).cca
    ''
    """

    cca: str = field(default="", metadata=checked(_cca))
    kind: str = "bulk"
    count: int = field(default=1, metadata=whole(Range(1, MAX_FLOWS), example=1))
    start_s: float = field(default=0.0, metadata=number(_SECONDS, example=10))
    stop_s: float | None = field(default=None, metadata=number(_SECONDS, example=30, optional=True))
    size_bytes: int | None = field(
        default=None, metadata=whole(Range(1, 2**53), example=100_000, optional=True)
    )
    rate_mbps: float | None = field(default=None, metadata=number(_RATE, example=5, optional=True))
    on_s: float | None = field(default=None, metadata=number(_PHASE, example=5, optional=True))
    off_s: float | None = field(default=None, metadata=number(_PHASE, example=5, optional=True))
    bitrates_mbps: tuple[float, ...] = field(default=(), metadata=checked(_bitrates))
    segment_s: float | None = field(default=None, metadata=number(_PHASE, example=5, optional=True))
    buffer_s: float | None = field(default=None, metadata=number(_PHASE, example=5, optional=True))
    packet_bytes: int = field(default=MTU_BYTES, metadata=whole(Range(64, MTU_BYTES), example=1500))
    extra_rtt_ms: float = field(default=0.0, metadata=number(Range(0, 10_000), example=20))
    first_bottleneck: int = field(default=0, metadata=whole(Range(0, _LAST_POSITION), example=1))
    last_bottleneck: int | None = None
    acks: str = "default"
    arrivals: Arrivals = ()
    connections: int | None = None
    label: str = field(default="", compare=False, metadata=checked(validation.one_line))

    def __post_init__(self) -> None:
        if self.kind not in tuple(KINDS):
            allowed = f"one of {', '.join(KINDS)}"
            raise validation.bad("kind", self.kind, allowed, 'write for example kind = "bulk"')
        validation.one_of("acks", self.acks, ACKS)
        set_field(self, "arrivals", arrivals.checked(self.arrivals))
        self._check_kind()
        check_fields(self)
        if not self.is_udp and not self.cca:
            set_field(self, "cca", "cubic")
        self._check_combination()

    @property
    def is_udp(self) -> bool:
        """Whether these are UDP flows, which have no congestion control."""
        return self.kind in UDP_KINDS

    @property
    def flow_count(self) -> int:
        """Number of single flows, and so of TCP connections, that this stands for."""
        return self.connections or len(self.arrivals) or self.count

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a dictionary of plain values, without those that are empty."""
        values = dataclass_dicts.present(self)
        if self.arrivals:
            values["arrivals"] = [list(pair) for pair in self.arrivals]
        return values

    @classmethod
    def from_dict(cls, data: Mapping[str, object], base_dir: Path = Path()) -> Flow:
        """Make a flow from a dictionary.

        As `arrivals`, a string is a CSV file below `base_dir`, a mapping a mix of flows.
        """

        def read_arrivals(value: object) -> object:
            if isinstance(value, Mapping):
                from ccbench.experiment.traffic import FlowMix  # noqa: PLC0415 - NumPy is for mixes alone

                with validation.within("arrivals."):
                    return FlowMix.from_dict(value).arrivals()
            return arrivals.from_file(base_dir / value) if isinstance(value, str) else value

        return dataclass_dicts.build(cls, data, {"arrivals": read_arrivals})

    def _check_kind(self) -> None:
        """Check that the settings of this kind, and of no other kind, are there."""
        for name in _KIND_SETTINGS:
            value = getattr(self, name)
            if name not in KINDS[self.kind]:
                self._must_be_default(name, f"for kind {self.kind!r}")
            elif name == "size_bytes" and self.arrivals:
                self._must_be_default(name, "with arrivals")
            elif name == "bitrates_mbps" and not value:
                raise _bad_bitrates(value)
            elif value is None:
                raise InputError(f"{name} is missing: add it, as kind {self.kind!r} needs it")
        if self.is_udp:
            self._must_be_default("cca", f"for kind {self.kind!r}, which is UDP")

    def _check_combination(self) -> None:
        """Check settings that depend on others."""
        if self.last_bottleneck is not None:
            first = self.first_bottleneck
            allowed_positions = Range(first, _LAST_POSITION)
            last = validation.whole(
                "last_bottleneck", self.last_bottleneck, allowed_positions, example=first
            )
            set_field(self, "last_bottleneck", last)
        if self.connections is not None:
            most = Range(1, max(1, len(self.arrivals)))
            count = validation.whole("connections", self.connections, most, example=1)
            set_field(self, "connections", count)
            if not self.arrivals:
                self._must_be_default("connections", "without arrivals")
        if self.stop_s is not None and self.stop_s <= self.start_s:
            allowed, step = f"above start_s = {self.start_s:g}", "stop later, or remove it"
            raise validation.bad("stop_s", self.stop_s, allowed, step)
        if self.kind == "video" and (self.buffer_s or 0) < (self.segment_s or 0):
            allowed, step = f"at least segment_s = {self.segment_s:g}", "hold a whole segment"
            raise validation.bad("buffer_s", self.buffer_s, allowed, step)
        self._must_be_default("acks" if self.is_udp else "packet_bytes", f"for kind {self.kind!r}")
        if self.kind != "bytes":
            self._must_be_default("arrivals", f"for kind {self.kind!r}")
        if self.arrivals:
            for name in ("count", "start_s", "stop_s"):
                self._must_be_default(name, "with arrivals")

    def _must_be_default(self, name: str, reason: str) -> None:
        value = getattr(self, name)
        if value != getattr(Flow, name):
            raise validation.bad(name, value, f"left out {reason}", f"remove {name}")
