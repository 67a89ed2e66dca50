# SPDX-License-Identifier: Apache-2.0
"""NimbusCC with other algorithms in its modes (Goyal et al. 2022, appendix D.3, Figure 26).

NewReno with BasicDelay and CUBIC with Copa. Where the paper leaves room: the cross traffic is that
of its Figure 7 (``nimbus-7``), and "low" delays are below a quarter of the buffer. NewReno by
itself is there, too, as it has less than a fair share beside CUBIC. MulTCP and FAST, which the
authors have implemented and show nothing of, are not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.studies.catalogue import about
from ccbench.studies.nimbus_7 import alternating, draw, over_time, regions
from ccbench.studies.nimbus_comparisons import compared
from ccbench.studies.study import Findings, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.scenario import Scenario

_ITSELF = "reno"
_CCAS = {"nimbus_reno": "NewReno + BasicDelay", "nimbus_copa": "CUBIC + Copa"}


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return alternating([*_CCAS, _ITSELF], quick=quick)


def _conclude(table: pd.DataFrame) -> Findings:
    found = regions(table)
    what = (
        (
            "elastic_percent",
            "throughput off the fair share, elastic traffic",
            "fair share",
            25,
            "%",
        ),
        ("inelastic_percent", "the same, inelastic traffic", "fair", 10, "%"),
        ("delay_ms", "mean queueing delay, inelastic traffic", "low", 25, "ms"),
    )
    share = 1 + found["elastic_percent"] / 100
    beside_itself = compared(
        "NewReno + BasicDelay: throughput by that of NewReno by itself, less 1, elastic traffic",
        100 * (share["nimbus_reno"] / share[_ITSELF] - 1),
        published="fair share",
        accepted=(-25, 25),
    )
    comparisons = [
        compared(
            f"{name}: {words}",
            found[column][cca],
            published=published,
            accepted=(0 if unit == "ms" else -limit, limit),
            unit=unit,
        )
        for cca, name in _CCAS.items()
        for column, words, published, limit, unit in what
    ]
    comparisons.insert(1, beside_itself)
    return Findings(table=table, figure=draw(table), comparisons=tuple(comparisons))


STUDY = Study(
    about=about("nimbus-26"),
    scenarios=_scenarios,
    measure=over_time,
    conclude=_conclude,
)
