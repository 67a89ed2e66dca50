# SPDX-License-Identifier: Apache-2.0
"""Phases of BBR from TCP's own state, on synthetic samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from ccbench.studies.bbr3.bbr_draft import CASES, verdict
from ccbench.studies.bbr3.case import GRID, PACING_MARGIN, PAYLOAD_BYTES, Point
from ccbench.studies.bbr3.state import TCP_COLUMNS, Sender, State
from ccbench.studies.bbr3.wire import seen

if TYPE_CHECKING:
    from ccbench.studies.bbr3.case import DraftCase

_POINT = Point(12, 100)
_SAMPLE_S = 0.004
_BDP = round(_POINT.bdp_packets)
_SILENT = Sender("mine", ())
_CASES = {case.name: case for case in CASES}

#: Stays: time in seconds, pacing rate by the rate of the path, window and packets in flight by BDP.
_STARTUP, _DRAIN = (1.0, 2.77, 3.0, 3.0), (0.2, 0.5, 2.0, 1.5)
_CRUISE, _REFILL = (2.0, 1.0, 2.0, 1.0), (0.1, 1.0, 2.0, 1.0)
_UP, _DOWN = (0.4, 1.25, 2.25, 1.5), (0.5, 0.9, 2.0, 1.2)
_PROBE_RTT = (0.3, 1.0, 0.5, 0.5)


def _state(*stays: tuple[float, float, float, float], tcp_state: str = "open") -> State:
    """Return the samples of a flow that fills the path and stays at levels for some time each."""
    rows = [
        {
            "cwnd": round(window * _BDP),
            "inflight": round(inflight * _BDP),
            "pacing_mbps": gain * PACING_MARGIN * _POINT.payload_mbps,
            "tcp_state": tcp_state,
        }
        for length_s, gain, window, inflight in stays
        for _ in range(round(length_s / _SAMPLE_S))
    ]
    samples = pd.DataFrame(rows, columns=[*TCP_COLUMNS])
    samples.index = pd.Index(np.arange(len(samples)) * _SAMPLE_S, name="time_s")
    packets = np.floor(samples.index / _POINT.packet_s)
    samples["delivered_bytes"] = packets * PAYLOAD_BYTES
    samples["retransmits"], samples["min_rtt_ms"] = 0, 1e3 * _POINT.rtt_s
    samples["srtt_ms"] = samples["min_rtt_ms"]
    own = ["phase", "max_bw_mbps", "bw_shortterm_mbps", "inflight_longterm"]
    return State(samples.assign(**dict.fromkeys(own, np.nan)))


def _phases(state: State) -> list[str]:
    return [span.phase for span in seen(state, _POINT).spans]


class TestSeen:
    def test_cycle(self) -> None:
        """Pacing rates tell Startup, Drain and the phases of ProbeBW apart."""
        state = _state(_STARTUP, _DRAIN, _CRUISE, _UP, _DOWN, _CRUISE)
        expected = ["startup", "drain", "cruise", "refill", "up", "down", "cruise"]
        assert expected == _phases(state)

    def test_refill(self) -> None:
        """A round at the rate of the path between DOWN and UP is REFILL, without CRUISE."""
        state = _state(_STARTUP, _DRAIN, _DOWN, _REFILL, _UP)
        assert ["down", "refill", "up"] == _phases(state)[2:]

    def test_probe_rtt(self) -> None:
        """A dip of the window is ProbeRTT, also in Startup, which it does not end."""
        state = _state(_STARTUP, (0.3, 2.77, 0.5, 0.5), _STARTUP, _DRAIN, _CRUISE, _PROBE_RTT, _UP)
        expected = ["startup", "probe_rtt", "startup", "drain", "cruise", "probe_rtt", "up"]
        assert expected == _phases(state)

    def test_recovery(self) -> None:
        """A dip of the window in loss recovery is not ProbeRTT."""
        state = _state(_STARTUP, _DRAIN, _CRUISE, _PROBE_RTT, _CRUISE, tcp_state="recovery")
        assert "probe_rtt" not in _phases(state)

    def test_end_of_startup(self) -> None:
        """A window that falls together with the pacing rate, and rises again, is no ProbeRTT."""
        state = _state((1.0, 30.0, 10.0, 10.0), (0.5, 1.0, 2.0, 1.0), (0.4, 1.25, 8.0, 1.5))
        assert "probe_rtt" not in _phases(state)

    def test_constant(self) -> None:
        """A pacing rate that never halves shows no phase after Startup."""
        assert ["startup"] == _phases(_state((5.0, 1.2, 2.0, 2.0)))

    def test_nothing_else(self) -> None:
        """What a congestion control reports itself is not used, and the estimate is the rate."""
        state = _state(_STARTUP, _DRAIN)
        state.samples["inflight_longterm"] = 7.0
        samples = seen(state, _POINT).samples
        assert samples["inflight_longterm"].isna().all()
        assert {_POINT.payload_mbps} == {*samples["max_bw_mbps"]}
        assert {7.0} == {*state.samples["inflight_longterm"]}


def _judged(name: str, state: State) -> str:
    return verdict(iter(_CASES[name].verify_wire(seen(state, _POINT), _POINT)))[0]


class TestConditions:
    @pytest.mark.parametrize(
        ("gain", "length_s", "expected"),
        [(1.25, 0.4, "holds"), (1.2, 0.4, "fails"), (1.25, 3.0, "fails"), (1.25, 0.15, "fails")],
    )
    def test_up(self, gain: float, length_s: float, expected: str) -> None:
        """UP paces at 1.25 times the rate, for three to five rounds."""
        up = (length_s, gain, 2.25, 1.0)
        state = _state(_STARTUP, _DRAIN, _CRUISE, _UP, _DOWN, _CRUISE, up, _DOWN, _CRUISE)
        assert expected == _judged("up-plateau", state)

    @pytest.mark.parametrize(
        ("gain", "expected"), [(0.5, "holds"), (0.6, "fails"), (0.8, "does not come about")]
    )
    def test_drain(self, gain: float, expected: str) -> None:
        """Drain paces at half of the rate; a higher rate than 0.7 is not Drain."""
        state = _state(_STARTUP, (0.2, gain, 2.0, 1.0), _CRUISE, _UP)
        assert expected == _judged("drain-inflight", state)

    def test_startup(self) -> None:
        """A flow in Startup whose window dips shows that Startup goes on; without dips, nothing."""
        dip = (0.3, 2.77, 0.5, 0.5)
        assert _judged("startup-app", _state(_STARTUP, dip, _STARTUP)) == "holds"
        assert _judged("startup-app", _state(_STARTUP)) == "does not come about"
        assert _judged("startup-app", _state(_STARTUP, dip, _STARTUP, _CRUISE)) == "fails"


def _with_events() -> list[DraftCase]:
    return [case for case in CASES if case.event is not None]


class TestPlanned:
    @pytest.mark.parametrize("case", _with_events(), ids=lambda case: case.name)
    def test_times(self, case: DraftCase) -> None:
        """Without a phase, changes wait for a run that shows their time, and then have it."""
        point = next(point for point in GRID if not case.unsuitable(point))
        assert case.waits(_SILENT)
        assert () == case.planned(_SILENT, point).path.changes
        timed = Sender("mine", (), entry_s=3.0)
        assert not case.waits(timed)
        changes = case.planned(timed, point).path.changes
        assert min(change.at_s or 0.0 for change in changes) >= 3.0
        assert {None} == {change.when for change in changes}

    def test_other(self) -> None:
        """Cases without an event run at once."""
        assert not [case.name for case in CASES if case.event is None and case.waits(_SILENT)]
