# SPDX-License-Identifier: Apache-2.0
"""No congestion control floods a path that loses its retransmissions, and each recovers.

The reference is Reno, whose window Linux conserves in recovery (RFC 9937). A flow

- has at most :data:`FACTOR` times Reno's drops: without conservation, a window is sent again in
  each RTT, and drops are ten times Reno's or more;
- has recovered :data:`RECOVERY_RTTS` after the disturbance: from then on, for as long again, it has
  Reno's goodput divided by :data:`FACTOR` or more. From a window of one packet, Reno adds a packet
  per RTT, and CUBIC, the slowest of the loss-based ones, 9/17 packets (RFC 9438, Reno-friendly
  region).

CCAs that by design do not meet a bound have an entry with the reason and a bound of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
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
ACCURATE_ECN = ("prague", "abc_accecn")
#: The parts of :data:`MORE_DROPS` and :data:`LATER`: the bound of a CCA and its variants, and why.
Exceptions = dict[tuple[str, str], tuple[float, str]]

_GENTLE = "reduces less, so that a given window needs more drops: Scalable 0.08/W, Reno 1.5/W²"
#: Most drops in units of Reno's.
MORE_DROPS: Exceptions = {
    ("CoDel", "bic"): (10, _GENTLE),
    ("CoDel", "illinois"): (5, _GENTLE),
    ("CoDel", "scalable"): (20, _GENTLE),
    ("CoDel", "yeah"): (20, f"is Scalable while the queue is short, and {_GENTLE}"),
    ("fall to a fortieth", "scalable"): (4, "keeps 7/8 of the window in each recovery"),
    ("30 % loss", "bbr"): (5, "sends at the measured rate whatever is lost"),
    ("policer", "bbr"): (
        12,
        "tests the rate with losses of up to a fifth before it sees a policer",
    ),
    ("policer", "bbr3"): (6, "accepts 2 % of loss, and leaves Startup only after rounds with more"),
    ("policer", "copa"): (18, "follows the delay, which a policer lacks, below a tenth of loss"),
    ("policer", "rapid"): (
        40,
        "each stream exceeds the rate, and a policer lacks its signal, delay",
    ),
}
#: Least goodput after recovery in units of Reno's.
LATER: Exceptions = {
    ("fall to a fortieth", "cdg"): (0.1, "takes the delays of the fall for congestion"),
    ("30 % loss", "nv"): (0.03, "limits the window by the rate that it has measured"),
    ("fall to a fortieth", "rapid"): (0.005, "needs a stream per step, long at a low rate"),
    ("30 % loss", "rapid"): (0.005, "needs a stream per step, long at a low rate"),
}


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
            bottlenecks=(
                Bottleneck(**{"bandwidth_mbps": MBPS, "queue_packets": BDP, **self.link}),
            ),
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


def ratios(name: str, feature: str) -> dict[str, tuple[float, float]]:
    """Return the drops and the recovered goodput of CCAs, in units of Reno's.

    Of a kernel with accurate ECN beside the default one, only CCAs that need it.
    """
    kernel = kernel_with(feature)
    disturbance = DISTURBANCES[name]
    reno = run_with(feature, disturbance.scenario("reno"))
    names = ACCURATE_ECN if feature == "accecn" else {*kernel.ccas} - {*ACCURATE_ECN}
    result = {}
    for cca in sorted(names):
        run = run_with(feature, disturbance.scenario(cca))
        result[cca] = (
            drops(run) / drops(reno),
            recovered_bytes(run, disturbance) / recovered_bytes(reno, disturbance),
        )
    return result


def bound(exceptions: Exceptions, name: str, cca: str, usual: float) -> float:
    """Return the bound of a CCA: that of its own name, of its first part, or the usual one."""
    for key in (cca, cca.split("_", maxsplit=1)[0]):
        if (name, key) in exceptions:
            return exceptions[name, key][0]
    return usual


@pytest.mark.parametrize("feature", ["reno", "accecn"])
@pytest.mark.parametrize("name", DISTURBANCES)
def test_disturbance(name: str, feature: str) -> None:
    """Drops are at most three times Reno's, and a third of its goodput follows in 20 RTTs."""
    found = ratios(name, feature)
    floods = {c: d for c, (d, _) in found.items() if d > bound(MORE_DROPS, name, c, FACTOR)}
    late = {c: g for c, (_, g) in found.items() if g < bound(LATER, name, c, 1 / FACTOR)}
    assert not floods
    assert not late
