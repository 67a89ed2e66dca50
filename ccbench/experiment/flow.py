# SPDX-License-Identifier: Apache-2.0
"""Flows: what the senders of a scenario send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench.base import dataclass_dicts, validation
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
_EXTRA_RTT = Range(0, 10_000)
_FIRST_BOTTLENECK = Range(0, 7)
_CCA_NAME = "a Linux name: 1 to 15 lower-case letters, digits, - and _"


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

    cca: str = ""
    kind: str = "bulk"
    count: int = 1
    start_s: float = 0.0
    stop_s: float | None = None
    size_bytes: int | None = None
    rate_mbps: float | None = None
    on_s: float | None = None
    off_s: float | None = None
    bitrates_mbps: tuple[float, ...] = ()
    segment_s: float | None = None
    buffer_s: float | None = None
    packet_bytes: int = MTU_BYTES
    extra_rtt_ms: float = 0.0
    first_bottleneck: int = 0
    last_bottleneck: int | None = None
    acks: str = "default"
    arrivals: Arrivals = ()
    connections: int | None = None
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        number, whole = validation.number, validation.whole
        if self.kind not in tuple(KINDS):
            allowed = f"one of {', '.join(KINDS)}"
            raise validation.bad("kind", self.kind, allowed, 'write for example kind = "bulk"')
        validation.one_of("acks", self.acks, ACKS)
        packet = Range(64, MTU_BYTES)
        values: dict[str, object] = {
            "cca": self._checked_cca(),
            "count": whole("count", self.count, Range(1, MAX_FLOWS), example=1),
            "start_s": number("start_s", self.start_s, _SECONDS, example=10),
            "packet_bytes": whole("packet_bytes", self.packet_bytes, packet, example=1500),
            "extra_rtt_ms": number("extra_rtt_ms", self.extra_rtt_ms, _EXTRA_RTT, example=20),
            "first_bottleneck": whole(
                "first_bottleneck", self.first_bottleneck, _FIRST_BOTTLENECK, example=1
            ),
            "arrivals": arrivals.checked(self.arrivals),
            "label": validation.one_line("label", self.label),
        }
        if self.last_bottleneck is not None:
            first = whole("first_bottleneck", self.first_bottleneck, _FIRST_BOTTLENECK, example=1)
            behind = Range(first, _FIRST_BOTTLENECK.high)
            values["last_bottleneck"] = whole(
                "last_bottleneck", self.last_bottleneck, behind, example=first
            )
        if self.connections is not None:
            most = Range(1, max(1, len(self.arrivals)))
            values["connections"] = whole("connections", self.connections, most, example=1)
        if self.stop_s is not None:
            values["stop_s"] = number("stop_s", self.stop_s, _SECONDS, example=30)
        values["bitrates_mbps"] = self._checked_bitrates()
        for name in ("size_bytes", "rate_mbps", "on_s", "off_s", "segment_s", "buffer_s"):
            values[name] = self._checked_setting(name)
        for name, value in values.items():
            object.__setattr__(self, name, value)
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

    def _checked_cca(self) -> str:
        if self.is_udp:
            self._must_be_default("cca", "", f"for kind {self.kind!r}, which is UDP")
            return ""
        if self.cca == "":
            return "cubic"
        return validation.text("cca", self.cca, r"[a-z0-9_-]{1,15}", _CCA_NAME, example="cubic")

    def _checked_setting(self, name: str) -> float | None:
        """Check a setting that some kinds need and that has no meaning for the others."""
        value = getattr(self, name)
        if name not in KINDS[self.kind]:
            self._must_be_default(name, None, f"for kind {self.kind!r}")
            return None
        if name == "size_bytes" and self.arrivals:
            self._must_be_default(name, None, "with arrivals")
            return None
        if value is None:
            raise InputError(f"{name} is missing: add it, as kind {self.kind!r} needs it")
        if name == "size_bytes":
            return validation.whole(name, value, Range(1, 2**53), example=100_000)
        return validation.number(name, value, _RATE if name == "rate_mbps" else _PHASE, example=5)

    def _checked_bitrates(self) -> tuple[float, ...]:
        """Check the bitrates of a video, which ascend."""
        if self.kind != "video":
            self._must_be_default("bitrates_mbps", (), f"for kind {self.kind!r}")
            return ()
        allowed = f"a list of 1 to {MAX_BITRATES} rates in ascending order"
        bad = validation.bad(
            "bitrates_mbps", self.bitrates_mbps, allowed, "write for example [1, 2.5, 5]"
        )
        if not isinstance(self.bitrates_mbps, tuple | list):
            raise bad
        rates = tuple(
            validation.number(f"bitrates_mbps[{i}]", rate, _RATE, example=5)
            for i, rate in enumerate(self.bitrates_mbps)
        )
        if not 1 <= len(rates) <= MAX_BITRATES or sorted(set(rates)) != list(rates):
            raise bad
        return rates

    def _check_combination(self) -> None:
        if self.stop_s is not None and self.stop_s <= self.start_s:
            allowed, step = f"above start_s = {self.start_s:g}", "stop later, or remove it"
            raise validation.bad("stop_s", self.stop_s, allowed, step)
        if self.kind == "video":
            assert self.segment_s is not None
            assert self.buffer_s is not None
            if self.buffer_s < self.segment_s:
                allowed, step = f"at least segment_s = {self.segment_s:g}", "hold a whole segment"
                raise validation.bad("buffer_s", self.buffer_s, allowed, step)
        other = "acks" if self.is_udp else "packet_bytes"
        self._must_be_default(other, getattr(Flow, other), f"for kind {self.kind!r}")
        if self.kind != "bytes":
            self._must_be_default("arrivals", (), f"for kind {self.kind!r}")
        if not self.arrivals:
            self._must_be_default("connections", None, "without arrivals")
        if self.arrivals:
            self._must_be_default("count", 1, "with arrivals")
            self._must_be_default("start_s", 0.0, "with arrivals")
            self._must_be_default("stop_s", None, "with arrivals")

    def _must_be_default(self, name: str, default: object, reason: str) -> None:
        value = getattr(self, name)
        if value != default:
            raise validation.bad(name, value, f"left out {reason}", f"remove {name}")
