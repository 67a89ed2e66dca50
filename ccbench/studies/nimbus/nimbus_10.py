# SPDX-License-Identifier: Apache-2.0
"""Video as cross traffic (Goyal et al. 2022, Figure 10).

48 Mbit/s, 50 ms, 80 s. Choices left open by the paper: it only names the player, dash.js, of its
"4k DASH video stream". Here the stream is that player's test stream: ten bitrates up to 14.9
Mbit/s, segments of 4 s, 30 s of buffer. The queue is 2 BDP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared
from ccbench.studies.nimbus.measures import delays_ms
from ccbench.studies.nimbus.testbed import CCAS, COLOURS, seeds, shared
from ccbench.studies.published import at_least, quantity, similar, unbounded
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

VIDEO = Flow(
    kind="video",
    cca="cubic",
    bitrates_mbps=(0.25, 0.5, 0.76, 1.0, 1.25, 1.9, 3.1, 5.0, 9.9, 14.9),
    segment_s=4,
    buffer_s=30,
    label="video",
)
_LINK_MBPS = 48.0
_LOW = ("copa", "vegas")
_WHERE = "section 7.1"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        shared(
            Flow(cca=cca),
            VIDEO,
            link_mbps=_LINK_MBPS,
            duration_s=16.0 if quick else 80.0,
            seed=seed,
            name=f"{cca} against a video",
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
        compared(
            "lowest utilisation of the link of all schemes",
            used,
            at_least(90, _WHERE),
        ),
        *(
            compared(
                f"throughput of {cca} ÷ CUBIC's",
                100 * mbps[cca] / mbps["cubic"],
                unbounded("low", "caption of Figure 10"),
            )
            for cca in _LOW
        ),
    ]
    if "nimbus" in mbps:
        comparisons += [
            compared(
                "throughput of NimbusCC ÷ CUBIC's",
                100 * mbps["nimbus"] / mbps["cubic"],
                similar(100, _WHERE),
            ),
            compared(
                "mean delay of CUBIC minus that of NimbusCC",
                delay["cubic"] - delay["nimbus"],
                quantity(15, _WHERE),
                unit="ms",
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
    info=info("nimbus-10"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
