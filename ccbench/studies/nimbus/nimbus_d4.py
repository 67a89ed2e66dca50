# SPDX-License-Identifier: Apache-2.0
"""Two bottlenecks in series (Goyal et al. 2022, appendix D.4, Table 4).

192 Mbit/s, then 96 Mbit/s, each with separate elastic or inelastic cross traffic. Choices left open
by the paper: cross traffic is that of section 7.2, a NewReno flow or Poisson traffic of half the
link; both queues hold 2 BDP of their link; the status quo is CUBIC; NimbusCC is given the slower
link's rate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Bottleneck, Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared, relative_to
from ccbench.studies.nimbus.measures import SETTLED_S, delays_ms
from ccbench.studies.nimbus.testbed import LINK_MBPS, QUEUE_BDP, cross_traffic, seeds, shared
from ccbench.studies.published import at_least, quantity
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_FIRST_MBPS = 2 * LINK_MBPS
_STATUS_QUO = "cubic"
#: By traffic on the first and second link: change of throughput from the status quo in percent,
#: delay in ms.
_TABLE_4 = {
    ("elastic", "elastic"): (-3, 146),
    ("inelastic", "elastic"): (5, 76),
    ("elastic", "inelastic"): (-14, 91),
    ("inelastic", "inelastic"): (0, 14),
}


def scenario(cca: str, kinds: tuple[str, str], seed: int, duration_s: float) -> Scenario:
    """Return a flow over both links, with the given kind of cross traffic on each.

    Examples
    --------
    >>> flows = scenario("cubic", ("elastic", "inelastic"), 1, 60.0).flow_table()
    >>> flows[["kind", "first_bottleneck", "last_bottleneck"]].values.tolist()
    [['bulk', 0, 1], ['bulk', 0, 0], ['poisson', 1, 1]]
    """
    (first,) = cross_traffic(kinds[0], link_mbps=_FIRST_MBPS)
    (second,) = cross_traffic(kinds[1])
    base = shared(
        Flow(cca=cca),
        duration_s=duration_s,
        seed=seed,
        name=f"{cca}, {kinds[0]} and {kinds[1]} traffic",
    )
    return replace(
        base,
        flows=(
            *base.flows,
            replace(first, last_bottleneck=0, label=kinds[0]),
            replace(second, first_bottleneck=1, label=kinds[1]),
        ),
        path=replace(
            base.path,
            bottlenecks=(
                Bottleneck(bandwidth_mbps=_FIRST_MBPS, queue_bdp=QUEUE_BDP),
                *base.path.bottlenecks,
            ),
        ),
    )


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        scenario(cca, kinds, seed, 16.0 if quick else 120.0)
        for cca in ("nimbus", _STATUS_QUO)
        for kinds in _TABLE_4
        for seed in seeds(quick=quick)
    )


def _measure(run: Run) -> Rows:
    own, first, second = run.scenario.flows
    mode = run.cca_info(0).loc[SETTLED_S:]
    is_nimbus = own.cca != _STATUS_QUO
    return [
        {
            "cca": own.cca,
            "first": first.label,
            "second": second.label,
            "seed": run.scenario.seed,
            "mbps": float(run.summary()["throughput_mbps"].iloc[0]),
            "delay_ms": float(delays_ms(run).mean()),
            "competitive_percent": 100 * float((mode["mode"] == "competitive").mean())
            if is_nimbus
            else 100.0,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    rows = table.set_index(["first", "second", "cca", "seed"])
    comparisons = []
    for (first, second), (change, delay_ms) in _TABLE_4.items():
        case = rows.xs((first, second), level=("first", "second"))
        nimbus, usual = (case.xs(cca, level="cca") for cca in ("nimbus", _STATUS_QUO))
        comparisons += [
            compared(
                f"{first}, then {second}: throughput ÷ CUBIC's",
                100 * nimbus["mbps"] / usual["mbps"],
                relative_to(change, "Table 4"),
            ),
            compared(
                f"{first}, then {second}: mean delay in both queues",
                nimbus["delay_ms"],
                quantity(delay_ms, "Table 4"),
                unit="ms",
            ),
        ]
    is_elastic = (table["first"] == "elastic") | (table["second"] == "elastic")
    elastic = table[is_elastic & (table["cca"] != _STATUS_QUO)]
    links, least = min(
        elastic.groupby(["first", "second"]),
        key=lambda case: float(case[1]["competitive_percent"].mean()),
    )
    on_links = ", then ".join(map(str, links))
    comparisons.append(
        compared(
            f"in competitive mode, lowest of all cases ({on_links})",
            least.set_index("seed")["competitive_percent"],
            at_least(85, "appendix D.4", text="over 85"),
            unit="% of the time",
        )
    )
    figure = Figure(figsize=(10, 4), layout="constrained")
    named = table.assign(case=table["first"] + ",\n" + table["second"])
    for axes, (column, unit) in zip(
        figure.subplots(1, 2),
        (("mbps", "throughput (Mbit/s)"), ("delay_ms", "delay in both queues (ms)")),
        strict=True,
    ):
        _draw_bars(axes, named.pivot_table(column, "case", "cca", sort=False), unit)
        axes.set_xlabel("cross traffic on the first and the second link")
    return Findings(table=table, figure=figure, comparisons=tuple(comparisons))


def _draw_bars(axes: Axes, table: pd.DataFrame, unit: str) -> None:
    """Draw a group of bars per row of a table, one bar per column."""
    table.plot.bar(ax=axes, rot=0, width=0.8)
    axes.set_ylabel(unit)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize="small", title=None)


STUDY = Study(
    info=info("nimbus-d4"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
