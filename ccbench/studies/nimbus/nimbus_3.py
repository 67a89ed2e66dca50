# SPDX-License-Identifier: Apache-2.0
"""The cross traffic's reaction to pulses and its spectrum (Goyal et al. 2022, Figures 3 and 4).

The sender is UDP traffic of half the link that pulses and does not react, so that all changes of
the cross traffic are its own reaction. The correlation of S(t) with the cross traffic's true rate z
is the minimum over delays of up to two base round-trip times and a full queue. The paper shows a
CUBIC flow and constant traffic; Poisson traffic is added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ccbench.base.figures import Figure
from ccbench.elasticity.observed import observe
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared
from ccbench.studies.nimbus.measures import SETTLED_S
from ccbench.studies.nimbus.testbed import LINK_MBPS, pulser, seeds, shared
from ccbench.studies.published import at_least, at_most, unbounded
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run
    from ccbench.studies.published import Published

_CROSS = {
    "elastic (cubic)": Flow(cca="cubic"),
    # Just above half the link, so that the queue neither empties between pulses nor fills.
    "inelastic (cbr)": Flow(kind="cbr", rate_mbps=1.002 * LINK_MBPS / 2),
    "inelastic (poisson)": Flow(kind="poisson", rate_mbps=1.01 * LINK_MBPS / 2),
}
_LAGS = 20
_SHOWN_S = 2.0

_PULSES, _SPECTRA = "section 3.2, Figure 3", "caption of Figure 4"
#: Published statements on each traffic's correlation with the pulses and on its peak at 5 Hz; a
#: peak exceeds all neighbouring frequencies.
_STATED: dict[str, tuple[Published, Published]] = {
    "elastic (cubic)": (
        at_most(0, _PULSES, text="inversely correlated"),
        at_least(1, _SPECTRA, text="a pronounced peak"),
    ),
    "inelastic (cbr)": (
        unbounded("unaffected", _PULSES),
        at_most(1, _SPECTRA, text="no pronounced peak"),
    ),
    "inelastic (poisson)": (unbounded("variant", _PULSES), unbounded("variant", _SPECTRA)),
}


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 16.0 if quick else 40.0
    return tuple(
        shared(
            *pulser(LINK_MBPS / 2, duration_s),
            cross,
            duration_s=duration_s,
            seed=seed,
            name=f"pulses against {name} traffic",
        )
        for name, cross in _CROSS.items()
        for seed in seeds(quick=quick)
    )


def lowest_correlation(sent: pd.Series[float], others: pd.Series[float], lags: int) -> float:
    """Return the minimum correlation of a rate with others' rate up to `lags` later.

    Examples
    --------
    >>> import numpy as np
    >>> wave = pd.Series(np.sin(np.arange(200) / 5))
    >>> round(lowest_correlation(wave, -wave.shift(3), 5), 3)
    -1.0
    """
    return float(min(sent.corr(others.shift(-lag)) for lag in range(lags + 1)))


def _measure(run: Run) -> Rows:
    cross = run.scenario.flow_count - 1
    observed = observe(run, flows=range(cross), rate_window_s=run.scenario.path.rtt_ms / 1e3)
    late = observed.rates[observed.rates.index >= SETTLED_S]
    frequencies, amplitudes = observed.spectra()
    eta = observed.elasticity.loc[SETTLED_S:, "elasticity"]
    flow = run.scenario.flows[-1]
    shown = frequencies <= 12.0  # noqa: PLR2004 - the figure's axis, in Hz
    begin = late[late.index <= SETTLED_S + _SHOWN_S]
    return [
        {
            "cross": next(name for name, candidate in _CROSS.items() if candidate == flow),
            "seed": run.scenario.seed,
            "correlation": lowest_correlation(late["send_mbps"], late["true_mbps"], _LAGS),
            "elasticity": float(eta.median()),
            "rates": begin[["send_mbps", "true_mbps"]],
            "spectrum": pd.Series(amplitudes.mean(axis=0)[shown], index=frequencies[shown]),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    pictures = table[table["seed"] == table["seed"].min()].set_index("cross")
    table = table.drop(columns=["rates", "spectrum"])
    comparisons = []
    for cross, rows in table.groupby("cross", sort=False):
        correlation, peak = _STATED[str(cross)]
        comparisons += [
            compared(
                f"{cross}: lowest correlation of the sender's rate with the others' later rate",
                rows["correlation"],
                correlation,
                unit="",
            ),
            compared(
                f"{cross}: peak at 5 Hz ÷ the highest peak next to it, median of all windows",
                rows["elasticity"],
                peak,
                unit="",
            ),
        ]
    return Findings(table=table, figure=_figure(pictures), comparisons=tuple(comparisons))


def _figure(pictures: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(4 * len(pictures), 5), layout="constrained")
    grid = figure.subplots(2, len(pictures), sharey="row", squeeze=False)
    for (cross, row), (over_time, spectrum) in zip(pictures.iterrows(), grid.T, strict=True):
        rates: pd.DataFrame = row["rates"]
        over_time.plot(rates.index, rates["send_mbps"], label="S, sender")
        over_time.plot(rates.index, rates["true_mbps"], label="z, others")
        over_time.set_title(str(cross), fontsize="small")
        over_time.set_xlabel("time (s)")
        spectrum.plot(row["spectrum"].index, row["spectrum"])
        spectrum.set_xlabel("frequency (Hz)")
    grid[0, 0].set_ylabel("rate (Mbit/s)")
    grid[0, 0].legend(fontsize="small")
    grid[1, 0].set_ylabel("amplitude of ẑ (Mbit/s)")
    return figure


STUDY = Study(
    info=info("nimbus-3"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
