# SPDX-License-Identifier: Apache-2.0
"""Flows: the traffic of a scenario's senders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.base.checked_fields import (
    check_fields,
    checked,
    document_form,
    number,
    set_field,
    table,
    whole,
)
from ccbench.base.dataclass_dicts import Document
from ccbench.base.errors import InputError
from ccbench.base.validation import Range
from ccbench.experiment import arrivals, receiver
from ccbench.experiment.kinds import KINDS, setting
from ccbench.experiment.receiver import Receiver
from ccbench.experiment.stack_names import STACK_CCA, names_stack
from ccbench.experiment.subflow import Subflow, subflows

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ccbench.experiment.arrivals import Arrivals

__all__ = [
    "ACKS",
    "DIRECTIONS",
    "ECN_FIELDS",
    "IP_VERSIONS",
    "LARGEST_MTU_BYTES",
    "MAX_FLOWS",
    "MTU_BYTES",
    "TRANSPORTS",
    "Flow",
    "cca_hint",
]

#: Default size of a full IP packet in bytes. All rates in ccbench count IP bytes.
MTU_BYTES = 1500

#: Largest size of a full IP packet in bytes: jumbo frames of Ethernet.
LARGEST_MTU_BYTES = 9216

#: Next steps for transport protocols that are named as a congestion control.
TRANSPORTS = {
    "mptcp": "Multipath TCP is a flow with subflows, each with one of these",
    "quic": "name a QUIC stack and its congestion control, such as quic:ngtcp2/bbr",
    "tcp": "choose the one that your TCP runs, such as cubic",
    "udp": 'a UDP flow has none; write kind = "cbr" or kind = "poisson"',
}

#: Acknowledgement policies of a TCP receiver.
ACKS = ("default", "delayed", "every")

#: Directions of a flow's data.
DIRECTIONS = ("forward", "reverse")

#: Values of the ECN field of UDP packets by their names (RFC 3168, RFC 9331).
ECN_FIELDS = {"": 0, "ect1": 1, "ect0": 2, "ce": 3}

#: Maximum number of single flows in a scenario.
MAX_FLOWS = 1_000_000

#: Size of the headers of a UDP packet in bytes, by the version of IP.
UDP_HEADER_BYTES = {4: 28, 6: 48}

#: Versions of IP.
IP_VERSIONS = (4, 6)

_SECONDS = Range(0, 1e6)
_LAST_POSITION = 7
_LINUX_CCA = "[a-z0-9_-]{1,15}"

#: Settings of TCP sockets, which are those of programs themselves.
_OF_SOCKETS = ("acks", "initcwnd", "segmentation_offload", "host")
#: Settings that some kinds require or allow, and the others do not.
_KIND_SETTINGS = tuple(
    dict.fromkeys(name for kind in KINDS.values() for name in (*kind.settings, *kind.optional))
)


def _given_cca(name: str, value: object) -> str:
    form = "a Linux name: 1 to 15 lower-case letters, digits, - and _; or quic:STACK/CCA"
    return validation.text(name, value, f"{_LINUX_CCA}|{STACK_CCA}", form, example="cubic")


def _cca(name: str, value: object) -> str:
    """Check a congestion control, or the default: empty, which depends on the kind."""
    return "" if value == "" else _given_cca(name, value)


def cca_hint(name: str, ccas: Iterable[str]) -> str:
    """Return the next step for a congestion control that is not one of those listed.

    Examples
    --------
    >>> cca_hint("udp", ["cubic"])
    'a UDP flow has none; write kind = "cbr" or kind = "poisson"'
    """
    if names_stack(name):
        return "programs run on the engine kernel; choose that, or a name of Linux"
    return TRANSPORTS.get(name) or validation.choice_hint(name, ccas)


def _ip_version(name: str, value: object) -> int:
    if not isinstance(value, int) or value not in IP_VERSIONS:
        raise validation.bad(name, value, "4 or 6", "write for example ip_version = 6")
    return value


def _host(name: str, value: object) -> str:
    form = "a name: 1 to 64 letters, digits, -, _ and ."
    return "" if value == "" else validation.text(name, value, r"[\w.-]{1,64}", form, example="a")


def _read_cca(name: str, value: object, _: Path) -> object:
    return _given_cca(name, value)


def _read_arrivals(name: str, value: object, base_dir: Path) -> object:
    """Read arrivals: a list, a CSV file, or a table with the settings of a mix of flows."""
    if isinstance(value, Mapping):
        from ccbench.experiment.traffic import FlowMix  # noqa: PLC0415 - NumPy only if needed

        with validation.within(f"{name}."):
            return FlowMix.from_dict(value).arrivals()
    return arrivals.from_file(base_dir / value) if isinstance(value, str) else value


def _written_arrivals(pairs: Arrivals) -> list[list[float]]:
    return [list(pair) for pair in pairs]


def _written_subflows(several: tuple[Subflow, ...]) -> list[dict[str, Any]]:
    return [subflow.to_dict() for subflow in several]


#: In documents a list of tables, which the check reads.
_SUBFLOWS = {
    **document_form(read=lambda _name, value, _base_dir: value, write=_written_subflows),
    "tables": Subflow,
}


@dataclass(frozen=True, kw_only=True)
class Flow(Document):
    """A group of identical flows, or a list of short flows.

    Parameters
    ----------
    cca : str
        Linux name of the congestion control algorithm. Default: ``"cubic"``; empty for UDP kinds.
        For ``"bulk"`` also that of a stack, such as ``"quic:ngtcp2/bbr"``
        (:mod:`ccbench.experiment.stacks`).
    kind : str
        ``"bulk"`` (TCP, unlimited data), ``"bytes"`` (TCP, `size_bytes` of data), ``"rate"`` (TCP,
        the application offers `rate_mbps`), ``"onoff"`` (TCP, alternately bulk for `on_s` and
        silent for `off_s`, starting with bulk), ``"video"`` (TCP, a player requests segments, see
        below), ``"cbr"`` (UDP, evenly spaced packets at `rate_mbps`), ``"poisson"`` (UDP,
        exponentially spaced packets at a mean of `rate_mbps`), ``"frames"`` (UDP, all packets of a
        frame at once, `frames_per_s`) or ``"program"`` (the programs `sender` and `receiver`).
    count : int
        Number of flows in the group.
    start_s, stop_s : float
        Start and end of sending, in seconds of the scenario. Default of `stop_s`: the end of the
        scenario.
    size_bytes : int
        For ``"bytes"``: payload to send.
    rate_mbps : float
        For ``"rate"``: payload that the application offers, in Mbit/s. For UDP kinds: IP bytes in
        Mbit/s. From 0.001 to 100,000.
    on_s, off_s : float
        For ``"onoff"``: length of the sending and silent phases in seconds, 0.001 or more.
    bitrates_mbps : tuple of float
        For ``"video"``: available bitrates in Mbit/s, 1 to 16 in ascending order. The player
        chooses the highest within 90 % of the mean rate of the last three segments, or else the
        lowest.
    segment_s, buffer_s : float
        For ``"video"``: playing time of a segment and of the player's buffer, in seconds. The
        buffer holds at least one segment. The player requests the next segment as soon as the
        buffer has room for it.
    frames_per_s : float
        For ``"frames"``: frames of a video or a call per second, 0.001 to 100,000.
    frame_bytes : tuple of int
        For ``"frames"``: payload of successive frames in bytes, 1 to 10 million, which repeat; or
        that of all. In TOML also the name of a CSV file with the column ``frame_bytes``.
    sender : str
        For ``"program"``: command line of the program at the sending host; `receiver` is that of
        the other one. Both may contain ``{address}`` and ``{port}``, those of the server,
        ``{url_address}``, in brackets for IPv6, ``{flow}``, the number of the flow,
        ``{duration_s}``, the time from the flow's start to its stop, and ``{cca}``.
    server : str
        For ``"program"``: the end whose program is the server, ``"sender"`` (the default) or
        ``"receiver"``. It starts a second before the scenario, and the other program with the flow.
    env : tuple of (str, str)
        For ``"program"``: environment variables of both. In TOML a table.
    files : tuple of (str, str)
        For ``"program"``: text files in the scratch folder in which each program starts, with their
        contents. In TOML a table, or a list of files' names.
    keep : tuple of str
        For ``"program"``: patterns of files in the scratch folder that the run keeps.
    may_exit : bool
        For ``"program"``: whether the programs may end by themselves, with exit status 0. By
        default, it is an error if one ends before the flow stops.
    memory_mb : int, optional
        For ``"program"``: memory of both with their files, in MB, 16 or more. Default: 256.
    packet_bytes : int
        For UDP kinds: size of the IP packets, 64 to 9216 and at most the scenario's `mtu_bytes`. Of
        frames, the last packet is smaller.
    ecn : str
        For UDP kinds: ECN field of the packets, ``"ect0"``, ``"ect1"`` (as if for L4S) or ``"ce"``.
        Default: not ECN-capable. The flow does not react to marks.
    extra_rtt_ms : float
        Addition to the scenario's base round-trip time for these flows, in milliseconds.
    first_bottleneck : int
        Position of the bottleneck at which these flows join the path, 0 to 7. They bypass earlier
        bottlenecks: cross traffic of one of several links in a row.
    last_bottleneck : int, optional
        Position of the bottleneck after which these flows leave the path, at least
        `first_bottleneck`. Default: the last.
    direction : str
        ``"forward"``, data go from the sending to the receiving host, or ``"reverse"``, the other
        way through the `reverse_bottlenecks`, to which `first_bottleneck` and `last_bottleneck`
        then apply. ACKs cross all bottlenecks of the other direction.
    acks : str
        For TCP: acknowledgement policy of the receiver. ``"default"`` is Linux's policy for an
        application that only reads: about every second packet, and often immediately after a read.
        ``"delayed"`` acknowledges as late as TCP allows, as for an application that keeps sending
        requests, such as a web browser. ``"every"`` acknowledges each packet immediately, as on a
        route with ``quickack 1`` and in many simulators. CCAs that count ACKs instead of
        acknowledged bytes, such as HighSpeed, grow faster with more ACKs.
    initcwnd : int, optional
        For TCP: initial congestion window in packets, 1 to 10,000, as in ``ip route ... initcwnd``;
        also the one after an idle time. Default: Linux's, 10.
    receiver : Receiver, optional
        For TCP: a receiver that differs from Linux's: with a limited window, slow to read, with few
        ACKs, or dishonest. In TOML a table, ``receiver = {window_bytes = 100_000}``.
    segmentation_offload : bool
        For TCP: whether the sender hands over several packets at once, as a burst. Default: true,
        as on most hosts. False is a host without TSO and GSO, on which paced flows such as BBR's
        send packets one by one.
    ip_version : int
        Version of IP, 4 or 6. A full packet has 1500 bytes in both; the header of IPv6 is 20 bytes
        larger.
    host : str
        For TCP: name of a host at the other end. Both ends of flows with the same name remember
        ssthresh, RTT and reordering of their earlier connections, as Linux does for each
        destination. Default: flows do not influence later ones.
    arrivals : tuple of (float, int)
        For ``"bytes"``: many short flows as pairs of `start_s` and `size_bytes` in order of the
        start. Replaces `count`, `start_s`, `stop_s` and `size_bytes`. In TOML also the name of a
        CSV file with these two columns, or a table with the settings of a
        :class:`~ccbench.experiment.traffic.FlowMix`.
    connections : int, optional
        With `arrivals`: number of TCP connections that carry these flows, round robin. A flow waits
        for earlier flows of its connection. A connection opens with its first flow and stays open.
        By default, each flow has its own connection.
    subflows : tuple of Subflow
        For ``"bulk"``, ``"bytes"``, ``"rate"`` and ``"onoff"``: the 1 to 8 subflows of a connection
        of Multipath TCP, each with its path and congestion control (default: `cca`). Each has its
        own number among the single flows. By default, a flow uses TCP.
    label : str
        Name in reports; by default, the CCA or the kind. Not part of the flow's identity.

    Raises
    ------
    InputError
        If a setting is out of range, missing for this kind or not allowed for it.

    Examples
    --------
    >>> Flow(cca="bbr", count=2).is_udp
    False
    >>> Flow(kind="cbr", rate_mbps=5).cca
    ''
    """

    cca: str = field(default="", metadata=checked(_cca) | document_form(read=_read_cca))
    kind: str = "bulk"
    count: int = field(default=1, metadata=whole(Range(1, MAX_FLOWS), example=1))
    start_s: float = field(default=0.0, metadata=number(_SECONDS, example=10))
    stop_s: float | None = field(default=None, metadata=number(_SECONDS, example=30, optional=True))
    size_bytes: int | None = field(default=None, metadata=setting("size_bytes"))
    rate_mbps: float | None = field(default=None, metadata=setting("rate_mbps"))
    on_s: float | None = field(default=None, metadata=setting("on_s"))
    off_s: float | None = field(default=None, metadata=setting("off_s"))
    bitrates_mbps: tuple[float, ...] = field(default=(), metadata=setting("bitrates_mbps"))
    segment_s: float | None = field(default=None, metadata=setting("segment_s"))
    buffer_s: float | None = field(default=None, metadata=setting("buffer_s"))
    frames_per_s: float | None = field(default=None, metadata=setting("frames_per_s"))
    frame_bytes: tuple[int, ...] = field(default=(), metadata=setting("frame_bytes"))
    sender: str = field(default="", metadata=setting("sender"))
    server: str = field(default="", metadata=setting("server"))
    env: tuple[tuple[str, str], ...] = field(default=(), metadata=setting("env"))
    files: tuple[tuple[str, str], ...] = field(default=(), metadata=setting("files"))
    keep: tuple[str, ...] = field(default=(), metadata=setting("keep"))
    may_exit: bool = field(default=False, metadata=setting("may_exit"))
    memory_mb: int | None = field(default=None, metadata=setting("memory_mb"))
    packet_bytes: int = field(
        default=MTU_BYTES, metadata=whole(Range(64, LARGEST_MTU_BYTES), example=1500)
    )
    ecn: str = ""
    extra_rtt_ms: float = field(default=0.0, metadata=number(Range(0, 10_000), example=20))
    first_bottleneck: int = field(default=0, metadata=whole(Range(0, _LAST_POSITION), example=1))
    last_bottleneck: int | None = None
    direction: str = field(default="forward", metadata=document_form(omits_default=True))
    acks: str = "default"
    initcwnd: int | None = field(
        default=None, metadata=whole(Range(1, 10_000), example=32, optional=True)
    )
    receiver: Receiver | None = field(
        default=None,
        metadata={**table(Receiver, receiver.EXAMPLE, optional=True), **receiver.COMMAND_FORM},
    )
    segmentation_offload: bool = field(
        default=True, metadata=checked(validation.flag) | document_form(omits_default=True)
    )
    ip_version: int = field(
        default=4, metadata=checked(_ip_version) | document_form(omits_default=True)
    )
    host: str = field(default="", metadata=checked(_host))
    arrivals: Arrivals = field(
        default=(), metadata=document_form(read=_read_arrivals, write=_written_arrivals)
    )
    connections: int | None = None
    subflows: tuple[Subflow, ...] = field(default=(), metadata=checked(subflows) | _SUBFLOWS)
    label: str = field(default="", compare=False, metadata=checked(validation.one_line))

    def __post_init__(self) -> None:
        if self.kind not in tuple(KINDS):
            allowed = f"one of {', '.join(KINDS)}"
            raise validation.bad("kind", self.kind, allowed, 'write for example kind = "bulk"')
        validation.one_of("acks", self.acks, ACKS)
        validation.one_of("ecn", self.ecn, ECN_FIELDS)
        validation.one_of("direction", self.direction, DIRECTIONS)
        set_field(self, "arrivals", arrivals.checked(self.arrivals))
        self._check_kind()
        check_fields(self)
        if not self.is_udp and not self.cca:
            set_field(self, "cca", "cubic")
        if self.receiver is not None and not self.receiver.to_dict():
            set_field(self, "receiver", None)  # all its settings are off
        self._check_combination()
        if self.subflows:
            self._check_subflows()

    @property
    def is_udp(self) -> bool:
        """Whether the flows are UDP, or programs, without a congestion control of the kernel."""
        return KINDS[self.kind].is_udp or (KINDS[self.kind].is_program and not self.cca)

    @property
    def is_stack(self) -> bool:
        """Whether the flows are those of programs that are described as a congestion control.

        Examples
        --------
        >>> Flow(cca="quic:ngtcp2/bbr").is_stack, Flow(cca="bbr").is_stack
        (True, False)
        """
        return names_stack(self.cca)

    @property
    def kind_settings(self) -> dict[str, Any]:
        """The settings that its kind requires or allows, by their names."""
        kind = KINDS[self.kind]
        return {name: getattr(self, name) for name in (*kind.settings, *kind.optional)}

    @property
    def is_reverse(self) -> bool:
        """Whether the receiving host of the scenario sends."""
        return self.direction == "reverse"

    @property
    def flow_count(self) -> int:
        """Number of single flows or, with `connections`, of connections.

        Each subflow is one.
        """
        return self.connections or len(self.arrivals) or self.count * max(1, len(self.subflows))

    @property
    def name(self) -> str:
        """The label of the group, or else its CCA or kind.

        Examples
        --------
        >>> Flow(cca="bbr", label="video").name, Flow(cca="bbr").name
        ('video', 'bbr')
        """
        return self.label or self.cca or self.kind

    @property
    def split(self) -> tuple[Flow, ...]:
        """The flow itself, or in place of a connection of Multipath TCP one flow per subflow.

        Examples
        --------
        >>> from ccbench.experiment.subflow import Subflow
        >>> [one.cca for one in Flow(cca="bbr", subflows=(Subflow(), Subflow(cca="reno"))).split]
        ['bbr', 'reno']
        """
        return tuple(self._subflow(i) for i in range(len(self.subflows))) or (self,)

    def _subflow(self, i: int) -> Flow:
        subflow = self.subflows[i]
        return replace(
            self,
            cca=subflow.cca or self.cca,
            first_bottleneck=subflow.first_bottleneck,
            last_bottleneck=subflow.last_bottleneck,
            extra_rtt_ms=subflow.extra_rtt_ms,
            label=f"{self.label or 'mptcp'} {i}",
            subflows=(),
        )

    def frame_packets(self, size_bytes: int) -> int:
        """Return the number of packets of a frame.

        Examples
        --------
        >>> Flow(kind="frames", frames_per_s=30, frame_bytes=12_000).frame_packets(12_000)
        9
        """
        return -(-size_bytes // (self.packet_bytes - UDP_HEADER_BYTES[self.ip_version]))

    def _check_kind(self) -> None:
        """Check that exactly the settings of this kind are present."""
        for name in _KIND_SETTINGS:
            value = getattr(self, name)
            if name in KINDS[self.kind].optional:
                continue
            if name not in KINDS[self.kind].settings:
                owners = (
                    kind.name
                    for kind in KINDS.values()
                    if name in kind.settings or name in kind.optional
                )
                kinds = " or ".join(f'kind = "{kind}"' for kind in owners)
                step = f"add {kinds}, or remove {name}"
                self._must_be_default(name, f"for kind {self.kind!r}", step)
            elif name == "size_bytes" and self.arrivals:
                self._must_be_default(name, "with arrivals")
            elif value in (None, (), ""):
                raise InputError(f"{name} is missing: add it, as kind {self.kind!r} needs it")
        if KINDS[self.kind].is_udp:
            self._must_be_default("cca", f"for kind {self.kind!r}, which is UDP")

    def _check_combination(self) -> None:
        """Check settings that depend on each other."""
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
        kind = KINDS[self.kind]
        own = {"receiver": self.receiver, "cca": self.cca} if kind.is_program else {}
        kind.check(**self.kind_settings, **own)
        of_udp = ("packet_bytes", "ecn")
        foreign = (*_OF_SOCKETS, "receiver") if self.is_udp else of_udp
        for name in (*_OF_SOCKETS, *of_udp) if kind.is_program else foreign:
            self._must_be_default(name, f"for kind {self.kind!r}")
        if self.is_stack:
            self._check_stack()
        self._check_receiver()
        if not KINDS[self.kind].has_size:
            self._must_be_default("arrivals", f"for kind {self.kind!r}")
        if self.arrivals:
            for name in ("count", "start_s", "stop_s"):
                self._must_be_default(name, "with arrivals")

    def _check_stack(self) -> None:
        """Check the settings of a flow between the programs of a stack."""
        for name in ("kind", *_OF_SOCKETS, "receiver", "subflows"):
            self._must_be_default(name, f"for {self.cca}, whose programs send as much as they can")

    def _check_subflows(self) -> None:
        """Check the settings of a connection of Multipath TCP."""
        if not KINDS[self.kind].has_subflows:
            self._must_be_default("subflows", f"for kind {self.kind!r}")
        for name in ("acks", "arrivals", "initcwnd", "ip_version", "host", "receiver"):
            self._must_be_default(name, "with subflows")
        for name in ("first_bottleneck", "last_bottleneck", "extra_rtt_ms"):
            self._must_be_default(name, "with subflows, which have their own")

    def _check_receiver(self) -> None:
        receiver = self.receiver
        if KINDS[self.kind].is_program or receiver is None:
            return
        if receiver.program is not None:
            allowed, step = f"a table for kind {self.kind!r}", 'add kind = "program", or remove it'
            raise validation.bad("receiver", receiver.program, allowed, step)
        if receiver.packets_per_ack is not None:
            self._must_be_default("acks", "with receiver.packets_per_ack")
        for name, reason in KINDS[self.kind].unreceived.items():
            if (value := getattr(receiver, name)) is not None:
                allowed = f"left out {reason}"
                raise validation.bad(f"receiver.{name}", value, allowed, f"remove {name}")

    def _must_be_default(self, name: str, reason: str, step: str = "") -> None:
        value = getattr(self, name)
        if value != getattr(Flow, name):
            step = step or f"remove {name}"
            raise validation.bad(name, value, f"left out {reason}", step)
