# SPDX-License-Identifier: Apache-2.0
"""A BBR trace and its distances to all training samples (Ware 2024, Figure 2.8).

The setting is that of the figure, 10 Mbit/s and 130 ms. There are three training samples of each
CCA, and five test samples of BBR on a path whose round-trip time is 1.5 ms longer, with other
seeds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from ccbench.base.figures import Figure
from ccbench.classify import dtw
from ccbench.classify.setting import SETTINGS
from ccbench.studies.catalogue import info
from ccbench.studies.published import exactly
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.samples import PLAIN, Samples, times_s

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_SETTING = SETTINGS[3]
_WHERE = "section 2.3.3.2"
_OWN = "bbr"
#: The CCAs that are next closest.
_NEXT = ("cdg", "vegas")

_TRAINING = Samples(settings=(_SETTING,), quick_ccas=(_OWN, *_NEXT, "cubic"), quick_count=1)
_TESTED = Samples(
    settings=(_SETTING,),
    ccas=(_OWN,),
    count=5,
    first_seed=101,
    variation=replace(PLAIN, name="1.5 ms longer", extra_rtt_ms=1.5),
    quick_ccas=(_OWN,),
    quick_count=1,
)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return (*_TRAINING.scenarios(quick=quick), *_TESTED.scenarios(quick=quick))


def _measure(run: Run) -> Rows:
    is_tested = _TESTED.variation.name in run.scenario.name
    of = _TESTED if is_tested else _TRAINING
    return [{**row, "is_tested": is_tested} for row in of.measure(run)]


def _conclude(table: pd.DataFrame) -> Findings:
    tested, trained = table[table["is_tested"]], table[~table["is_tested"]]
    apart = dtw.distances(tested["trace"].tolist(), trained["trace"].tolist())
    rows = pd.DataFrame(
        {
            "sample": sample,
            "cca": cca,
            "distance_packets": distance,
        }
        for sample, distances in enumerate(dtw.per_point(apart, tested["trace"].tolist()))
        for cca, distance in zip(trained["cca"], distances, strict=True)
    )
    closer, following = zip(*(_order(own) for _, own in rows.groupby("sample")), strict=True)
    return Findings(
        table=rows,
        figure=_figure(table, rows),
        comparisons=(
            Comparison(
                quantity="test samples nearer to another CCA than to a training sample of BBR",
                measured=float(sum(count > 0 for count in closer)),
                published=exactly(0, _WHERE, text="all BBR training samples are closest"),
            ),
            Comparison(
                quantity="test samples whose next closest CCAs are CDG and Vegas",
                measured=float(sum(set(names) == set(_NEXT) for names in following)),
                published=exactly(len(tested), _WHERE, text="CDG and Vegas are the next closest"),
                note="; ".join(dict.fromkeys(" and ".join(names) for names in following)) + ".",
            ),
        ),
    )


def _order(rows: pd.DataFrame) -> tuple[int, tuple[str, ...]]:
    """Return the number of other CCAs' samples before BBR's last, and the two nearest others."""
    of_cca = rows.groupby("cca")["distance_packets"]
    others = rows[rows["cca"] != _OWN]
    closer = int((others["distance_packets"] < of_cca.max()[_OWN]).sum())
    return closer, tuple(of_cca.min().drop(_OWN).nsmallest(len(_NEXT)).index)


def _figure(table: pd.DataFrame, rows: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    tested: npt.NDArray[np.float32] = table.loc[table["is_tested"], "trace"].iloc[0]
    first = rows[rows["sample"] == 0].reset_index(drop=True)
    nearest = table[~table["is_tested"]]["trace"].iloc[
        int(first["distance_packets"].to_numpy().argmin())
    ]
    for points, label, colour, line in (
        (tested, "test sample", "#d55e00", "-"),
        (nearest, "nearest training sample", "#0072b2", "--"),
    ):
        left.plot(times_s(len(points)), points, line, color=colour, label=label, linewidth=0.8)
    left.set_xlabel("time (s)")
    left.set_ylabel("packets in the queue")
    left.legend(fontsize="small")
    order = first.groupby("cca")["distance_packets"].min().sort_values(ascending=False).index
    at = {cca: i for i, cca in enumerate(order)}
    is_own = first["cca"] == _OWN
    for part, colour, marker in ((first[is_own], "#d55e00", "o"), (first[~is_own], "#0072b2", "s")):
        right.plot(
            part["distance_packets"], part["cca"].map(at), marker, color=colour, fillstyle="none"
        )
    right.set_yticks(range(len(order)), order, fontsize="small")
    right.set_xlabel("distance (packets per point)")
    right.grid(alpha=0.3)
    return figure


STUDY = Study(
    info=info("ware-2.8"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
