# SPDX-License-Identifier: Apache-2.0
"""NimbusCC with other algorithms in its modes (Goyal et al. 2022, appendix D.3, Figure 26).

The combinations are NewReno with BasicDelay and CUBIC with Copa. Choices left open by the paper:
the cross traffic is that of its Figure 7, so that the runs of CUBIC with Copa are those of
``nimbus-7``, which compares them with Table 1. Plain NewReno is added because it receives less than
a fair share when it competes with CUBIC. MulTCP and FAST, which the authors have implemented,
appear in no figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared, farthest
from ccbench.studies.nimbus.nimbus_7 import alternating, draw, over_time, regions
from ccbench.studies.published import similar, unbounded
from ccbench.studies.study import Findings, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario

_NEWRENO, _VARIANT, _COPA = "reno", "nimbus_reno", "nimbus_copa"
_WHERE = "appendix D.3"
_ELSEWHERE = unbounded("see nimbus-7", "Table 1")
_REGIONS = {"elastic": "elastic_percent", "inelastic": "inelastic_percent"}


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return alternating([_VARIANT, _COPA, _NEWRENO], quick=quick)


def _conclude(table: pd.DataFrame) -> Findings:
    by_region = regions(table)
    variant, copa, newreno = (by_region.loc[cca] for cca in (_VARIANT, _COPA, _NEWRENO))
    region, by_share = farthest({name: variant[column] for name, column in _REGIONS.items()}, 100)
    comparisons = (
        compared(
            "NewReno + BasicDelay: throughput ÷ the fair share, the case that differs more "
            f"({region} traffic)",
            by_share,
            similar(100, _WHERE, text="their fair-share rate"),
        ),
        compared(
            "NewReno + BasicDelay: throughput ÷ that of NewReno alone, elastic traffic",
            100 * variant["elastic_percent"] / newreno["elastic_percent"],
            unbounded("not in the paper", _WHERE),
        ),
        compared(
            "NewReno + BasicDelay: mean queueing delay, inelastic traffic",
            variant["delay_ms"],
            unbounded("low", _WHERE),
            unit="ms",
        ),
        *(
            compared(
                f"CUBIC + Copa: throughput ÷ the fair share, {name} traffic",
                copa[column],
                _ELSEWHERE,
            )
            for name, column in _REGIONS.items()
        ),
        compared(
            "CUBIC + Copa: mean queueing delay, inelastic traffic",
            copa["delay_ms"],
            _ELSEWHERE,
            unit="ms",
        ),
    )
    return Findings(table=table, figure=draw(table), comparisons=comparisons)


STUDY = Study(
    info=info("nimbus-26"),
    scenarios=_scenarios,
    measure=over_time,
    conclude=_conclude,
)
