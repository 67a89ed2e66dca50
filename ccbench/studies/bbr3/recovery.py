# SPDX-License-Identifier: Apache-2.0
"""Test cases of recoveries that were spurious."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ccbench.experiment.change import Change
from ccbench.studies.bbr3.case import (
    UP_VISIT,
    DraftCase,
    Point,
    Step,
    alone,
    few_packets,
    probing_s,
    reaches,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccbench.experiment.scenario import Scenario
    from ccbench.studies.bbr3.state import Sender, State

__all__ = ["CASES"]

#: The detour that ends before the packets on it arrive; RACK waits a quarter of the RTT.
_DETOUR = 1.6
_LEAST_RTO_S = 0.2
#: Gain of the window in REFILL, to which a flow returns, by that in UP.
_CWND_GAINS = 2 / 2.25
_BOUNDS = ("bw_shortterm_mbps", "inflight_shortterm", "inflight_longterm")


def _reordered(sender: Sender, point: Point) -> Scenario:
    """Return a path on which packets of UP take a detour, and later ones overtake them."""
    detour_ms = _DETOUR * point.rtt_ms
    begins = Change(
        when=sender.enters("up", UP_VISIT), rtt_ms=detour_ms, forward_delay_ms=detour_ms
    )
    ends = Change(
        when=sender.enters("up", UP_VISIT),
        after_s=point.rtt_s / 2,
        rtt_ms=point.rtt_ms,
        forward_delay_ms=point.rtt_ms,
        overtakes=True,
    )
    return alone(sender, point, probing_s(point), begins, ends, forward_delay_ms=point.rtt_ms)


def _stopped(sender: Sender, point: Point) -> Scenario:
    """Return a path that stops in UP for longer than a retransmission timeout."""
    outage_s = 3 * max(point.rtt_s, _LEAST_RTO_S) + 20 * point.packet_s
    stop = Change(when=sender.enters("up", UP_VISIT), after_s=point.rtt_s / 2, outage_s=outage_s)
    return alone(sender, point, probing_s(point) + 2 * outage_s, stop)


def _undoes(tcp_state: str, state: State) -> Iterator[Step]:
    up, begins = reaches(state.spans, "up", number=UP_VISIT)
    yield begins
    if up is None:
        return
    later = state.samples[state.samples.index >= up.start_s]
    episode = later[later["tcp_state"] == tcp_state]
    when = f"at {episode.index[0]:.3g} s" if len(episode) else "never"
    yield Step(f"TCP is in {tcp_state} {when}", len(episode) > 0, is_premise=True)
    if episode.empty:
        return
    before = state.before(episode.index[0])
    ended = later[(later.index > episode.index[0]) & ~later["tcp_state"].isin(["recovery", "loss"])]
    yield Step("recovery ends", not ended.empty, is_premise=True)
    if ended.empty:
        return
    after = ended.iloc[0]
    for name in _BOUNDS:
        old, new = before[name], after[name]
        restored = math.isnan(new) or (not math.isnan(old) and new >= old)
        yield Step(f"{name} before {old:g}, after {new:g}", restored)
    yield Step(
        f"phase before {before['phase']}, after {after['phase']}",
        "probe_rtt" not in {before["phase"], after["phase"]},
        is_premise=True,
    )
    returns = {"refill", "up"} if before["phase"] == "up" else {before["phase"]}
    yield Step(f"phase after {after['phase']}", after["phase"] in returns)
    least = before["cwnd"] * _CWND_GAINS - 4
    yield Step(f"cwnd before {before['cwnd']:g}, after {after['cwnd']:g}", after["cwnd"] >= least)


def _undoes_fast_recovery(state: State, _point: Point) -> Iterator[Step]:
    return _undoes("recovery", state)


def _undoes_timeout(state: State, _point: Point) -> Iterator[Step]:
    return _undoes("loss", state)


CASES = (
    DraftCase(
        name="undo-recovery",
        title="Handling Spurious Fast Recovery",
        needs=("phase", "inflight_longterm"),
        scenario=_reordered,
        verify=_undoes_fast_recovery,
        unsuitable=few_packets,
    ),
    DraftCase(
        name="undo-timeout",
        title="Handling Spurious RTO Recovery",
        needs=("phase", "inflight_longterm"),
        scenario=_stopped,
        verify=_undoes_timeout,
        unsuitable=few_packets,
    ),
)
