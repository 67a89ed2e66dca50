# SPDX-License-Identifier: Apache-2.0
"""QUIC stacks against the kernel's congestion controls, as QUICbench compares them.

Each congestion control of each stack runs alone, against the kernel's of the same name, and against
CUBIC; so does the kernel's. Of the flow, the mean queueing delay and the throughput in each second
are a point. Conformance is the percentage of a stack's points in the envelope of the kernel's
points, their convex hull with a margin. QUICbench (Mishra et al., IMC 2022) runs stacks and Linux
in real time on two machines, and clusters points before it draws hulls; its example of a network
has the same RTT and queue. Stacks that are not installed are left out.
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

#: Congestion controls of stacks, and the kernel's with which they are compared: that of the same
#: name, or of the nearest version. Version 2 of BBR is compared with ccbench's module of version 3.
_STACKS = {
    "quic:ngtcp2": {"cubic": "cubic", "reno": "reno", "bbr": "bbr", "bbr2": "bbr3"},
    "quic:quic-go": {"reno": "reno"},
    "quic:aioquic": {"cubic": "cubic", "reno": "reno"},
    "quic:quiche": {"cubic": "cubic", "reno": "reno", "bbr2": "bbr3"},
    "quic:quinn": {"cubic": "cubic", "reno": "reno", "bbr": "bbr"},
    "quic:s2n-quic": {"cubic": "cubic", "bbr": "bbr3"},
    "quic:picoquic": {"cubic": "cubic", "reno": "reno", "bbr": "bbr3"},
}
_BANDWIDTH_MBPS, _RTT_MS, _QUEUE_BDP = 4.0, 50.0, 1.0
_DURATION_S, _MEASURED_FROM_S = 30.0, 5.0
_SEEDS = repetition_seeds(1, 1)
_ALONE = "alone"

#: Distance from the envelope that still conforms, as a share of the queue and of the link.
_MARGIN = 0.05


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    """Return the scenarios of all stacks that are installed, and those of the kernel for them."""
    found = {stack.title for stack in installed()}
    named = [f"{title}/{cca}" for title, ccas in _STACKS.items() if title in found for cca in ccas]
    if quick:
        named = named[:1]
    return tuple(
        _scenario(cca, other, seed, 5.0 if quick else _DURATION_S)
        for seed in (_SEEDS[:1] if quick else _SEEDS)
        for cca in (*named, *dict.fromkeys(map(_of_kernel, named)))
        for other in dict.fromkeys((_ALONE, _of_kernel(cca), "cubic"))
    )


def _of_kernel(cca: str) -> str:
    """Return the kernel's congestion control with which one is compared."""
    stack, _, name = cca.rpartition("/")
    return _STACKS[stack][name] if stack else cca


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
        figure=_figure(cases),
        comparisons=tuple(_comparisons(seconds, cases, note)),
    )


def _cases(seconds: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield the means of each case, and its conformance with the kernel."""
    for key, own in seconds.groupby(["cca", "other"], sort=False):
        cca, other = map(str, key)
        share = _share(own)
        yield {
            "cca": cca,
            "of_kernel": _of_kernel(cca),
            "against": other,
            "throughput_mbps": own["throughput_mbps"].mean(),
            "queueing_ms": own["queueing_ms"].mean(),
            "share_percent": share.mean,
            "share_half_width": share.half_width,
            "conformance_percent": _conformance(own, _case(_of_kernel(cca), other, seconds)),
        }


def _case(cca: str, other: str, seconds: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of a case."""
    return seconds[(seconds["cca"] == cca) & (seconds["other"] == other)]


def _share(own: pd.DataFrame) -> Estimate:
    """Return the flow's percentage of both flows' throughput."""
    rates = own.groupby("seed")[["throughput_mbps", "other_mbps"]].mean()
    return Estimate(100 * rates["throughput_mbps"] / rates.sum(axis=1))


def _points(seconds: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return delays and throughputs as shares of the queue and of the link."""
    queue_ms = _RTT_MS * _QUEUE_BDP
    columns = seconds["queueing_ms"] / queue_ms, seconds["throughput_mbps"] / _BANDWIDTH_MBPS
    points: npt.NDArray[np.float64] = np.column_stack(columns)
    known = ~np.isnan(points).any(axis=1)
    return np.asarray(points[known])


def _conformance(own: pd.DataFrame, kernel: pd.DataFrame) -> float:
    """Return the percentage of points in the envelope of the kernel's, with a margin."""
    from scipy.spatial import Delaunay  # noqa: PLC0415 - takes long to import

    around = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    margin = _MARGIN * np.column_stack([np.cos(around), np.sin(around)])
    corners = (_points(kernel)[:, None] + margin).reshape(-1, 2)
    inside = Delaunay(corners).find_simplex(_points(own)) >= 0
    return 100 * float(inside.mean())


def _comparisons(seconds: pd.DataFrame, cases: pd.DataFrame, note: str) -> Iterator[Comparison]:
    for case in cases[[*map(names_stack, cases["cca"])]].to_dict("records"):
        cca, kernel, against = case["cca"], case["of_kernel"], case["against"]
        if against == kernel:
            yield Comparison(
                quantity=f"{cca}: share of the link against the kernel's {kernel}",
                measured=_share(_case(cca, against, seconds)),
                published=unbounded("50, equal shares", "QUICbench"),
                unit="%",
                note=note,
            )
        if against in {_ALONE, "cubic"}:
            where = "alone" if against == _ALONE else "against CUBIC"
            yield Comparison(
                quantity=f"{cca}: seconds in the envelope of the kernel's {kernel} {where}",
                measured=case["conformance_percent"],
                published=unbounded("100, full conformance", "QUICbench"),
                unit="%",
                note=f"{case['throughput_mbps']:.2f} Mbit/s, "
                f"queueing delay {case['queueing_ms']:.0f} ms.",
            )


def _figure(cases: pd.DataFrame) -> Figure:
    """Draw conformance and shares in a row for each congestion control, the kernel's first."""
    rows = {
        cca: -row
        for row, cca in enumerate(
            cca
            for _, group in cases.groupby("of_kernel", sort=False)
            for cca in sorted(group["cca"].unique(), key=names_stack)
        )
    }
    alone, against_cubic = cases["against"] == _ALONE, cases["against"] == "cubic"
    against_kernel = cases["against"] == cases["of_kernel"]
    figure = Figure(figsize=(3.5, 1.2 + 0.3 * len(rows)), layout="constrained")
    conformance, share = figure.subplots(2, 1)
    for axes, chosen, colour, marker, label in (
        (conformance, alone, "C0", "o", _ALONE),
        (conformance, against_cubic, "C3", "s", "against CUBIC"),
        (share, against_kernel, "C2", "^", "against the kernel's"),
        (share, against_cubic, "C3", "s", "against CUBIC"),
    ):
        own = cases[chosen]
        is_share = axes is share
        axes.errorbar(
            own["share_percent" if is_share else "conformance_percent"],
            [rows[cca] + (0.18 if marker == "s" else -0.18) for cca in own["cca"]],
            xerr=own["share_half_width"] if is_share else None,
            fmt=marker,
            color=colour,
            label=label,
        )
    for axes, label in (
        (conformance, "seconds in the kernel's envelope [%]"),
        (share, "share of the link [%]"),
    ):
        axes.set_xlim(-4, 104)
        axes.set_xlabel(label)
        names = [cca if names_stack(cca) else f"the kernel's {cca}" for cca in rows]
        axes.set_yticks([*rows.values()], names)
        axes.grid(visible=True, axis="y", alpha=0.4)
        axes.legend()
    share.axvline(50, color="0.6", linewidth=0.8)
    return figure


STUDY = Study(
    info=info("quic-conformance"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
