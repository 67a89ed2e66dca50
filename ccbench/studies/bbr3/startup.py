# SPDX-License-Identifier: Apache-2.0
"""Test cases of Startup and Drain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ccbench.experiment.change import Change
from ccbench.experiment.flow import Flow
from ccbench.studies.bbr3.case import (
    PACING_MARGIN,
    DraftCase,
    Fact,
    Point,
    alone,
    drained,
    everywhere,
    first,
    follows,
    inflight_target,
    is_bbr,
    near,
    paces,
    reaches,
    round_starts,
    settle_s,
)
from ccbench.studies.bbr3.state import PROBE_BW, Entry
from ccbench.studies.bbr3.wire import GAINS, STARTUP_GAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccbench.experiment.scenario import Scenario
    from ccbench.studies.bbr3.state import Sender, Span, State

__all__ = ["CASES", "LOSS_RTTS"]

_DRAIN_GAIN = GAINS["drain"]
#: By the wire, Startup ends this many rounds after the delivered rate has stopped growing: the
#: draft's three, one in which ACKs show the last growth, one that begins with the exit, and one by
#: which those that samples show may be off.
_FEWEST_FLAT_ROUNDS, _MOST_FLAT_ROUNDS = 3, 6
_GROWTH = 1.25
#: By the wire, losses end a phase within this many round-trip times: the loss is detected in one,
#: its rate is that of the next one, and one more by which samples may be off.
LOSS_RTTS = 4.0
_ENTRY = Entry("drain")
_APP_SHARE = 0.6
_LOSS = 0.15
_LEAST_LOST_RANGES = 6
_FULL_BW_ROUNDS = 3
#: Rounds in Drain after which it ends: the draft's number, the one that begins with the exit
#: (round_count > drain_start_round + 3), and one by which those that samples show may be off.
_DRAIN_ROUNDS, _MOST_DRAIN_ROUNDS = 3, 5
#: Time for which Startup without a full pipe is observed.
_INDEFINITELY_S = 12.0
#: Least length of ProbeRTT, minus the distance of samples.
_PROBE_RTT_S = 0.19


def _plain(sender: Sender, point: Point) -> Scenario:
    return alone(sender, point, settle_s(point))


# ---- Startup ---------------------------------------------------------------


def _follows_no_probe(state: State, span: Span) -> bool:
    return bool(state.at(span.end_s)["phase"] != "probe_rtt")


def _last_startup(state: State) -> tuple[Span | None, Fact]:
    """Return the stay in Startup after which the pipe was full."""
    spans = state.spans
    ended = [s for s in spans[:-1] if s.phase == "startup" and _follows_no_probe(state, s)]
    found = ended[0] if ended else None
    when = "never ends" if found is None else f"ends at {found.end_s:.3g} s"
    return found, Fact(f"startup {when}", found is not None)


def _plateau(state: State, point: Point) -> Iterator[Fact]:
    startup, ends = _last_startup(state)
    yield ends
    if startup is None:
        return
    after = state.at(startup.end_s)
    yield near("max_bw at the end of startup", after["max_bw_mbps"], point.payload_mbps)
    count = after["full_bw_count"]
    yield Fact(f"full_bw_count is {count:g}", count == _FULL_BW_ROUNDS)
    yield Fact("full_bw_now and full_bw_reached", after["full_bw_now"] and after["full_bw_reached"])
    yield _drain_follows(state, startup)


def _drain_follows(state: State, startup: Span) -> Fact:
    # Where what is in flight is below the target already, Drain takes less time than a sample. The
    # target includes three bursts at the pacing rate of Startup.
    is_drained = drained(state, startup, inflight_target(state.before(startup.end_s))).holds
    return follows(state, startup, "drain", *(PROBE_BW if is_drained else ()))


def _plateau_seen(state: State, point: Point) -> Iterator[Fact]:
    startup, ends = _last_startup(state)
    yield ends
    if startup is None:
        return
    after = state.at(startup.end_s)
    bw_mbps = after["pacing_mbps"] / GAINS[after["phase"]] / PACING_MARGIN
    yield near("pacing rate after startup ÷ its gain", bw_mbps, point.payload_mbps)
    rounds = _flat_rounds(state, startup)
    if rounds is not None:
        yield Fact(
            f"startup ends {rounds} rounds after the last growth of the delivered rate",
            _FEWEST_FLAT_ROUNDS <= rounds <= _MOST_FLAT_ROUNDS,
        )
    yield _drain_follows(state, startup)


def _flat_rounds(state: State, startup: Span) -> int | None:
    """Return the rounds of Startup since the delivered rate grew by a quarter for the last time.

    None if ProbeRTT has interrupted Startup: the rounds after it do not show when the growth ended.
    """
    if startup != state.spans[0]:
        return None
    within = state.during(startup)
    delivered = within["delivered_bytes"].iloc[round_starts(within)]
    rates = np.diff(delivered) / np.diff(delivered.index)
    most, last = 0.0, 0
    for number, rate in enumerate(rates):
        if rate >= _GROWTH * most:
            most, last = rate, number
    return len(rates) - 1 - last


def _loss_begins_s(point: Point) -> float:
    return min(6 * point.rtt_s, 1 + point.rtt_s)  # ProbeRTT would interrupt longer


def _startup_loss(sender: Sender, point: Point) -> Scenario:
    offered = Flow(cca=sender.cca, kind="rate", rate_mbps=_APP_SHARE * point.payload_mbps)
    begin_s = _loss_begins_s(point)
    return alone(
        sender,
        point,
        begin_s + 20 * point.rtt_s + 1,
        Change(at_s=begin_s, loss=_LOSS),
        flows=(offered,),
    )


def _too_few_to_lose(point: Point) -> str:
    lost = _APP_SHARE * point.bdp_packets * _LOSS
    if lost < 2 * _LEAST_LOST_RANGES:
        return f"a round of {_APP_SHARE * point.bdp_packets:.0f} packets has too few lost ranges"
    return ""


def _leaves_startup_by_loss(state: State, point: Point) -> Iterator[Fact]:
    begin_s = _loss_begins_s(point)
    before = state.before(begin_s)
    yield Fact(
        f"{before['phase']} before the losses, full_bw_count {before['full_bw_count']:g}",
        before["phase"] == "startup" and not before["full_bw_reached"],
        is_premise=True,
    )
    startup = first(state.spans, "startup")
    assert startup is not None
    after = state.at(startup.end_s)
    yield Fact("full_bw_now and full_bw_reached", after["full_bw_now"] and after["full_bw_reached"])
    count = after["full_bw_count"]
    yield Fact(f"full_bw_count is {count:g}: not by a plateau", count < _FULL_BW_ROUNDS)
    yield follows(state, startup, "drain", *PROBE_BW)


def _loss_seen(state: State, point: Point) -> Iterator[Fact]:
    begin_s = _loss_begins_s(point)
    before = state.before(begin_s)
    yield Fact(
        f"{before['phase']} before the losses", before["phase"] == "startup", is_premise=True
    )
    startup, ends = _last_startup(state)
    yield ends
    if startup is None:
        return
    rtts = (startup.end_s - begin_s) / point.rtt_s
    yield Fact(f"startup ends {rtts:.1f} RTTs after the losses begin", 0 < rtts <= LOSS_RTTS)
    last, after = state.before(startup.end_s), state.at(startup.end_s)
    share = after["pacing_mbps"] / last["pacing_mbps"]
    # A flow that the application limits may have nothing to drain; then CRUISE follows.
    yield Fact(
        f"pacing rate after startup / before: {share:.3f}",
        0.9 * GAINS["drain"] <= share * STARTUP_GAIN <= 1.1 * GAINS["cruise"],
    )


def _limited_startup(sender: Sender, point: Point) -> Scenario:
    offered = Flow(cca=sender.cca, kind="rate", rate_mbps=_APP_SHARE / 2 * point.payload_mbps)
    return alone(sender, point, max(_INDEFINITELY_S, 12 * point.rtt_s), flows=(offered,))


def _too_slow_to_limit(point: Point) -> str:
    return (
        "less than four packets fill the path, and a flow with fewer is limited by nothing else"
        if point.bdp_packets < 4  # noqa: PLR2004 - MinPipeCwnd
        else ""
    )


def _stays_in_startup(state: State, _point: Point) -> Iterator[Fact]:
    phases = {span.phase for span in state.spans}
    yield Fact(f"phases: {', '.join(sorted(phases))}", phases <= {"startup", "probe_rtt"})
    yield Fact("full_bw_reached is never set", not state.samples["full_bw_reached"].any())


def _stays_in_startup_seen(state: State, _point: Point) -> Iterator[Fact]:
    yield is_bbr(state)
    phases = {span.phase for span in state.spans}
    yield Fact(f"phases: {', '.join(sorted(phases))}", phases == {"startup", "probe_rtt"})


def _probe_rtt_returns_to_startup(state: State, _point: Point) -> Iterator[Fact]:
    probe, begins = reaches(state.spans, "probe_rtt")
    yield begins
    if probe is not None:
        yield Fact(f"ProbeRTT takes {1e3 * probe.length_s:.0f} ms", probe.length_s >= _PROBE_RTT_S)
        yield follows(state, probe, "startup")


# ---- Drain -----------------------------------------------------------------


def _drains(state: State, _point: Point) -> Iterator[Fact]:
    drain, begins = reaches(state.spans, "drain")
    yield begins
    if drain is None:
        return
    within = state.during(drain)
    sample = within.iloc[min(1, len(within) - 1)]
    yield paces("drain", sample, _DRAIN_GAIN)
    yield follows(state, drain, *PROBE_BW)
    yield drained(state, drain, inflight_target(within.iloc[-1]))


def _slower_in_drain(share: float) -> DraftCase:
    """Return the case in which the rate falls when Drain begins."""

    def scenario(sender: Sender, point: Point) -> Scenario:
        slower = Change(**sender.at(_ENTRY), bandwidth_mbps=(1 - share) * point.mbps)
        return alone(sender, point, settle_s(point), slower)

    def verify(state: State, _point: Point) -> Iterator[Fact]:
        drain, begins = reaches(state.spans, "drain")
        yield begins
        if drain is None:
            return
        within = state.during(drain)
        starts = round_starts(within)
        rounds = len(starts) - 1
        if rounds <= _MOST_DRAIN_ROUNDS:  # ProbeRTT does not excuse a longer stay
            yield follows(state, drain, *PROBE_BW)
            waited = drain
        else:
            waited = replace(drain, end_s=float(within.index[starts[_MOST_DRAIN_ROUNDS]]))
        end = drained(state, waited, inflight_target(state.during(waited).iloc[-1]))
        yield Fact(end.text, not end.holds, is_premise=True)
        yield Fact(f"drain takes {rounds} rounds", _DRAIN_ROUNDS <= rounds <= _MOST_DRAIN_ROUNDS)

    literal = share == 0.1  # noqa: PLR2004 - the draft's number
    return DraftCase(
        name="drain-time" if literal else f"drain-time-{100 * share:.0f}",
        title="Exiting DRAIN Based on Time",
        variant="" if literal else f"bandwidth falls by {100 * share:.0f} %",
        needs=("phase",),
        event=_ENTRY,
        scenario=scenario,
        verify=verify,
        verify_wire=verify,
        unsuitable=everywhere,
    )


CASES = (
    DraftCase(
        name="startup-plateau",
        title="Exiting STARTUP on Bandwidth Plateau",
        needs=("phase", "max_bw_mbps", "full_bw_count"),
        scenario=_plain,
        verify=_plateau,
        verify_wire=_plateau_seen,
        unsuitable=everywhere,
    ),
    DraftCase(
        name="startup-loss",
        title="Exiting STARTUP on Loss When Application-Limited",
        needs=("phase", "full_bw_reached", "full_bw_count"),
        scenario=_startup_loss,
        verify=_leaves_startup_by_loss,
        verify_wire=_loss_seen,
        unsuitable=_too_few_to_lose,
    ),
    DraftCase(
        name="startup-app",
        title="Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss",
        variant="STARTUP",
        needs=("phase", "full_bw_reached"),
        scenario=_limited_startup,
        verify=_stays_in_startup,
        verify_wire=_stays_in_startup_seen,
        unsuitable=_too_slow_to_limit,
    ),
    DraftCase(
        name="startup-rtt",
        title="Entering and Exiting PROBE_RTT During STARTUP",
        needs=("phase",),
        scenario=_limited_startup,
        verify=_probe_rtt_returns_to_startup,
        verify_wire=_probe_rtt_returns_to_startup,
        unsuitable=_too_slow_to_limit,
    ),
    DraftCase(
        name="drain-inflight",
        title="Exiting DRAIN Based on Inflight",
        needs=("phase", "max_bw_mbps"),
        scenario=_plain,
        verify=_drains,
        verify_wire=_drains,
        unsuitable=everywhere,
    ),
    _slower_in_drain(0.1),
    _slower_in_drain(0.7),
)
