# SPDX-License-Identifier: Apache-2.0
"""ABC over a wireless and a wired link: common parts of Figures 4 and 10 of Goyal et al. 2020."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.experiment.noise import NO_NOISE, typical
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.run import packets
from ccbench.studies.abc.links import ABC, RTT_MS, course, stepped

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ccbench.run.run import Run
    from ccbench.studies.study import Rows

__all__ = ["WIRED_MBPS", "draw_courses", "measure_steps", "path"]

WIRED_MBPS = 12.0
_WIRED_PACKETS = 100


def path(rates_mbps: Sequence[float], step_s: float, *cross: Flow, seed: int = 1) -> Scenario:
    """Return an ABC flow over both links, with cross traffic over the wired link only.

    Scenarios with cross traffic have the typical noise.

    Parameters
    ----------
    rates_mbps : sequence of float
        Rates of the wireless link in Mbit/s.
    step_s : float
        Duration of each rate in seconds.
    *cross : Flow
        Flows that enter at the wired link.
    seed : int
        Seed of the noise.

    Examples
    --------
    >>> path((16, 4), 5).duration_s
    10.0
    """
    return Scenario(
        flows=(Flow(cca=ABC.cca), *cross),
        path=NetworkPath(
            bottlenecks=(
                ABC.bottleneck(stepped(rates_mbps, step_s)),
                Bottleneck(bandwidth_mbps=WIRED_MBPS, queue_packets=_WIRED_PACKETS),
            ),
            rtt_ms=RTT_MS,
            noise=typical(rtt_ms=RTT_MS) if cross else NO_NOISE,
        ),
        duration_s=len(rates_mbps) * step_s,
        seed=seed,
        name=f"ABC over two links{', with cross traffic' if cross else ''}",
    )


def measure_steps(run: Run, *, step_s: float, settled_s: float, shares: Sequence[float]) -> Rows:
    """Return the ABC flow's throughput and delays in each step of the wireless link's rate.

    Parameters
    ----------
    run : Run
        A run of :func:`path`.
    step_s, settled_s : float
        Length of a step, and of its excluded beginning, in seconds.
    shares : sequence of float
        The flow's fair share of the wired link in each step in Mbit/s.
    """
    (wireless, _) = run.scenario.path.bottlenecks
    delivered = packets.delivered(run)
    of_flow = delivered[delivered["flow"] == 0]
    mbps = run.throughput(0.5)[0]
    rows = []
    for i, share in enumerate(shares):
        begin_s, end_s = i * step_s + settled_s, (i + 1) * step_s
        edges = [wireless.capacity_bytes(time_s) for time_s in (i * step_s, end_s)]
        wireless_mbps = (edges[1] - edges[0]) * 8e-6 / step_s
        waited = of_flow.loc[of_flow["arrival_s"].between(begin_s, end_s), "queueing_ms"]
        achieved_mbps = mbps[(mbps.index > begin_s) & (mbps.index <= end_s)].mean()
        ideal = min(wireless_mbps, share)
        rows.append(
            {
                "seed": run.scenario.seed,
                "begin_s": i * step_s,
                "wireless_mbps": wireless_mbps,
                "share_mbps": share,
                "wireless_is_bottleneck": wireless_mbps <= share,
                "mbps": achieved_mbps,
                "percent_of_ideal": 100 * achieved_mbps / ideal,
                "mean_ms": waited.mean(),
                "p95_ms": waited.quantile(0.95),
                "course": course(run) if i == 0 else None,
            }
        )
    return rows


def draw_courses(table: pd.DataFrame, series: pd.DataFrame) -> Figure:
    """Draw the flow's throughput with the ideal, and its packets' delay, over time."""
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    ideal = table[["wireless_mbps", "share_mbps"]].min(axis=1)
    last_s = 2 * table["begin_s"].iloc[-1] - table["begin_s"].iloc[-2]
    times = [*table["begin_s"], last_s]
    top.step(times, [*ideal, ideal.iloc[-1]], "--", where="post", color="black", label="ideal")
    top.step(
        times,
        [*table["wireless_mbps"], table["wireless_mbps"].iloc[-1]],
        where="post",
        color="0.75",
        label="wireless link",
    )
    top.plot(series.index, series[0], label="ABC", linewidth=1.2)
    if 1 in series:
        top.plot(series.index, series[1], label="CUBIC", linewidth=0.8)
    top.set_ylabel("Mbit/s")
    top.legend(fontsize="small", ncols=4)
    bottom.plot(series.index, series["delay_ms"], color="0.35", linewidth=0.9)
    bottom.set_ylabel("delay (ms)")
    bottom.set_xlabel("time (s)")
    for axes in (top, bottom):
        axes.grid(alpha=0.3)
    return figure
