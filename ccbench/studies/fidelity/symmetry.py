# SPDX-License-Identifier: Apache-2.0
"""Every congestion control against itself: intervals that contain 0.

No reference is needed: two groups of the same congestion control are equal by symmetry, and of many
intervals of 95 % about 95 % contain 0. Each of 21 congestion controls has one flow as alpha and one
as beta in six networks, for three lengths, with the typical noise and six repetitions. The measured
quantity is the difference of the two sides' rates in the second half of the run, as a share of
their sum. The same cases with all starts at the same instant show what the order of the flows does.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.base.random_streams import derived_seed, repetition_seeds
from ccbench.base.share import Share
from ccbench.experiment.path import typical_path
from ccbench.harm import REPETITIONS, beta_groups, long_flows
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_CCAS = (
    *("reno", "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois"),
    *("lp", "nv", "scalable", "vegas", "veno", "westwood", "yeah"),
    *("bbr3", "copa", "nimbus", "rapid"),
)
#: Rate in Mbit/s, round-trip time in ms, and queue in bandwidth-delay products.
_NETWORKS = (
    *((10.0, 20.0, 1.0), (10.0, 40.0, 4.0), (20.0, 40.0, 1.0), (20.0, 80.0, 0.5)),
    *((50.0, 20.0, 2.0), (50.0, 100.0, 1.0)),
)
_DURATIONS_S = (10.0, 30.0, 60.0)
_RANDOM, _TOGETHER = "random", "together"
_LEAST_PERCENT = 93.0


def _scenarios(*, quick: bool) -> tuple[tuple[Scenario, ...], ...]:
    cases = []
    for cca, network, duration_s in product(
        _CCAS[:5:4] if quick else _CCAS,
        _NETWORKS[:1] if quick else _NETWORKS,
        _DURATIONS_S[:1] if quick else _DURATIONS_S,
    ):
        bandwidth_mbps, rtt_ms, queue_bdp = network
        pair = long_flows(
            alpha=cca,
            beta=cca,
            path=typical_path(bandwidth_mbps=bandwidth_mbps, rtt_ms=rtt_ms, queue_bdp=queue_bdp),
            duration_s=duration_s,
            seed=derived_seed(1, "symmetry", cca, str(network), str(duration_s)),
        )
        words = f"{bandwidth_mbps:g} Mbit/s, {rtt_ms:g} ms, {queue_bdp:g} BDP"
        for starts, spread_ms in ((_RANDOM, pair.path.noise.start_spread_ms), (_TOGETHER, 0.0)):
            noise = replace(pair.path.noise, start_spread_ms=spread_ms)
            path = replace(pair.path, noise=noise)
            cases.append(
                tuple(
                    replace(
                        replace(pair, path=path, seed=seed).competing,
                        name=f"{starts}: {cca}: {words}",
                    )
                    for seed in repetition_seeds(pair.seed, 2 if quick else REPETITIONS)
                )
            )
    return tuple(cases)


def _measure(*runs: Run) -> Rows:
    """Return the mean difference of a case over its seeds, and whether its interval contains 0."""
    starts, cca, network = runs[0].scenario.name.split(": ")
    difference = Estimate(map(_difference, runs))
    return [
        {
            "starts": starts,
            "cca": cca,
            "network": network,
            "duration_s": runs[0].scenario.duration_s,
            "mean": difference.mean,
            "half_width": difference.half_width,
            # Of equal values, such as 0 in all runs, the interval is the value.
            "contains_0": difference.low <= 0 <= difference.high,
        }
    ]


def _difference(run: Run) -> float:
    """Return alpha's rate minus beta's, as a share of both."""
    throughput = run.throughput(1.0)
    means = throughput[throughput.index > run.scenario.duration_s / 2].mean()
    (beta,) = beta_groups(run.scenario)
    beta_mbps, alpha_mbps = float(means.iloc[beta]), float(means.iloc[1 - beta])
    return (alpha_mbps - beta_mbps) / (alpha_mbps + beta_mbps)


def _conclude(cases: pd.DataFrame) -> Findings:
    random, together = (cases[cases["starts"] == starts] for starts in (_RANDOM, _TOGETHER))
    missed = random.loc[~random["contains_0"], ["cca", "network", "duration_s"]]
    worst = together.to_dict("records")[int(together["mean"].abs().to_numpy().argmax())]
    return Findings(
        table=cases,
        figure=_figure(cases),
        comparisons=(
            Comparison(
                quantity="cases whose interval contains 0, flows in random order",
                measured=Share(int(random["contains_0"].sum()), len(random)),
                published=at_least(_LEAST_PERCENT, "symmetry", text="95, the coverage"),
                unit="%",
                note=f"Others: {missed['cca'].value_counts().to_dict()}." if len(missed) else "",
            ),
            Comparison(
                quantity="cases whose interval contains 0, all flows start at the same instant",
                measured=Share(int(together["contains_0"].sum()), len(together)),
                published=unbounded("not symmetric", "symmetry"),
                unit="%",
                note=f"Largest mean: {worst['mean']:+.2f} ± {worst['half_width']:.2f} "
                f"({worst['cca']}, {worst['network']}, {worst['duration_s']:g} s).",
            ),
        ),
    )


def _figure(cases: pd.DataFrame) -> Figure:
    """Draw the mean differences of all cases, by congestion control."""
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axes = figure.subplots()
    ccas = list(dict.fromkeys(cases["cca"]))
    for (starts, own), shift in zip(
        cases.groupby("starts", sort=False), (-0.15, 0.15), strict=True
    ):
        positions = [ccas.index(cca) + shift for cca in own["cca"]]
        axes.plot(positions, own["mean"], "o", markersize=3, alpha=0.6, label=f"starts {starts}")
    axes.axhline(0, color="0.6", linewidth=0.8)
    axes.set_xticks(range(len(ccas)), ccas, rotation=60, ha="right", fontsize="small")
    axes.set_ylabel("alpha's rate minus beta's, of both")
    axes.grid(alpha=0.3, axis="y")
    axes.legend(fontsize="small")
    return figure


STUDY = Study(
    info=info("symmetry"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
