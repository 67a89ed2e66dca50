# SPDX-License-Identifier: Apache-2.0
"""Test cases of ProbeBW."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base.validation import RATE_MBPS
from ccbench.experiment.change import Change
from ccbench.studies.bbr3.case import (
    PAYLOAD_BYTES,
    SECOND_UP,
    UP_VISIT,
    DraftCase,
    Fact,
    Point,
    alone,
    drained,
    everywhere,
    few_packets,
    first,
    follows,
    inflight_target,
    near,
    paces,
    probing_s,
    reaches,
    round_starts,
    shown,
)
from ccbench.studies.bbr3.startup import LOSS_RTTS
from ccbench.studies.bbr3.state import PROBE_BW, Entry
from ccbench.studies.bbr3.wire import GAINS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.studies.bbr3.state import Sender, Span, State

__all__ = ["CASES", "UNLIMITED_MBPS", "little_unsent"]

#: An application that offers more than any path carries.
UNLIMITED_MBPS = RATE_MBPS.high
_DOWN, _REFILL = Entry("down"), Entry("refill")
_UP_GAIN, _DOWN_GAIN = GAINS["up"], GAINS["down"]
_HEADROOM = 0.15
_LEAST_CWND = 4
_LOSS = 0.15
_APP_SHARE = 0.7
_FULL_BW_ROUNDS = 3
#: By the wire: the round that begins with the exit, and one by which those that samples show may be
#: off, are in addition.
_MOST_UP_ROUNDS = 5
#: When the losses begin, in round-trip times after UP.
_LOSS_APP_RTTS, _LOSS_RTTS = 2.0, 0.5
_MAX_WAIT_S, _MAX_WAIT_ROUNDS = 3.0, 63
#: By the wire: time from the beginning of REFILL to UP, the pause and the round trip after it, and
#: two by which it may be off, as the beginning of REFILL is not visible.
_REFILL_RTTS = 4.0
#: The pause in REFILL, and the time until the first samples after it have arrived.
_PAUSE_RTTS, _FEEDBACK_RTTS = 1.2, 1.5


def little_unsent(point: Point) -> dict[str, int]:
    """Return the setting with which the socket takes little more than is sent.

    An application then limits a flow at once. It is four bursts, so that they are full.

    Examples
    --------
    >>> little_unsent(Point(10, 10))
    {'net.ipv4.tcp_notsent_lowat': 5792}
    """
    burst_bytes = point.payload_mbps * 1e6 / 8 / 1e3
    least, most = 4 * PAYLOAD_BYTES, 2 * 64 * 1024
    return {"net.ipv4.tcp_notsent_lowat": round(min(max(4 * burst_bytes, least), most))}


def _plain(sender: Sender, point: Point) -> Scenario:
    return alone(sender, point, probing_s(point))


def _up(state: State) -> tuple[Span | None, Fact]:
    return reaches(state.spans, "up", number=UP_VISIT)


def _pacing_gain(state: State, span: Span, gain: float) -> Fact:
    within = state.during(span)
    return paces(span.phase, within.iloc[len(within) // 2], gain)


# ---- UP --------------------------------------------------------------------


def _up_ends_at_plateau(state: State, _point: Point) -> Iterator[Fact]:
    up, begins = _up(state)
    yield begins
    if up is None:
        return
    lost = state.at(up.end_s)["retransmits"] - state.at(up.start_s)["retransmits"]
    yield Fact(f"{lost:g} lost packets in up", lost == 0, is_premise=True)
    yield _pacing_gain(state, up, _UP_GAIN)
    late = int(state.during(up)["full_bw_now"].astype(bool).sum())
    yield Fact(f"{late} samples in up after the plateau", late == 0)
    after = state.at(up.end_s)
    count = after["full_bw_count"]
    yield Fact(
        f"full_bw_count is {count:g}", bool(count == _FULL_BW_ROUNDS and after["full_bw_now"])
    )
    if not late:  # ProbeRTT does not excuse a longer stay
        yield follows(state, up, "down", "cruise")


def _up_ends_seen(state: State, _point: Point) -> Iterator[Fact]:
    up, begins = _up(state)
    yield begins
    if up is None:
        return
    lost = state.at(up.end_s)["retransmits"] - state.at(up.start_s)["retransmits"]
    yield Fact(f"{lost:g} lost packets in up", lost == 0, is_premise=True)
    yield _pacing_gain(state, up, _UP_GAIN)
    rounds = len(round_starts(state.during(up))) - 1
    if rounds <= _MOST_UP_ROUNDS:  # ProbeRTT does not excuse a longer stay
        yield follows(state, up, "down", "cruise")
    yield Fact(f"up takes {rounds} rounds", _FULL_BW_ROUNDS <= rounds <= _MOST_UP_ROUNDS)


def _up_loss_app(sender: Sender, point: Point) -> Scenario:
    slower = Change(**sender.at(SECOND_UP), flow=0, app_rate_mbps=_APP_SHARE * point.payload_mbps)
    lossy = Change(**sender.at(SECOND_UP, _LOSS_APP_RTTS * point.rtt_s), loss=_LOSS)
    clean = Change(**sender.at(SECOND_UP, 4 * point.rtt_s), loss=0)
    return alone(
        sender, point, probing_s(point), slower, lossy, clean, sysctls=little_unsent(point)
    )


def _up_ends_by_loss_app(state: State, _point: Point) -> Iterator[Fact]:
    up, begins = _up(state)
    yield begins
    if up is None:
        return
    after = state.at(up.end_s)
    yield Fact("the probe is found too high", bool(after["prev_probe_too_high"]))
    yield follows(state, up, "down", "cruise")
    yield Fact(
        f"inflight_longterm is {shown(after['inflight_longterm'])}",
        not math.isnan(after["inflight_longterm"]),
    )


def _up_ends_by_loss_seen(state: State, point: Point) -> Iterator[Fact]:
    up, begins = _up(state)
    yield begins
    if up is not None:
        yield from _ends_by_loss(state, point, up, up.start_s + _LOSS_APP_RTTS * point.rtt_s)


def _ends_by_loss(state: State, point: Point, up: Span, begin_s: float) -> Iterator[Fact]:
    rtts = (up.end_s - begin_s) / point.rtt_s
    is_late = rtts > LOSS_RTTS
    if not is_late:  # ProbeRTT does not excuse a longer stay
        yield follows(state, up, "down", "cruise")
    yield Fact(f"up ends {rtts:.1f} RTTs after the losses begin", rtts > 0 and not is_late)


def _up_app(sender: Sender, point: Point) -> Scenario:
    slower = Change(**sender.at(SECOND_UP), flow=0, app_rate_mbps=point.payload_mbps / 2)
    return alone(sender, point, probing_s(point), slower, sysctls=little_unsent(point))


def _stays_in_up(state: State, point: Point) -> Iterator[Fact]:
    up, begins = _up(state)
    yield begins
    if up is None:
        return
    following = state.at(up.end_s)["phase"]
    stays = following in {"up", "probe_rtt"}
    yield Fact(
        f"up takes {up.length_s / point.rtt_s:.1f} RTTs and is followed by {following}", stays
    )


def _up_loss(sender: Sender, point: Point) -> Scenario:
    lossy = Change(**sender.at(SECOND_UP, _LOSS_RTTS * point.rtt_s), loss=_LOSS)
    clean = Change(**sender.at(SECOND_UP, 2 * point.rtt_s), loss=0)
    # The queue overflows at the end of Startup: a long-term bound.
    return alone(
        sender,
        point,
        probing_s(point),
        lossy,
        clean,
        queue_bdp=0.5,
        least_queue=8,
        sysctls=little_unsent(point),
    )


def _up_aborts(state: State, _point: Point) -> Iterator[Fact]:
    up, begins = _up(state)
    yield begins
    if up is None:
        return
    before, after = state.before(up.end_s), state.at(up.end_s)
    bound = before["inflight_longterm"]
    yield Fact(f"inflight_longterm before: {shown(bound)}", not math.isnan(bound), is_premise=True)
    yield Fact(
        "no plateau before the loss",
        not before["full_bw_now"],
        is_premise=True,
    )
    now = after["inflight_longterm"]
    yield Fact(f"inflight_longterm after: {shown(now)}, scaled down", now < bound)
    yield Fact("the probe is found too high", bool(after["prev_probe_too_high"]))
    yield follows(state, up, "down", "cruise")


def _up_aborts_seen(state: State, point: Point) -> Iterator[Fact]:
    up, begins = _up(state)
    yield begins
    if up is None:
        return
    bounding = state.at(up.start_s)["retransmits"]
    yield Fact(f"{bounding:g} lost packets before", bounding > 0, is_premise=True)
    begin_s = up.start_s + _LOSS_RTTS * point.rtt_s
    yield from _ends_by_loss(state, point, up, begin_s)
    # In UP, the window is at most inflight_longterm.
    following = first(state.spans, "up", after_s=up.end_s)
    yield Fact("another up begins", following is not None, is_premise=True)
    if following is not None:
        before, after = state.before(begin_s)["cwnd"], state.at(following.start_s)["cwnd"]
        yield Fact(f"cwnd in this up {before:g}, in the next {after:g}", after < before)


# ---- DOWN ------------------------------------------------------------------


def _headroom(sample: pd.Series) -> float:
    bound = float(sample["inflight_longterm"])
    return math.inf if math.isnan(bound) else max(bound - max(_HEADROOM * bound, 1), _LEAST_CWND)


def _down_drains(state: State, _point: Point) -> Iterator[Fact]:
    down, begins = reaches(state.spans, "down")
    yield begins
    if down is None:
        return
    yield _pacing_gain(state, down, _DOWN_GAIN)
    last, following = state.during(down).iloc[-1], state.at(down.end_s)["phase"]
    yield Fact(f"down is followed by {following}", following == "cruise", is_premise=True)
    yield drained(state, down, min(_headroom(last), inflight_target(last)))


def _slower_in_down(share: float) -> DraftCase:
    """Return the case in which the rate falls when DOWN begins."""

    def scenario(sender: Sender, point: Point) -> Scenario:
        slower = Change(**sender.at(_DOWN), bandwidth_mbps=(1 - share) * point.mbps)
        return alone(sender, point, probing_s(point), slower)

    def verify(state: State, point: Point) -> Iterator[Fact]:
        down, begins = reaches(state.spans, "down")
        yield begins
        if down is None:
            return
        within = state.during(down)
        starts = round_starts(within)
        most = min(_MAX_WAIT_ROUNDS + 2, len(starts) - 1)
        rounds_s = float(within.index[starts[most]]) - down.start_s
        wait_s = _MAX_WAIT_S + 2 * point.rtt_s
        is_late = down.length_s > wait_s or len(starts) - 1 > most
        if not is_late:  # ProbeRTT does not excuse a longer stay
            yield follows(state, down, *PROBE_BW)
        waited = replace(down, end_s=down.start_s + min(wait_s, rounds_s)) if is_late else down
        last, following = state.during(waited).iloc[-1], state.at(down.end_s)["phase"]
        end = drained(state, waited, min(_headroom(last), inflight_target(last)))
        yield Fact(end.text, not end.holds, is_premise=True)
        yield Fact(f"down takes {down.length_s:.3g} s, {len(starts) - 1} rounds", not is_late)
        yield Fact(f"down is followed by {following}", following == "refill")

    literal = share == 0.1  # noqa: PLR2004 - the draft's number
    return DraftCase(
        name="down-time" if literal else f"down-time-{100 * share:.0f}",
        title="Exiting PROBE_DOWN After Max Time",
        variant="" if literal else f"bandwidth falls by {100 * share:.0f} %",
        needs=("phase", "inflight_longterm"),
        event=_DOWN,
        scenario=scenario,
        verify=verify,
        verify_wire=verify,
        unsuitable=everywhere,
    )


# ---- REFILL ----------------------------------------------------------------


def _refill_app(sender: Sender, point: Point) -> Scenario:
    pause = Change(**sender.at(_REFILL), flow=0, app_rate_mbps=0)
    goes_on = Change(
        **sender.at(_REFILL, _PAUSE_RTTS * point.rtt_s), flow=0, app_rate_mbps=UNLIMITED_MBPS
    )
    return alone(sender, point, probing_s(point), pause, goes_on, sysctls=little_unsent(point))


def _refill_forgets_nothing(state: State, point: Point) -> Iterator[Fact]:
    refill, begins = reaches(state.spans, "refill")
    yield begins
    if refill is None:
        return
    before = state.before(refill.start_s)
    least = state.during(refill)["inflight"].min()
    yield Fact(
        f"inflight falls to {least:g} packets", least < before["inflight"] / 2, is_premise=True
    )
    after = state.at(refill.end_s)
    yield near("max_bw after refill", after["max_bw_mbps"], before["max_bw_mbps"], 0.001)
    # Samples of what is sent after the pause arrive in UP.
    paused = replace(refill, end_s=refill.start_s + (_PAUSE_RTTS + _FEEDBACK_RTTS) * point.rtt_s)
    least_mbps = state.during(paused)["max_bw_mbps"].min()
    yield near("least max_bw until then", least_mbps, before["max_bw_mbps"], 0.001)
    yield follows(state, refill, "up")
    later = state.at(refill.end_s + 20 * point.rtt_s)
    yield near("max_bw later", later["max_bw_mbps"], point.payload_mbps)


def _refill_seen(state: State, point: Point) -> Iterator[Fact]:
    begin_s = state.changed_s
    times = state.samples.index
    before = state.before(begin_s)
    until_s = begin_s + (_PAUSE_RTTS + _FEEDBACK_RTTS) * point.rtt_s
    paused = state.samples[(times >= begin_s) & (times < until_s)]
    least = paused["inflight"].min()
    yield Fact(
        f"inflight falls to {least:g} packets", least < before["inflight"] / 2, is_premise=True
    )
    least_mbps = paused["pacing_mbps"].min()
    yield near("least pacing rate until then", least_mbps, before["pacing_mbps"])
    up = first(state.spans, "up", after_s=begin_s)
    rtts = math.inf if up is None else (up.start_s - begin_s) / point.rtt_s
    yield Fact(f"up begins {rtts:.1f} RTTs after the pause", rtts <= _REFILL_RTTS)
    if up is not None:
        yield _pacing_gain(state, up, _UP_GAIN)


CASES = (
    DraftCase(
        name="up-plateau",
        title="Exiting PROBE_UP on Bandwidth Plateau",
        needs=("phase", "full_bw_count"),
        scenario=_plain,
        verify=_up_ends_at_plateau,
        verify_wire=_up_ends_seen,
        unsuitable=everywhere,
    ),
    DraftCase(
        name="up-loss-app",
        title="Exiting PROBE_UP on Loss When Application-Limited",
        needs=("phase", "inflight_longterm"),
        event=SECOND_UP,
        scenario=_up_loss_app,
        verify=_up_ends_by_loss_app,
        verify_wire=_up_ends_by_loss_seen,
        unsuitable=few_packets,
    ),
    DraftCase(
        name="up-app",
        title="Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss",
        needs=("phase",),
        event=SECOND_UP,
        scenario=_up_app,
        verify=_stays_in_up,
        verify_wire=_stays_in_up,
        unsuitable=few_packets,
    ),
    DraftCase(
        name="down-inflight",
        title="Exiting PROBE_DOWN on Inflight",
        needs=("phase", "max_bw_mbps"),
        scenario=_plain,
        verify=_down_drains,
        verify_wire=_down_drains,
        unsuitable=everywhere,
    ),
    _slower_in_down(0.1),
    _slower_in_down(0.3),
    DraftCase(
        name="up-loss",
        title="Handling Loss During PROBE_UP After inflight_longterm is Set",
        needs=("phase", "inflight_longterm"),
        event=SECOND_UP,
        scenario=_up_loss,
        verify=_up_aborts,
        verify_wire=_up_aborts_seen,
        unsuitable=few_packets,
    ),
    DraftCase(
        name="refill-app",
        title="Handling Application-Limited Sending During PROBE_REFILL",
        needs=("phase", "refill", "max_bw_mbps"),
        event=_REFILL,
        scenario=_refill_app,
        verify=_refill_forgets_nothing,
        verify_wire=_refill_seen,
        unsuitable=few_packets,
    ),
)
