# SPDX-License-Identifier: Apache-2.0
"""Harm over the whole run against harm after convergence (Ware 2024, Figure 5.10).

Where the thesis leaves room: it takes the settings of Zeynali et al. without their queue lengths;
here these are the powers of two from 256 to 4096 packets, around one bandwidth-delay product, 833.
Its "difference in harm" in percent is the difference of two relative harms times 100: a percentage
of a relative harm, which is 0 where flows share equally, would be of no use. It has BBRv3 as well,
which Linux has not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.figure import Figure

from ccbench.harm import converged_at, long_flows, relative_harm
from ccbench.noise import NO_NOISE
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware_harm import scenarios_of
from ccbench.studies.ware_testbed import rank_correlation

if TYPE_CHECKING:
    from ccbench.run import Run
    from ccbench.scenario import Scenario

#: Of the published 200 s: what counts as late, in seconds.
_LATE_S = 180.0


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    queues_packets = (256, 1024) if quick else (256, 512, 1024, 2048, 4096)
    counts = (1,) if quick else (1, 2, 3, 4, 5)
    return scenarios_of(
        long_flows(
            noise=NO_NOISE,  # as on its page
            alpha="bbr",
            beta="cubic",
            alpha_flows=alpha_flows,
            beta_flows=beta_flows,
            bandwidth_mbps=100,
            rtt_ms=100,
            queue_packets=packets,
            duration_s=90 if quick else 300,
        )
        for packets in queues_packets
        for beta_flows in counts
        for alpha_flows in counts
    )


def _measure(run: Run) -> Rows:
    throughput = run.throughput(interval_s=1.0)
    cca = run.scenario.flow_table()["cca"]
    beta_mbps = throughput.loc[:, (cca == "cubic").to_numpy()].sum(axis=1)
    return [
        {
            "queue_packets": run.scenario.bottlenecks[0].queue_packets,
            "alpha_flows": int((cca == "bbr").sum()),
            "beta_flows": int((cca == "cubic").sum()),
            "converged_s": converged_at(throughput),
            "time_s": time_s,
            "beta_mbps": beta_mbps[time_s],
        }
        for time_s in throughput.index
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    harms = _harms(table)
    late = harms[harms["converged_s"] >= _LATE_S]
    size = harms["difference_percent"].abs()
    return Findings(
        table=harms,
        figure=_figure(harms),
        comparisons=(
            Comparison(
                what=f"largest difference in harm where convergence is at {_LATE_S:g} s or later",
                ours=float(late["difference_percent"].abs().max()),
                published="up to 10",
                accepted=(5, 15),
                unit="%",
            ),
            Comparison(
                what="size of the difference by time of convergence (rank correlation)",
                ours=rank_correlation(size.set_axis(harms["converged_s"])),
                published="rises",
                accepted=(0.2, 1),
                note=(
                    "Hardly any experiment converges early here: the latest of up to 10 flows "
                    "decides, and Algorithm 1's time for a flow that never changes is a random one."
                ),
            ),
        ),
    )


def _harms(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per experiment that has converged."""
    network, names = ["queue_packets", "beta_flows"], ["queue_packets", "beta_flows", "alpha_flows"]
    solo = dict(iter(table[table["alpha_flows"] == 0].groupby(network)))
    competing = table[(table["alpha_flows"] > 0) & table["converged_s"].notna()]
    rows = []
    for _, run in competing.groupby(names):
        packets, beta_flows, alpha_flows = (int(run[name].iloc[0]) for name in names)
        converged_s = float(run["converged_s"].iloc[0])
        whole, after = (
            relative_harm(
                _mean_from(solo[packets, beta_flows], from_s),
                _mean_from(run, from_s),
                n_alpha=alpha_flows,
                n_beta=beta_flows,
            )
            for from_s in (0.0, converged_s)
        )
        rows.append((packets, beta_flows, alpha_flows, converged_s, whole, after))
    harms = pd.DataFrame(rows, columns=[*names, "converged_s", "harm_whole", "harm_converged"])
    harms["difference_percent"] = 100 * (harms["harm_whole"] - harms["harm_converged"])
    return harms


def _mean_from(run: pd.DataFrame, from_s: float) -> float:
    return float(run.loc[run["time_s"] > from_s, "beta_mbps"].mean())


def _figure(harms: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for packets, rows in harms.groupby("queue_packets"):
        axes.plot(
            rows["converged_s"], rows["difference_percent"], "o", label=f"{packets} packets", ms=5
        )
    axes.axhline(0, color="0.6", linewidth=0.8)
    axes.set_xlabel("time of convergence (s)")
    axes.set_ylabel("relative harm, whole run less converged (%)")
    axes.grid(alpha=0.3)
    if not harms.empty:
        axes.legend(fontsize="small")
    return figure


STUDY = Study(
    about=about("ware-5.10"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
