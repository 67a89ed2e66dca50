# SPDX-License-Identifier: Apache-2.0
"""Three ABC and three CUBIC flows with short non-ABC flows (Goyal et al. 2020, Figure 13).

The link has 96 Mbit/s and a separate queue for non-ABC packets. Short flows of 10 KB arrive as a
Poisson process with an offered load of 6.25 to 50 % of the link; each load has ten runs of 40 s.
The round-trip time is 100 ms, as in all of the paper's emulations up to section 7.6; as the result
depends on it, 20 and 50 ms are shown, too.

Choices left open by the paper: each queue holds one bandwidth-delay product; short flows use CUBIC;
KB are 1000 bytes; throughput covers the whole run, including slow start. "The difference in average
throughput" is that of the means over the flows of a load. RCP's Zombie list, with which the paper
compares, weighs the same queues by their numbers of flows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.base.random_streams import stream
from ccbench.experiment.noise import typical
from ccbench.experiment.scenario import MTU_BYTES, Flow, NetworkPath, Scenario
from ccbench.studies.abc.links import ABC, COLOURS, RTT_MS, router
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.arrivals import Arrivals
    from ccbench.run.run import Run
    from ccbench.studies.published import Published

__all__ = ["LINK_MBPS", "poisson_arrivals"]

LINK_MBPS = 96.0
_LOADS_PERCENT = (6.25, 12.5, 25.0, 50.0)
_RUNS = 10
_DURATION_S = 40.0
_SHORT_BYTES = 10_000
_LONG = 3
#: Round-trip times in ms; the first is the paper's and is compared.
_RTTS_MS = (RTT_MS, 50.0, 20.0)
_CASE = ["weights", "rtt_ms", "load_percent", "seed"]
_TEXT = "section 7.5"
#: Weights of the queues: ABC's, and those of RCP's Zombie list, at the paper's round-trip time.
_MAX_MIN, _ZOMBIES = "max_min", "flow_counts"
#: Above it, the difference is more than the paper's for ABC, 5 %.
_RATIO = 1.05


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    runs, duration_s = (1, 20.0) if quick else (_RUNS, _DURATION_S)
    rtts_ms, loads = (_RTTS_MS[:1], _LOADS_PERCENT[1:2]) if quick else (_RTTS_MS, _LOADS_PERCENT)
    cases = [(_MAX_MIN, rtt_ms) for rtt_ms in rtts_ms] + [(_ZOMBIES, RTT_MS)]
    return tuple(
        _mix(weights, rtt_ms, load, seed, duration_s)
        for weights, rtt_ms in cases
        for load in loads
        for seed in range(1, runs + 1)
    )


def _mix(
    weights: str, rtt_ms: float, load_percent: float, seed: int, duration_s: float
) -> Scenario:
    two_queues = replace(ABC, options=router(two_queues=True, weights=weights))
    bdp_packets = round(LINK_MBPS * 1e3 * rtt_ms / (8 * MTU_BYTES))
    return Scenario(
        flows=(
            Flow(cca=ABC.cca, count=_LONG),
            Flow(cca="cubic", count=_LONG),
            Flow(
                kind="bytes",
                cca="cubic",
                arrivals=poisson_arrivals(load_percent, seed, duration_s),
                label="short",
            ),
        ),
        path=NetworkPath(
            bottlenecks=(two_queues.bottleneck(LINK_MBPS, bdp_packets),),
            rtt_ms=rtt_ms,
            noise=typical(rtt_ms=rtt_ms),
        ),
        duration_s=duration_s,
        seed=seed,
        queue_log=False,
        sample_interval_ms=1000,  # for up to 24,000 flows
        name=f"3 ABC, 3 CUBIC, {load_percent:g} % short flows, {rtt_ms:g} ms, {weights}, "
        f"seed {seed}",
    )


@cache
def poisson_arrivals(load_percent: float, seed: int, duration_s: float) -> Arrivals:
    """Return short flows with a mean offered payload as a share of the link.

    Parameters
    ----------
    load_percent : float
        Offered load, in percent of the link's rate.
    seed : int
        Seed of the arrivals.
    duration_s : float
        Period of arrivals in seconds.

    Examples
    --------
    >>> arrivals = poisson_arrivals(50, seed=1, duration_s=40)
    >>> round(len(arrivals) * 80e3 / 40 / 96e6, 2)
    0.5
    """
    per_second = load_percent / 100 * LINK_MBPS * 1e6 / (8 * _SHORT_BYTES)
    random = stream(seed, "short flows", repr(float(load_percent)))
    # Given their number, the arrivals of a Poisson process are uniformly distributed.
    times_s = np.sort(random.uniform(0, duration_s, random.poisson(per_second * duration_s)))
    return tuple((time_s, _SHORT_BYTES) for time_s in times_s.tolist())


def _measure(run: Run) -> Rows:
    short = run.scenario.flows[2].arrivals
    offered_mbps = 8e-6 * _SHORT_BYTES * len(short) / run.scenario.duration_s
    # The figure's loads differ by a factor of two, the runs of one load by a few percent.
    load = min(_LOADS_PERCENT, key=lambda percent: abs(offered_mbps / LINK_MBPS - percent / 100))
    summary = run.summary()
    options = dict(run.scenario.path.bottlenecks[0].qdisc_options)
    return [
        {
            "weights": options["weights"],
            "rtt_ms": run.scenario.path.rtt_ms,
            "load_percent": load,
            "offered_mbps": offered_mbps,
            "seed": run.scenario.seed,
            "scheme": scheme,
            "flow": flow,
            "mbps": float(summary["throughput_mbps"][flow]),
        }
        for flow, scheme in enumerate(("ABC",) * _LONG + ("Cubic",) * _LONG)
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    mbps = table.pivot_table("mbps", _CASE, "scheme").loc[_MAX_MIN]
    apart_percent = 100 * (mbps["Cubic"] / mbps["ABC"] - 1)
    # Standard deviation between the flows of a run, relative to their mean.
    deviation = table.pivot_table("mbps", _CASE, "scheme", aggfunc="std").loc[_MAX_MIN]
    spread_percent = 100 * deviation / mbps
    compared, *variants = [rtt_ms for rtt_ms in _RTTS_MS if rtt_ms in set(table["rtt_ms"])]
    spread = spread_percent.loc[compared]
    cubic_by_abc = (
        spread["Cubic"].groupby(level="load_percent").mean()
        / spread["ABC"].groupby(level="load_percent").mean()
    )
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            _apart(apart_percent.loc[compared], compared, at_most(5, _TEXT, text="under 5")),
            Comparison(
                quantity=f"{compared:g} ms: standard deviation between a run's ABC flows, largest",
                measured=_largest(spread["ABC"]),
                published=at_most(10, _TEXT, text="under 10"),
                unit="%",
            ),
            Comparison(
                quantity=f"{compared:g} ms: CUBIC's standard deviation ÷ ABC's, smallest of all "
                "loads",
                measured=float(cubic_by_abc.min()),
                published=at_least(1, _TEXT, text="ABC's is smaller"),
            ),
            *(
                _apart(apart_percent.loc[rtt_ms], rtt_ms, unbounded("variant", _TEXT))
                for rtt_ms in variants
            ),
            Comparison(
                quantity=f"{compared:g} ms: CUBIC's mean throughput ÷ ABC's with RCP's Zombie "
                "list, most short flows",
                measured=_at_most_load(table[table["weights"] == _ZOMBIES]),
                published=at_least(_RATIO, _TEXT, text="less fair than ABC's"),
            ),
        ),
    )


def _apart(percent: pd.Series[float], rtt_ms: float, published: Published) -> Comparison:
    """Compare the difference of mean throughputs at the load with the largest difference."""
    means = percent.groupby(level="load_percent").mean()
    return Comparison(
        quantity=f"{rtt_ms:g} ms: CUBIC's mean throughput ÷ ABC's − 1, largest absolute value of "
        "all loads",
        measured=_largest(percent),
        published=published,
        unit="%",
        note=", ".join(f"{load:g} %: {mean:+.1f}" for load, mean in means.items()),
    )


def _at_most_load(table: pd.DataFrame) -> Estimate:
    """Return CUBIC's mean throughput by ABC's at the largest load, with its interval."""
    last = table[table["load_percent"] == table["load_percent"].max()]
    mbps = last.pivot_table("mbps", "seed", "scheme")
    return Estimate(mbps["Cubic"] / mbps["ABC"])


def _largest(percent: pd.Series[float]) -> Estimate:
    """Return the absolute mean over the seeds, with its interval, at the load with the largest."""
    by_load = [Estimate(values) for _, values in percent.groupby(level="load_percent", sort=False)]
    largest = max(by_load, key=lambda estimate: abs(estimate.mean))
    sign = math.copysign(1, largest.mean)
    return Estimate(sign * value for value in largest.values)


def _figure(table: pd.DataFrame) -> Figure:
    groups = [
        (f"{rtt_ms:g} ms{'' if weights == _MAX_MIN else ', Zombie list'}", rows)
        for (weights, rtt_ms), rows in table.groupby(["weights", "rtt_ms"], sort=False)
    ]
    figure = Figure(figsize=(4 * len(groups), 4), layout="constrained")
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    for (name, rows), axes in zip(groups, panels, strict=True):
        loads = sorted(rows["load_percent"].unique())
        for i, (scheme, flows) in enumerate(rows.groupby("scheme")):
            of_load = flows.groupby("load_percent")["mbps"]
            axes.bar(
                np.arange(len(loads)) + 0.4 * i,
                of_load.mean(),
                0.4,
                yerr=of_load.std(),
                color=COLOURS[str(scheme)],
                label=str(scheme),
            )
        axes.set_xticks(np.arange(len(loads)) + 0.2, [f"{load:g}" for load in loads])
        axes.set_xlabel(f"short flows (% of the link), {name}")
    panels[0].set_ylabel("throughput of a long flow (Mbit/s)")
    panels[0].legend()
    return figure


STUDY = Study(
    info=info("abc-13"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
