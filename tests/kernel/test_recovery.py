# SPDX-License-Identifier: Apache-2.0
"""No congestion control floods a path that loses its retransmissions, and each recovers.

The reference is Reno, whose window Linux conserves in recovery (RFC 9937). A flow

- has at most :data:`FACTOR` times Reno's drops: without conservation, a window is sent again in
  each RTT, and drops are ten times Reno's or more;
- has recovered :data:`RECOVERY_RTTS` after the disturbance: from then on, for as long again, it has
  Reno's goodput divided by :data:`FACTOR` or more. From a window of one packet, Reno adds a packet
  per RTT, and CUBIC, the slowest of the loss-based ones, 9/17 packets (RFC 9438, Reno-friendly
  region).

CCAs that do not meet a bound have an entry with a bound of their own, and what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from ccbench import Bottleneck, Change, Flow, NetworkPath, Policer, Run, Scenario
from tests.kernel.conftest import kernel_with, run_with

pytestmark = pytest.mark.kernel

MBPS, RTT_MS = 50, 40
BDP = round(MBPS * 1e6 * RTT_MS / 1e3 / 8 / 1500)
#: Most drops in units of Reno's, and the least goodput in units of 1 / Reno's.
FACTOR = 3
RECOVERY_RTTS = 20
#: Most packets sent in recovery per packet that arrives (RFC 9937, slow start): a flood has tens.
MOST_SENT = 2
#: The interval of states, much shorter than a recovery.
STATES_MS = 5
#: CCAs that need accurate ECN.
ACCURATE_ECN = ("prague", "abc_accecn")
#: The parts of :data:`MORE_DROPS` and :data:`LATER`: the bound of a CCA and its variants, and why.
Exceptions = dict[tuple[str, str], tuple[float, str]]

_GENTLE = "keeps 0.8 to 0.9 of the window at a loss, Reno 0.5, so CoDel drops for longer"
_LEARNS = (
    "lowers its rate by 5 % in the first four round trips, then by more, and conserves nothing"
)
_SHORT = "grows while delays are short, as on this path: "
_STEADY = "no flood (test_sent_in_recovery): "
_SLOW = "grows by 6 % per 200 ms with any RTT: in 20 RTTs of 40 ms, to 1.3 times its window"
#: Most drops in units of Reno's: measured, rounded up to a power of two.
MORE_DROPS: Exceptions = {
    ("CoDel", "bic"): (8, _GENTLE),
    ("CoDel", "illinois"): (4, _GENTLE),
    ("CoDel", "multcp"): (4, _GENTLE),
    ("CoDel", "scalable"): (16, _GENTLE),
    ("CoDel", "yeah"): (16, _GENTLE),
    ("CoDel", "verus"): (8, _SHORT + "42 drops in 2 s, Reno 9"),
    ("fall to a fortieth", "scalable"): (
        4,
        "620 of 1,122 drops at the end of the first slow start (Reno 2), of which it keeps 0.88",
    ),
    ("fall to a fortieth", "vivace"): (32, _LEARNS),
    ("30 % loss", "vivace"): (8, _LEARNS),
    ("30 % loss", "verus"): (4, _SHORT + "losses only halve it"),
    ("policer", "verus"): (64, _STEADY + _SHORT + "loses a third, for good"),
    ("policer", "sprout"): (8, _STEADY + "forecasts arrivals; a loss is no signal"),
    ("policer", "vivace"): (16, _STEADY + _LEARNS),
    ("30 % loss", "bbr"): (4, "sends 33 Mbit/s at 30 % loss, Reno less than 1 in the second half"),
    ("policer", "bbr"): (16, _STEADY + "sends 1.0 to 1.1 of the rate, loses 2 to 7 %, for good"),
    ("policer", "bbr3"): (8, _STEADY + "300 of 335 drops in the first second, its Startup"),
    ("policer", "copa"): (
        16,
        _STEADY + "a tenth of lost packets is no signal; 7 times Reno's with conservation, too",
    ),
    ("policer", "fast"): (4, _STEADY + "without a delay it grows by 10 packets per round trip"),
    ("policer", "fixed"): (32, _STEADY + "no congestion control"),
    ("policer", "rapid"): (
        32,
        _STEADY + "outside of recovery, sends 1.4 to 1.6 of the rate, for good",
    ),
}
#: Least goodput after recovery in units of Reno's: measured, rounded down to a power of two.
LATER: Exceptions = {
    ("fall to a fortieth", "cdg"): (1 / 8, "a window from 147 to 10 packets without a drop"),
    ("30 % loss", "nv"): (1 / 16, "unexplained: a window of one packet, from 108 before"),
    ("fall to a fortieth", "rapid"): (
        1 / 64,
        "no estimate while it retransmits 823 packets, at 0.8 Mbit/s",
    ),
    ("CoDel", "vcp"): (1 / 8, _SLOW),
    ("drop-tail queue of 10 BDP", "vcp"): (1 / 8, _SLOW),
    ("30 % loss", "vcp"): (1 / 16, _SLOW),
    ("30 % loss", "sprout"): (1 / 16, "still forecasts from the few arrivals of before"),
    ("30 % loss", "rapid"): (1 / 64, "no estimate within 1.6 s: a stream at 0.1 Mbit/s takes 2.6"),
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
            path=NetworkPath(
                bottlenecks=(
                    Bottleneck(**{"bandwidth_mbps": MBPS, "queue_packets": BDP, **self.link}),
                ),
                rtt_ms=RTT_MS,
                ecn=self.ecn,
                changes=self.changes,
            ),
            duration_s=2 * self.recovered_s - self.end_s,
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


def names(feature: str) -> list[str]:
    """Return the CCAs of a kernel; with accurate ECN, only those that need it."""
    if feature == "accecn":
        return sorted(ACCURATE_ECN)
    return sorted({*kernel_with(feature).ccas} - {*ACCURATE_ECN})


def ratios(name: str, feature: str) -> dict[str, tuple[float, float]]:
    """Return the drops and the recovered goodput of CCAs, in units of Reno's."""
    disturbance = DISTURBANCES[name]
    reno = run_with(feature, disturbance.scenario("reno"))
    result = {}
    for cca in names(feature):
        run = run_with(feature, disturbance.scenario(cca))
        result[cca] = (
            drops(run) / drops(reno),
            recovered_bytes(run, disturbance) / recovered_bytes(reno, disturbance),
        )
    return result


def sent_in_recovery(run: Run) -> float:
    """Return the packets sent in recovery for each that passed the policer."""
    states = run.samples("state")[0]
    events = run.queue_events(0)
    last = states.index.searchsorted(events["time_ns"] / 1e9, side="right") - 1
    kinds = events["event"][(states == "recovery").to_numpy()[np.maximum(last, 0)]]
    passed = int((kinds == "enqueue").sum())
    return (passed + int(kinds.isin(["drop", "loss"]).sum())) / max(passed, 1)


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


@pytest.mark.parametrize("feature", ["reno", "accecn"])
def test_sent_in_recovery(feature: str) -> None:
    """At a policer, at most two packets are sent in recovery for each that arrives."""
    scenario = DISTURBANCES["policer"].scenario
    sent = {
        cca: sent_in_recovery(
            run_with(feature, replace(scenario(cca), sample_interval_ms=STATES_MS))
        )
        for cca in names(feature)
    }
    assert not {cca: ratio for cca, ratio in sent.items() if ratio > MOST_SENT}
