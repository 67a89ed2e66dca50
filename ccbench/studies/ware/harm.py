# SPDX-License-Identifier: Apache-2.0
"""Harm and Jain's index of pairs of runs, for the studies of Ware's section 5.3.

A study measures runs one at a time, but harm needs two: each run is reduced to the throughput of
its flows over time, and the two runs of a pair are combined in the table.

Choices left open by the thesis: it states neither the testbed's noise nor the number of
repetitions. Here the path has typical noise (:func:`ccbench.experiment.noise.typical`), and each
experiment runs with several seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ccbench.convergence import converged_at, measured_from
from ccbench.harm import beta_groups, expected_harm, harm, relative_harm
from ccbench.harm.experiment import INTERVAL_S
from ccbench.metrics import jain_index

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ccbench.experiment.scenario import Scenario
    from ccbench.harm import Experiment
    from ccbench.run.run import Run
    from ccbench.studies.study import Rows

__all__ = ["harms", "measure", "scenarios_of"]

_NETWORK = ["bandwidth_mbps", "rtt_ms", "queue_packets", "seed"]


def scenarios_of(experiments: Iterable[Experiment]) -> tuple[Scenario, ...]:
    """Return the distinct runs of experiments; experiments can share a solo run."""
    pairs = (scenario for e in experiments for scenario in (e.solo, e.competing))
    return tuple(dict.fromkeys(pairs))


def measure(run: Run) -> Rows:
    """Return a row for each flow and second."""
    scenario = run.scenario
    throughput = run.throughput(INTERVAL_S)
    is_beta = scenario.flow_table()["group"].isin(beta_groups(scenario))
    network = {
        "bandwidth_mbps": scenario.path.bottlenecks[0].mean_mbps,
        "rtt_ms": scenario.path.rtt_ms,
        "queue_packets": scenario.path.bottlenecks[0].queue_packets,
        "queue_bdp": (scenario.path.bottlenecks[0].queue_packets or 0)
        / scenario.path.bdp_packets(),
        "seed": scenario.seed,
        "alpha_flows": int((~is_beta).sum()),
        "converged_s": converged_at(throughput),
        "duration_s": scenario.duration_s,
    }
    return [
        {**network, "flow": flow, "is_beta": is_beta[flow], "time_s": time_s, "mbps": mbps}
        for flow in throughput.columns
        for time_s, mbps in throughput[flow].items()
    ]


def harms(table: pd.DataFrame, *, whole: bool = False) -> pd.DataFrame:
    """Return a row for each experiment with the harm to beta and Jain's index of all flows.

    Parameters
    ----------
    table : DataFrame
        The rows of :func:`measure`.
    whole : bool
        Use whole runs; otherwise, as :func:`ccbench.harm.measure` does, start at convergence or
        after the first minute.
    """
    solo = dict(iter(table[table["alpha_flows"] == 0].groupby(_NETWORK)))
    rows = []
    for key, run in table[table["alpha_flows"] > 0].groupby([*_NETWORK, "alpha_flows"]):
        first = run.iloc[0]
        converged_s = None if pd.isna(first["converged_s"]) else float(first["converged_s"])
        from_s = 0.0 if whole else measured_from(converged_s, float(first["duration_s"]))
        together = run[run["time_s"] > from_s].groupby(["flow", "is_beta"])["mbps"].mean()
        beta = together[together.index.get_level_values("is_beta")]
        alone = solo[key[:-1]]
        alone_mbps = float(alone[alone["time_s"] > from_s].groupby("flow")["mbps"].mean().sum())
        n_alpha, n_beta = int(first["alpha_flows"]), len(beta)
        rows.append(
            {
                **dict(zip([*_NETWORK, "alpha_flows"], key, strict=True)),
                "queue_bdp": first["queue_bdp"],
                "converged_s": converged_s,
                "solo_mbps": alone_mbps,
                "beta_mbps": float(beta.sum()),
                "absolute_harm": harm(alone_mbps, float(beta.sum())),
                "expected_harm": expected_harm(n_alpha=n_alpha, n_beta=n_beta),
                "relative_harm": relative_harm(
                    alone_mbps, float(beta.sum()), n_alpha=n_alpha, n_beta=n_beta
                ),
                "jain": jain_index(together.to_numpy()),
            }
        )
    return pd.DataFrame(rows)
