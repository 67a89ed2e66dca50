# SPDX-License-Identifier: Apache-2.0
"""Configuration of a BFC switch, and the pause threshold."""

from __future__ import annotations

from dataclasses import dataclass

from ccbench.base import validation
from ccbench.base.validation import Range

__all__ = ["EVERY_PACKET", "Settings", "pause_threshold_bytes"]

#: The sampling rate at which every packet is recirculated.
EVERY_PACKET = 1 << 16

_PORTS = Range(1, 1024)
_QUEUES = Range(2, 256)
_UPSTREAM_QUEUES = Range(1, 256)
_ENTRIES = Range(1, 1 << 24)
_SPEED = Range(0.001, 10_000_000)
_HRTT = Range(1, 10**12)
_STICKY = Range(0, 10**12)
_SAMPLED = Range(0, EVERY_PACKET)
_SEED = Range(1, 2**32 - 1)
_ACTIVE = Range(0, 2**31 - 1)


def pause_threshold_bytes(hrtt_ns: int, speed_mbps: float, active: int) -> int:
    """Return the pause threshold Th: the BDP of one hop at a queue's share of the link.

    Parameters
    ----------
    hrtt_ns : int
        Round-trip time to the upstream neighbour in ns, 1 to 1e12; the longest of all ingress
        ports.
    speed_mbps : float
        Rate of the egress port in Mbit/s, 0.001 to 10,000,000.
    active : int
        Queues of the egress port that hold packets and are not paused; 0 counts as 1.

    Returns
    -------
    int
        Whole bytes, rounded down.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    The thesis's network: 100 Gbit/s, and 2 μs over one hop.

    >>> pause_threshold_bytes(2000, 100_000, 1), pause_threshold_bytes(2000, 100_000, 4)
    (25000, 6250)
    """
    hrtt_ns = validation.whole("hrtt_ns", hrtt_ns, _HRTT, example=2000)
    speed_mbps = validation.number("speed_mbps", speed_mbps, _SPEED, example=100_000)
    active = validation.whole("active", active, _ACTIVE, example=1)
    return int(hrtt_ns * speed_mbps / 8000 / max(1, active))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Configuration of a switch.

    Parameters
    ----------
    speeds_mbps : tuple of float
        Rate of each port in Mbit/s, 0.001 to 10,000,000.
    queues : int
        Queues of each egress port, 2 to 256, including the queue for pause and resume packets.
    upstream_queues : int, optional
        Queues of an upstream neighbour, 1 to 256; the default is `queues`.
    flow_entries : int, optional
        Flow table entries of each egress port; the default is 100 times `queues`.
    hrtt_ns : int
        Longest round-trip time to an upstream neighbour in ns, 1 to 1e12.
    sticky_ns : int, optional
        Time for which a flow without packets retains its queue, 0 to 1e12; the default is 2 HRTT.
    sampled : int
        Expected number of recirculated packets in 65,536; the default is all.
    skip_paused : bool
        Whether an empty but paused queue is skipped when a flow is assigned a queue. The authors'
        simulator does so; the thesis's pseudocode does not say.
    no_backpressure : frozenset of (int, int)
        Pairs of ingress and egress port whose packets must not trigger pauses (appendix D).
    seed : int
        Initial state of the switch's generator (:func:`~ccbench.datacenter.switch.draws`), 1 to
        4,294,967,295. It is a register of the P4 program and is not mixed: similar seeds have
        similar first draws.

    Raises
    ------
    InputError
        If a setting is out of range.

    Examples
    --------
    >>> Settings(speeds_mbps=(100_000, 100_000), queues=32, hrtt_ns=2000).flow_entries
    3200
    """

    speeds_mbps: tuple[float, ...]
    queues: int = 32
    upstream_queues: int = 0
    flow_entries: int = 0
    hrtt_ns: int = 2000
    sticky_ns: int = -1
    sampled: int = EVERY_PACKET
    skip_paused: bool = False
    no_backpressure: frozenset[tuple[int, int]] = frozenset()
    seed: int = 1

    def __post_init__(self) -> None:
        whole = validation.whole
        speeds = tuple(
            validation.number(f"speeds_mbps[{port}]", speed, _SPEED, example=100_000)
            for port, speed in enumerate(self.speeds_mbps)
        )
        whole("number of speeds_mbps", len(speeds), _PORTS, example=4)
        queues = whole("queues", self.queues, _QUEUES, example=32)
        hrtt_ns = whole("hrtt_ns", self.hrtt_ns, _HRTT, example=2000)
        pairs = frozenset(
            (
                whole("no_backpressure ingress", ingress, Range(0, len(speeds) - 1), example=0),
                whole("no_backpressure egress", egress, Range(0, len(speeds) - 1), example=0),
            )
            for ingress, egress in self.no_backpressure
        )
        values: dict[str, object] = {
            "speeds_mbps": speeds,
            "queues": queues,
            "upstream_queues": whole(
                "upstream_queues", self.upstream_queues or queues, _UPSTREAM_QUEUES, example=32
            ),
            "flow_entries": whole(
                "flow_entries", self.flow_entries or 100 * queues, _ENTRIES, example=100 * queues
            ),
            "hrtt_ns": hrtt_ns,
            "sticky_ns": whole(
                "sticky_ns",
                2 * hrtt_ns if self.sticky_ns == -1 else self.sticky_ns,
                _STICKY,
                example=2 * hrtt_ns,
            ),
            "sampled": whole("sampled", self.sampled, _SAMPLED, example=EVERY_PACKET),
            "skip_paused": validation.flag("skip_paused", self.skip_paused),
            "no_backpressure": pairs,
            "seed": whole("seed", self.seed, _SEED, example=1),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def data_queues(self) -> int:
        """Queues of each egress port for data: all but the highest."""
        return self.queues - 1
