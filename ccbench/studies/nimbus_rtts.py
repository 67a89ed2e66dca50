# SPDX-License-Identifier: Apache-2.0
"""Accuracy by the cross traffic's round-trip times (Goyal et al. 2022, section 7.2).

RTTs of 10 to 200 ms, and 1 to 5 elastic flows of 20, 40, ... 100 ms. Inelastic traffic has none, so
it is there once. Where the paper leaves room: how many "NewReno flows" of one RTT there are, here
one and three; with n elastic flows in a mix, Poisson traffic has as much as they have together if
shares are fair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ccbench.scenario import Flow
from ccbench.studies.catalogue import about
from ccbench.studies.nimbus_comparisons import compared, worst_case
from ccbench.studies.nimbus_measures import judged
from ccbench.studies.nimbus_testbed import CATEGORIES, LINK_MBPS, QUEUE_BDP, RTT_MS, seeds, shared
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from ccbench.run import Run
    from ccbench.scenario import Scenario

_RTTS_MS = (10, 25, 50, 100, 200)
_EQUAL = 3
_STEP_MS = 20
_MOST = 5
#: What is stated, and our limit, by whether traffic is a mix and RTTs differ.
_PUBLISHED = {
    (False, False): ("above 98", 98.0),
    (False, True): ("98", 96.0),
    (True, False): ("above 85", 85.0),
    (True, True): ("above 90", 90.0),
}
#: All flows are as far from this, which is the shortest of all.
_BASE_MS = 10.0


def scenario(category: str, rtts_ms: tuple[int, ...], seed: int, duration_s: float) -> Scenario:
    """Return NimbusCC beside NewReno flows of these RTTs, Poisson traffic, or both."""
    count = len(rtts_ms) if category != "inelastic" else 0
    # Of 2 n + 1 parts n are Poisson's, n the others' and one NimbusCC's.
    part = count / (2 * count + 1) if count else 1 / 2
    cross = [Flow(cca="reno", extra_rtt_ms=rtt_ms - _BASE_MS) for rtt_ms in rtts_ms[:count]]
    if category != "elastic":
        cross.append(Flow(kind="poisson", rate_mbps=LINK_MBPS * part))
    own = Flow(cca="nimbus", extra_rtt_ms=RTT_MS - _BASE_MS)
    rtts = ", ".join(str(rtt_ms) for rtt_ms in rtts_ms[:count])
    return shared(
        own,
        *cross,
        rtt_ms=_BASE_MS,
        queue_bdp=QUEUE_BDP * RTT_MS / _BASE_MS,
        duration_s=duration_s,
        seed=seed,
        name=f"nimbus, {category} traffic, RTT {rtts or '-'} ms",
    )


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        scenario(category, rtts_ms, seed, 16.0 if quick else 120.0)
        for category, rtts_ms in _cases(quick=quick)
        for seed in seeds(quick=quick)
    )


def _cases(*, quick: bool) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield "inelastic", ()
    for category in CATEGORIES:
        if category != "inelastic":
            for rtt_ms in (100,) if quick else _RTTS_MS:
                yield category, (rtt_ms,)
                yield category, (rtt_ms,) * _EQUAL
            for count in range(2, 3 if quick else _MOST + 1):
                yield category, tuple(_STEP_MS * (i + 1) for i in range(count))


def _measure(run: Run) -> Rows:
    flows = [flow for flow in run.scenario.flows[1:] if not flow.is_udp]
    rtts = [f"{_BASE_MS + flow.extra_rtt_ms:g}" for flow in flows]
    return [{"rtts_ms": " ".join(rtts), "flows": len(flows), **judged(run)}]


def _conclude(table: pd.DataFrame) -> Findings:
    rtts = table["rtts_ms"].str.split().map(lambda each: len(set(each)))
    kinds = {
        "one flow": table["flows"] <= 1,
        f"{_EQUAL} flows of one RTT": (table["flows"] > 1) & (rtts == 1),
        "several RTTs": rtts > 1,
    }
    comparisons = []
    for cross in CATEGORIES:
        for kind, is_kind in kinds.items():
            rows = table[(table["cross"] == cross) & is_kind]
            if rows.empty:
                continue
            worst = worst_case(rows, ["rtts_ms"])
            published, least = _PUBLISHED[cross == "mix", kind == "several RTTs"]
            comparisons.append(
                compared(
                    f"accuracy, {cross}, {kind}, lowest ({str(worst.name) or 'no'} ms)",
                    worst,
                    published=published,
                    accepted=(least, 100),
                )
            )
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    mean = table.pivot_table("accuracy_percent", "rtts_ms", "cross", sort=False)
    mean.plot.bar(ax=axes, rot=30)
    axes.set_xlabel("RTTs of the elastic flows (ms)")
    axes.set_ylabel("accuracy (%)")
    axes.legend(fontsize="small", title=None)
    return Findings(table=table, figure=figure, comparisons=tuple(comparisons))


STUDY = Study(
    about=about("nimbus-rtts"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
