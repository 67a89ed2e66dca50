# SPDX-License-Identifier: Apache-2.0
"""The phases of BBR as TCP's own state shows them, for congestion controls that report none.

``inet_diag`` reports the pacing rate, the window, the packets in flight and the delivered data of
every connection. On a path of known rate, the phases of BBR follow from them:

- Startup lasts until the pacing rate falls below half of its maximum: Drain paces at 0.18 of
  Startup's rate, DOWN at a third.
- ProbeRTT is a dip of the window below three quarters, outside loss recovery, while the pacing rate
  stays as it is or becomes that of CRUISE.
- Drain, DOWN, CRUISE and UP pace at 0.5, 0.9, 1 and 1.25 times the rate of the path, minus 1 %: the
  nearest of these gains counts, between steps of the pacing rate, and Drain only directly after
  Startup.
- REFILL paces as CRUISE does. It is the last round before UP.

Neither bounds nor flags follow.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ccbench.studies.bbr3.case import PACING_MARGIN, PAYLOAD_BYTES
from ccbench.studies.bbr3.state import TCP_COLUMNS, State, state_of

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ccbench.run.run import Run
    from ccbench.studies.bbr3.case import Point
    from ccbench.studies.bbr3.state import Sender

__all__ = ["GAINS", "STARTUP_GAIN", "observed", "seen"]

#: The draft's pacing gains in Startup and after it.
STARTUP_GAIN = 2.77
GAINS = {"drain": 0.5, "down": 0.9, "cruise": 1.0, "refill": 1.0, "up": 1.25}
_LEVELS = ("drain", "down", "cruise", "up")

#: Share of its maximum below which the pacing rate falls when Startup ends.
_AFTER_STARTUP = 0.5
#: Share of the window before it below which it is in ProbeRTT: the draft's is a half of the BDP,
#: of a window of two or more, but at least 4 packets, of 6.
_DIP = 0.75
#: Least share of the pacing rate that remains when ProbeRTT begins: 1 / 1.25 remains of UP, while
#: 0.9 / 1.25 remains if losses end UP.
_PACING_IN_DIP = 0.76
#: Least relative change of the pacing rate that is a step from one phase to another, the smallest
#: of which is a tenth. Other congestion controls change it gradually.
_STEP = 0.04
_RECOVERIES = ("recovery", "loss")


def observed(run: Run, sender: Sender, point: Point) -> State:
    """Return the state that a congestion control reports, or as far as TCP shows it."""
    state = state_of(run)
    return seen(state, point) if sender.is_silent else state


def seen(state: State, point: Point) -> State:
    """Return the state of a flow as far as TCP shows it.

    Parameters
    ----------
    state : State
        Samples, of which only those of TCP are used.
    point : Point
        The path before any change. Its rate is ``max_bw_mbps`` of the result, the estimate that the
        draft requires.
    """
    samples = state.samples[[*TCP_COLUMNS]].reindex(columns=state.samples.columns)
    samples["max_bw_mbps"] = point.payload_mbps
    samples["phase"] = _phases(samples, point.payload_mbps)
    return State(samples, state.changed_s)


def _phases(samples: pd.DataFrame, mbps: float) -> NDArray[np.object_]:
    """Return the phase of each sample."""
    gains = samples["pacing_mbps"].to_numpy() / (PACING_MARGIN * mbps)
    dips = _dips(samples)
    phases = _nearest(gains, dips)
    fallen = (gains < _AFTER_STARTUP * np.maximum.accumulate(gains)) & ~dips
    full = int(fallen.argmax()) if fallen.any() else len(samples)
    drains = (phases[full:] == "drain") & ~dips[full:]
    drained = full + int((~drains).argmax() if not drains.all() else len(drains))
    phases[drained:][phases[drained:] == "drain"] = "down"
    phases[:full] = "startup"
    phases[dips] = "probe_rtt"
    _mark_refills(phases, samples)
    return phases


def _nearest(gains: NDArray[np.float64], dips: NDArray[np.bool_]) -> NDArray[np.object_]:
    """Return the phase after Startup with the nearest gain, for each stretch between steps."""
    steps = (np.abs(np.diff(gains)) > _STEP * gains[:-1]) | (dips[1:] != dips[:-1])
    starts = [0, *(np.flatnonzero(steps) + 1)]
    phases = np.empty(len(gains), dtype=object)
    for start, end in zip(starts, [*starts[1:], len(gains)], strict=True):
        gain = float(np.median(gains[start:end]))
        phases[start:end] = min(_LEVELS, key=lambda level: abs(gain - GAINS[level]))
    return phases


def _dips(samples: pd.DataFrame) -> NDArray[np.bool_]:
    """Return whether a sample is in a dip of the window that is no loss recovery."""
    cwnd, pacing = samples["cwnd"].to_numpy(), samples["pacing_mbps"].to_numpy()
    recovers = samples["tcp_state"].isin(_RECOVERIES).to_numpy()
    dips = np.zeros(len(samples), dtype=bool)
    falls = (cwnd[1:] < _DIP * cwnd[:-1]) & (pacing[1:] >= _PACING_IN_DIP * pacing[:-1])
    for before in np.flatnonzero(falls & ~recovers[1:] & ~recovers[:-1]):
        if dips[before]:
            continue
        returns = np.flatnonzero(cwnd[before + 1 :] >= _DIP * cwnd[before])
        if len(returns):
            dips[before + 1 : before + 1 + returns[0]] = True
    return dips


def _mark_refills(phases: NDArray[np.object_], samples: pd.DataFrame) -> None:
    """Name the last round of CRUISE before each UP, or all of a CRUISE of 1.5 rounds, REFILL."""
    delivered = samples["delivered_bytes"].to_numpy()
    ends = delivered + samples["inflight"].to_numpy() * PAYLOAD_BYTES
    changes = np.flatnonzero(phases[1:] != phases[:-1]) + 1
    for start, up in pairwise(changes):
        if phases[start] == "cruise" and phases[up] == "up":
            sent_before = np.flatnonzero(ends[start:up] <= delivered[up])
            begin = start + int(sent_before[-1]) if len(sent_before) else start
            is_short = begin - start < (up - begin) / 2
            phases[start if is_short else begin : up] = "refill"
