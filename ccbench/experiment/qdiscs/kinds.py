# SPDX-License-Identifier: Apache-2.0
"""The two kinds of qdiscs: those whose options are attributes, and those that take a structure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ccbench.experiment.qdiscs.option import Option, Value

__all__ = ["Drops", "Link", "Qdisc", "StructQdisc"]


class Drops(Enum):
    """Which packet a qdisc drops at the instant of an arrival, to keep its queue short.

    Drops between arrivals, as CoDel's, are of packets at the head of their flow.
    """

    ARRIVAL = "the arriving packet"
    OLDEST = "the oldest packet of some flow"
    NEWEST = "the newest packet of some flow"
    ANY = "any packet of some flow"


class Link(NamedTuple):
    """What a qdisc may have to know."""

    queue_packets: int
    mbps: float


@dataclass(frozen=True)
class Qdisc:
    """A qdisc: the kernel's name for it, how it takes the limit in packets, options, drops."""

    name: str
    limit: Callable[[int], bytes]
    options: Mapping[str, Option] = field(default_factory=dict)
    drops: Drops = Drops.ARRIVAL
    needs = ""

    @property
    def nested(self) -> bool:
        """Whether the options are attributes of their own rather than one structure."""
        return bool(self.options)

    def encode(self, link: Link, options: Mapping[str, Value]) -> bytes:
        """Return the options as the kernel takes them, and the limit in packets."""
        encoded = [self.options[name].encode(name, value) for name, value in options.items()]
        return self.limit(link.queue_packets) + b"".join(encoded)


@dataclass(frozen=True)
class StructQdisc:
    """A qdisc that takes all its options in one structure.

    `pack` gets the options in their units in the kernel, those not given with their defaults.
    """

    name: str
    pack: Callable[[Link, Mapping[str, int]], bytes]
    options: Mapping[str, Option]
    needs: str = ""
    drops: Drops = Drops.ARRIVAL
    nested = True

    def encode(self, link: Link, options: Mapping[str, Value]) -> bytes:
        """Return the options as the kernel takes them, and the limit in packets."""
        scaled = {
            name: option.scaled(name, options.get(name, option.default))
            for name, option in self.options.items()
        }
        return self.pack(link, scaled)
