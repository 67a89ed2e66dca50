# SPDX-License-Identifier: Apache-2.0
"""Many flows of one scheme at once (Goyal et al. 2020, section 7.5 and Figure 11).

2 to 32 ABC flows on 24 Mbit/s, 60 s: Jain's index of what they get from start to end. 1 to 16 flows
of each scheme on one of Verizon's links, the short one down, which the paper does not name.

Where the paper leaves room: on the link of 24 Mbit/s the round-trip time is 100 ms and the queue
has 250 packets, as on cellular links; flows start within the first second, not at the same instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ccbench.harm import jain_index
from ccbench.scenario import Flow, Scenario
from ccbench.studies.abc_3 import LINK_MBPS
from ccbench.studies.abc_links import (
    ABC,
    CELLULAR_S,
    COLOURS,
    RTT_MS,
    SCHEMES,
    cellular,
    measured,
)
from ccbench.studies.catalogue import CELLULAR_LINKS, about
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run

_SHARING = (2, 4, 8, 16, 32)
_DURATION_S = 60.0
_ON_CELLULAR = (1, 2, 4, 8, 16)
#: How much the utilisation may change from one ABC flow to sixteen, in points, to be "similar".
_SIMILAR = 10.0


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    counts, on_cellular = (_SHARING[1:2], _ON_CELLULAR[:3:2]) if quick else (_SHARING, _ON_CELLULAR)
    schemes = SCHEMES[:2] if quick else SCHEMES
    duration_s = 10.0 if quick else CELLULAR_S
    return (
        *(_sharing(count, 20.0 if quick else _DURATION_S) for count in counts),
        *(
            cellular(scheme, CELLULAR_LINKS[0], count=count, duration_s=duration_s)
            for scheme in schemes
            for count in on_cellular
        ),
    )


def _sharing(count: int, duration_s: float) -> Scenario:
    return Scenario(
        flows=tuple(Flow(cca=ABC.cca, start_s=i / count) for i in range(count)),
        bottlenecks=(ABC.bottleneck(LINK_MBPS),),
        rtt_ms=RTT_MS,
        duration_s=duration_s,
        name=f"{count} ABC flows, {LINK_MBPS:g} Mbit/s",
    )


def _measure(run: Run) -> Rows:
    mbps = run.summary()["throughput_mbps"].to_numpy()
    return [{**measured(run), "flows": len(mbps), "jain": jain_index(mbps)}]


def _conclude(table: pd.DataFrame) -> Findings:
    fixed = table["link"] == f"{LINK_MBPS:g} Mbit/s"
    sharing = table[fixed].set_index("flows")["jain"]
    on_cellular = table[~fixed]
    ours = on_cellular[on_cellular["scheme"] == ABC.name].set_index("flows")
    most = ours.index.max()
    used, p95_ms = ours["utilisation_percent"], ours["p95_ms"]
    return Findings(
        table=table,
        figure=_figure(on_cellular),
        comparisons=(
            Comparison(
                what="ABC flows on a link of constant rate: lowest Jain's index",
                ours=float(sharing.min()),
                published="within 5 % of 1",
                accepted=(0.95, 1),
                note=", ".join(f"{flows}: {index:.3f}" for flows, index in sharing.items()),
            ),
            Comparison(
                what=f"ABC's utilisation with {most} flows less that with one",
                ours=float(used[most] - used[1]),
                published="similar, rising",
                accepted=(0, _SIMILAR),
                unit="points",
            ),
            Comparison(
                what=f"ABC's 95th percentile of the delay with {most} flows by that with one",
                ours=float(p95_ms[most] / p95_ms[1]),
                published="similar, rising",
                accepted=(1, 1.5),
            ),
            Comparison(
                what="cases in which another scheme has ABC's utilisation and its delay",
                ours=float(_as_good(on_cellular)),
                published="none: ABC outperforms all",
                accepted=(0, 0),
            ),
        ),
    )


def _as_good(rows: pd.DataFrame) -> int:
    ours = rows[rows["scheme"] == ABC.name].set_index("flows")
    others = rows[rows["scheme"] != ABC.name]
    mine = ours.loc[others["flows"]]
    return int(
        np.sum(
            (others["utilisation_percent"].to_numpy() >= mine["utilisation_percent"].to_numpy())
            & (others["p95_ms"].to_numpy() <= mine["p95_ms"].to_numpy())
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
    about=about("abc-11"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
