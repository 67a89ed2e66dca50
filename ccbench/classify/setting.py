# SPDX-License-Identifier: Apache-2.0
"""The network settings in which servers are observed (Ware, section 2.3.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ccbench.base import validation
from ccbench.base.checked_fields import set_field
from ccbench.experiment.flow import MTU_BYTES

__all__ = ["LOW_RATE", "SETTINGS", "Setting"]


#: The name of a setting: Mbit/s, milliseconds, and packets.
_NAME = r"(?<![\d.])(\d+\.?\d*)bw-(\d+\.?\d*)rtt-(\d{1,7})q"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A bottleneck at which servers are observed.

    Parameters
    ----------
    bandwidth_mbps : float
        Link rate in Mbit/s.
    rtt_ms : float
        Base round-trip time to the server, including added delay, in milliseconds.
    queue_packets : int
        Capacity of the drop-tail queue in packets: about 1 BDP.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> Setting(bandwidth_mbps=5, rtt_ms=85, queue_packets=64).name
    '5bw-85rtt-64q'
    """

    bandwidth_mbps: float
    rtt_ms: float
    queue_packets: int

    def __post_init__(self) -> None:
        number, above_0 = validation.number, validation.Range(0, low_open=True)
        number("bandwidth_mbps", self.bandwidth_mbps, above_0, example=5)
        number("rtt_ms", self.rtt_ms, above_0, example=85)
        packets = validation.Range(1, 1_000_000)
        validation.whole("queue_packets", self.queue_packets, packets, example=64)
        # Equal settings are equal in files, too.
        set_field(self, "bandwidth_mbps", float(self.bandwidth_mbps))
        set_field(self, "rtt_ms", float(self.rtt_ms))

    @classmethod
    def named(cls, name: str) -> Setting:
        """Return the setting of a name.

        Raises
        ------
        InputError
            If the name is invalid.

        Examples
        --------
        >>> Setting.named("0.3bw-275rtt-16q").rtt_ms
        275.0
        """
        if not re.fullmatch(_NAME, name, re.ASCII):
            allowed = "Mbit/s, ms and packets such as 5bw-85rtt-64q"
            raise validation.bad("setting", name, allowed, "write it in this form")
        setting = cls.within(name)
        assert setting is not None
        return setting

    @classmethod
    def within(cls, text: str) -> Setting | None:
        """Return the setting whose name is part of a text, such as the name of a file.

        Examples
        --------
        >>> Setting.within("run-5bw-85rtt-64q.csv").queue_packets
        64
        >>> Setting.within("run.csv") is None
        True
        """
        match = re.search(_NAME, text, re.ASCII)
        if match is None:
            return None
        mbps, rtt_ms, packets = match.groups()
        return cls(bandwidth_mbps=float(mbps), rtt_ms=float(rtt_ms), queue_packets=int(packets))

    @property
    def name(self) -> str:
        """Name of the setting in the notation of the thesis."""
        return f"{self.bandwidth_mbps:g}bw-{self.rtt_ms:g}rtt-{self.queue_packets}q"

    @property
    def packets_per_s(self) -> float:
        """Rate of the link in packets of full size per second."""
        return self.bandwidth_mbps * 1e6 / (8 * MTU_BYTES)

    @property
    def capacity_packets(self) -> float:
        """Largest number of packets in flight: those of the link and of a full queue."""
        return self.packets_per_s * self.rtt_ms / 1e3 + self.queue_packets


#: The four settings with the best classification accuracy in the thesis.
SETTINGS = tuple(
    Setting(bandwidth_mbps=bandwidth_mbps, rtt_ms=rtt_ms, queue_packets=queue_packets)
    for bandwidth_mbps, queue_packets in ((5, 64), (10, 128))
    for rtt_ms in (85, 130)
)

#: Setting for distant or slow servers (section 2.5.3).
LOW_RATE = Setting(bandwidth_mbps=0.3, rtt_ms=275, queue_packets=16)
