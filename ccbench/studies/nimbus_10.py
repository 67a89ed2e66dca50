# SPDX-License-Identifier: Apache-2.0
"""A video as cross traffic (Goyal et al. 2022, Figure 10).

48 Mbit/s, 50 ms, 80 s. Where the paper leaves room: of its "4k DASH video stream" nothing is said
but the player, dash.js. Here it is as its test stream: ten bitrates up to 14.9 Mbit/s, segments of
4 s, 30 s of buffer. The queue is 2 BDP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ccbench.scenario import Flow
from ccbench.studies.catalogue import about
from ccbench.studies.nimbus_comparisons import spread
from ccbench.studies.nimbus_measures import delays_ms
from ccbench.studies.nimbus_testbed import CCAS, COLOURS, seeds, shared
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run
    from ccbench.scenario import Scenario

VIDEO = Flow(
    kind="video",
    cca="cubic",
    bitrates_mbps=(0.25, 0.5, 0.76, 1.0, 1.25, 1.9, 3.1, 5.0, 9.9, 14.9),
    segment_s=4,
    buffer_s=30,
    label="video",
)
_LINK_MBPS = 48.0
_LOW = {"copa", "vegas"}


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        shared(
            Flow(cca=cca),
            VIDEO,
            link_mbps=_LINK_MBPS,
            duration_s=16.0 if quick else 80.0,
            seed=seed,
            name=f"{cca} beside a video",
        )
        for cca in CCAS
        for seed in seeds(quick=quick)
    )


def _measure(run: Run) -> Rows:
    own, video = run.summary()["throughput_mbps"]
    return [
        {
            "cca": run.scenario.flows[0].cca,
            "seed": run.scenario.seed,
            "mbps": own,
            "video_mbps": video,
            "delay_ms": float(delays_ms(run).mean()),
            "utilisation_percent": 100 * run.utilisation(),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    by_cca = table.set_index("seed").groupby("cca")
    mbps, delay = ({str(cca): rows[x] for cca, rows in by_cca} for x in ("mbps", "delay_ms"))
    used = table.groupby("seed")["utilisation_percent"].min()
    comparisons = [
        Comparison(
            what="lowest utilisation of the link of all schemes",
            ours=float(used.mean()),
            published="at least 90",
            accepted=(90, 100),
            unit="%",
            note=spread(used),
        )
    ]
    for cca in mbps:
        if cca in _LOW:
            off = 100 * (mbps[cca] / mbps["cubic"] - 1)
            comparisons.append(
                Comparison(
                    what=f"throughput of {cca} by CUBIC's, less 1",
                    ours=float(off.mean()),
                    published="low",
                    accepted=(-100, -10),
                    unit="%",
                    note=spread(off),
                )
            )
    if "nimbus" in mbps:
        off = 100 * (mbps["nimbus"] / mbps["cubic"] - 1)
        less = delay["cubic"] - delay["nimbus"]
        comparisons += [
            Comparison(
                what="throughput of Nimbus by CUBIC's, less 1",
                ours=float(off.mean()),
                published="similar",
                accepted=(-10, 10),
                unit="%",
                note=spread(off),
            ),
            Comparison(
                what="mean delay of CUBIC less that of Nimbus",
                ours=float(less.mean()),
                published="15",
                accepted=(5, 40),
                unit="ms",
                note=spread(less),
            ),
        ]
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, rows in table.groupby("cca"):
        axes.plot(rows["delay_ms"], rows["mbps"], "o", color=COLOURS[str(name)], label=name)
    axes.invert_xaxis()
    axes.set_xlabel("mean queueing delay (ms)")
    axes.set_ylabel("throughput (Mbit/s)")
    axes.legend(fontsize="small")
    return Findings(table=table, figure=figure, comparisons=tuple(comparisons))


STUDY = Study(
    about=about("nimbus-10"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
