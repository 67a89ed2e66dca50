# SPDX-License-Identifier: Apache-2.0
"""Unresponsive traffic at DualPI2: in the classic and in the L4S queue, up to an overload.

The set-up is that of the overload tests of L4S's developers (https://l4steam.github.io,
"overload-results"): 100 Mbit/s and 10 ms; five CUBIC flows without ECN, five Prague flows, and UDP
of 50 to 200 Mbit/s without ECN or with ECT(1). The page states the levels only as five from 50 to
200 Mbit/s. Its text is compared, and that of RFC 9332 on unresponsive traffic and saturation.

UDP sends from the beginning, the other flows from 5 s on. Rates, shares of dropped packets and mean
delays are those of the second half of a run, the latter from DualPI2's own measurements ten times a
second; percentiles are those of all packets of a run.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.experiment.flow import MTU_BYTES, Flow
from ccbench.studies.catalogue import info
from ccbench.studies.l4s.paths import KERNELS, dualpi2, on_path, settled_mbps
from ccbench.studies.published import exactly, percentage, quantity, similar, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_MBPS, _RTT_MS = 100.0, 10.0
_FLOWS = 5
_UDP_MBPS = (50, 75, 100, 150, 200)
_BELOW, _ABOVE = (50, 75), (150, 200)
_SEEDS = 5
_LENGTH_S, _QUICK_S = 60.0, 6.0
_PART_OF_START = 1 / 12
_TARGET_MS = 15.0

#: ECN field of UDP packets.
_CLASSIC, _L4S = "", "ect1"

_CONCLUSION = "L4S team's overload tests, conclusion"
_DETAILS = "L4S team's overload tests, details"
_SATURATION = "RFC 9332, section 4.2.3"
_BELOW_SATURATION = "RFC 9332, sections 4.2.1 and 4.2.3"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    loads = (75, 200) if quick else _UDP_MBPS
    length_s = _QUICK_S if quick else _LENGTH_S
    start_s = _PART_OF_START * length_s
    return tuple(
        on_path(
            dualpi2(_MBPS),
            Flow(cca="cubic", count=_FLOWS, start_s=start_s),
            Flow(cca="prague", count=_FLOWS, start_s=start_s),
            Flow(kind="cbr", rate_mbps=load, ecn=ecn),
            rtt_ms=_RTT_MS,
            duration_s=length_s,
            seed=seed,
            name=f"UDP of {load} Mbit/s, {ecn or 'no ECN'}",
        )
        for load, ecn, seed in product(
            loads, (_CLASSIC, _L4S), range(1, 1 + (1 if quick else _SEEDS))
        )
    )


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    cubic, prague, udp = settled_mbps(run)
    lost = _lost_percent(run)
    delays_ms = run.qdisc_statistics().loc[scenario.duration_s / 2 :].mean()
    own_queue = "l4s" if scenario.flows[2].ecn == _L4S else "classic"
    return [
        {
            "udp_mbps": scenario.flows[2].rate_mbps,
            "ecn": scenario.flows[2].ecn,
            "seed": scenario.seed,
            "cubic_mbps": cubic,
            "prague_mbps": prague,
            "udp_carried_mbps": udp,
            "udp_delay_ms": delays_ms[f"{own_queue}_delay_ms"],
            "classic_delay_ms": delays_ms["classic_delay_ms"],
            "l4s_p99_ms": run.queueing_delay_percentiles_ms((99,), queue="l4s")[99],
            "cubic_lost_percent": lost[0],
            "prague_lost_percent": lost[1],
            "udp_lost_percent": lost[2],
        }
    ]


def _lost_percent(run: Run) -> pd.Series[float]:
    """Return the share of dropped packets of each group of flows in percent."""
    length_s = run.scenario.duration_s / 2
    drops = run.samples("drops").loc[length_s:]
    groups = [i for i, flow in enumerate(run.scenario.flows) for _ in range(flow.count)]
    dropped = (drops.iloc[-1] - drops.iloc[0]).groupby(groups).sum()
    carried = settled_mbps(run) * 1e6 * length_s / (8 * MTU_BYTES)
    return 100 * dropped / (dropped + carried)


def _conclude(table: pd.DataFrame) -> Findings:
    table = table.assign(
        rest_percent=100
        * (table["cubic_mbps"] + table["prague_mbps"])
        / (_MBPS - table["udp_carried_mbps"]),
        kept_percent=100 * table["udp_carried_mbps"] / table["udp_mbps"],
        prague_by_cubic=100 * table["prague_lost_percent"] / table["cubic_lost_percent"],
    )
    (_, classic), (_, l4s) = _by_ecn(table)
    below, above = _at(table, *_BELOW), _at(table, *_ABOVE)
    loads = sorted(table["udp_mbps"].unique())
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                quantity="rate of UDP with ECT(1) relative to that without ECN, mean of all loads",
                measured=_ratio(classic, l4s, "udp_carried_mbps"),
                published=similar(100, _CONCLUSION, text="no benefit"),
                unit="%",
            ),
            Comparison(
                quantity="delay of UDP with ECT(1) relative to that without ECN, overload of 50 "
                "and 100 %",
                measured=_ratio(_at(classic, *_ABOVE), _at(l4s, *_ABOVE), "udp_delay_ms"),
                published=similar(100, _DETAILS, text="the same"),
                unit="%",
            ),
            *(
                Comparison(
                    quantity=f"UDP of 100 Mbit/s, {words}: mean delay of its queue",
                    measured=_mean(_at(rows, 100), "udp_delay_ms"),
                    published=quantity(_TARGET_MS, f"{_DETAILS}, Figure {figure}"),
                    unit="ms",
                )
                for (words, rows), figure in zip(_by_ecn(table), (6, 7), strict=True)
            ),
            Comparison(
                quantity="UDP below the link's rate: carried",
                measured=_mean(below, "kept_percent"),
                published=percentage(100, _DETAILS, text="fully"),
                unit="%",
            ),
            Comparison(
                quantity="UDP below the link's rate: the other flows' use of the rest",
                measured=_mean(below, "rest_percent"),
                published=percentage(100, _DETAILS, text="they share the rest"),
                unit="%",
            ),
            Comparison(
                quantity="UDP with ECT(1) below the link's rate: dropped packets of Prague",
                measured=_mean(below[below["ecn"] == _L4S], "prague_lost_percent"),
                published=exactly(0, _BELOW_SATURATION, text="none: marks only"),
                unit="%",
            ),
            Comparison(
                quantity="overload without ECN: share of Prague's packets dropped relative to "
                "CUBIC's",
                measured=_mean(above[above["ecn"] == _CLASSIC], "prague_by_cubic"),
                published=similar(100, _SATURATION, text="the same probability"),
                unit="%",
            ),
            Comparison(
                quantity="overload without ECN: 99th percentile of the delay of the L4S queue",
                measured=_mean(above[above["ecn"] == _CLASSIC], "l4s_p99_ms"),
                published=unbounded("at the target", _SATURATION),
                unit="ms",
            ),
            Comparison(
                quantity="UDP with ECT(1) below the link's rate: 99th percentile of the delay of "
                "the L4S queue",
                measured=_mean(below[below["ecn"] == _L4S], "l4s_p99_ms"),
                published=unbounded("not stated", "RFC 9332, section 4.2.1"),
                unit="ms",
            ),
            Comparison(
                quantity="overload with ECT(1): mean delay of the classic queue",
                measured=_mean(above[above["ecn"] == _L4S], "classic_delay_ms"),
                published=unbounded("gets empty", _DETAILS),
                unit="ms",
            ),
            *(
                Comparison(
                    quantity=f"UDP of {load:g} Mbit/s with ECT(1): its rate",
                    measured=_mean(_at(l4s, load), "udp_carried_mbps"),
                    published=unbounded("see above", _CONCLUSION),
                    unit="Mbit/s",
                    note=_note(_at(table, load)),
                )
                for load in loads
            ),
        ),
    )


def _at(rows: pd.DataFrame, *loads: float) -> pd.DataFrame:
    return rows[rows["udp_mbps"].isin(loads)]


def _mean(rows: pd.DataFrame, column: str) -> Estimate:
    """Return the mean over loads, with the interval over seeds."""
    return Estimate(rows.groupby("seed")[column].mean())


def _ratio(classic: pd.DataFrame, l4s: pd.DataFrame, column: str) -> Estimate:
    """Return the mean of the ratios with and without ECT(1) over loads, in percent."""
    keys = ["udp_mbps", "seed"]
    ratios = 100 * l4s.set_index(keys)[column] / classic.set_index(keys)[column]
    return Estimate(ratios.groupby("seed").mean())


def _note(rows: pd.DataFrame) -> str:
    columns = ["udp_carried_mbps", "prague_mbps", "cubic_mbps"]
    parts = (
        f"{words} " + " / ".join(f"{mbps:.1f}" for mbps in own[columns].mean())
        for words, own in _by_ecn(rows)
    )
    return f"UDP / Prague / CUBIC in Mbit/s: {', '.join(parts)}."


def _by_ecn(rows: pd.DataFrame) -> tuple[tuple[str, pd.DataFrame], ...]:
    """Return the rows with UDP in the classic and in the L4S queue, with the ECN in words."""
    return (
        ("without ECN", rows[rows["ecn"] == _CLASSIC]),
        ("ECT(1)", rows[rows["ecn"] == _L4S]),
    )


def _figure(table: pd.DataFrame) -> Figure:
    """Draw rates and delays over the load, one panel for each."""
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    rates, delays = figure.subplots(1, 2)
    for (words, own), line in zip(_by_ecn(table), ("-", "--"), strict=True):
        means = own.groupby("udp_mbps").mean(numeric_only=True)
        for i, flows in enumerate(("udp_carried", "prague", "cubic")):
            name = flows.removesuffix("_carried")
            label = f"{name}, UDP: {words}"
            style = {"color": f"C{i}", "linestyle": line, "marker": "o", "markersize": 3}
            rates.plot(means.index, means[f"{flows}_mbps"], label=label, **style)
        delays.plot(means.index, means["udp_delay_ms"], color="C0", linestyle=line, marker="o")
    rates.set_ylabel("rate (Mbit/s)")
    delays.set_ylabel("mean delay of UDP's queue (ms)")
    rates.legend(fontsize="x-small")
    figure.supxlabel("UDP sent (Mbit/s)")
    return figure


STUDY = Study(
    info=info("l4s-overload"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
    kernels=KERNELS,
)
