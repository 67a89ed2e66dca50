# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 on one flow, iteration by iteration (Ware 2024, Figures 5.7 and 5.8).

The thesis shows one of three flows, one CUBIC and two BBRv3, in a network that it does not name.
Here they run in four networks with typical noise and six seeds each. The thesis's statements on its
single flow are shown with one flow of these runs and not compared; its statements on the algorithm
are compared for all flows.

The thesis labelled by hand; here a rule does (:mod:`ccbench.convergence.labels`). It needs a
run of 600 s, of which the algorithm uses the first 180.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.convergence import Convergence, measured_from
from ccbench.convergence.labels import LABELLED_S, labelled_run
from ccbench.convergence.plot import convergence_figure
from ccbench.experiment.noise import typical
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, similar, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.testbed import SEEDS

if TYPE_CHECKING:
    from ccbench.run.run import Run

#: Rates in Mbit/s with round-trip times in ms; queues in packets. The last network is shown.
_PATHS = ((100, 100), (100, 40))
_QUEUES = (1024, 4096)
#: The flow shown, the thesis's "bbr3-0".
_FLOW = 1
_WHERE, _EXAMPLE = "section 5.3.3.1", "caption of Figure 5.7"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    paths, queues, seeds = (((10, 40),), (410,), SEEDS[:1]) if quick else (_PATHS, _QUEUES, SEEDS)
    return tuple(
        Scenario(
            flows=(Flow(cca="cubic"), Flow(cca="bbr3", count=2)),
            path=NetworkPath(
                bottlenecks=(Bottleneck(bandwidth_mbps=bandwidth_mbps, queue_packets=packets),),
                rtt_ms=rtt_ms,
                noise=typical(rtt_ms=rtt_ms),
            ),
            duration_s=LABELLED_S,
            seed=seed,
            queue_log=False,
            name=f"{bandwidth_mbps} Mbit/s, {rtt_ms} ms, {packets} packets",
        )
        for bandwidth_mbps, rtt_ms in paths
        for packets in queues
        for seed in seeds
    )


def _measure(run: Run) -> Rows:
    labelled = labelled_run(run)
    return [
        {
            "network": run.scenario.name,
            "seed": run.scenario.seed,
            "time_s": time_s,
            "flow": flow,
            "throughput_mbps": labelled.throughput[flow][time_s],
            "label_s": labelled.labels_s[flow],
        }
        for flow in labelled.throughput.columns
        for time_s in labelled.throughput.index
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    runs = [rows for _, rows in table.groupby(["network", "seed"], sort=False)]
    steps = pd.concat([_steps(run) for run in runs], ignore_index=True)
    last = steps.drop_duplicates(["network", "seed", "flow"], keep="last").copy()
    last["after_label_s"] = last["converged_s"] - last["label_s"]
    medians = last.groupby("seed")[["after_label_s", "label_difference_percent"]].median()
    network, seed = table["network"].iloc[-1], table["seed"].min()
    shown = table[(table["network"] == network) & (table["seed"] == seed)]
    is_shown = (last["network"] == network) & (last["seed"] == seed) & (last["flow"] == _FLOW)
    example = last[is_shown].iloc[0]
    return Findings(
        table=steps,
        figure=convergence_figure(Convergence.of(_throughput(shown)).flows[_FLOW]),
        comparisons=(
            Comparison(
                quantity="iterations until the flow that is shown has converged",
                measured=float(example["iteration"] if example["converged"] else np.nan),
                published=unbounded("3 for its flow", _WHERE),
            ),
            Comparison(
                quantity="the time returned for it, minus the label",
                measured=float(example["after_label_s"]),
                published=unbounded("5 for its flow", _EXAMPLE),
                unit="s",
            ),
            Comparison(
                quantity="the returned time, minus the label, median of all flows",
                measured=Estimate(medians["after_label_s"]),
                published=at_least(0, _WHERE, text="after convergence"),
                unit="s",
            ),
            Comparison(
                quantity="distance of the mean throughput after it from that after the label, "
                "median of all flows",
                measured=Estimate(medians["label_difference_percent"].dropna()),
                published=similar(0, _EXAMPLE, text="nearly identical"),
                unit="%",
            ),
        ),
    )


def _throughput(run: pd.DataFrame) -> pd.DataFrame:
    return run.pivot_table("throughput_mbps", index="time_s", columns="flow")


def _steps(run: pd.DataFrame) -> pd.DataFrame:
    """Return all iterations for all flows of a run."""
    throughput, labels_s = _throughput(run), run.groupby("flow")["label_s"].first()
    convergence = Convergence.of(throughput)
    from_s = measured_from(convergence.converged_at_s, float(throughput.index[-1]))
    detected_mbps = throughput[throughput.index > from_s].mean()
    # If a flow has no label, the start is NaN and the mean is empty.
    label_mbps = throughput[throughput.index > labels_s.max(skipna=False)].mean()
    differences = 100 * (detected_mbps - label_mbps).abs() / label_mbps
    return pd.DataFrame(
        {
            "network": run["network"].iloc[0],
            "seed": run["seed"].iloc[0],
            "flow": number,
            "label_s": labels_s[number],
            "label_difference_percent": differences[number],
            "iteration": iteration,
            "convergence_point_s": flow.deviation.index[step.start],
            "validation_breakpoint_s": flow.deviation.index[step.breakpoint],
            "left_mean_mbps": step.left_mean,
            "right_mean_mbps": step.right_mean,
            "converged": step.converged,
            "converged_s": np.nan if flow.converged_at_s is None else flow.converged_at_s,
        }
        for number, flow in enumerate(convergence.flows)
        for iteration, step in enumerate(flow.steps, start=1)
    )


STUDY = Study(
    info=info("ware-5.8"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
