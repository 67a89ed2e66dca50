# SPDX-License-Identifier: Apache-2.0
"""BBRv1 and BBRv3 against CUBIC over bandwidth, round-trip time, queue, and numbers of flows.

The queue and the round-trip time vary together, at 50 Mbit/s with one flow of each CCA. From 40 ms,
bandwidth and numbers of flows vary one at a time, in a shallow and in a deep drop-tail queue (1/4
and 4 bandwidth-delay products); CoDel and FQ-CoDel (10,000 packets) with and without ECN.

The draft's goal is that Reno and CUBIC can get 25 Mbit/s at 30 ms against BBR. It derives the time
between probes from Reno's sawtooth between one and two bandwidth-delay products, and wants these
flows to reach at least the rate of the BBR flow. The compared reading is thus one flow of each on
50 Mbit/s with a queue of one bandwidth-delay product; other queues and 100 Mbit/s are variants.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.studies.bbr3.coexistence import (
    COLOURS,
    MBPS,
    NOT_STATED,
    RTT_MS,
    SEEDS,
    VERSIONS,
    against,
    each,
    estimates,
    measure,
    with_link,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, unbounded
from ccbench.studies.study import Comparison, Findings, Study

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

    from ccbench.experiment.scenario import Scenario
    from ccbench.harm import Experiment

_SHALLOW, _DEEP = 0.25, 4.0
_QUEUES, _RTTS_MS = (_SHALLOW, 1.0, _DEEP, 16.0), (10.0, 40.0, 100.0, 200.0)
_OTHER_MBPS = (10.0, 100.0, 200.0)
_FLOWS = ((1, 4), (4, 1), (4, 4))
#: Queue management: its name, the discipline, and ECN of hosts and discipline.
_MANAGED = {
    "CoDel": ("codel", False),
    "CoDel with ECN": ("codel", True),
    "FQ-CoDel": ("fq_codel", False),
    "FQ-CoDel with ECN": ("fq_codel", True),
}
_MANAGED_RTTS_MS = (10.0, 40.0, 100.0)
_MANAGED_PACKETS = 10_000

#: The draft's example: rate and round-trip time, and the link that equal shares give it.
_VIDEO_MBPS, _VIDEO_RTT_MS = 25.0, 30.0
_SHARED_MBPS, _WIDE_MBPS = 50.0, 100.0
_LOSS_BASED = {"reno": "Reno", "cubic": "CUBIC"}

_GOAL = "section 5.3.3.8.1"
_TIME_SCALES = "section 5.3.3.8.2"
_THESIS_SHALLOW, _THESIS_LOSS = "Ware 2024, section 3.1", "Ware 2024, section 6.3"
_ZEYNALI = "Zeynali et al. 2024, in Ware 2024, section 5.3.2"


def _experiments(*, quick: bool) -> Iterator[Experiment]:
    """Return the experiments with a solo run."""
    for alpha, seed in product(VERSIONS, SEEDS[:1] if quick else SEEDS):
        for queue_bdp, rtt_ms in product(_QUEUES[::2] if quick else _QUEUES, _RTTS_MS):
            if not quick or rtt_ms == RTT_MS:
                yield against(alpha, seed=seed, quick=quick, rtt_ms=rtt_ms, queue_bdp=queue_bdp)
        for queue_bdp in (_SHALLOW, _DEEP):
            for mbps in _OTHER_MBPS[:1] if quick else _OTHER_MBPS:
                yield against(alpha, seed=seed, quick=quick, mbps=mbps, queue_bdp=queue_bdp)
            for flows in _FLOWS[:1] if quick else _FLOWS:
                yield against(alpha, seed=seed, quick=quick, flows=flows, queue_bdp=queue_bdp)
        for qdisc, ecn in _MANAGED.values():
            link = Bottleneck(
                bandwidth_mbps=MBPS,
                queue_packets=_MANAGED_PACKETS,
                qdisc=qdisc,
                qdisc_options=(("ecn", ecn),),
            )
            for rtt_ms in (RTT_MS,) if quick else _MANAGED_RTTS_MS:
                drop_tail = against(alpha, seed=seed, quick=quick, rtt_ms=rtt_ms)
                yield with_link(drop_tail, link, ecn=ecn)


def _video(*, quick: bool) -> Iterator[Scenario]:
    """Return the runs of the draft's example, which need no solo run."""
    links = ((_SHARED_MBPS, _SHALLOW), (_SHARED_MBPS, 1.0), (_SHARED_MBPS, 4.0), (_WIDE_MBPS, 1.0))
    for (mbps, queue_bdp), alpha, beta, seed in product(
        links[1:2] if quick else links, VERSIONS, _LOSS_BASED, SEEDS[:1] if quick else SEEDS
    ):
        yield against(
            alpha,
            beta=beta,
            seed=seed,
            quick=quick,
            mbps=mbps,
            rtt_ms=_VIDEO_RTT_MS,
            queue_bdp=queue_bdp,
        ).competing


def _scenarios(*, quick: bool) -> tuple[Scenario | tuple[Scenario, ...], ...]:
    return (*(pair.scenarios for pair in _experiments(quick=quick)), *_video(quick=quick))


def _conclude(table: pd.DataFrame) -> Findings:
    # In a table read from a file, `ecn` is a boolean.
    pairs = table[table["relative_harm"].notna()].astype({"ecn": str})
    return Findings(
        table=table,
        figure=_plane_figure(pairs),
        comparisons=(
            *_goals(table, pairs),
            *_repairs(pairs),
            *_all_harms(pairs),
        ),
        more_figures={"factors": _factors_figure(pairs)},
    )


def _goals(table: pd.DataFrame, pairs: pd.DataFrame) -> Iterator[Comparison]:
    """Return the comparisons with the draft's goals."""
    video = table[table["rtt_ms"] == _VIDEO_RTT_MS]
    for beta, name in _LOSS_BASED.items():
        rows = video[video["beta"] == beta]
        shared = rows[(rows["mbps"] == _SHARED_MBPS) & (rows["queue_bdp"].round(1) == 1)]
        by_version = {alpha: own["beta_mbps"] for alpha, own in shared.groupby("alpha")}
        for alpha, published in (
            ("bbr3", at_least(_VIDEO_MBPS, _GOAL, text="able to support up to 25")),
            ("bbr", unbounded("version 3 only", _GOAL)),
        ):
            yield Comparison(
                quantity=f"{name}'s rate against 1 {VERSIONS[alpha]}, 50 Mbit/s, 30 ms, 1 BDP",
                measured=Estimate(by_version[alpha]),
                published=published,
                unit="Mbit/s",
                note=_other_links(rows[rows["alpha"] == alpha]),
            )
    small = _plane(pairs, rtt_ms=_RTTS_MS[0], queue_bdp=1.0)
    share = small[small["alpha"] == "bbr3"]["beta_share_percent"]
    yield Comparison(
        quantity="CUBIC's share against 1 BBRv3, BDP of 42 packets, queue of 1 BDP",
        measured=Estimate(share),
        published=at_least(50, _TIME_SCALES, text="at least as high as that BBR flow"),
        unit="%",
    )


def _other_links(rows: pd.DataFrame) -> str:
    listed = (
        f"{mbps:g} Mbit/s, {queue_bdp:g} BDP: {Estimate(own['beta_mbps']):.1f}"
        for (mbps, queue_bdp), own in rows.groupby(["mbps", "queue_bdp"])
    )
    return "; ".join(listed) + "."


def _repairs(pairs: pd.DataFrame) -> Iterator[Comparison]:
    """Return the comparisons of both versions."""
    shallow = _plane(pairs, queue_bdp=_SHALLOW)
    by_network = _difference(pairs)
    worst = max(by_network, key=lambda network: by_network[network].mean)
    best = min(by_network, key=lambda network: by_network[network].mean)
    yield Comparison(
        quantity="relative harm, BBRv3 minus BBRv1, 0.25 BDP, mean over RTTs",
        measured=_seed_difference(shallow, "relative_harm"),
        published=at_most(0, _THESIS_SHALLOW, text="expected to patch the problem"),
    )
    lost = shallow.pivot_table("lost_percent", "seed", "alpha")
    yield Comparison(
        quantity="lost packets against BBRv3 ÷ those against BBRv1, 0.25 BDP",
        measured=Estimate(100 * lost["bbr3"] / lost["bbr"]),
        published=at_most(100, _THESIS_LOSS, text="tries to fix significant packet loss"),
        unit="%",
        note=f"Means: {lost['bbr3'].mean():.2g} and {lost['bbr'].mean():.2g} %.",
    )
    yield Comparison(
        quantity="largest difference in relative harm, BBRv3 minus BBRv1, of all networks",
        measured=by_network[worst],
        published=at_least(0, _ZEYNALI, text="in some instances even worse"),
        note=f"{worst}.",
    )
    yield Comparison(
        quantity="smallest difference in relative harm, BBRv3 minus BBRv1, of all networks",
        measured=by_network[best],
        published=NOT_STATED,
        note=f"{best}.",
    )


def _all_harms(pairs: pd.DataFrame) -> Iterator[Comparison]:
    """Return the relative harm of both versions for each factor."""
    for queue_bdp in _QUEUES:
        rows = _plane(pairs, queue_bdp=queue_bdp)
        yield from each(rows, f"queue of {queue_bdp:g} BDP", "rtt_ms", " ms")
    for queue_bdp in (_SHALLOW, _DEEP):
        words = f"{queue_bdp:g} BDP"
        yield from each(_bandwidths(pairs, queue_bdp), f"{words}, all rates", "mbps", " Mbit/s")
        for n_alpha, n_beta in _FLOWS:
            rows = _with_flows(pairs, queue_bdp, (n_alpha, n_beta))
            yield from each(rows, f"{words}, {n_alpha} against {n_beta} CUBIC", "rtt_ms")
    for name in _MANAGED:
        yield from each(_managed(pairs, name), name, "rtt_ms", " ms")


def _is_queue(pairs: pd.DataFrame, queue_bdp: float) -> pd.Series[bool]:
    """Return whether each row has a drop-tail queue of a length, which is whole packets."""
    near: pd.Series[bool] = (pairs["queue_bdp"] / queue_bdp - 1).abs() < 0.1  # noqa: PLR2004
    return near & (pairs["qdisc"] == "droptail")


def _plane(pairs: pd.DataFrame, *, queue_bdp: float, rtt_ms: float | None = None) -> pd.DataFrame:
    """Return the rows of one flow of each at 50 Mbit/s."""
    rows = _with_flows(pairs, queue_bdp, (1, 1))
    rows = rows[rows["mbps"] == MBPS]
    return rows if rtt_ms is None else rows[rows["rtt_ms"] == rtt_ms]


def _bandwidths(pairs: pd.DataFrame, queue_bdp: float) -> pd.DataFrame:
    rows = _with_flows(pairs, queue_bdp, (1, 1))
    return rows[rows["rtt_ms"] == RTT_MS]


def _with_flows(pairs: pd.DataFrame, queue_bdp: float, flows: tuple[int, int]) -> pd.DataFrame:
    n_alpha, n_beta = flows
    of_both = (pairs["alpha_flows"] == n_alpha) & (pairs["beta_flows"] == n_beta)
    return pairs[of_both & _is_queue(pairs, queue_bdp)]


def _managed(pairs: pd.DataFrame, name: str) -> pd.DataFrame:
    qdisc, ecn = _MANAGED[name]
    return pairs[(pairs["qdisc"] == qdisc) & (pairs["ecn"] == str(ecn))]


def _difference(pairs: pd.DataFrame) -> dict[str, Estimate]:
    """Return the harm of BBRv3 minus that of BBRv1, by network."""
    network = ["mbps", "rtt_ms", "qdisc", "queue_bdp", "ecn", "alpha_flows", "beta_flows"]
    return {
        _network_name(rows.iloc[0]): _seed_difference(rows, "relative_harm")
        for _, rows in pairs.groupby(network)
    }


def _network_name(row: pd.Series) -> str:
    managed = {of: name for name, (qdisc, ecn) in _MANAGED.items() for of in [(qdisc, str(ecn))]}
    queue = managed.get((row["qdisc"], row["ecn"]), f"{row['queue_bdp']:g} BDP")
    flows = f"{row['alpha_flows']} against {row['beta_flows']}"
    return f"{row['mbps']:g} Mbit/s, {row['rtt_ms']:g} ms, {queue}, {flows}"


def _seed_difference(rows: pd.DataFrame, column: str) -> Estimate:
    """Return the mean of a column for BBRv3 minus that for BBRv1, with the interval over seeds."""
    means = rows.pivot_table(column, "seed", "alpha")
    return Estimate(means["bbr3"] - means["bbr"])


def _plane_figure(pairs: pd.DataFrame) -> Figure:
    """Draw harm over the queue, one panel for each round-trip time."""
    rows = pd.concat(_plane(pairs, queue_bdp=queue_bdp) for queue_bdp in _QUEUES)
    of_paths = list(rows.groupby("rtt_ms"))
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    panels = figure.subplots(1, len(of_paths), sharey=True, squeeze=False)[0]
    for axes, (rtt_ms, own) in zip(panels, of_paths, strict=True):
        _draw(axes, own, "queue_bdp")
        axes.set_xscale("log", base=4)
        axes.set_xticks(_QUEUES, ["1/4", "1", "4", "16"])
        axes.set_title(f"{rtt_ms:g} ms", fontsize="medium")
    panels[0].set_ylabel("relative harm to CUBIC")
    panels[0].legend(fontsize="small")
    figure.supxlabel("queue (bandwidth-delay products)")
    return figure


def _factors_figure(pairs: pd.DataFrame) -> Figure:
    """Draw harm over bandwidth and numbers of flows in both queues, and with managed queues."""
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    panels = figure.subplots(1, 5, sharey=True, width_ratios=(1, 1, 1, 1, 1.6))
    for i, (queue_bdp, words) in enumerate(((_SHALLOW, "1/4 BDP"), (_DEEP, "4 BDP"))):
        rates = panels[i]
        _draw(rates, _bandwidths(pairs, queue_bdp), "mbps")
        rates.set_xscale("log")
        ticks = sorted({*_OTHER_MBPS, MBPS})
        rates.set_xticks(ticks, [f"{tick:g}" for tick in ticks], rotation=90)
        rates.minorticks_off()
        rates.set_title(f"bandwidth (Mbit/s), {words}", fontsize="small")
        cases = ((1, 1), *_FLOWS)
        rows = pd.concat(
            _with_flows(pairs, queue_bdp, case).assign(position=i) for i, case in enumerate(cases)
        )
        rows = rows[(rows["mbps"] == MBPS) & (rows["rtt_ms"] == RTT_MS)]
        _draw(panels[2 + i], rows, "position", line="")
        names = [f"{n_alpha} : {n_beta}" for n_alpha, n_beta in cases]
        panels[2 + i].set_xticks(range(len(cases)), names)
        panels[2 + i].set_title(f"flows BBR : CUBIC, {words}", fontsize="small")
    managed = pd.concat(_managed(pairs, name).assign(position=i) for i, name in enumerate(_MANAGED))
    _draw(panels[4], managed[managed["rtt_ms"] == RTT_MS], "position", line="")
    panels[4].set_xticks(range(len(_MANAGED)), list(_MANAGED), rotation=90)
    panels[4].set_title("queue management, 40 ms", fontsize="small")
    panels[0].set_ylabel("relative harm to CUBIC")
    panels[0].legend(fontsize="small")
    for axes in panels:
        axes.tick_params(labelsize="small")
    return figure


def _draw(axes: Axes, rows: pd.DataFrame, by: str, *, line: str = "-") -> None:
    """Draw the harm of both versions with intervals."""
    for alpha in VERSIONS:
        values = estimates(rows[rows["alpha"] == alpha], by)
        axes.errorbar(
            list(values),
            [value.mean for value in values.values()],
            [value.half_width for value in values.values()],
            fmt=f"o{line}",
            color=COLOURS[alpha],
            label=VERSIONS[alpha],
            capsize=3,
            markersize=4,
        )
    axes.axhline(0, color="0.6", linewidth=0.8)
    axes.grid(alpha=0.3)


STUDY = Study(
    info=info("bbr3-cubic"),
    scenarios=_scenarios,
    measure=measure,
    conclude=_conclude,
)
