# SPDX-License-Identifier: Apache-2.0
"""Where Copa's mode switching errs (Goyal et al. 2022, appendix C, Figures 23 and 24).

NimbusCC and Copa beside a constant 24 and 80 Mbit/s, and beside a NewReno flow of their own RTT and
of four times that. Where the paper leaves room: runs of 120 s, of which the first 10 s do not
count; "low" delays are below a quarter of the buffer, "high" ones above; throughputs agree within a
quarter of what is stated, or of the fair share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ccbench.scenario import Flow
from ccbench.studies.catalogue import about
from ccbench.studies.nimbus_comparisons import compared
from ccbench.studies.nimbus_measures import SETTLED_S, accuracy_percent, delays_ms, verdicts
from ccbench.studies.nimbus_testbed import COLOURS, LINK_MBPS, RTT_MS, cross_traffic, seeds, shared
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run
    from ccbench.scenario import Scenario

_CCAS = ("nimbus", "copa")
_RATES_MBPS = (24.0, 80.0)
_TIMES_RTT = (1, 4)
_INTERVAL_S = 1.0
_LOW_MS = 25.0
_HIGHEST_MS = 120.0

#: What is compared: traffic, number and unit, and what is stated of each sender.
_STATED = (
    ("cbr 24 Mbit/s", "delay_ms", "ms", {"nimbus": ("low", (0, 25)), "copa": ("low", (0, 25))}),
    ("cbr 80 Mbit/s", "delay_ms", "ms", {"nimbus": ("low", (0, 25)), "copa": ("high", (25, 120))}),
    (
        "NewReno, 1 times the RTT",
        "mbps",
        "Mbit/s",
        {"nimbus": ("48, fair share", (36, 60)), "copa": ("48, fair share", (36, 60))},
    ),
    (
        "NewReno, 4 times the RTT",
        "mbps",
        "Mbit/s",
        {"nimbus": ("77, RTT-biased share", (58, 96)), "copa": ("27", (20, 34))},
    ),
)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    cross = [
        (f"cbr {rate:g} Mbit/s", (Flow(kind="cbr", rate_mbps=rate),)) for rate in _RATES_MBPS
    ] + [
        (f"NewReno, {times} times the RTT", cross_traffic("elastic", rtt_ms=times * RTT_MS))
        for times in _TIMES_RTT
    ]
    return tuple(
        shared(
            Flow(cca=cca),
            *flows,
            duration_s=16.0 if quick else 120.0,
            seed=seed,
            name=f"{cca}, {words}",
        )
        for cca in _CCAS
        for words, flows in cross
        for seed in seeds(quick=quick)
    )


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    other = scenario.flows[1]
    times = 1 + other.extra_rtt_ms / RTT_MS
    traffic = (
        f"cbr {other.rate_mbps:g} Mbit/s" if other.is_udp else f"NewReno, {times:g} times the RTT"
    )
    mbps = run.throughput(_INTERVAL_S)[0]
    delay = delays_ms(run)
    of_interval = np.ceil(delay.index.to_numpy() / _INTERVAL_S) * _INTERVAL_S
    waited = delay.groupby(of_interval).mean().reindex(mbps.index)
    accuracy = accuracy_percent(verdicts(run))
    return [
        {
            "cca": scenario.flows[0].cca,
            "traffic": traffic,
            "seed": scenario.seed,
            "accuracy_percent": accuracy,
            "time_s": time_s,
            "mbps": mbps[time_s],
            "delay_ms": waited[time_s],
        }
        for time_s in mbps.index
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    late = table[table["time_s"] > SETTLED_S]
    means = late.groupby(["traffic", "cca", "seed"])[["mbps", "delay_ms"]].mean()
    comparisons = tuple(
        compared(
            f"{traffic}: {cca}, {'mean delay' if unit == 'ms' else 'throughput'}",
            means[column][traffic, cca],
            published=published,
            accepted=accepted,
            unit=unit,
        )
        for traffic, column, unit, stated in _STATED
        for cca, (published, accepted) in stated.items()
    )
    return Findings(table=table, figure=_figure(table), comparisons=comparisons)


def _figure(table: pd.DataFrame) -> Figure:
    first = table[table["seed"] == table["seed"].min()]
    traffics = list(first["traffic"].unique())
    figure = Figure(figsize=(4 * len(traffics), 5), layout="constrained")
    for traffic, (top, bottom) in zip(
        traffics, figure.subplots(2, len(traffics), sharex=True, squeeze=False).T, strict=True
    ):
        for cca, rows in first[first["traffic"] == traffic].groupby("cca"):
            colour = COLOURS[str(cca)]
            top.plot(rows["time_s"], rows["mbps"], color=colour, label=cca)
            bottom.plot(rows["time_s"], rows["delay_ms"], color=colour)
        top.set_title(traffic, fontsize="small")
        top.set_ylim(0, LINK_MBPS)
        top.set_ylabel("throughput (Mbit/s)")
        bottom.set_ylim(0, _HIGHEST_MS)
        bottom.axhline(_LOW_MS, color="0.6", linestyle="--")
        bottom.set_ylabel("queueing delay (ms)")
        bottom.set_xlabel("time (s)")
        top.legend(fontsize="small")
    return figure


STUDY = Study(
    about=about("nimbus-23"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
