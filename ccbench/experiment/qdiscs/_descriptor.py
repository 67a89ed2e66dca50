# SPDX-License-Identifier: Apache-2.0
"""Descriptors of qdiscs: properties, options, and their encoding for Linux."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.base.l4s import QUEUES
from ccbench.experiment.flow import MTU_BYTES
from ccbench.experiment.qdiscs._attributes import attribute, u32
from ccbench.experiment.qdiscs._option import LARGEST_U32

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ccbench.base.structures import Field
    from ccbench.experiment.qdiscs._option import Option, Value

__all__ = [
    "NO_LIMIT",
    "PACKET_MEMORY_BYTES",
    "AttributeQdisc",
    "Drops",
    "Qdisc",
    "QueuedLink",
    "StructureQdisc",
]

#: Memory of a full packet in the kernel, by which some qdiscs limit their queue.
PACKET_MEMORY_BYTES = 2304

#: `limit` of a qdisc whose queue may have any length.
NO_LIMIT = "no limit"


class Drops(Enum):
    """The packet that a qdisc drops at the instant of an arrival.

    Drops at other times, such as CoDel's, are at the head of a flow.
    """

    ARRIVAL = "the arriving packet"
    OLDEST = "the oldest packet of some flow"
    NEWEST = "the newest packet of some flow"
    ANY = "any packet of some flow"


class QueuedLink(NamedTuple):
    """A bottleneck's queue limit in packets, link rate in Mbit/s and size of a full packet."""

    queue_packets: int
    mbps: float
    mtu_bytes: int = MTU_BYTES

    @property
    def packet_memory_bytes(self) -> int:
        """Memory of a full packet in the kernel, by which some qdiscs limit their queue.

        Linux holds more payload in further pages.
        """
        return PACKET_MEMORY_BYTES + max(0, self.mtu_bytes - MTU_BYTES)

    def bytes_of(self, name: str, packets: int, most_bytes: int = LARGEST_U32) -> int:
        """Return the size of some full packets in bytes, for a setting of this name.

        Raises
        ------
        InputError
            If it exceeds what the kernel can store.
        """
        if packets * self.mtu_bytes > most_bytes:
            allowed = f"at most {most_bytes // self.mtu_bytes} with mtu_bytes = {self.mtu_bytes}"
            raise validation.bad(name, packets, allowed, "lower it")
        return packets * self.mtu_bytes


@dataclass(frozen=True, kw_only=True)
class Qdisc(ABC):
    """A queueing discipline.

    Parameters
    ----------
    name : str
        Name in scenarios.
    summary : str
        Description in one line.
    kernel_name : str
        Name in Linux. Default: `name`.
    options : mapping of str to Option
    limit : str
        Unit of the kernel's limit: ``"packets"``; or ``"bytes"`` or ``"memory"``, those of
        `queue_packets` full packets; or :data:`NO_LIMIT`.
    drops : Drops
    marks : bool
        Whether it can mark packets (ECN) instead of dropping them.
    rewrites : bool
        Whether it changes headers on purpose, beyond the traffic class.
    requests : int
        Number of times to send the request with the options.
    since : str
        First release of Linux that has it, if that is newer than 6.1.
    l4s_option : str
        For a qdisc with a queue for L4S in addition to its classic queue: the option with the bits
        of the ECN field (RFC 3168) that put a packet into it.
    statistics : tuple of Field
        The first fields of the structure that it reports to ``tc -s qdisc``, which runs sample. It
        must not take locks for it.
    """

    name: str
    summary: str
    kernel_name: str = ""
    options: Mapping[str, Option] = field(default_factory=dict)
    limit: str = "packets"
    drops: Drops = Drops.ARRIVAL
    marks: bool = False
    rewrites: bool = False
    requests: int = 1
    since: str = ""
    l4s_option: str = ""
    statistics: tuple[Field, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel_name", self.kernel_name or self.name)

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of its two queues, if one is for L4S; empty for any other qdisc."""
        return QUEUES if self.l4s_option else ()

    def l4s_mask(self, options: Mapping[str, Value]) -> int:
        """Return the bits of the ECN field that put a packet into the L4S queue; 0 without one."""
        if not self.l4s_option:
            return 0
        option = self.options[self.l4s_option]
        return option.scaled(self.l4s_option, options.get(self.l4s_option, option.default))

    @property
    @abstractmethod
    def is_nested(self) -> bool:
        """Whether the encoded options are attributes rather than one structure."""

    @abstractmethod
    def encode(self, link: QueuedLink, options: Mapping[str, Value]) -> bytes:
        """Return the options and the limit of the queue in the kernel's encoding."""

    @abstractmethod
    def encode_change(self, link: QueuedLink | None, options: Mapping[str, Value]) -> bytes:
        """Return the encoding of a limit and of options that change; the others remain.

        Without a link, the limit remains as well.

        Raises
        ------
        InputError
            If the qdisc cannot change them during a run.
        """

    def check_change(self, link: QueuedLink | None, options: Mapping[str, Value]) -> None:
        """Check a change during a run; see :meth:`check` and :meth:`encode_change`."""
        for name, value in options.items():
            self.check_name(name)
            self.options[name].scaled(name, value)
            if self.options[name].is_fixed:
                message = f"qdisc_options.{name} of {self.name} cannot change during a run"
                raise InputError(f"{message}: remove it")
        if link is not None and self.limit == NO_LIMIT:
            raise InputError(f"queue_packets: the queue of {self.name} has no limit: remove it")
        self.encode_change(link, options)

    def short_thresholds(
        self, options: Mapping[str, Value], packet_ms: float
    ) -> dict[str, tuple[float, float]]:
        """Return thresholds that mark every packet that waits behind another.

        Parameters
        ----------
        options : mapping
            Options that are set; the others have their defaults.
        packet_ms : float
            Transmission time of a full packet in milliseconds.

        Returns
        -------
        dict
            Value in force of each such option, and one of two packets, by its name.
        """
        replaced = {self.options[name].excludes for name in options if name in self.options}
        found = {}
        for name, option in self.options.items():
            value = options.get(name, None if name in replaced else option.default)
            shortest = packet_ms if option.unit == "ms" else 0.5
            exempt = int(options.get(option.exempted_by, 0)) > 1 if option.exempted_by else False
            if option.marks_above and value is not None and not exempt and float(value) <= shortest:
                enough = 2 * packet_ms if option.unit == "ms" else 1
                found[name] = float(value), enough
        return found

    def drops_acks(self, options: Mapping[str, Value]) -> bool:
        """Return whether options drop acknowledgements from the middle of the queue."""
        return any(self.options[name].drops_acks and value for name, value in options.items())

    def check_name(self, name: str) -> None:
        """Raise an InputError if there is no such option."""
        if name not in self.options:
            names = ", ".join(self.options) or "no options"
            hint = validation.choice_hint(name, self.options) if self.options else "remove it"
            raise InputError(f"qdisc_options.{name}: {self.name} takes {names}: {hint}")

    def check(self, options: Mapping[str, Value]) -> None:
        """Check options.

        Raises
        ------
        InputError
            If an option is unknown, out of range, missing, or excluded by another option.
        """
        for name, value in options.items():
            self.check_name(name)
            self.options[name].scaled(name, value)
            if (other := self.options[name].excludes) in options:
                message = f"qdisc_options.{name} and {other} exclude each other: remove one of them"
                raise InputError(message)
        for name, option in self.options.items():
            if option.is_required and name not in options:
                message = f"qdisc_options.{name} is missing: add it, as {self.name} needs it"
                raise InputError(message)


@dataclass(frozen=True, kw_only=True)
class AttributeQdisc(Qdisc):
    """A qdisc whose options are netlink attributes.

    Parameters
    ----------
    limit_attribute : int
        Attribute of the limit; 0 without one.
    memory_option : str
        Option of a further limit, of memory. Its default is raised where `queue_packets` full
        packets need more.
    """

    limit_attribute: int
    memory_option: str = ""

    @property
    def is_nested(self) -> bool:
        return True

    def encode(self, link: QueuedLink, options: Mapping[str, Value]) -> bytes:
        needed = min(link.queue_packets * link.packet_memory_bytes, LARGEST_U32)
        if self.memory_option and needed > float(self.options[self.memory_option].default or 0):
            options = {self.memory_option: needed, **options}
        return self.encode_change(link, options)

    def encode_change(self, link: QueuedLink | None, options: Mapping[str, Value]) -> bytes:
        limit = b""
        if link is not None and self.limit != NO_LIMIT:
            unit = link.packet_memory_bytes if self.limit == "memory" else 1
            most = min(link.queue_packets * unit, LARGEST_U32)
            limit = attribute(self.limit_attribute, u32(most))
        encoded = [self.options[name].encoded(name, value) for name, value in options.items()]
        return b"".join([limit, *encoded])


@dataclass(frozen=True, kw_only=True)
class StructureQdisc(Qdisc):
    """A qdisc whose options are one structure.

    Parameters
    ----------
    pack : callable
        Returns the structure for a link and all options, including defaults, in the kernel's units.
    can_change : bool
        Whether the limit, its only setting, can change during a run.
    """

    pack: Callable[[QueuedLink, Mapping[str, int]], bytes]
    can_change: bool = False

    @property
    def is_nested(self) -> bool:
        return bool(self.options)

    def encode_change(self, link: QueuedLink | None, options: Mapping[str, Value]) -> bytes:
        if not self.can_change or link is None or options:
            raise InputError(f"the qdisc {self.name} cannot change so during a run: remove it")
        return self.pack(link, {})

    def encode(self, link: QueuedLink, options: Mapping[str, Value]) -> bytes:
        scaled = {
            name: option.scaled(name, options.get(name, option.default))
            for name, option in self.options.items()
        }
        return self.pack(link, scaled)
