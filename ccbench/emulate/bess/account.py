# SPDX-License-Identifier: Apache-2.0
"""Packet counters of the path, which detect packets missing from the records.

BESS's ports silently drop packets if they are not emptied in time, as do its hooks if they cannot
write. The hosts count the packets that they send and receive, and the queue those that it accepts
and drops.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ccbench.base.errors import EngineError
from ccbench.emulate.bess import pipeline, wires

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.emulate.bess.client import Bess

__all__ = ["Account"]


@dataclass(frozen=True, kw_only=True)
class Account:
    """Packet counters, the time of counting, and bessd's time of waiting for its core."""

    time_s: float
    sent: int
    received: int
    answers_sent: int
    answers_received: int
    queued: int
    left: int
    dropped: int
    waited_s: float

    @classmethod
    def of(cls, bess: Bess, hosts: Mapping[str, int]) -> Account:
        """Return the current counters."""
        sent, answers_received = wires.carried(hosts["sender"])
        answers_sent, received = wires.carried(hosts["receiver"])
        queue = bess.call(pipeline.queue_status())
        return cls(
            time_s=time.monotonic(),
            sent=sent,
            received=received,
            answers_sent=answers_sent,
            answers_received=answers_received,
            queued=queue.enqueued,
            left=queue.dequeued,
            dropped=queue.dropped,
            waited_s=bess.waited_s(),
        )

    def since(self, before: Account) -> Account:
        """Return the differences from earlier counters."""
        earlier = asdict(before)
        return Account(**{name: value - earlier[name] for name, value in asdict(self).items()})

    @property
    def waited_share(self) -> float:
        """Share of the time in which bessd waited for its core."""
        return self.waited_s / self.time_s

    def check(self, *, sent: int, arrived: int, departed: int) -> None:
        """Compare the counters with the numbers of packets in the records.

        Raises
        ------
        EngineError
            If a packet is missing.
        """
        for counted, recorded, where in (
            (self.sent, sent, "between the sender and the switch"),
            (self.queued + self.dropped, arrived, "from the record of arrivals"),
            (self.left, departed, "from the record of departures"),
            (self.left, self.received, "between the switch and the receiver"),
            (self.answers_sent, self.answers_received, "on the reverse path"),
        ):
            if counted != recorded:
                raise EngineError(
                    f"{abs(counted - recorded)} packets are missing {where}: the machine is too "
                    "busy, or the rate too high for it"
                )
