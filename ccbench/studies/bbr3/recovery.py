# SPDX-License-Identifier: Apache-2.0
"""Test cases of recoveries that were spurious."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ccbench.experiment.change import Change
from ccbench.studies.bbr3.case import (
    SECOND_UP,
    UP_VISIT,
    DraftCase,
    Fact,
    Point,
    alone,
    few_packets,
    probing_s,
    reaches,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.studies.bbr3.state import Sender, State

__all__ = ["CASES"]

#: The detour that ends before the packets on it arrive; RACK waits a quarter of the RTT.
_DETOUR = 1.6
_LEAST_RTO_S = 0.2
#: Gain of the window in REFILL, to which a flow returns, by that in UP.
_CWND_GAINS = 2 / 2.25
#: By the wire: a round of REFILL with a full queue, and one round trip by which it may be off.
_REFILL_RTTS = 4.0
_BOUNDS = ("bw_shortterm_mbps", "inflight_shortterm", "inflight_longterm")


def _reordered(sender: Sender, point: Point) -> Scenario:
    """Return a path on which packets of UP take a detour, and later ones overtake them."""
    detour_ms = _DETOUR * point.rtt_ms
    begins = Change(**sender.at(SECOND_UP), rtt_ms=detour_ms, forward_delay_ms=detour_ms)
    ends = Change(
        **sender.at(SECOND_UP, point.rtt_s / 2),
        rtt_ms=point.rtt_ms,
        forward_delay_ms=point.rtt_ms,
        overtakes=True,
    )
    return alone(sender, point, probing_s(point), begins, ends, forward_delay_ms=point.rtt_ms)


def _stopped(sender: Sender, point: Point) -> Scenario:
    """Return a path that stops in UP for longer than a retransmission timeout."""
    outage_s = 3 * max(point.rtt_s, _LEAST_RTO_S) + 20 * point.packet_s
    stop = Change(**sender.at(SECOND_UP, point.rtt_s / 2), outage_s=outage_s)
    return alone(sender, point, probing_s(point) + 2 * outage_s, stop)


def _undoes(tcp_state: str, state: State) -> Iterator[Fact]:
    before, ended = yield from _around(tcp_state, state)
    if before is None or ended.empty:
        return
    after = ended.iloc[0]
    for name in _BOUNDS:
        old, new = before[name], after[name]
        restored = math.isnan(new) or (not math.isnan(old) and new >= old)
        yield Fact(f"{name} before {shown(old)}, after {shown(new)}", restored)
    yield Fact(
        f"phase before {before['phase']}, after {after['phase']}",
        "probe_rtt" not in {before["phase"], after["phase"]},
        is_premise=True,
    )
    returns = {"refill", "up"} if before["phase"] == "up" else {before["phase"]}
    yield Fact(f"phase after {after['phase']}", after["phase"] in returns)
    yield _window_returns(before, after)


def _undoes_seen(tcp_state: str, state: State, point: Point) -> Iterator[Fact]:
    before, ended = yield from _around(tcp_state, state)
    if before is None or ended.empty:
        return
    after = ended.iloc[0]
    yield Fact(
        f"phase before {before['phase']}, after {after['phase']}",
        "probe_rtt" not in {before["phase"], after["phase"]},
        is_premise=True,
    )
    if before["phase"] == "up":
        # A flow returns to UP through REFILL, which paces as CRUISE does.
        yield Fact(f"phase after {after['phase']}", after["phase"] in {"cruise", "refill", "up"})
        up = ended.index[ended["phase"] == "up"]
        rtts = (up[0] - ended.index[0]) / point.rtt_s if len(up) else math.inf
        yield Fact(f"up begins {rtts:.1f} RTTs after it", rtts <= _REFILL_RTTS)
    yield _window_returns(before, after)


def _around(
    tcp_state: str, state: State
) -> Generator[Fact, None, tuple[pd.Series | None, pd.DataFrame]]:
    """Yield the premises of a recovery; return the sample before and the samples after it."""
    none = state.samples.iloc[:0]
    up, begins = reaches(state.spans, "up", number=UP_VISIT)
    yield begins
    if up is None:
        return None, none
    later = state.samples[state.samples.index >= up.start_s]
    episode = later[later["tcp_state"] == tcp_state]
    when = f"at {episode.index[0]:.3g} s" if len(episode) else "never"
    yield Fact(f"TCP is in {tcp_state} {when}", len(episode) > 0, is_premise=True)
    if episode.empty:
        return None, none
    ended = later[(later.index > episode.index[0]) & ~later["tcp_state"].isin(["recovery", "loss"])]
    yield Fact("recovery ends", not ended.empty, is_premise=True)
    return state.before(episode.index[0]), ended


def _window_returns(before: pd.Series, after: pd.Series) -> Fact:
    least = before["cwnd"] * _CWND_GAINS - 4
    return Fact(f"cwnd before {before['cwnd']:g}, after {after['cwnd']:g}", after["cwnd"] >= least)


def _undoes_fast_recovery(state: State, _point: Point) -> Iterator[Fact]:
    return _undoes("recovery", state)


def _undoes_fast_recovery_seen(state: State, point: Point) -> Iterator[Fact]:
    return _undoes_seen("recovery", state, point)


def _undoes_timeout(state: State, _point: Point) -> Iterator[Fact]:
    return _undoes("loss", state)


def _undoes_timeout_seen(state: State, point: Point) -> Iterator[Fact]:
    return _undoes_seen("loss", state, point)


CASES = (
    DraftCase(
        name="undo-recovery",
        title="Handling Spurious Fast Recovery",
        needs=("phase", "inflight_longterm"),
        event=SECOND_UP,
        scenario=_reordered,
        verify=_undoes_fast_recovery,
        verify_wire=_undoes_fast_recovery_seen,
        unsuitable=few_packets,
    ),
    DraftCase(
        name="undo-timeout",
        title="Handling Spurious RTO Recovery",
        needs=("phase", "inflight_longterm"),
        event=SECOND_UP,
        scenario=_stopped,
        verify=_undoes_timeout,
        verify_wire=_undoes_timeout_seen,
        unsuitable=few_packets,
    ),
)
