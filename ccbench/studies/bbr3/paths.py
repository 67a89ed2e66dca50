# SPDX-License-Identifier: Apache-2.0
"""Test cases of paths: aggregation, tiny products, changes of the rate, policers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.change import Change
from ccbench.experiment.impairments import Policer
from ccbench.studies.bbr3.case import (
    PACING_MARGIN,
    PAYLOAD_BYTES,
    DraftCase,
    Fact,
    Point,
    alone,
    inflight_target,
    is_bbr,
    near,
    reaches,
    round_starts,
    settle_s,
    shown,
)
from ccbench.studies.bbr3.state import PROBE_BW, Entry
from ccbench.studies.bbr3.wire import GAINS, STARTUP_GAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from ccbench.experiment.scenario import Scenario
    from ccbench.studies.bbr3.state import Sender, State

__all__ = ["CASES"]

_CRUISE = Entry("cruise")
#: Time between ACKs of an aggregating path, in round-trip times.
_AGGREGATED = 0.5
_FULL = 0.95
#: The draft's "within 2 %"; aggregates may make the estimate too large.
_FOUND = 0.98
_LEAST_CWND = 4
_CWND_GAIN = 2.0
_FACTOR = 10
_BETA = 0.7
_CYCLES = 2
#: By the wire: the longest cycle, 3 s and rounds for REFILL, UP and DOWN.
_CYCLE_S, _CYCLE_RTTS = 3.0, 10.0
#: By the wire: ratios of the pacing rate between samples with which UP begins and ends.
_RISE, _FALL = 1.2, 0.9
#: The draft's tolerated loss.
_LOSS_THRESH = 0.02
_TOKENS = 0.1
_BURST_RTTS = 2


def _delivered_share(samples: pd.DataFrame, mbps: float) -> float:
    """Return the delivered payload over a time, as a share of a rate."""
    if len(samples) < 2:  # noqa: PLR2004 - no time between them
        return math.nan
    delivered = samples["delivered_bytes"].iloc[-1] - samples["delivered_bytes"].iloc[0]
    return float(delivered * 8 / 1e6 / (samples.index[-1] - samples.index[0]) / mbps)


# ---- aggregation -----------------------------------------------------------


def _aggregating(sender: Sender, point: Point) -> Scenario:
    batch_ms = 1e3 * _AGGREGATED * point.rtt_s
    return alone(
        sender, point, settle_s(point) + 60 * point.rtt_s, ack_batch_ms=min(batch_ms, 1000)
    )


def _aggregated_packets(point: Point) -> float:
    return _AGGREGATED * point.bdp_packets


def _no_aggregates(point: Point) -> str:
    packets = _aggregated_packets(point)
    return "" if packets >= 4 else f"half a round trip has {packets:.1f} packets"  # noqa: PLR2004


def _finds_bandwidth(state: State, point: Point) -> Iterator[Fact]:
    full, begins = reaches(state.spans, "drain", *PROBE_BW)
    yield begins
    if full is None:
        return
    last = state.before(full.start_s)
    batch = _aggregated_packets(point)
    yield Fact(
        f"extra_acked is {last['extra_acked']:g}, an aggregate {batch:.0f} packets",
        last["extra_acked"] >= batch / 2,
    )
    yield Fact(
        f"cwnd is {last['cwnd'] / point.bdp_packets:.2f} BDP", last["cwnd"] > 2 * point.bdp_packets
    )
    share = state.at(full.start_s)["max_bw_mbps"] / point.payload_mbps
    yield Fact(f"max_bw at the end of startup is {100 * share:.0f} % of the rate", share >= _FOUND)


def _finds_bandwidth_seen(state: State, point: Point) -> Iterator[Fact]:
    full, begins = reaches(state.spans, "drain", *PROBE_BW)
    yield begins
    if full is None:
        return
    yield is_bbr(state)
    last = state.before(full.start_s)
    yield Fact(
        f"cwnd is {last['cwnd'] / point.bdp_packets:.2f} BDP", last["cwnd"] > 2 * point.bdp_packets
    )
    share = last["pacing_mbps"] / (STARTUP_GAIN * PACING_MARGIN * point.payload_mbps)
    yield Fact(f"startup paces at 2.77 times {100 * share:.0f} % of the rate", share >= _FOUND)


def _cruises_at_full_rate(state: State, point: Point) -> Iterator[Fact]:
    stays = [s for s in state.spans if s.phase == "cruise"]
    stay = max(stays, key=lambda span: span.length_s, default=None)
    text = "no cruise" if stay is None else f"cruise of {stay.length_s:.3g} s"
    yield Fact(text, stay is not None and stay.length_s > 3 * point.rtt_s, is_premise=True)
    if stay is None:
        return
    within = state.during(stay)
    batch = _aggregated_packets(point)
    extra = within["extra_acked"].median()
    yield Fact(f"extra_acked is {extra:g}, an aggregate {batch:.0f} packets", extra >= batch / 2)
    # Aggregates may make the estimates too large: the window may be above 2 BDP for that reason.
    middle = within.iloc[len(within) // 2]
    most = inflight_target(middle, _CWND_GAIN, middle["extra_acked"])
    yield Fact(
        f"cwnd is {middle['cwnd']:g} of {_CWND_GAIN:g} estimated BDP and extra_acked, {most:g}",
        middle["cwnd"] >= most - 2,
    )
    share = _delivered_share(within, point.payload_mbps)
    yield Fact(f"{100 * share:.1f} % of the rate is used", share >= _FULL)


def _fills_seen(state: State, point: Point) -> Iterator[Fact]:
    begin, begins = reaches(state.spans, "drain", *PROBE_BW)
    yield begins
    if begin is None:
        return
    yield is_bbr(state)
    within = _steadiest(state.samples[state.samples.index >= begin.start_s])
    length_s = within.index[-1] - within.index[0]
    # CRUISE and a round of REFILL; DOWN and UP end earlier.
    text = f"{length_s:.3g} s at one pacing rate"
    yield Fact(text, length_s > 4 * point.rtt_s, is_premise=True)
    batch = _aggregated_packets(point)
    bw_mbps = within["pacing_mbps"].median() / PACING_MARGIN
    bdp = bw_mbps * 1e6 / 8 * within["min_rtt_ms"].iloc[-1] / 1e3 / PAYLOAD_BYTES
    extra = within["cwnd"].median() - _CWND_GAIN * bdp
    yield Fact(
        f"cwnd is {extra:.0f} packets above 2 BDP, an aggregate {batch:.0f}", extra >= batch / 2
    )
    share = _delivered_share(within, point.payload_mbps)
    yield Fact(f"{100 * share:.1f} % of the rate is used", share >= _FULL)


def _steadiest(samples: pd.DataFrame) -> pd.DataFrame:
    """Return the longest stretch without ProbeRTT in which the pacing rate changes by under 2 %."""
    probes = samples["phase"] == "probe_rtt"
    changes = (samples["pacing_mbps"].pct_change().abs() > 0.02) | (probes != probes.shift())  # noqa: PLR2004
    stretches = samples[~probes].groupby(changes.cumsum()[~probes].to_numpy())
    return max((each for _, each in stretches), key=len)


# ---- tiny bandwidth-delay products -----------------------------------------


def _plain(sender: Sender, point: Point) -> Scenario:
    return alone(sender, point, 2 * settle_s(point))


def _above_a_packet(point: Point) -> str:
    bdp = point.bdp_packets - 1
    return "" if bdp < 1 else f"the path has {bdp:.1f} packets"


def _keeps_four_packets(state: State, point: Point) -> Iterator[Fact]:
    begin, begins = reaches(state.spans, *PROBE_BW)
    yield begins
    if begin is None:
        return
    after = state.samples[state.samples.index >= begin.start_s]
    least = after["cwnd"].min()
    yield Fact(f"least cwnd: {least:g}", least == _LEAST_CWND)
    cruise = after[after["phase"] == "cruise"]
    yield near("pacing rate in cruise", cruise["pacing_mbps"].median(), point.payload_mbps)
    share = _delivered_share(after, point.payload_mbps)
    yield Fact(f"{100 * share:.1f} % of the rate is used", share >= _FULL)


# ---- changes of the rate ---------------------------------------------------


def _faster(sender: Sender, point: Point) -> Scenario:
    """Return a path whose rate, and then queue, become ten times as large."""
    queue = round(3 * _FACTOR * point.bdp_packets)
    change = Change(**sender.at(_CRUISE), bandwidth_mbps=_FACTOR * point.mbps, queue_packets=queue)
    return alone(
        sender,
        point,
        settle_s(point) + 30 + 30 * point.rtt_s,
        change,
        queue_bdp=0.5,
        least_queue=8,
    )


def _too_fast(point: Point) -> str:
    if point.mbps > 100:  # noqa: PLR2004
        return "ten times the rate would be 10 Gbit/s"
    return "" if point.bdp_packets >= 4 else "fewer than four packets fill the path"  # noqa: PLR2004


def _finds_more(state: State, point: Point) -> Iterator[Fact]:
    cruise, begins = reaches(state.spans, "cruise")
    yield begins
    if cruise is None:
        return
    bound = state.at(cruise.start_s)["inflight_longterm"]
    yield Fact(f"inflight_longterm before: {shown(bound)}", not math.isnan(bound), is_premise=True)
    after = state.samples[state.samples.index > cruise.start_s]
    found = after[after["max_bw_mbps"] >= _FOUND * _FACTOR * point.payload_mbps]
    share = after["max_bw_mbps"].max() / (_FACTOR * point.payload_mbps)
    yield Fact(f"max_bw reaches {100 * share:.1f} % of the new rate", not found.empty)
    if found.empty:
        return
    up = after[(after["phase"] == "up") & (after.index <= found.index[0])]
    rounds = len(up) * float(np.diff(after.index).mean()) / point.rtt_s
    most = 4 * math.log2(_FACTOR * point.bdp_packets)
    yield Fact(
        f"after {found.index[0] - cruise.start_s:.2g} s, of which {rounds:.0f} RTTs in up",
        rounds <= most,
    )
    yield _doubles(up)


def _doubles(up: pd.DataFrame) -> Fact:
    """Return the condition that the bound's growth doubles from round to round in UP."""
    bounds = up["inflight_longterm"].iloc[round_starts(up)]
    steps = bounds.diff().dropna()
    steps = steps[steps > 0]
    ratios = (steps / steps.shift()).dropna()
    text = ", ".join(f"{step:g}" for step in steps.head(8))
    return Fact(f"growth of inflight_longterm per round: {text}", ratios.median() >= 1.5)  # noqa: PLR2004


def _finds_more_seen(state: State, point: Point) -> Iterator[Fact]:
    after = state.samples[state.samples.index >= state.changed_s]
    # inflight_longterm, minus the headroom, bounds the window in CRUISE.
    cwnd = after[after.index <= state.changed_s + point.rtt_s]["cwnd"].min()
    unbounded = inflight_target(state.before(state.changed_s), _CWND_GAIN)
    yield Fact(f"cwnd {cwnd:g} of 2 BDP, {unbounded:g}", cwnd < unbounded, is_premise=True)
    # UP, in which the rate is found, paces at 1.25 times it.
    shares = after["pacing_mbps"] / (GAINS["up"] * PACING_MARGIN * _FACTOR * point.payload_mbps)
    most = shares.max()
    yield Fact(f"up paces at 1.25 times {100 * most:.1f} % of the new rate", most >= _FOUND)
    if most >= _FOUND:
        until = after[: (shares >= _FOUND).idxmax()]
        rtts = _rises(until).sum() * float(np.diff(after.index).mean()) / point.rtt_s
        limit = 4 * math.log2(_FACTOR * point.bdp_packets)
        yield Fact(f"after {rtts:.0f} RTTs in up", rtts <= limit)


def _rises(samples: pd.DataFrame) -> NDArray[np.bool_]:
    """Return whether a sample is in UP, which begins with a rise of the pacing rate by a quarter.

    It ends with a fall by more than a tenth.
    """
    ratios = samples["pacing_mbps"].pct_change().to_numpy() + 1
    rises = np.zeros(len(samples), dtype=bool)
    for i in range(1, len(samples)):
        rises[i] = ratios[i] > _RISE if not rises[i - 1] else ratios[i] > _FALL
    return rises


def _slower(sender: Sender, point: Point) -> Scenario:
    change = Change(**sender.at(_CRUISE), bandwidth_mbps=point.mbps / _FACTOR)
    duration_s = settle_s(point) + 25 + 40 * point.rtt_s + 3000 * point.packet_s
    return alone(sender, point, duration_s, change, queue_bdp=1, least_queue=8)


def _too_slow(point: Point) -> str:
    if point.mbps < 1:
        return "a tenth of the rate would be 6.4 kbit/s"
    return "" if point.bdp_packets >= 4 else "fewer than four packets fill the path"  # noqa: PLR2004


def _adapts_down(state: State, point: Point) -> Iterator[Fact]:
    cruise, begins = reaches(state.spans, "cruise")
    yield begins
    if cruise is None:
        return
    target = point.payload_mbps / _FACTOR
    after = state.samples[state.samples.index > cruise.start_s]
    lost = after["retransmits"].iloc[-1] - after["retransmits"].iloc[0]
    yield Fact(f"{lost:g} lost packets", lost > 0, is_premise=True)
    lowest = after["bw_shortterm_mbps"].min()
    yield Fact(
        f"bw_shortterm falls to {100 * lowest / point.payload_mbps:.0f} % of the old rate",
        lowest <= 1.02 * _BETA * point.payload_mbps,
    )
    downs = [s for s in state.spans if s.phase == "down" and s.start_s > cruise.start_s]
    # The cycle in which the rate falls, and two more.
    yield Fact(f"{len(downs)} cycles end", len(downs) > _CYCLES, is_premise=True)
    if len(downs) > _CYCLES:
        end_s = downs[_CYCLES].end_s
        yield near("max_bw after two cycles", state.at(end_s)["max_bw_mbps"], target)


def _adapts_down_seen(state: State, point: Point) -> Iterator[Fact]:
    after = state.samples[state.samples.index >= state.changed_s]
    lost = after["retransmits"].iloc[-1] - after["retransmits"].iloc[0]
    yield Fact(f"{lost:g} lost packets", lost > 0, is_premise=True)
    cycle_s = _CYCLE_S + _CYCLE_RTTS * after["srtt_ms"].iloc[-1] / 1e3
    end_s = float(after.index[-1])
    cycles = (end_s - state.changed_s) / cycle_s
    yield Fact(f"time for {cycles:.1f} cycles", cycles >= _CYCLES + 1, is_premise=True)
    last = after[after.index > end_s - cycle_s]
    bw_mbps = last["pacing_mbps"].max() / PACING_MARGIN / GAINS["up"]
    yield near("largest pacing rate / 1.25", bw_mbps, point.payload_mbps / _FACTOR)


# ---- policers --------------------------------------------------------------


def _policed(sender: Sender, point: Point) -> Scenario:
    rate = _TOKENS * point.mbps
    burst = max(3000, round(_BURST_RTTS * point.rtt_s * rate * 1e6 / 8))
    link = Bottleneck(
        bandwidth_mbps=point.mbps,
        queue_packets=max(32, round(3 * point.bdp_packets)),
        policer=Policer(rate_mbps=rate, burst_bytes=burst),
    )
    return alone(sender, point, 2 * settle_s(point) + 20, bottlenecks=(link,))


def _conforms(state: State, point: Point) -> Iterator[Fact]:
    begin, begins = reaches(state.spans, *PROBE_BW)
    yield begins
    if begin is None:
        return
    after = state.samples[state.samples.index >= begin.start_s]
    bounded = after[["bw_shortterm_mbps", "inflight_shortterm"]].notna().all(axis=1).any()
    yield Fact("bw_shortterm and inflight_shortterm are set", bool(bounded))
    yield from _uses_tokens(after, point)


def _conforms_seen(state: State, point: Point) -> Iterator[Fact]:
    begin, begins = reaches(state.spans, "drain", *PROBE_BW)
    yield begins
    yield is_bbr(state)
    if begin is not None:
        yield from _uses_tokens(state.samples[state.samples.index >= begin.start_s], point)


def _uses_tokens(after: pd.DataFrame, point: Point) -> Iterator[Fact]:
    half = after[after.index >= after.index[0] + (after.index[-1] - after.index[0]) / 2]
    share = _delivered_share(half, _TOKENS * point.payload_mbps)
    yield Fact(f"{100 * share:.1f} % of the token rate is used", 0.8 <= share <= 1.02)  # noqa: PLR2004
    packets = (half["delivered_bytes"].iloc[-1] - half["delivered_bytes"].iloc[0]) / PAYLOAD_BYTES
    lost = (half["retransmits"].iloc[-1] - half["retransmits"].iloc[0]) / max(packets, 1)
    yield Fact(f"{100 * lost:.2f} % of the packets are lost", lost <= _LOSS_THRESH)


def _too_few_tokens(point: Point) -> str:
    packets = _TOKENS * point.bdp_packets
    return "" if packets >= 4 else f"the token rate's BDP is {packets:.1f} packets"  # noqa: PLR2004


CASES = (
    DraftCase(
        name="aggregation-startup",
        title="Achieving Expected STARTUP Bandwidth on a Link With Aggregation",
        needs=("phase", "max_bw_mbps", "extra_acked"),
        scenario=_aggregating,
        verify=_finds_bandwidth,
        verify_wire=_finds_bandwidth_seen,
        unsuitable=_no_aggregates,
    ),
    DraftCase(
        name="aggregation-cruise",
        title="Achieving Expected Cruise Bandwidth on a Link With Aggregation",
        needs=("phase", "max_bw_mbps", "extra_acked"),
        scenario=_aggregating,
        verify=_cruises_at_full_rate,
        verify_wire=_fills_seen,
        unsuitable=_no_aggregates,
    ),
    DraftCase(
        name="tiny-bdp",
        title="Correctly Managing Sub-Packet BDPs",
        needs=("phase",),
        scenario=_plain,
        verify=_keeps_four_packets,
        verify_wire=_keeps_four_packets,
        unsuitable=_above_a_packet,
    ),
    DraftCase(
        name="faster",
        title="Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached",
        needs=("phase", "max_bw_mbps", "inflight_longterm"),
        event=_CRUISE,
        scenario=_faster,
        verify=_finds_more,
        verify_wire=_finds_more_seen,
        unsuitable=_too_fast,
    ),
    DraftCase(
        name="slower",
        title="Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down",
        needs=("phase", "max_bw_mbps", "bw_shortterm_mbps"),
        event=_CRUISE,
        scenario=_slower,
        verify=_adapts_down,
        verify_wire=_adapts_down_seen,
        unsuitable=_too_slow,
    ),
    DraftCase(
        name="policer",
        title="Handling Token Bucket Policers",
        needs=("phase", "bw_shortterm_mbps"),
        scenario=_policed,
        verify=_conforms,
        verify_wire=_conforms_seen,
        unsuitable=_too_few_tokens,
    ),
)
