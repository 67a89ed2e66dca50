# SPDX-License-Identifier: Apache-2.0
"""Three ABC and three CUBIC flows with short non-ABC flows (Goyal et al. 2020, Figure 13).

The link has 96 Mbit/s and a separate queue for non-ABC packets. Short flows of 10 KB arrive as a
Poisson process with an offered load of 6.25 to 50 % of the link; each load has ten runs of 40 s.
The round-trip time is 100 ms, as in all of the paper's emulations up to section 7.6, and the
router's rates cover T = 20 ms, as in the authors' scripts. The result depends on both, so 20 and
50 ms, and T = 100 ms, are shown, too.

Choices left open by the paper: each queue holds one bandwidth-delay product; short flows use CUBIC;
KB are 1000 bytes; throughput covers the whole run, including slow start. "The difference in average
throughput" is that of the means over the flows of a load. RCP's Zombie list, with which the paper
compares, weighs the same queues by their numbers of flows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

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
    from collections.abc import Sequence

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
_CASE = ["load_percent", "seed"]
_TEXT = "section 7.5"
#: Above it, the difference is more than the paper's for ABC, 5 %.
_RATIO = 1.05


class _Setting(NamedTuple):
    """What varies besides the load and the seed.

    Parameters
    ----------
    weights : str
        Weights of the queues: ABC's, or those of RCP's Zombie list.
    rtt_ms : float
        Round-trip time.
    window_ms : float
        T, the time over which the router measures rates.
    """

    weights: str = "max_min"
    rtt_ms: float = RTT_MS
    window_ms: float = 20.0

    @property
    def name(self) -> str:
        """Round-trip time, and T and the weights if they differ from those compared."""
        window = "" if self.window_ms == _COMPARED.window_ms else f", T = {self.window_ms:g} ms"
        zombies = "" if self.weights == _COMPARED.weights else ", Zombie list"
        return f"{self.rtt_ms:g} ms{window}{zombies}"

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of this setting."""
        return table[(table[list(self._fields)] == list(self)).all(axis="columns")]


_COMPARED = _Setting()
_VARIANTS = (_Setting(rtt_ms=50.0), _Setting(rtt_ms=20.0), _Setting(window_ms=100.0))
_ZOMBIES = _Setting(weights="flow_counts")
_SETTINGS = (_COMPARED, *_VARIANTS, _ZOMBIES)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    runs, duration_s = (1, 20.0) if quick else (_RUNS, _DURATION_S)
    loads = _LOADS_PERCENT[1:2] if quick else _LOADS_PERCENT
    settings = (_COMPARED, _ZOMBIES) if quick else _SETTINGS
    return tuple(
        _mix(setting, load, seed, duration_s)
        for setting in settings
        for load in loads
        for seed in range(1, runs + 1)
    )


def _mix(setting: _Setting, load_percent: float, seed: int, duration_s: float) -> Scenario:
    weights, rtt_ms, window_ms = setting
    options = router(two_queues=True, weights=weights, window_ms=window_ms)
    two_queues = replace(ABC, options=options)
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
        name=f"3 ABC, 3 CUBIC, {load_percent:g} % short flows, {rtt_ms:g} ms, T {window_ms:g} ms, "
        f"{weights}, seed {seed}",
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
            "window_ms": float(options["window_ms"]),
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
    settings = [setting for setting in _SETTINGS if len(setting.rows(table))]
    compared = _spread_percent(_COMPARED.rows(table)).groupby(level="load_percent").mean()
    unbound = unbounded("variant", _TEXT)
    variants = [setting for setting in settings if setting in _VARIANTS]
    return Findings(
        table=table,
        figure=_figure(table, settings),
        comparisons=(
            _apart(table, _COMPARED, at_most(5, _TEXT, text="under 5")),
            _deviation(table, _COMPARED, at_most(10, _TEXT, text="under 10")),
            Comparison(
                quantity=f"{_COMPARED.name}: CUBIC's standard deviation ÷ ABC's, smallest of all "
                "loads",
                measured=float((compared["Cubic"] / compared["ABC"]).min()),
                published=at_least(1, _TEXT, text="ABC's is smaller"),
            ),
            *(_apart(table, setting, unbound) for setting in variants),
            *(_deviation(table, setting, unbound) for setting in variants),
            Comparison(
                quantity=f"{_ZOMBIES.name}: CUBIC's mean throughput ÷ ABC's, most short flows",
                measured=_at_most_load(_ZOMBIES.rows(table)),
                published=at_least(_RATIO, _TEXT, text="less fair than ABC's"),
            ),
        ),
    )


def _apart(table: pd.DataFrame, setting: _Setting, published: Published) -> Comparison:
    """Compare the difference of mean throughputs at the load with the largest difference."""
    mbps = setting.rows(table).pivot_table("mbps", _CASE, "scheme")
    percent = 100 * (mbps["Cubic"] / mbps["ABC"] - 1)
    means = percent.groupby(level="load_percent").mean()
    return Comparison(
        quantity=f"{setting.name}: CUBIC's mean throughput ÷ ABC's − 1, largest absolute value of "
        "all loads",
        measured=_largest(percent),
        published=published,
        unit="%",
        note=", ".join(f"{load:g} %: {mean:+.1f}" for load, mean in means.items()),
    )


def _deviation(table: pd.DataFrame, setting: _Setting, published: Published) -> Comparison:
    """Compare the deviation between a run's ABC flows at the load with the largest."""
    return Comparison(
        quantity=f"{setting.name}: standard deviation between a run's ABC flows, largest",
        measured=_largest(_spread_percent(setting.rows(table))["ABC"]),
        published=published,
        unit="%",
    )


def _spread_percent(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the standard deviation between the flows of a run, relative to their mean."""
    std, mean = (rows.pivot_table("mbps", _CASE, "scheme", aggfunc=of) for of in ("std", "mean"))
    return 100 * std / mean


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


def _figure(table: pd.DataFrame, settings: Sequence[_Setting]) -> Figure:
    figure = Figure(figsize=(4 * len(settings), 4), layout="constrained")
    panels = figure.subplots(1, len(settings), sharey=True, squeeze=False)[0]
    for setting, axes in zip(settings, panels, strict=True):
        rows = setting.rows(table)
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
        axes.set_xlabel(f"short flows (% of the link), {setting.name}")
    panels[0].set_ylabel("throughput of a long flow (Mbit/s)")
    panels[0].legend()
    return figure


STUDY = Study(
    info=info("abc-13"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
