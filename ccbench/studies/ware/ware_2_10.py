# SPDX-License-Identifier: Apache-2.0
"""Distances between training samples of one CCA and of two (Ware 2024, Figure 2.10).

Three samples of each CCA in the setting of the figure. The thesis does not state the unit of its
distances, so that ratios are compared: it states the largest distance within a CCA, "roughly" 15,
and the 95th percentile, 6.68 (Table 2.3).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ccbench.base.figures import Figure
from ccbench.classify.setting import SETTINGS
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, quantity
from ccbench.studies.study import Comparison, Findings, Study
from ccbench.studies.ware.samples import Samples, is_same, per_point

_LARGEST, _PERCENTILE = 15.0, 6.68
_STYLES = {True: ("within a CCA", "#0072b2", "-"), False: ("between two CCAs", "#d55e00", "--")}

_SAMPLES = Samples(settings=(SETTINGS[0],))


def _conclude(table: pd.DataFrame) -> Findings:
    names = table["cca"].to_numpy()
    first, second = np.triu_indices(len(names), k=1)
    apart = per_point(table["trace"].tolist())
    pairs = pd.DataFrame(
        {
            "cca": names[first],
            "other": names[second],
            "is_same": is_same(names.tolist())[first, second],
            "distance_packets": apart[first, second],
        }
    )
    within, between = (
        pairs.loc[pairs["is_same"] == same, "distance_packets"] for same in (True, False)
    )
    percentile = float(within.quantile(0.95))
    farthest = pairs[pairs["is_same"]].nlargest(1, "distance_packets")["cca"].iloc[0]
    return Findings(
        table=pairs,
        figure=_figure(pairs),
        comparisons=(
            Comparison(
                quantity="distances between two CCAs above the 95th percentile of those within",
                measured=100 * float((between > percentile).mean()),
                published=at_least(50, "section 2.3.3.4", text="generally much higher"),
                unit="%",
            ),
            Comparison(
                quantity="median distance between two CCAs ÷ that within a CCA",
                measured=float(between.median() / within.median()),
                published=at_least(1, "section 2.3.3.4", text="much higher"),
            ),
            Comparison(
                quantity="largest distance within a CCA ÷ the 95th percentile",
                measured=float(within.max()) / percentile,
                published=quantity(
                    _LARGEST / _PERCENTILE,
                    "section 2.3.3.4 and Table 2.3",
                    text="2.2: roughly 15 ÷ 6.68",
                ),
                note=f"Farthest apart: {farthest}.",
            ),
        ),
    )


def _figure(pairs: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.subplots()
    for same, (label, colour, line) in _STYLES.items():
        axes.ecdf(
            pairs.loc[pairs["is_same"] == same, "distance_packets"],
            label=label,
            color=colour,
            linestyle=line,
        )
    axes.set_xscale("log")
    axes.set_xlabel("distance (packets per point)")
    axes.set_ylabel("share of pairs")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    return figure


STUDY = Study(
    info=info("ware-2.10"),
    scenarios=_SAMPLES.scenarios,
    measure=_SAMPLES.measure,
    conclude=_conclude,
)
