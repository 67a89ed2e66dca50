# SPDX-License-Identifier: Apache-2.0
"""Accuracy by the cross traffic's round-trip times (Goyal et al. 2022, section 7.2).

RTTs of 10 to 200 ms, and several elastic flows of 20, 40, ... 100 ms. Inelastic traffic has no RTT
and runs once. Choices left open by the paper: it does not state the number of "backlogged NewReno
flows", which is three here; a single one is shown without a verdict. In a mix with n elastic flows,
the rate of Poisson traffic is the sum of their fair shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared, worst_case
from ccbench.studies.nimbus.measures import judged
from ccbench.studies.nimbus.testbed import CATEGORIES, LINK_MBPS, QUEUE_BDP, RTT_MS, seeds, shared
from ccbench.studies.published import at_least, percentage, unbounded
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run
    from ccbench.studies.published import Published
    from ccbench.studies.study import Comparison

_RTTS_MS = (10, 25, 50, 100, 200)
_EQUAL = 3
_STEP_MS = 20
_MOST = 5
_TEXT = "section 7.2"
#: Published statements on pure traffic, a mix, and either with several RTTs.
_PURE = at_least(98, _TEXT, text="more than 98 in all cases")
_MIX = at_least(85, _TEXT, text="more than 85 in all cases")
_SEVERAL_PURE = percentage(98, _TEXT)
_SEVERAL_MIX = at_least(90, _TEXT, text="greater than 90 in all cases")
#: Base RTT of the scenarios, the shortest of all.
_BASE_MS = 10.0


def scenario(category: str, rtts_ms: tuple[int, ...], seed: int, duration_s: float) -> Scenario:
    """Return NimbusCC with NewReno flows of these RTTs, Poisson traffic, or both."""
    count = len(rtts_ms) if category != "inelastic" else 0
    # Of 2 n + 1 shares, Poisson traffic has n, the elastic flows n and NimbusCC one.
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
    comparisons = [
        comparison
        for cross, rows in table.groupby("cross", sort=False)
        for comparison in _compare(str(cross), rows)
    ]
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    mean = table.pivot_table("accuracy_percent", "rtts_ms", "cross", sort=False)
    mean.plot.bar(ax=axes, rot=30)
    axes.set_xlabel("RTTs of the elastic flows (ms)")
    axes.set_ylabel("accuracy (%)")
    axes.legend(fontsize="small", title=None)
    return Findings(table=table, figure=figure, comparisons=tuple(comparisons))


def _compare(cross: str, rows: pd.DataFrame) -> list[Comparison]:
    """Return the comparisons of a category, with statements that depend on the flows' RTTs."""

    def lowest(words: str, cases: pd.DataFrame, published: Published) -> Comparison:
        worst = worst_case(cases, ["rtts_ms"])
        rtts = ", ".join(str(worst.name).split())
        at = f" ({rtts} ms)" if rtts else ""
        return compared(f"accuracy, {cross}, {words}{at}", worst, published)

    if cross == "inelastic":
        return [lowest("lowest", rows, _PURE)]
    published = _MIX if cross == "mix" else _PURE
    rtts = rows["rtts_ms"].str.split().map(lambda each: len(set(each)))
    several = rows[rtts > 1]
    single, equal = rows[rows["flows"] == 1], rows[(rows["flows"] > 1) & (rtts == 1)]
    return [
        lowest(f"{_EQUAL} flows of one RTT, lowest", equal, published),
        lowest("one flow, lowest", single, unbounded("variant", _TEXT)),
        lowest("several RTTs, lowest", several, _SEVERAL_MIX)
        if cross == "mix"
        else compared(
            f"accuracy, {cross}, several RTTs, mean of all cases",
            several.groupby("seed")["accuracy_percent"].mean(),
            _SEVERAL_PURE,
        ),
    ]


STUDY = Study(
    info=info("nimbus-rtts"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
