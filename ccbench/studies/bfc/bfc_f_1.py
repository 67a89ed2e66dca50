# SPDX-License-Identifier: Apache-2.0
"""Shortest remaining flow first with BFC and Homa (Goyal 2022, Figure F-1 and Table F.1)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ccbench.datacenter.schemes import scheme
from ccbench.studies.bfc.slowdown import (
    BFC,
    BRIEF_S,
    LONG,
    NETWORK,
    by_seed,
    cases_of,
    figure,
    mean_ratio,
    measure,
    traffic,
    value,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, between, quantity, similar
from ccbench.studies.study import Comparison, Findings, Rows, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase
    from ccbench.datacenter.simulation import Simulation

_BFC = replace(BFC, name=f"{BFC.name}-srf", shortest_first=True)
_HOMA, _ECMP, _IDEAL = "homa", "homa-ecmp", "ideal-srf"
_SCHEMES = (_BFC, *map(scheme, (_HOMA, _ECMP, _IDEAL)))
_SIZES = ("google", "facebook")
_RACKS = len(np.unique(NETWORK.racks()))
_WHERE, _TABLE = "appendix F.1", "Table F.1"
#: 95th and 99th percentile of the delay in μs, by scheme and by the switches that send.
_PUBLISHED = {
    (_HOMA, "spines"): (2.4, 6.7),
    (_HOMA, "racks"): (2.1, 6.0),
    (_ECMP, "spines"): (40.8, 87.2),
    (_ECMP, "racks"): (43.7, 93.3),
}
#: The table does not state the flow sizes; these are those of most of the thesis's results.
_TABLE_SIZES = "facebook"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return tuple(
        replace(case, queue_delays=case.scheme.control == "homa")
        for sizes in _SIZES
        for case in cases_of(sizes, traffic(sizes, 60), _SCHEMES, quick=quick, duration_s=BRIEF_S)
    )


def core_delays_us(result: Simulation) -> dict[str, float]:
    """Return percentiles of the delay of granted packets in the core in μs, by column.

    ``spines_p95``, ``spines_p99``: at ports from a spine to a rack; ``racks_p95``, ``racks_p99``:
    the reverse. NaN without delays.
    """
    first_spine = NETWORK.servers + _RACKS
    nodes = result.ports[["node", "to"]].to_numpy()
    columns = {}
    for name, inside in (
        ("spines", nodes[:, 0] >= first_spine),
        ("racks", nodes[:, 1] >= first_spine),
    ):
        delays = result.queue_delays[result.queue_delays["port"].isin(np.flatnonzero(inside))]
        counts = delays.groupby("delay_ns")["count"].sum().sort_index()
        share = counts.cumsum() / counts.sum()
        for level in (0.95, 0.99):
            column = f"{name}_p{100 * level:g}"
            place = int(np.searchsorted(share.to_numpy(), level))
            columns[column] = float(counts.index[place]) / 1e3 if len(counts) else np.nan
    return columns


def _measure(case: SimulationCase, result: Simulation) -> Rows:
    delays = core_delays_us(result)
    return [{**row, **delays} for row in measure(case, result)]


def _conclude(table: pd.DataFrame) -> Findings:
    comparisons = []
    for sizes in _SIZES:
        rows = table[table["traffic"] == sizes]

        def others(part: pd.DataFrame, of: str, by: str) -> float:
            return mean_ratio(part, of, by, **LONG)

        comparisons += [
            Comparison(
                quantity=f"{sizes}: mean slowdown of flows above 3 MB, {_BFC.name} ÷ {_HOMA}",
                measured=by_seed(rows, lambda part: others(part, _BFC.name, _HOMA)),
                published=between(1, 2, _WHERE, text="up to 2 times better with Homa"),
            ),
            Comparison(
                quantity=f"{sizes}: mean slowdown of flows above 3 MB, {_IDEAL} ÷ {_HOMA}",
                measured=by_seed(rows, lambda part: others(part, _IDEAL, _HOMA)),
                published=at_least(1, _WHERE, text="Homa even outperforms IdealSRF+ECMP"),
            ),
            Comparison(
                quantity=f"{sizes}: mean slowdown of flows above 3 MB, {_BFC.name} ÷ {_IDEAL}",
                measured=by_seed(rows, lambda part: 100 * others(part, _BFC.name, _IDEAL)),
                published=similar(100, _WHERE, text="close to IdealSRF+ECMP"),
                unit="%",
            ),
            Comparison(
                quantity=f"{sizes}: mean slowdown of flows above 3 MB, {_ECMP} ÷ {_BFC.name}",
                measured=by_seed(rows, lambda part: others(part, _ECMP, _BFC.name)),
                published=at_least(1, _WHERE, text="Homa is worse"),
            ),
        ]
    rows = table[table["traffic"] == _TABLE_SIZES]
    for (name, where), published in _PUBLISHED.items():
        for level, delay_us in zip(("p95", "p99"), published, strict=True):
            column = f"{where}_{level}"
            comparisons.append(
                Comparison(
                    quantity=f"{name}: {level} of the delay of granted packets at ports of {where} "
                    "in the core",
                    measured=by_seed(rows, partial(value, column=column, scheme=name)),
                    published=quantity(delay_us, _TABLE),
                    unit="μs",
                )
            )
    return Findings(
        table=table,
        figure=figure(table, ("mean", "p95", "p99")),
        comparisons=tuple(comparisons),
    )


STUDY = SimulationStudy(
    info=info("bfc-f.1"),
    cases=_cases,
    measure=_measure,
    conclude=_conclude,
)
