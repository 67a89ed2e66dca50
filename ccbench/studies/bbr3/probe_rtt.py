# SPDX-License-Identifier: Apache-2.0
"""Test cases of ProbeRTT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.experiment.change import Change
from ccbench.studies.bbr3.case import (
    PAYLOAD_BYTES,
    DraftCase,
    Fact,
    Point,
    alone,
    everywhere,
    follows,
    paces,
    reaches,
    settle_s,
)
from ccbench.studies.bbr3.probe_bw import UNLIMITED_MBPS, little_unsent
from ccbench.studies.bbr3.state import PROBE_BW, Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.studies.bbr3.state import Sender, Span, State

__all__ = ["CASES"]

_CRUISE = Entry("cruise")
_INTERVAL_S, _DURATION_S = 5.0, 0.2
_CWND_GAIN, _LEAST_CWND = 0.5, 4
_IDLE_S = 6.0
#: Time after a pause in which ProbeRTT would begin if it were due.
_WATCHED_S = 1.0


def _plain(sender: Sender, point: Point) -> Scenario:
    return alone(sender, point, settle_s(point) + 2 * _INTERVAL_S + 10 * point.rtt_s)


def _probes(state: State, point: Point) -> Iterator[Fact]:
    before, begins = reaches(state.spans, *PROBE_BW)
    yield begins
    if before is None:
        return
    probe, begins = reaches(state.spans, "probe_rtt", after_s=before.start_s)
    yield Fact(begins.text, probe is not None)
    if probe is None:
        return
    waited_s = probe.start_s - _last_minimum_s(state, probe)
    most_s = 1.02 * _INTERVAL_S + point.rtt_s + 4 * point.packet_s  # until the next ACK
    yield Fact(
        f"ProbeRTT begins at {probe.start_s:.3g} s, {waited_s:.3g} s after the last minimum",
        0.98 * _INTERVAL_S <= waited_s <= most_s,
    )
    within = state.during(probe)
    sample = within.iloc[-1]
    bdp = sample["max_bw_mbps"] * 1e6 / 8 * sample["min_rtt_ms"] / 1e3 / PAYLOAD_BYTES
    most = max(1.02 * _CWND_GAIN * bdp + 1, _LEAST_CWND)
    yield Fact(f"cwnd in ProbeRTT: {sample['cwnd']:g} of {most:.4g}", sample["cwnd"] <= most)
    least_s = 0.95 * max(_DURATION_S, point.rtt_s)  # samples are apart
    yield Fact(f"ProbeRTT takes {probe.length_s:.3g} s", probe.length_s >= least_s)
    yield follows(state, probe, *PROBE_BW)
    cwnd = state.at(probe.end_s)["cwnd"]
    yield Fact(f"cwnd afterwards: {cwnd:g}", cwnd > sample["cwnd"])


def _last_minimum_s(state: State, probe: Span) -> float:
    """Return the time of the last new minimum of the RTT, or end of ProbeRTT, before a ProbeRTT."""
    before = state.samples[state.samples.index < probe.start_s]
    falls = before.index[before["min_rtt_ms"].diff() < 0]
    ends = [s.end_s for s in state.spans if s.phase == "probe_rtt" and s.end_s < probe.start_s]
    return float(max([0.0, *falls[-1:], *ends[-1:]]))


def _idle(sender: Sender, point: Point) -> Scenario:
    return alone(
        sender,
        point,
        settle_s(point) + 2 * _IDLE_S,
        Change(**sender.at(_CRUISE), flow=0, app_rate_mbps=0),
        Change(**sender.at(_CRUISE, _IDLE_S), flow=0, app_rate_mbps=UNLIMITED_MBPS),
        sysctls=little_unsent(point),
    )


def _skips(state: State, point: Point) -> Iterator[Fact]:
    cruise, begins = reaches(state.spans, "cruise")
    yield begins
    if cruise is None:
        return
    after, rests = _resumption(state, point, cruise)
    yield rests
    yield Fact("idle_restart", bool(after["idle_restart"].any()))
    yield _skipped(after)


def _skips_seen(state: State, point: Point) -> Iterator[Fact]:
    cruise, begins = reaches(state.spans, "cruise")
    yield begins
    if cruise is None:
        return
    after, rests = _resumption(state, point, cruise)
    yield rests
    yield paces("the first sample", after.iloc[0], 1.0)
    yield _skipped(after)


def _resumption(state: State, point: Point, cruise: Span) -> tuple[pd.DataFrame, Fact]:
    """Return the samples after a pause since a CRUISE, and the premise that it emptied the path."""
    resumes_s = cruise.start_s + _IDLE_S
    idle = state.before(resumes_s - point.rtt_s / 5)
    times = state.samples.index
    after = state.samples[(times > resumes_s) & (times < resumes_s + _WATCHED_S + 2 * point.rtt_s)]
    rests = f"inflight at rest: {idle['inflight']:g}"
    return after, Fact(rests, idle["inflight"] == 0, is_premise=True)


def _skipped(after: pd.DataFrame) -> Fact:
    phases = {*after["phase"]}
    return Fact(f"phases afterwards: {', '.join(sorted(phases))}", "probe_rtt" not in phases)


CASES = (
    DraftCase(
        name="rtt",
        title="Entering and Exiting PROBE_RTT",
        needs=("phase", "max_bw_mbps"),
        scenario=_plain,
        verify=_probes,
        verify_wire=_probes,
        unsuitable=everywhere,
    ),
    DraftCase(
        name="rtt-idle",
        title="Skipping PROBE_RTT Due to Application-Limited Sending",
        needs=("phase", "idle_restart"),
        event=_CRUISE,
        scenario=_idle,
        verify=_skips,
        verify_wire=_skips_seen,
        unsuitable=everywhere,
    ),
)
