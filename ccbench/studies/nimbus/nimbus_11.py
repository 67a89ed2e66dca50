# SPDX-License-Identifier: Apache-2.0
"""Accuracy by pulse size, link rate and share of the link (Goyal et al. 2022, Figure 11).

Pulses are 1/16 to 1/2 of links of 96, 192 and 384 Mbit/s, of which NimbusCC's fair share is an
eighth to three quarters. Choices left open by the paper: elastic traffic consists of as many
NewReno flows as leave that share (none do for three quarters); in a mix, NewReno flows and Poisson
traffic each have half of the rest, which limits shares to a third. The low accuracy "when it uses
high pulse sizes and controls a low fraction of the link rate" is that of the largest pulse and the
smallest share, over all links. The 600 runs last 60 s instead of 120 and have no packet log: the
cross traffic of each run is either elastic throughout or never, so that the mode alone determines
the accuracy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared, worst_case
from ccbench.studies.nimbus.measures import mode_accuracy_percent
from ccbench.studies.nimbus.testbed import CATEGORIES, LINK_MBPS, category_of, seeds, shared
from ccbench.studies.published import at_least, percentage
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_LINKS_MBPS = (LINK_MBPS, 2 * LINK_MBPS, 4 * LINK_MBPS)
#: Pulse sizes in thousandths of the link's rate, the unit of the setting.
_PULSES = (62, 125, 250, 500)
_SHARES = {
    "elastic": (1 / 8, 1 / 4, 1 / 2),
    "inelastic": (1 / 8, 1 / 4, 1 / 2, 3 / 4),
    "mix": (1 / 8, 1 / 4, 1 / 3),
}
_SETTING = "pulse_permille"
_TEXT = "section 7.2"
_CASE = ["link_mbps", "pulse_permille", "share_percent"]


def cross(category: str, share: float, link_mbps: float) -> tuple[Flow, ...]:
    """Return cross traffic that leaves a share of the link to one backlogged flow.

    Examples
    --------
    >>> [(flow.kind, flow.count, flow.rate_mbps) for flow in cross("mix", 1 / 4, 96.0)]
    [('bulk', 2, None), ('poisson', 1, 24.0)]
    """
    if category == "inelastic":
        return (Flow(kind="poisson", rate_mbps=(1 - share) * link_mbps),)
    if category == "elastic":
        return (Flow(cca="reno", count=round(1 / share) - 1),)
    # As many flows as best approximate half of the rest; Poisson traffic takes the remainder.
    count = max(1, round((1 - share) / (2 * share) + 1e-9))
    left = 1 - (count + 1) * share
    return Flow(cca="reno", count=count), Flow(kind="poisson", rate_mbps=left * link_mbps)


def _cases(*, quick: bool) -> Iterator[tuple[float, int, str, float]]:
    for link_mbps in _LINKS_MBPS[:1] if quick else _LINKS_MBPS:
        for pulse in _PULSES[2:3] if quick else _PULSES:
            for category in CATEGORIES:
                for share in _SHARES[category][1:2] if quick else _SHARES[category]:
                    yield link_mbps, pulse, category, share


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        replace(
            shared(
                Flow(cca="nimbus"),
                *cross(category, share, link_mbps),
                link_mbps=link_mbps,
                settings={_SETTING: pulse},
                duration_s=16.0 if quick else 60.0,
                seed=seed,
                name=f"{link_mbps:g} Mbit/s, {category} traffic, share {share:.3g}, "
                f"pulses of {pulse / 1e3:g}",
            ),
            queue_log="summary",
        )
        for link_mbps, pulse, category, share in _cases(quick=quick)
        for seed in seeds(quick=quick)
    )


def _measure(run: Run) -> Rows:
    link_mbps = run.scenario.path.bottlenecks[0].mean_mbps
    flows = sum(flow.count for flow in run.scenario.flows if not flow.is_udp)
    poisson = sum(flow.rate_mbps or 0 for flow in run.scenario.flows)
    return [
        {
            "link_mbps": link_mbps,
            "pulse_permille": int(
                dict(run.scenario.path.sysctls)[f"net.ipv4.tcp_nimbus_{_SETTING}"]
            ),
            "share_percent": round(100 * (1 - poisson / link_mbps) / flows, 1),
            "cross": category_of(run.scenario),
            "seed": run.scenario.seed,
            "accuracy_percent": mode_accuracy_percent(run),
            "mbps": float(run.summary()["throughput_mbps"].iloc[0]),
            "queueing_ms": run.queueing_delay_ms(),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    elastic = table[table["cross"] == "elastic"]
    others = table[table["cross"] != "elastic"]
    worst = worst_case(elastic, _CASE)
    link, pulse, share = str(worst.name).split()
    case = f"{link} Mbit/s, pulses of {int(pulse) / 1e3:g}, share {share} %"
    by_link = others.groupby(["link_mbps", "seed"])["accuracy_percent"].mean()
    by_pulse = others.groupby(["pulse_permille", "seed"])["accuracy_percent"].mean()
    links, pulses = (means.index.unique(0) for means in (by_link, by_pulse))
    least = others["share_percent"].min()
    is_corner = (others["pulse_permille"] == max(pulses)) & (others["share_percent"] == least)
    corner = others[is_corner]
    comparisons = (
        compared(
            f"accuracy, elastic, lowest ({case})",
            worst,
            at_least(95, _TEXT, text="always higher than 95"),
        ),
        compared(
            "accuracy, inelastic and mix, mean of all cases",
            others.groupby("seed")["accuracy_percent"].mean(),
            at_least(90, _TEXT, text="more than 90"),
        ),
        compared(
            f"mean accuracy, pulses of {max(pulses) / 1e3:g} minus {min(pulses) / 1e3:g}",
            by_pulse[max(pulses)] - by_pulse[min(pulses)],
            at_least(0, _TEXT, text="larger pulses: higher"),
        ),
        compared(
            f"mean accuracy, {max(links):g} minus {min(links):g} Mbit/s",
            by_link[max(links)] - by_link[min(links)],
            at_least(0, _TEXT, text="faster links: higher"),
        ),
        compared(
            f"mean accuracy, pulses of {max(pulses) / 1e3:g} and a share of {least:g} %",
            corner.groupby("seed")["accuracy_percent"].mean(),
            percentage(60, _TEXT, text="about 60 with high pulses and a low share"),
        ),
    )
    figure = Figure(figsize=(4 * len(links), 4), layout="constrained")
    grid = figure.subplots(1, len(links), sharey=True, squeeze=False)[0]
    for (link_mbps, rows), axes in zip(others.groupby("link_mbps"), grid, strict=True):
        mean = rows.pivot_table("accuracy_percent", "share_percent", "pulse_permille")
        mean.plot(ax=axes, marker="o")
        axes.set_title(f"{link_mbps:g} Mbit/s", fontsize="small")
        axes.set_xlabel("fair share of the link (%)")
        axes.legend(fontsize="small", title="pulse (1/1000 of μ)")
    grid[0].set_ylabel("accuracy, inelastic and mix (%)")
    return Findings(table=table, figure=figure, comparisons=comparisons)


STUDY = Study(
    info=info("nimbus-11"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
