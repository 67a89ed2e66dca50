# SPDX-License-Identifier: Apache-2.0
"""The first look at a run: throughput and queues over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base.counts import counted
from ccbench.base.figures import Figure
from ccbench.experiment import dynamics
from ccbench.plots.paper import COLOURS, STYLES
from ccbench.run.intervals import sample_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from ccbench.run.run import Run

__all__ = ["throughput_and_queue"]

#: Maximum number of flows with a line of their own; above it, a line is the sum of a group.
MOST_LINES = 10
#: Approximate number of points of a throughput line, few enough to smooth single packets.
POINTS = 200
#: Maximum ratio of a queue's limit to its highest occupancy at which the limit is drawn as a line.
FULL_VIEW = 3
NICE_INTERVALS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)


def throughput_and_queue(run: Run) -> Figure:
    """Plot the throughput of each flow and the occupancy of each bottleneck's queue over time.

    Parameters
    ----------
    run : Run
        The run. Without a queue log, the figure shows the throughput only.

    Returns
    -------
    Figure
        On top, the throughput in Mbit/s of IP bytes leaving the last bottleneck (with more than
        `MOST_LINES` flows, the sum of each group); below, the packets waiting at each bottleneck;
        time in seconds.

    Examples
    --------
    >>> figure = throughput_and_queue(run)  # doctest: +SKIP
    >>> figure.savefig("run.png")  # doctest: +SKIP
    """
    scenario = run.scenario
    panels = 1 + (len(scenario.path.links) if scenario.queue_log else 0)
    figure = Figure(figsize=(9, 3.2 + 1.9 * (panels - 1)), layout="constrained")
    ratios = [1.6] + [1.0] * (panels - 1)
    axes = figure.subplots(panels, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
    _draw_throughput(axes[0], run)
    for i, queue_axes in enumerate(axes[1:]):
        _draw_queue(queue_axes, run, i)
    axes[-1].set_xlabel("time (s)")
    axes[-1].set_xlim(0, scenario.duration_s)
    if scenario.name:
        figure.suptitle(scenario.name)
    return figure


def _draw_throughput(axes: Axes, run: Run) -> None:
    interval_s = _interval_s(run)
    throughput, labels = _lines(run, run.throughput(interval_s))
    last = run.scenario.path.bottlenecks[-1]
    path = run.actual_scenario
    changes = any(change.bandwidth_mbps or change.outage_s for change in path.path.changes)
    if last.bandwidth_mbps is None or changes:
        number, ends = len(run.scenario.path.bottlenecks) - 1, [0.0, *throughput.index]
        capacities = dynamics.capacities_bytes(path, number, ends)
        capacity = np.diff(capacities) * 8e-6 / interval_s
        kind = "Wi-Fi" if last.wifi else last.trace.name if last.trace else ""
        label = f"link ({kind})" if kind else "link"
        axes.fill_between(throughput.index, capacity, step="pre", color="0.9", label=label)
    axes.set_prop_cycle(color=_cycled(COLOURS), linestyle=_cycled(STYLES, per_round=1))
    axes.plot(throughput.index, throughput, label=labels, linewidth=1.2)
    axes.set_ylabel("throughput (Mbit/s)")
    axes.set_ylim(bottom=0)
    # Above the axes, so that no line is hidden.
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0.2,
        fontsize="small",
        ncols=min(len(axes.get_legend_handles_labels()[1]), 4),
        frameon=False,
    )
    axes.grid(alpha=0.3)


def _cycled(looks: Sequence[Any], per_round: int = 0) -> list[Any]:
    """Return a look for each line, moved on in each round so that no two looks meet twice."""
    count = len(looks)
    return [looks[(i + per_round * (i // count)) % count] for i in range(MOST_LINES)]


def _draw_queue(axes: Axes, run: Run, bottleneck: int) -> None:
    # Four times the resolution of the throughput: a queue fills and drains within a round trip. A
    # summary has the resolution of the samples.
    has_events = run.queue_summary is None
    interval_s = _interval_s(run) / 4 if has_events else run.scenario.sample_interval_ms / 1e3
    occupancy = run.occupancy(interval_s, bottleneck)
    axes.plot(occupancy.index, occupancy, color="0.35", linewidth=0.8)
    room = run.scenario.path.longest_queue(bottleneck)
    if room <= FULL_VIEW * occupancy.max():
        axes.axhline(room, color="0.6", linestyle=":")
    else:  # the line would compress the curve
        axes.set_title(
            f"room for {counted(room, 'packet')}", loc="right", fontsize="small", color="0.4"
        )
    axes.set_ylabel(f"{_queue_name(run, bottleneck)} (packets)")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)


def _queue_name(run: Run, bottleneck: int) -> str:
    """Return the name of a queue, with its number in the run if there are several."""
    number = f" {bottleneck}" if len(run.scenario.path.links) > 1 else ""
    is_reverse = bottleneck >= len(run.scenario.path.bottlenecks)
    return f"{'reverse ' if is_reverse else ''}queue{number}"


def _lines(run: Run, throughput: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the lines: each flow or, for many flows, the sum of each group."""
    table = run.scenario.flow_table()
    is_reverse = table["first_bottleneck"] >= len(run.scenario.path.bottlenecks)
    names = table["label"].where(~is_reverse, "reverse " + table["label"])
    if len(table) <= MOST_LINES:
        return throughput, [f"{name} ({flow})" for flow, name in enumerate(names)]
    groups = names.groupby(table["group"])
    labels = [
        f"{name} (sum of {size})" for name, size in zip(groups.first(), groups.size(), strict=True)
    ]
    return throughput.T.groupby(table["group"]).sum().T, labels


def _interval_s(run: Run) -> float:
    """Return a round multiple of the sample interval that gives about `POINTS` points."""
    sample_ms = run.scenario.sample_interval_ms
    target_ms = max(run.scenario.duration_s * 1e3 / POINTS, sample_ms)
    for interval_ms in NICE_INTERVALS_MS:
        if interval_ms >= target_ms and round(interval_ms * 1e6) % sample_ns(run.scenario) == 0:
            return interval_ms / 1e3
    return sample_ms * max(1, round(target_ms / sample_ms)) / 1e3
