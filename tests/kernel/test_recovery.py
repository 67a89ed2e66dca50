# SPDX-License-Identifier: Apache-2.0
"""No congestion control floods a path that loses its retransmissions, and each recovers.

The reference is Reno, whose window Linux conserves in recovery (RFC 9937). A flow

- has at most :data:`FACTOR` times Reno's drops: without conservation, a window is sent again in
  each RTT, and drops are ten times Reno's or more;
- has recovered :data:`RECOVERY_RTTS` after the disturbance: from then on, for as long again, it has
  Reno's goodput divided by :data:`FACTOR` or more. From a window of one packet, Reno adds a packet
  per RTT, and CUBIC, the slowest of the loss-based ones, 9/17 packets (RFC 9438, Reno-friendly
  region).

CCAs that by design do not meet a bound have an entry with the reason and their own bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from ccbench import Bottleneck, Change, Flow, Policer, Run, Scenario
from tests.kernel.conftest import kernel_with, run_with

pytestmark = pytest.mark.kernel

MBPS, RTT_MS = 50, 40
BDP = round(MBPS * 1e6 * RTT_MS / 1e3 / 8 / 1500)
#: Most drops in units of Reno's, and the least goodput in units of 1 / Reno's.
FACTOR = 3
RECOVERY_RTTS = 20
#: CCAs that need accurate ECN.
ACCURATE_ECN = ["prague", "abc_accecn"]


@dataclass(frozen=True)
class Disturbance:
    """A path that loses packets in bulk: its bottleneck, and what changes at 2 and 4 s."""

    link: dict[str, Any]
    ecn: bool = False
    changes: tuple[Change, ...] = ()
    #: Without changes, the end of the first slow start is the disturbance.
    end_s: float = 2

    @property
    def recovered_s(self) -> float:
        """Return the time by which a flow has recovered."""
        return self.end_s + RECOVERY_RTTS * RTT_MS / 1e3

    def scenario(self, cca: str) -> Scenario:
        """Return the path with one flow."""
        return Scenario(
            flows=(Flow(cca=cca),),
            bottlenecks=(Bottleneck(**{"bandwidth_mbps": MBPS, "queue_packets": BDP, **self.link}),),
            rtt_ms=RTT_MS,
            duration_s=2 * self.recovered_s - self.end_s,
            ecn=self.ecn,
            changes=self.changes,
            sample_interval_ms=RTT_MS,
        )


DISTURBANCES = {
    "PIE": Disturbance({"qdisc": "pie", "queue_packets": 10_000}),
    "PIE with ECN": Disturbance(
        {"qdisc": "pie", "queue_packets": 10_000, "qdisc_options": (("ecn", True),)}, ecn=True
    ),
    "CoDel": Disturbance({"qdisc": "codel", "queue_packets": 10_000}),
    "drop-tail queue of 10 BDP": Disturbance({"queue_packets": 10 * BDP}),
    "policer": Disturbance(
        {"policer": Policer(rate_mbps=MBPS * 0.4, burst_bytes=50_000), "queue_packets": 2 * BDP}
    ),
    "fall to a fortieth": Disturbance(
        {},
        changes=(
            Change(at_s=2, bandwidth_mbps=MBPS / 40),
            Change(at_s=4, bandwidth_mbps=MBPS),
        ),
        end_s=4,
    ),
    "30 % loss": Disturbance(
        {}, changes=(Change(at_s=2, loss=0.3), Change(at_s=4, loss=0)), end_s=4
    ),
}


def drops(run: Run) -> int:
    """Return the packets that the queue or the path lost."""
    return int(run.queue_events(0)["event"].isin(["drop", "loss"]).sum())


def recovered_bytes(run: Run, disturbance: Disturbance) -> float:
    """Return the payload that the receiver gets from the time by which a flow has recovered."""
    delivered = run.samples("delivered_bytes")[0].loc[disturbance.recovered_s :]
    return float(delivered.iloc[-1] - delivered.iloc[0])


@cache
def ratios(name: str, feature: str) -> dict[str, tuple[float, float]]:
    """Return the drops and the recovered goodput of CCAs, in units of Reno's.

    Of a kernel with accurate ECN beside the default one, only CCAs that need it.
    """
    kernel = kernel_with(feature)
    disturbance = DISTURBANCES[name]
    reno = run_with(feature, disturbance.scenario("reno"))
    ccas = ACCURATE_ECN if feature == "accecn" else sorted({*kernel.ccas} - {*ACCURATE_ECN})
    result = {}
    for cca in ccas:
        run = run_with(feature, disturbance.scenario(cca))
        result[cca] = (
            drops(run) / drops(reno),
            recovered_bytes(run, disturbance) / recovered_bytes(reno, disturbance),
        )
    return result
