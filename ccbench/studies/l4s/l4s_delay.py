# SPDX-License-Identifier: Apache-2.0
"""Delays of DualPI2's queues, and the use of the link.

Prague alone and against CUBIC (the runs of ``l4s-rates``), on links on which a packet takes at most
a third of a millisecond. Delays of the L4S queue are those of all packets of a run; the delay of
the classic queue is DualPI2's own measurement, ten times a second in the second half of a run. Its
target is about the highest delay of a sawtooth, not the mean (RFC 9332, appendix C.2).
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.experiment.flow import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.l4s.paths import (
    KERNELS,
    MBPS,
    RTTS_MS,
    beside_cubic,
    dualpi2,
    estimates,
    on_path,
    path_name,
    settled_mbps,
)
from ccbench.studies.published import at_most, percentage, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run
    from ccbench.studies.published import Published

#: DualPI2's target of the classic queue.
_TARGET_MS = 15.0

_PATHS = tuple(product(MBPS[2:], RTTS_MS))
_SEEDS = 4
_LENGTH_S, _QUICK_S = 60.0, 4.0

_LOW_DELAY = "RFC 9330, section 1"
_TARGET = "RFC 9332, appendices A.1 and C.2"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    paths = ((40, 20),) if quick else _PATHS
    repeated = tuple(product(paths, range(1, 1 + (2 if quick else _SEEDS))))
    alone = (
        on_path(
            dualpi2(mbps),
            Flow(cca="prague"),
            rtt_ms=rtt_ms,
            duration_s=_QUICK_S if quick else _LENGTH_S,
            seed=seed,
        )
        for (mbps, rtt_ms), seed in repeated
    )
    beside = (beside_cubic(*path, seed, quick=quick) for path, seed in repeated)
    return (*alone, *beside)


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    settled = run.qdisc_statistics().loc[scenario.duration_s / 2 :]
    median_ms, p99_ms = run.queueing_delay_percentiles_ms((50, 99), queue="l4s")
    link_mbps = scenario.path.bottlenecks[0].mean_mbps
    return [
        {
            "mbps": link_mbps,
            "rtt_ms": scenario.path.rtt_ms,
            "flows": scenario.flow_count,
            "seed": scenario.seed,
            "l4s_mean_ms": run.queueing_delay_ms(queue="l4s"),
            "l4s_p50_ms": median_ms,
            "l4s_p99_ms": p99_ms,
            "classic_ms": float(settled["classic_delay_ms"].mean()),
            "used_percent": 100 * settled_mbps(run).sum() / link_mbps,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    alone, beside = (table[table["flows"] == flows] for flows in (1, 2))
    targets = beside["classic_ms"].groupby(beside["seed"]).mean()
    full = percentage(100, _LOW_DELAY, text="not reduced")
    return Findings(
        table=table,
        figure=_figure(beside),
        comparisons=(
            _extreme(
                "against CUBIC: mean delay of the L4S queue",
                beside,
                "l4s_mean_ms",
                at_most(1, _LOW_DELAY, text="below a millisecond"),
            ),
            _extreme(
                "against CUBIC: 99th percentile of the delay of the L4S queue",
                beside,
                "l4s_p99_ms",
                at_most(2, _LOW_DELAY, text="below about 2"),
            ),
            Comparison(
                quantity="against CUBIC: delay of the classic queue, mean of all paths",
                measured=Estimate(targets),
                published=at_most(_TARGET_MS, _TARGET, text="below the target of 15"),
                unit="ms",
                note=_each_path(beside, "classic_ms"),
            ),
            _extreme("alone: use of the link", alone, "used_percent", full, largest=False),
            _extreme(
                "alone: mean delay of the L4S queue",
                alone,
                "l4s_mean_ms",
                unbounded("see above", _LOW_DELAY),
            ),
            _extreme(
                "alone: 99th percentile of the delay of the L4S queue",
                alone,
                "l4s_p99_ms",
                unbounded("see above", _LOW_DELAY),
            ),
            _extreme(
                "against CUBIC: use of the link by both",
                beside,
                "used_percent",
                unbounded("see above", _LOW_DELAY),
                largest=False,
            ),
        ),
    )


def _extreme(
    name: str, rows: pd.DataFrame, column: str, published: Published, *, largest: bool = True
) -> Comparison:
    """Compare the path with the largest or the smallest mean."""
    sign = 1 if largest else -1
    path, worst = max(estimates(rows, column).items(), key=lambda item: sign * item[1].mean)
    return Comparison(
        quantity=f"{name}, {'largest' if largest else 'smallest'} of all paths",
        measured=worst,
        published=published,
        unit="%" if column.endswith("percent") else "ms",
        note=f"{path_name(*path)}.",
    )


def _each_path(rows: pd.DataFrame, column: str) -> str:
    means = estimates(rows, column).items()
    return "; ".join(f"{path_name(*path)}: {mean:.1f}" for path, mean in means) + "."


def _figure(rows: pd.DataFrame) -> Figure:
    """Draw delays over round-trip times, one panel for each queue."""
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    panels = figure.subplots(1, 2)
    titles = {"l4s_p99_ms": "L4S queue, 99th percentile", "classic_ms": "classic queue, mean"}
    for axes, (column, title) in zip(panels, titles.items(), strict=True):
        for mbps, own in rows.groupby("mbps"):
            means = own.groupby("rtt_ms")[column].mean()
            axes.plot(means.index, means, marker="o", markersize=3, label=f"{mbps:g} Mbit/s")
        axes.set_xscale("log")
        axes.set_xticks(RTTS_MS, [f"{rtt_ms}" for rtt_ms in RTTS_MS])
        axes.set_ylim(bottom=0)
        axes.set_title(title, fontsize="medium")
        axes.set_ylabel("delay (ms)")
    panels[0].legend(fontsize="small")
    figure.supxlabel("round-trip time (ms)")
    return figure


STUDY = Study(
    info=info("l4s-delay"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
    kernels=KERNELS,
)
