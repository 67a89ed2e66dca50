# SPDX-License-Identifier: Apache-2.0
"""An ABC flow beside 200 whose applications send little (Goyal et al. 2020, Figure 20).

The 200 offer 1 Mbit/s together: each a packet every 2.3 s, and one after the other, not all at the
same instant. "A cellular link" is Figure 1's here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ccbench import packets
from ccbench.scenario import MSS_BYTES, Flow
from ccbench.studies.abc_links import ABC, CELLULAR_S, cellular, course, measured
from ccbench.studies.catalogue import CELLULAR_LINKS, about
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run
    from ccbench.scenario import Scenario

_OTHERS = 200
_OFFERED_MBPS = 1.0


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 14.0 if quick else CELLULAR_S
    each_mbps = _OFFERED_MBPS / _OTHERS
    between_s = 8e-6 * MSS_BYTES / _OFFERED_MBPS
    others = tuple(
        Flow(cca=ABC.cca, kind="rate", rate_mbps=each_mbps, start_s=i * between_s)
        for i in range(_OTHERS)
    )
    return tuple(
        cellular(ABC, CELLULAR_LINKS[0], others=more, duration_s=duration_s)
        for more in ((), others)
    )


def _measure(run: Run) -> Rows:
    now = course(run)
    flows = [column for column in now if isinstance(column, int)]
    now = now[["capacity_mbps", "delay_ms"]].assign(mbps=now[flows].sum(axis=1))
    came = packets.delivered(run)
    own_ms = came.loc[came["flow"] == 0, "queueing_ms"].quantile(0.95)
    return [{"others": len(flows) - 1, **measured(run), "backlogged_p95_ms": own_ms, "course": now}]


def _conclude(table: pd.DataFrame) -> Findings:
    rows = table.set_index("others")
    figure = Figure(figsize=(8, 4), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    for i, (others, now) in enumerate(rows["course"].items()):
        if i == 0:
            top.fill_between(now.index, now["capacity_mbps"], step="pre", color="0.88")
        top.plot(now.index, now["mbps"], label=f"{others} others", linewidth=1)
        bottom.plot(now.index, now["delay_ms"], linewidth=1)
    top.set_ylabel("Mbit/s, all flows")
    top.legend(fontsize="small")
    bottom.set_ylabel("delay (ms)")
    bottom.set_xlabel("time (s)")
    used = rows["utilisation_percent"]
    return Findings(
        table=table.drop(columns="course"),
        figure=figure,
        comparisons=(
            Comparison(
                what=f"utilisation with {_OTHERS} others less that of the flow alone",
                ours=float(used[_OTHERS] - used[0]),
                published="still high",
                accepted=(-5, 20),
                unit="points",
            ),
            *(
                Comparison(
                    what=f"95th percentile of the delay of {whose}, by that of the flow alone",
                    ours=float(rows[column][_OTHERS] / rows[column][0]),
                    published="still low",
                    accepted=(0, 1.25),
                )
                for whose, column in (
                    ("all packets", "p95_ms"),
                    ("its packets", "backlogged_p95_ms"),
                )
            ),
        ),
    )


STUDY = Study(
    about=about("abc-20"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
