# SPDX-License-Identifier: Apache-2.0
"""BBRv1 and BBRv3 against CUBIC at DualPI2, with and without ECN.

One flow of each on 50 Mbit/s. With ECN, all flows are in the classic queue, as neither CCA uses
ECT(1); ECN is that of RFC 3168 or accurate ECN. The options of DualPI2 are those of the studies of
L4S.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.studies.bbr3.coexistence import (
    COLOURS,
    MBPS,
    RTT_MS,
    SEEDS,
    VERSIONS,
    against,
    each,
    estimates,
    measure,
    with_link,
)
from ccbench.studies.catalogue import info
from ccbench.studies.l4s.paths import KERNELS, dualpi2
from ccbench.studies.study import Findings, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario

_ECN = {"no ECN": False, "ECN": True, "accurate ECN": "accecn"}
_RTTS_MS = (10.0, RTT_MS, 100.0)


def _scenarios(*, quick: bool) -> tuple[tuple[Scenario, ...], ...]:
    return tuple(
        with_link(
            against(alpha, seed=seed, quick=quick, rtt_ms=rtt_ms), dualpi2(MBPS), ecn=ecn
        ).scenarios
        for rtt_ms, ecn, alpha, seed in product(
            (RTT_MS,) if quick else _RTTS_MS,
            _ECN.values(),
            VERSIONS,
            SEEDS[:1] if quick else SEEDS,
        )
    )


def _conclude(pairs: pd.DataFrame) -> Findings:
    return Findings(
        table=pairs,
        figure=_figure(pairs),
        comparisons=tuple(
            comparison
            for name, ecn in _ECN.items()
            for comparison in each(
                pairs[pairs["ecn"] == str(ecn)], f"DualPI2, {name}", "rtt_ms", " ms"
            )
        ),
    )


def _figure(pairs: pd.DataFrame) -> Figure:
    """Draw harm over the round-trip time, one panel for each kind of ECN."""
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    panels = figure.subplots(1, len(_ECN), sharey=True)
    for axes, (name, ecn) in zip(panels, _ECN.items(), strict=True):
        for alpha in VERSIONS:
            own = pairs[(pairs["ecn"] == str(ecn)) & (pairs["alpha"] == alpha)]
            values = estimates(own, "rtt_ms")
            axes.errorbar(
                list(values),
                [value.mean for value in values.values()],
                [value.half_width for value in values.values()],
                fmt="o-",
                color=COLOURS[alpha],
                label=VERSIONS[alpha],
                capsize=3,
            )
        axes.axhline(0, color="0.6", linewidth=0.8)
        axes.set_title(name, fontsize="medium")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("relative harm to CUBIC")
    panels[0].legend(fontsize="small")
    figure.supxlabel("round-trip time (ms)")
    return figure


STUDY = Study(
    info=info("bbr3-dualpi2"),
    scenarios=_scenarios,
    measure=measure,
    conclude=_conclude,
    kernels=KERNELS,
)
