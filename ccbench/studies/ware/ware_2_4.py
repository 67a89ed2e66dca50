# SPDX-License-Identifier: Apache-2.0
"""Training traces of 15 CCAs (Ware 2024, Figures 2.1, 2.4 and 2.21).

Three samples of each CCA in the setting of Figure 2.4, 5 Mbit/s and 85 ms, and in that for distant
and slow servers, 0.3 Mbit/s and 275 ms. Figure 2.1 shows four of the CCAs, in a setting that the
thesis does not name.

The thesis states no numbers. Its words are read as follows. Four CCAs are "visually distinct" if
the samples of each pair of them are farther apart than any two samples of one of both. The traces
of 0.3 Mbit/s are "distinguishable" if the nearest other sample is of the same CCA. A trace captures
"some of the cyclical behavior" if the queue falls at least twice by half of the range between the
5th and the 95th percentile of its length.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.classify.setting import LOW_RATE, SETTINGS
from ccbench.studies.catalogue import info
from ccbench.studies.published import exactly
from ccbench.studies.study import Comparison, Findings, Study
from ccbench.studies.ware.samples import Samples, draw_examples, is_same, per_point

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

_SETTING = SETTINGS[0]
#: The CCAs of Figure 2.1, in its order.
_SHOWN = ("reno", "bbr", "cubic", "bic")
_CYCLES = 2

_SAMPLES = Samples(settings=(_SETTING, LOW_RATE), quick_ccas=_SHOWN)


def _conclude(table: pd.DataFrame) -> Findings:
    usual = table[table["setting"] == _SETTING.name]
    slow = table[table["setting"] == LOW_RATE.name]
    shown = usual[usual["cca"].isin(_SHOWN)]
    figure, more = (Figure(figsize=(7, 4.5), layout="constrained") for _ in range(2))
    draw_examples(figure, usual)
    four = Figure(figsize=(5, 3.4), layout="constrained")
    draw_examples(four, shown.set_index("cca").loc[list(_SHOWN)].reset_index())
    figures = {"2.1": four}
    if len(slow):
        draw_examples(more, slow)
        figures["2.21"] = more
    return Findings(
        table=table.assign(trace=table["trace"].map(lambda points: points.mean())).rename(
            columns={"trace": "mean_packets"}
        ),
        figure=figure,
        comparisons=(
            Comparison(
                quantity="pairs of Reno, BBR, CUBIC and BIC that are distinct",
                measured=float(sum(_are_distinct(shown, *pair) for pair in _pairs())),
                published=exactly(
                    len(_pairs()), "caption of Figure 2.1", text="all: each visually distinct"
                ),
            ),
            Comparison(
                quantity=f"{_SETTING.name}: CCAs whose traces have two falls or more",
                measured=float(_cyclical(usual).sum()),
                published=exactly(15, "section 2.3.3.1", text="each CCA"),
                note=", ".join(_cyclical(usual).index[~_cyclical(usual)]),
            ),
            Comparison(
                quantity=f"{LOW_RATE.name}: CCAs whose samples are nearest to each other",
                measured=float(_nearest_are_same(slow).sum()) if len(slow) else np.nan,
                published=exactly(15, "section 2.5.3", text="distinguishable"),
                note=", ".join(_nearest_are_same(slow).index[~_nearest_are_same(slow)])
                if len(slow)
                else "",
            ),
        ),
        more_figures=figures,
    )


def _pairs() -> list[tuple[str, str]]:
    return list(combinations(_SHOWN, 2))


def _are_distinct(table: pd.DataFrame, *pair: str) -> bool:
    rows = table[table["cca"].isin(pair)]
    apart, same = per_point(rows["trace"].tolist()), is_same(rows["cca"].tolist())
    return bool(apart[~same].min() > apart[same].max())


def _nearest_are_same(table: pd.DataFrame) -> pd.Series[bool]:
    """Return for each CCA whether the nearest other sample of each of its samples is its own."""
    apart = per_point(table["trace"].tolist())
    np.fill_diagonal(apart, np.inf)
    names = table["cca"].to_numpy()
    nearest = names[apart.argmin(axis=1)] == names
    return table.assign(nearest=nearest).groupby("cca", sort=False)["nearest"].all()


def _cyclical(table: pd.DataFrame) -> pd.Series[bool]:
    """Return for each CCA whether all its traces have enough cycles."""
    enough = table["trace"].map(lambda points: falls(points) >= _CYCLES)
    return table.assign(enough=enough).groupby("cca", sort=False)["enough"].all()


def falls(points: npt.NDArray[np.float32]) -> int:
    """Return how often a queue falls by half of its range.

    Examples
    --------
    >>> falls(np.float32([0, 8, 2, 3, 8, 1, 8]))
    2
    """
    low, high = np.percentile(points, (5, 95))
    depth = (high - low) / 2
    count, top, bottom = 0, float(points[0]), float(points[0])
    is_down = True
    for packets in points.tolist():
        if is_down:
            bottom = min(bottom, packets)
            if packets >= bottom + depth:
                is_down, top = False, packets
        else:
            top = max(top, packets)
            if packets <= top - depth:
                is_down, bottom = True, packets
                count += 1
    return count


STUDY = Study(
    info=info("ware-2.4"),
    scenarios=_SAMPLES.scenarios,
    measure=_SAMPLES.measure,
    conclude=_conclude,
)
