# SPDX-License-Identifier: Apache-2.0
"""QUIC stacks against Linux's congestion control of the same name, as QUICbench compares them.

Each congestion control of each stack runs alone, against Linux's of the same name, and against
CUBIC; so does Linux's of the same name. Of the flow, the mean queueing delay and the throughput in
each second are a point. A stack conforms if its points are in the envelope of Linux's points, their
convex hull. QUICbench (Mishra et al., IMC 2022) runs stacks and Linux in real time on two machines,
and clusters points before it draws hulls; its example of a network has the same RTT and queue.
Stacks that are not installed are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.base.random_streams import repetition_seeds
from ccbench.emulate.kernel.boot.stacks import installed
from ccbench.experiment.flow import Flow
from ccbench.experiment.path import typical_path
from ccbench.experiment.scenario import Scenario
from ccbench.experiment.stack_names import names_stack
from ccbench.run.packets import delivered
from ccbench.studies.catalogue import info
from ccbench.studies.published import unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from ccbench.run.run import Run

#: Stacks that ccbench describes, and their congestion controls. Others are not studied.
_STACKS = {
    "quic:ngtcp2": ("cubic", "reno", "bbr"),
    "quic:quic-go": ("reno",),
    "quic:aioquic": ("cubic", "reno"),
}
_BANDWIDTH_MBPS, _RTT_MS, _QUEUE_BDP = 4.0, 50.0, 1.0
_DURATION_S, _MEASURED_FROM_S = 30.0, 5.0
_SEEDS = repetition_seeds(1, 1)
_ALONE = "alone"

#: Distance from the envelope that still conforms, as a share of the queue and of the link.
_MARGIN = 0.05


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    """Return the scenarios of all stacks that are installed, and those of Linux for them."""
    found = {stack.title for stack in installed()}
    named = [f"{title}/{cca}" for title, ccas in _STACKS.items() if title in found for cca in ccas]
    if quick:
        named = named[:1]
    linux = dict.fromkeys(name.rpartition("/")[2] for name in named)
    return tuple(
        _scenario(cca, other, seed, 5.0 if quick else _DURATION_S)
        for cca in (*named, *linux)
        for other in dict.fromkeys((_ALONE, cca.rpartition("/")[2], "cubic"))
        for seed in (_SEEDS[:1] if quick else _SEEDS)
    )


def _scenario(cca: str, other: str, seed: int, duration_s: float) -> Scenario:
    flows = (Flow(cca=cca), *(() if other == _ALONE else (Flow(cca=other, label="other"),)))
    path = typical_path(bandwidth_mbps=_BANDWIDTH_MBPS, rtt_ms=_RTT_MS, queue_bdp=_QUEUE_BDP)
    return Scenario(flows=flows, path=path, duration_s=duration_s, seed=seed, name=f"{cca} {other}")


def _measure(run: Run) -> Rows:
    """Return a row for each second: the flow's throughput and mean queueing delay."""
    cca, other = run.scenario.name.split()
    throughput = run.throughput(1.0)
    packets = delivered(run)
    own = packets[packets["flow"] == 0]
    delays_ms = own.groupby(np.ceil(own["arrival_s"]).astype(int))["queueing_ms"].mean()
    start_s = min(_MEASURED_FROM_S, run.scenario.duration_s / 2)
    times_s = throughput.index.to_numpy()
    rates_mbps = throughput.to_numpy()
    return [
        {
            "cca": cca,
            "other": other,
            "seed": run.scenario.seed,
            "time_s": float(time_s),
            "throughput_mbps": float(rates[0]),
            "other_mbps": float(rates[1]) if len(rates) > 1 else float("nan"),
            "queueing_ms": float(delays_ms.get(int(time_s), float("nan"))),
        }
        for time_s, rates in zip(times_s, rates_mbps, strict=True)
        if time_s > start_s
    ]


def _conclude(seconds: pd.DataFrame) -> Findings:
    cases = pd.DataFrame(_cases(seconds))
    missing = sorted({*_STACKS} - {cca.partition("/")[0] for cca in cases["cca"]})
    note = f"Not installed: {', '.join(missing)}." if missing else ""
    return Findings(
        table=cases,
        figure=_figure(seconds),
        comparisons=tuple(_comparisons(cases, note)),
    )


def _cases(seconds: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield the means of each case, and its conformance with Linux."""
    for key, own in seconds.groupby(["cca", "other"], sort=False):
        cca, other = map(str, key)
        rates = own.groupby("seed")[["throughput_mbps", "other_mbps"]].mean()
        share = rates["throughput_mbps"] / rates.sum(axis=1)
        yield {
            "cca": cca,
            "against": other,
            "throughput_mbps": rates["throughput_mbps"].mean(),
            "queueing_ms": own["queueing_ms"].mean(),
            "share_percent": 100 * share.mean(),
            "share_half_width": Estimate(100 * share).half_width,
            "conformance_percent": _conformance(own, _of_linux(cca, other, seconds)),
        }


def _of_linux(cca: str, other: str, seconds: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of Linux's congestion control of the same name in the same case."""
    same = (seconds["cca"] == cca.rpartition("/")[2]) & (seconds["other"] == other)
    return seconds[same]


def _points(seconds: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return delays and throughputs as shares of the queue and of the link."""
    queue_ms = _RTT_MS * _QUEUE_BDP
    columns = seconds["queueing_ms"] / queue_ms, seconds["throughput_mbps"] / _BANDWIDTH_MBPS
    points: npt.NDArray[np.float64] = np.column_stack(columns)
    known = ~np.isnan(points).any(axis=1)
    return np.asarray(points[known])


def _conformance(own: pd.DataFrame, linux: pd.DataFrame) -> float:
    """Return the percentage of points in the envelope of Linux's points, with a margin."""
    from scipy.spatial import Delaunay  # noqa: PLC0415 - takes long to import

    around = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    margin = _MARGIN * np.column_stack([np.cos(around), np.sin(around)])
    corners = (_points(linux)[:, None] + margin).reshape(-1, 2)
    inside = Delaunay(corners).find_simplex(_points(own)) >= 0
    return 100 * float(inside.mean())


def _comparisons(cases: pd.DataFrame, note: str) -> Iterator[Comparison]:
    for case in cases[[*map(names_stack, cases["cca"])]].to_dict("records"):
        cca, against = case["cca"], case["against"]
        linux = cca.rpartition("/")[2]
        if against == linux:
            yield Comparison(
                quantity=f"{cca}: share of the link against Linux's {linux}",
                measured=case["share_percent"],
                published=unbounded("50, equal shares", "QUICbench"),
                unit="%",
                note=note,
            )
        if against in {_ALONE, "cubic"}:
            where = "alone" if against == _ALONE else "against CUBIC"
            yield Comparison(
                quantity=f"{cca}: seconds in the envelope of Linux's {linux} {where}",
                measured=case["conformance_percent"],
                published=unbounded("100, full conformance", "QUICbench"),
                unit="%",
                note=f"{case['throughput_mbps']:.2f} Mbit/s, "
                f"queueing delay {case['queueing_ms']:.0f} ms.",
            )


def _figure(seconds: pd.DataFrame) -> Figure:
    """Draw delay and throughput of each second, by congestion control and case."""
    linux = [cca for cca in dict.fromkeys(seconds["cca"]) if not names_stack(cca)]
    cases = (_ALONE, "cubic")
    figure = Figure(figsize=(4 * len(linux), 6), layout="constrained")
    grid = figure.subplots(len(cases), len(linux), squeeze=False)
    for row, other in zip(grid, cases, strict=True):
        for axes, cca in zip(row, linux, strict=True):
            shown = seconds[
                (seconds["other"] == other) & (seconds["cca"].str.rpartition("/")[2] == cca)
            ]
            for name, own in shown.groupby("cca", sort=False):
                label = str(name) if names_stack(str(name)) else f"Linux's {name}"
                axes.plot(own["queueing_ms"], own["throughput_mbps"], ".", alpha=0.6, label=label)
            axes.set_title(f"{cca} {other if other == _ALONE else 'against CUBIC'}")
            axes.set_xlabel("queueing delay [ms]")
            axes.set_ylabel("throughput [Mbit/s]")
            axes.set_ylim(0, 1.05 * _BANDWIDTH_MBPS)
            axes.legend(fontsize="x-small")
    return figure


STUDY = Study(
    info=info("quic-conformance"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
