# SPDX-License-Identifier: Apache-2.0
"""Many concurrent flows of one scheme (Goyal et al. 2020, section 7.5 and Figure 11).

2 to 32 ABC flows on 24 Mbit/s for 60 s: Jain's index of their throughput over the whole run. 1 to
16 flows of each scheme on one of Verizon's links, which the paper does not name; here it is the
short downlink. The round-trip time is 100 ms, as in all of the paper's emulations (section 7.6).
Competing flows run with the typical noise and three seeds.

Choices left open by the paper: on the link of 24 Mbit/s the queue holds 250 packets, as on cellular
links. Flows start at the same time ("simultaneously").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.experiment.noise import typical
from ccbench.experiment.scenario import Flow, NetworkPath, Scenario
from ccbench.metrics import jain_index
from ccbench.studies.abc.abc_3 import LINK_MBPS
from ccbench.studies.abc.links import (
    ABC,
    CELLULAR_S,
    COLOURS,
    RTT_MS,
    SCHEMES,
    cellular,
    measured,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, exactly, similar
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.study_info import CELLULAR_LINKS

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

_SHARING = (2, 4, 8, 16, 32)
_DURATION_S = 60.0
_ON_CELLULAR = (1, 2, 4, 8, 16)
_SEEDS = (1, 2, 3)
_TEXT = "section 7.5"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    counts, on_cellular = (_SHARING[1:2], _ON_CELLULAR[:3:2]) if quick else (_SHARING, _ON_CELLULAR)
    schemes, seeds = (SCHEMES[:2], _SEEDS[:1]) if quick else (SCHEMES, _SEEDS)
    duration_s = 10.0 if quick else CELLULAR_S
    return (
        *(
            _sharing(count, seed, 20.0 if quick else _DURATION_S)
            for count in counts
            for seed in seeds
        ),
        *(
            cellular(scheme, CELLULAR_LINKS[0], count=count, duration_s=duration_s, seed=seed)
            for scheme in schemes
            for count in on_cellular
            for seed in (seeds if count > 1 else seeds[:1])
        ),
    )


def _sharing(count: int, seed: int, duration_s: float) -> Scenario:
    return Scenario(
        flows=(Flow(cca=ABC.cca, count=count),),
        path=NetworkPath(
            bottlenecks=(ABC.bottleneck(LINK_MBPS),), rtt_ms=RTT_MS, noise=typical(rtt_ms=RTT_MS)
        ),
        duration_s=duration_s,
        seed=seed,
        name=f"{count} ABC flows, {LINK_MBPS:g} Mbit/s",
    )


def _measure(run: Run) -> Rows:
    mbps = run.summary()["throughput_mbps"].to_numpy()
    return [
        {
            **measured(run),
            "flows": len(mbps),
            "seed": run.scenario.seed,
            "jain": jain_index(mbps),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    fixed = table["link"] == f"{LINK_MBPS:g} Mbit/s"
    jain = table[fixed].pivot_table("jain", "seed", "flows")
    on_cellular = table[~fixed]
    columns = ["utilisation_percent", "p95_ms"]
    means = on_cellular.groupby(["scheme", "flows"], sort=False)[columns].mean().reset_index()
    abc = on_cellular[on_cellular["scheme"] == ABC.name]
    most = int(abc["flows"].max())
    return Findings(
        table=table,
        figure=_figure(means),
        comparisons=(
            Comparison(
                quantity="ABC flows on a link of constant rate: lowest Jain's index",
                measured=Estimate(jain.min(axis=1)),
                published=at_least(0.95, _TEXT, text="within 5 % of 1"),
                note=", ".join(f"{flows}: {index:.3f}" for flows, index in jain.mean().items()),
            ),
            *(
                Comparison(
                    quantity=f"ABC's {words} with {most} flows relative to that with one",
                    measured=_by_one(abc, column, most),
                    published=similar(100, _TEXT),
                    unit="%",
                )
                for column, words in (
                    ("utilisation_percent", "utilisation"),
                    ("p95_ms", "95th percentile of the delay"),
                )
            ),
            Comparison(
                quantity=f"schemes with more utilisation and delay with {most} flows than with one",
                measured=100 * _rising(means, most),
                published=exactly(100, _TEXT, text="all"),
                unit="%",
            ),
            Comparison(
                quantity="cases in which another scheme has ABC's utilisation and its delay",
                measured=float(_as_good(means)),
                published=exactly(0, _TEXT, text="none: ABC outperforms all other schemes"),
            ),
        ),
    )


def _by_one(abc: pd.DataFrame, column: str, most: int) -> Estimate:
    """Return ABC's value with most flows as a percentage of its single run with one flow."""
    alone = float(abc.loc[abc["flows"] == 1, column].iloc[0])
    return Estimate(100 * abc.loc[abc["flows"] == most, column] / alone)


def _rising(means: pd.DataFrame, most: int) -> float:
    """Return the share of schemes with higher utilisation and delay if there are more flows."""
    rises = [
        means.pivot_table(column, "scheme", "flows")[[1, most]].diff(axis=1)[most] > 0
        for column in ("utilisation_percent", "p95_ms")
    ]
    return float((rises[0] & rises[1]).mean())


def _as_good(means: pd.DataFrame) -> int:
    abc = means[means["scheme"] == ABC.name].set_index("flows")
    others = means[means["scheme"] != ABC.name]
    own = abc.loc[others["flows"]]
    return int(
        np.sum(
            (others["utilisation_percent"].to_numpy() >= own["utilisation_percent"].to_numpy())
            & (others["p95_ms"].to_numpy() <= own["p95_ms"].to_numpy())
        )
    )


def _figure(rows: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for name, points in rows.groupby("scheme", sort=False):
        axes.plot(
            points["p95_ms"],
            points["utilisation_percent"],
            "o-",
            color=COLOURS[str(name)],
            markersize=4,
            label=str(name),
        )
        for at in points[["flows", "p95_ms", "utilisation_percent"]].itertuples(index=False):
            axes.annotate(f"{at[0]}", at[1:], fontsize="x-small")
    axes.set_xscale("log")
    axes.invert_xaxis()
    axes.set_xlabel("95th percentile of the delay (ms)")
    axes.set_ylabel("utilisation (%)")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    return figure


STUDY = Study(
    info=info("abc-11"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
