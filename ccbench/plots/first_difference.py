# SPDX-License-Identifier: Apache-2.0
"""Two runs around their first difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.plots._panel import Line, Panel
from ccbench.plots._render import render
from ccbench.run.tables import NO_FLOW

if TYPE_CHECKING:
    from ccbench.base.figures import Figure
    from ccbench.run.difference import Difference
    from ccbench.run.run import Run

__all__ = ["around_difference"]

#: Time shown before and after the difference, in round-trip times and at least in samples.
_RTTS, _SAMPLES = 10, 10


def around_difference(a: Run, b: Run, found: Difference) -> Figure | None:
    """Draw the window of a flow and the queue of a bottleneck around the first difference.

    Parameters
    ----------
    a, b : Run
        The runs.
    found : Difference
        Their difference, of :func:`ccbench.run.difference.difference`.

    Returns
    -------
    Figure or None
        The congestion window of the first flow that differs, and below it, if both runs have a
        queue log, the packets waiting at the bottleneck of the first packet that differs. None if
        no packet and no state differs.
    """
    if found.time_ns is None:
        return None
    at_s = found.time_ns / 1e9
    path, sample_ms = a.scenario.path, a.scenario.sample_interval_ms
    around_s = max(_RTTS * path.rtt_ms, _SAMPLES * sample_ms) / 1e3
    from_s, to_s = max(0.0, at_s - around_s), min(a.scenario.duration_s, at_s + around_s)
    flow, runs = _flow(found), {"A": a, "B": b}
    windows, queues = [], []
    for name, run in runs.items():
        samples = run.samples("cwnd_packets")[flow].loc[from_s:to_s]
        windows.append(Line(name, samples.index.to_numpy(), samples.to_numpy(float)))
        if not found.without_packets:
            log = run.queue_events(found.packet.bottleneck if found.packet else 0)
            log = log[log["time_ns"].between(from_s * 1e9, to_s * 1e9)]
            times, backlog = log["time_ns"].to_numpy() / 1e9, log["backlog_packets"]
            queues.append(Line(name, times, backlog.to_numpy(float), is_step=True))
    quantities = {f"cwnd of flow {flow} (packets)": windows, "queue (packets)": queues}
    return render(
        [
            Panel(items=(*lines, _mark(at_s, lines)), x="time (s)", y=quantity)
            for quantity, lines in quantities.items()
            if lines
        ]
    )


def _flow(found: Difference) -> int:
    """Return the flow to draw: that of the first packet, or else of the first state."""
    if found.packet and found.packet.states:
        return min(found.packet.states)
    return found.state.flow if found.state and found.state.flow != NO_FLOW else 0


def _mark(at_s: float, lines: list[Line]) -> Line:
    """Return a vertical line at the difference, as high as the other lines."""
    values = np.concatenate([line.y for line in lines])
    height = float(np.nanmax(values)) if np.isfinite(values).any() else 1.0
    return Line("first difference", np.array([at_s, at_s]), np.array([0.0, height]))
