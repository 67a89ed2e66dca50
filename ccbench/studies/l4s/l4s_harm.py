# SPDX-License-Identifier: Apache-2.0
"""Prague, CUBIC and BBR together at DualPI2, FQ-CoDel and drop-tail queues.

The paths are in the ranges of HarmGen (ACM SIGCOMM 2026), section 7.2, which searches for the harm
between Prague and CUBIC at DualPI2: 25 to 200 Mbit/s, 10 to 100 ms, and as there accurate ECN for
all flows and Linux's defaults of DualPI2; as a variant, CUBIC and BBR without ECN. HarmGen's
artifact contains no results, so that the compared statements are those of the RFCs about
coexistence. The drop-tail queue has a bandwidth-delay product.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import Flow
from ccbench.harm import relative_harm
from ccbench.studies.catalogue import info
from ccbench.studies.l4s.paths import (
    KERNELS,
    dualpi2,
    estimates,
    on_path,
    path_name,
    settled_mbps,
)
from ccbench.studies.published import percentage, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_PATHS = ((25, 10), (25, 100), (100, 20), (200, 50))
_SEEDS = 4
_LENGTH_S, _QUICK_S = 80.0, 4.0

#: Queueing discipline and ECN of the hosts.
_DUALPI2, _FQ_CODEL, _DROPTAIL = "DualPI2", "FQ-CoDel", "drop-tail"
_QUEUES: dict[str, tuple[str, bool | str]] = {
    _DUALPI2: ("dualpi2", "accecn"),
    "DualPI2, no ECN": ("dualpi2", False),
    _FQ_CODEL: ("fq_codel", "accecn"),
    _DROPTAIL: ("droptail", "accecn"),
}
_PAIR, _BBR, _ALL = ("prague", "cubic"), ("prague", "bbr"), ("prague", "cubic", "bbr")
_RENO, _SOLO = ("reno", "cubic"), ("cubic",)
_OTHERS = {_PAIR: "CUBIC", _BBR: "BBR", _ALL: "CUBIC and BBR"}
_CASES = (
    *product(_OTHERS, _QUEUES),
    (_RENO, _DROPTAIL),
    (_SOLO, _DUALPI2),
)

_FAIR = "RFC 8290, sections 1.3 and 3"
_LOSS = "RFC 9331, section 4.3 and appendix A.1.4"
_DELAY = "RFC 9330, section 1"
_HARMGEN = "HarmGen, section 7.2"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    paths = ((25, 10),) if quick else _PATHS
    return tuple(
        on_path(
            _link(_QUEUES[queue][0], mbps),
            *(Flow(cca=cca) for cca in mix),
            rtt_ms=rtt_ms,
            duration_s=_QUICK_S if quick else _LENGTH_S,
            seed=seed,
            ecn=_QUEUES[queue][1],
            name=f"{' '.join(mix)}, {queue}",
        )
        for (mbps, rtt_ms), (mix, queue), seed in product(
            paths, _CASES, range(1, 1 + (1 if quick else _SEEDS))
        )
    )


def _link(qdisc: str, mbps: float) -> Bottleneck:
    if qdisc == "dualpi2":
        return dualpi2(mbps)
    size = {"queue_bdp": 1.0} if qdisc == "droptail" else {"queue_packets": 10_000}
    return Bottleneck(bandwidth_mbps=mbps, qdisc=qdisc, **size)


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    (link,) = scenario.path.bottlenecks
    p99_ms = np.nan
    if link.qdisc == "dualpi2":
        p99_ms = run.queueing_delay_percentiles_ms((99,), queue="l4s")[99]
    rates = settled_mbps(run)
    (queue,) = (name for name, of in _QUEUES.items() if of == (link.qdisc, scenario.path.ecn))
    return [
        {
            "mix": " ".join(flow.cca for flow in scenario.flows),
            "queue": queue,
            "mbps": link.mean_mbps,
            "rtt_ms": scenario.path.rtt_ms,
            "seed": scenario.seed,
            "cca": flow.cca,
            "flow_mbps": rate,
            "share_percent": 100 * rate / rates.sum(),
            "used_percent": 100 * rates.sum() / link.mean_mbps,
            "l4s_p99_ms": p99_ms,
        }
        for flow, rate in zip(scenario.flows, rates, strict=True)
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    beside = (_cubic_mbps(table, mix, _DROPTAIL) for mix in (_PAIR, _RENO))
    kept = (100 * next(beside) / next(beside)).rename("percent").reset_index()
    shown = ((_PAIR, _FQ_CODEL), (_ALL, _FQ_CODEL))
    delays = table[table["queue"] == _DUALPI2]
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                quantity="FQ-CoDel: share of Prague against CUBIC",
                measured=_share(table, _PAIR, _FQ_CODEL),
                published=percentage(50, _FAIR, text="equal shares"),
                unit="%",
            ),
            Comparison(
                quantity="FQ-CoDel: share of Prague against CUBIC and BBR",
                measured=_share(table, _ALL, _FQ_CODEL),
                published=unbounded("see above", _FAIR),
                unit="%",
                note=_shares(table, _ALL, _FQ_CODEL),
            ),
            Comparison(
                quantity="drop-tail: CUBIC's rate against Prague, of that against Reno",
                measured=Estimate(kept.groupby("seed")["percent"].mean()),
                published=unbounded("safe coexistence", _LOSS),
                unit="%",
                note=_each_path(kept),
            ),
            Comparison(
                quantity="DualPI2: 99th percentile of the delay of the L4S queue, largest of all "
                "paths and mixes",
                measured=_largest(delays),
                published=unbounded("see l4s-delay", _DELAY),
                unit="ms",
            ),
            Comparison(
                quantity="DualPI2: relative harm of Prague to CUBIC",
                measured=_harm(table),
                published=unbounded("not available", _HARMGEN),
            ),
            *(
                Comparison(
                    quantity=f"{queue}: share of Prague against {_OTHERS[mix]}",
                    measured=_share(table, mix, queue),
                    published=unbounded("not available", _HARMGEN),
                    unit="%",
                    note=_shares(table, mix, queue),
                )
                for mix, queue in _CASES
                if mix in _OTHERS and (mix, queue) not in shown
            ),
        ),
    )


def _rows(table: pd.DataFrame, mix: tuple[str, ...], queue: str) -> pd.DataFrame:
    return table[(table["mix"] == " ".join(mix)) & (table["queue"] == queue)]


def _cubic_mbps(table: pd.DataFrame, mix: tuple[str, ...], queue: str) -> pd.Series[float]:
    """Return the rate of CUBIC by path and seed."""
    rows = _rows(table, mix, queue)
    own = rows[rows["cca"] == "cubic"]
    return own.set_index(["mbps", "rtt_ms", "seed"])["flow_mbps"]


def _share(table: pd.DataFrame, mix: tuple[str, ...], queue: str) -> Estimate:
    """Return the mean share of Prague over paths, with the interval over seeds."""
    rows = _rows(table, mix, queue)
    return Estimate(rows[rows["cca"] == "prague"].groupby("seed")["share_percent"].mean())


def _shares(table: pd.DataFrame, mix: tuple[str, ...], queue: str) -> str:
    """Return the shares of all flows on each path in words."""
    rows = _rows(table, mix, queue)
    shares = [estimates(rows[rows["cca"] == cca], "share_percent") for cca in mix]
    each = (
        f"{path_name(*path)}: {' / '.join(f'{of_cca[path].mean:.0f}' for of_cca in shares)}"
        for path in shares[0]
    )
    return f"{' / '.join(mix)} in %: {'; '.join(each)}."


def _each_path(kept: pd.DataFrame) -> str:
    means = estimates(kept, "percent").items()
    return "; ".join(f"{path_name(*path)}: {mean.mean:.0f} %" for path, mean in means) + "."


def _largest(rows: pd.DataFrame) -> Estimate:
    """Return the largest mean delay of a mix on a path."""
    one_row_each = rows[rows["cca"] == "prague"]
    of_mixes = (estimates(own, "l4s_p99_ms") for _, own in one_row_each.groupby("mix"))
    delays = [delay for of_paths in of_mixes for delay in of_paths.values()]
    return max(delays, key=lambda delay: delay.mean)


def _harm(table: pd.DataFrame) -> Estimate:
    """Return the relative harm of Prague to CUBIC at DualPI2, mean over paths."""
    alone, beside = (_cubic_mbps(table, mix, _DUALPI2) for mix in (_SOLO, _PAIR))
    rates = zip(alone, beside.reindex(alone.index), strict=True)
    relative = [relative_harm(*solo_and_beside, n_alpha=1, n_beta=1) for solo_and_beside in rates]
    return Estimate(pd.Series(relative, alone.index).groupby("seed").mean())


def _figure(table: pd.DataFrame) -> Figure:
    """Draw the shares of all flows, one panel for each queue."""
    figure = Figure(figsize=(14, 4), layout="constrained")
    for axes, queue in zip(figure.subplots(1, len(_QUEUES)), _QUEUES, strict=True):
        rows = table[(table["queue"] == queue) & (table["mix"] != " ".join(_SOLO))]
        means = rows.pivot_table("share_percent", ["mix", "mbps", "rtt_ms"], "cca").fillna(0)
        left = np.zeros(len(means))
        labels = [f"{mix}, {mbps:g}, {rtt_ms:g}" for mix, mbps, rtt_ms in means.index]
        for i, cca in enumerate(("prague", "cubic", "bbr", "reno")):
            if cca in means:
                axes.barh(labels, means[cca], left=left, color=f"C{i}", label=cca)
                left += means[cca].to_numpy()
        axes.set_title(queue, fontsize="medium")
        axes.tick_params(labelsize="x-small")
    axes.legend(fontsize="x-small")
    figure.supxlabel("share (%); paths in Mbit/s and ms")
    return figure


STUDY = Study(
    info=info("l4s-harm"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
    kernels=KERNELS,
)
