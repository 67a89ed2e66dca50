# SPDX-License-Identifier: Apache-2.0
"""Errors of Copa's mode switching (Goyal et al. 2022, appendix C, Figures 23 and 24).

NimbusCC and Copa compete with constant traffic of 24 and 80 Mbit/s, and with a NewReno flow of
their own RTT and of four times that. Choices left open by the paper: runs last 120 s, of which the
first 10 s are excluded, and traffic counts as classified correctly if the sender's verdict is right
for more than half of the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared
from ccbench.studies.nimbus.measures import SETTLED_S, accuracy_percent, delays_ms, verdicts
from ccbench.studies.nimbus.testbed import COLOURS, LINK_MBPS, RTT_MS, cross_traffic, seeds, shared
from ccbench.studies.published import at_least, at_most, quantity, similar, unbounded
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_CCAS = ("nimbus", "copa")
_RATES_MBPS = (24.0, 80.0)
_TIMES_RTT = (1, 4)
_INTERVAL_S = 1.0
_TIME = "% of the time"
_HIGHEST_MS = 120.0

_LOW, _HIGH = (f"cbr {rate:g} Mbit/s" for rate in _RATES_MBPS)
_NEAR, _FAR = (f"NewReno, {times} times the RTT" for times in _TIMES_RTT)
_CBR, _NEWRENO = "appendix C.1", "appendix C.2"
#: Fair share with one competing flow.
_FAIR_MBPS = LINK_MBPS / 2


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    cross: list[tuple[str, tuple[Flow, ...]]] = [
        (words, (Flow(kind="cbr", rate_mbps=rate),))
        for words, rate in zip((_LOW, _HIGH), _RATES_MBPS, strict=True)
    ]
    cross += [
        (words, cross_traffic("elastic", rtt_ms=times * RTT_MS))
        for words, times in zip((_NEAR, _FAR), _TIMES_RTT, strict=True)
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
    columns = ["mbps", "delay_ms", "accuracy_percent"]
    means = late.groupby(["traffic", "cca", "seed"])[columns].mean()
    mbps, delay, accuracy = (means[column] for column in columns)
    correct = at_least(50, _CBR, text="correctly classified")
    comparisons = (
        *(
            compared(
                f"{traffic}: verdicts right, {cca}", accuracy[traffic, cca], published, unit=_TIME
            )
            for traffic, cca, published in (
                (_LOW, "nimbus", correct),
                (_LOW, "copa", correct),
                (_HIGH, "nimbus", correct),
                (_HIGH, "copa", at_most(50, _CBR, text="incorrectly classified")),
            )
        ),
        *(
            compared(
                f"{traffic}: mean delay, {cca}",
                delay[traffic, cca],
                unbounded("low", _CBR),
                unit="ms",
            )
            for traffic, cca in ((_LOW, "nimbus"), (_LOW, "copa"), (_HIGH, "nimbus"))
        ),
        compared(
            "constant traffic: mean delay, copa, with 80 minus with 24 Mbit/s",
            delay[_HIGH, "copa"] - delay[_LOW, "copa"],
            at_least(0, "caption of Figure 23", text="higher"),
            unit="ms",
        ),
        *(
            compared(
                f"{_NEAR}: throughput ÷ the fair share, {cca}",
                100 * mbps[_NEAR, cca] / _FAIR_MBPS,
                similar(100, _NEWRENO, text="their fair share"),
            )
            for cca in _CCAS
        ),
        compared(
            f"{_FAR}: throughput, nimbus",
            mbps[_FAR, "nimbus"],
            quantity(77, _NEWRENO, text="77, its RTT-biased share"),
            unit="Mbit/s",
        ),
        compared(
            f"{_FAR}: throughput, copa",
            mbps[_FAR, "copa"],
            quantity(27, _NEWRENO),
            unit="Mbit/s",
        ),
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
        bottom.set_ylabel("queueing delay (ms)")
        bottom.set_xlabel("time (s)")
        top.legend(fontsize="small")
    return figure


STUDY = Study(
    info=info("nimbus-23"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
