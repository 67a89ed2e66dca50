# SPDX-License-Identifier: Apache-2.0
"""Effects of noise on the shares of competing flows.

Six pairs of CCAs share six networks, under each kind of noise at several levels, with 20 seeds
each. Levels of jitter are in packet times of the link, levels of start times in round-trip times,
levels of background traffic in shares of the link. Without noise a scenario has a single outcome,
unless a CCA or a queueing discipline is itself random (BBR, FQ-CoDel).

If the packets of two flows arrive synchronised with the link, their phase determines which flow
encounters the full queue (Floyd and Jacobson, "On traffic phase effects in packet-switched
gateways", Computer Communication Review 21(2), 1992). The study repeats that paper's simulations on
the real kernel: two Reno flows with slightly different round-trip times, with and without random
time at the sender. The paper states that random processing of up to a packet's time on the
bottleneck link ends the effect.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import special

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import Flow
from ccbench.experiment.noise import NO_NOISE, Noise, typical
from ccbench.experiment.scenario import NetworkPath, Scenario
from ccbench.run.tables import NO_FLOW
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, percentage
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from ccbench.run.run import Run

#: The first flow and the second.
_PAIRS = (
    ("cubic", "reno"),
    ("westwood", "cubic"),
    ("illinois", "cubic"),
    ("vegas", "cubic"),
    ("copa", "cubic"),
    ("bbr", "cubic"),
)
#: Rate in Mbit/s, base RTT in ms, queue in BDP, queueing discipline.
_NETWORKS = (
    (12.0, 40, 0.25, "droptail"),
    (12.0, 40, 1.0, "droptail"),
    (12.0, 40, 4.0, "droptail"),
    (50.0, 40, 1.0, "droptail"),
    (12.0, 40, 1.0, "codel"),
    (12.0, 40, 1.0, "fq_codel"),
)
#: The network of figures that show a single one.
_REFERENCE = "50 Mbit/s, 1 BDP, droptail"
#: The kinds of noise and their levels.
_LEVELS: dict[str, tuple[float, ...]] = {
    "reverse jitter": (0.01, 0.1, 1, 10),
    "forward jitter": (0.1, 1, 10),
    "sender jitter": (0.1, 1, 10),
    "start spread": (1,),
    "background": (0.001, 0.01, 0.05),
}
#: Congestion controls and queueing disciplines with random behaviour.
_RANDOM = {"bbr", "fq_codel"}
_SEEDS, _DURATION_S, _FROM_S = 20, 120.0, 40.0
#: Seeds with a packet-level record of the queue, for the analysis of losses.
_LOGGED_SEEDS = 2

#: Floyd and Jacobson's two flows: rate in Mbit/s, RTTs in ms, queue in packets.
_PHASE_MBPS, _PHASE_RTT_MS, _PHASE_QUEUE = 12.0, 50, 20
_PHASE_EXTRA_MS = tuple(round(0.1 * i, 1) for i in range(11))
_PHASE = "Reno against Reno"


def _noise(kind: str, level: float, *, packet_ms: float, rtt_ms: float) -> Noise:
    if kind == "none":
        return NO_NOISE
    if kind == "start spread":
        return Noise(start_spread_ms=level * rtt_ms)
    # With any noise, flows start in random order, as by default.
    spread_ms = typical(rtt_ms=rtt_ms).start_spread_ms
    if kind == "background":
        return Noise(background_share=level, start_spread_ms=spread_ms)
    return Noise(**{f"{kind.replace(' ', '_')}_ms": level * packet_ms}, start_spread_ms=spread_ms)


def _kinds(*, quick: bool) -> Iterator[tuple[str, float]]:
    yield "none", 0.0
    for kind, levels in _LEVELS.items():
        for level in levels[-1:] if quick else levels:
            yield kind, level


def _repeated(scenario: Scenario, *, quick: bool) -> tuple[Scenario, ...]:
    """Return a scenario with all seeds, or once if the seed has no effect."""
    parts = {flow.cca for flow in scenario.flows} | {scenario.path.bottlenecks[0].qdisc}
    is_random = scenario.draws_at_random or not parts.isdisjoint(_RANDOM)
    seeds = (2 if quick else _SEEDS) if is_random else 1
    return tuple(replace(scenario, seed=seed) for seed in range(1, seeds + 1))


def _shares(*, quick: bool) -> Iterator[tuple[Scenario, ...]]:
    pairs = _PAIRS[:1] if quick else _PAIRS
    networks = _NETWORKS[:1] if quick else _NETWORKS
    for pair, (mbps, rtt_ms, bdp, qdisc), (kind, level) in product(
        pairs, networks, _kinds(quick=quick)
    ):
        link = Bottleneck(bandwidth_mbps=mbps, queue_bdp=bdp, qdisc=qdisc)
        scenario = Scenario(
            flows=tuple(Flow(cca=cca) for cca in pair),
            path=NetworkPath(
                bottlenecks=(link,),
                rtt_ms=rtt_ms,
                noise=_noise(kind, level, packet_ms=link.packet_ms, rtt_ms=rtt_ms),
            ),
            duration_s=5.0 if quick else _DURATION_S,
            name=f"{' against '.join(pair)}, {mbps:g} Mbit/s, {bdp:g} BDP, {qdisc}: "
            f"{kind} {level:g}",
        )
        yield tuple(
            replace(repetition, queue_log=True if repetition.seed <= _LOGGED_SEEDS else "summary")
            for repetition in _repeated(scenario, quick=quick)
        )


def _phases(*, quick: bool) -> Iterator[tuple[Scenario, ...]]:
    link = Bottleneck(bandwidth_mbps=_PHASE_MBPS, queue_packets=_PHASE_QUEUE)
    for extra_ms in _PHASE_EXTRA_MS[3:6:2] if quick else _PHASE_EXTRA_MS:
        for kind in ("none", "sender jitter"):
            noise = NO_NOISE if kind == "none" else Noise(sender_jitter_ms=link.packet_ms)
            scenario = Scenario(
                flows=(Flow(cca="reno"), Flow(cca="reno", extra_rtt_ms=extra_ms)),
                path=NetworkPath(bottlenecks=(link,), rtt_ms=_PHASE_RTT_MS, noise=noise),
                duration_s=5.0 if quick else _DURATION_S,
                queue_log="summary",
                name=f"{_PHASE}: {kind} {float(bool(noise)):g}",
            )
            yield _repeated(scenario, quick=quick)


def _scenarios(*, quick: bool) -> tuple[tuple[Scenario, ...], ...]:
    return (*_shares(quick=quick), *_phases(quick=quick))


def _measure(*runs: Run) -> Rows:
    """Return mean and interval of the first flow's share over the seeds of a cell of the study."""
    scenario = runs[0].scenario
    title, _, noise = scenario.name.partition(": ")
    kind, _, level = noise.rpartition(" ")
    pair, _, network = title.partition(", ")
    values = pd.DataFrame(map(_quantities, runs))
    share = Estimate(values.pop("first_share"))
    return [
        {
            "pair": pair,
            "network": network,
            "kind": kind,
            "level": float(level),
            "extra_rtt_ms": scenario.flows[1].extra_rtt_ms,
            "first_share": share.mean,
            "low": share.low,
            "high": share.high,
            "deviation": share.deviation,
            "repetitions": share.repetitions,
            **values.mean(),
        }
    ]


def _quantities(run: Run) -> dict[str, float]:
    """Return the quantities of a run."""
    from_s = _FROM_S * run.scenario.duration_s / _DURATION_S
    throughput = run.throughput(1.0)
    first, second = throughput[throughput.index > from_s].mean()
    return {
        "first_share": first / (first + second),
        "first_drop_share": _drop_share(run, from_s),
        "mean_queue_packets": run.occupancy(0.1).loc[from_s:].mean(),
        **_losses(run, from_s),
    }


def _drop_share(run: Run, from_s: float) -> float:
    """Return the first flow's share of all dropped packets."""
    drops = run.samples("drops").loc[from_s:]
    first, second = drops.iloc[-1] - drops.iloc[0]
    return float(first) / (first + second) if first + second else np.nan


def _losses(run: Run, from_s: float) -> dict[str, float]:
    """Return which flows lose packets when the queue is full, and the mean length of bursts.

    Drops less than a round-trip time apart belong to one event. A burst is a sequence of packets of
    one flow without packets of the other in between.
    """
    empty = {"loss_events": np.nan, "both_lose": np.nan, "only_first_loses": np.nan}
    if run.scenario.queue_log is not True:
        return {**empty, "burst_packets": np.nan}
    events = run.queue_events()
    events = events[(events["flow"] != NO_FLOW) & (events["time_ns"] >= from_s * 1e9)]
    arrivals = events.loc[events["event"] == "enqueue", "flow"].to_numpy()
    bursts = {"burst_packets": len(arrivals) / (1 + np.count_nonzero(np.diff(arrivals)))}
    drops = events[events["event"] == "drop"]
    if drops.empty:
        return {**empty, **bursts}
    number = (drops["time_ns"].diff() > run.scenario.path.rtt_ms * 1e6).cumsum()
    losers = pd.crosstab(number, drops["flow"]).reindex(columns=[0, 1], fill_value=0) > 0
    return {
        "loss_events": float(len(losers)),
        "both_lose": float(losers.all(axis=1).mean()),
        "only_first_loses": float((losers[0] & ~losers[1]).mean()),
        **bursts,
    }


def _conclude(cells: pd.DataFrame) -> Findings:
    phases = cells[cells["pair"] == _PHASE]
    exact = phases.loc[phases["kind"] == "none", "first_share"]
    random = phases.loc[phases["kind"] != "none", "first_share"]
    return Findings(
        table=cells,
        figure=_figure(cells),
        more_figures={
            "kinds": _kinds_figure(cells),
            "losses": _losses_figure(cells),
            "phases": _phases_figure(cells),
            "repetitions": _repetitions_figure(cells),
        },
        comparisons=(
            Comparison(
                quantity="two Reno flows in step: largest share of one of them, over round trips",
                measured=100 * float(np.maximum(exact, 1 - exact).max()),
                published=at_least(80, "section 2", text="phase effects give one flow almost all"),
                unit="%",
            ),
            Comparison(
                quantity="two Reno flows in step, random time at the sender of up to a packet's "
                "time: largest share",
                measured=100 * float(np.maximum(random, 1 - random).max()),
                published=percentage(50, "section 4", text="no phase effects: about equal"),
                unit="%",
            ),
        ),
    )


def _figure(cells: pd.DataFrame) -> Figure:
    """Draw each pair's share over the level of jitter, one panel per network."""
    shares = cells[cells["pair"] != _PHASE]
    networks = list(dict.fromkeys(shares["network"]))
    figure, panels = _panels(networks)
    for axes, network in zip(panels, networks, strict=False):
        here = shares[shares["network"] == network]
        for i, (pair, of_pair) in enumerate(here.groupby("pair", sort=False)):
            jitter = of_pair[of_pair["kind"] == "reverse jitter"].sort_values("level")
            _draw(axes, jitter["level"], jitter, f"C{i}", str(pair))
            without = 100 * of_pair.loc[of_pair["kind"] == "none", "first_share"]
            axes.axhline(float(without.iloc[0]), color=f"C{i}", linestyle=":", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_xlabel("jitter of ACKs (packet times); dotted: none")
    panels[0].legend(fontsize="x-small")
    return figure


def _kinds_figure(cells: pd.DataFrame) -> Figure:
    """Draw the share under all kinds and levels of noise in one network, one panel per pair."""
    here = _in_one_network(cells)
    pairs = list(dict.fromkeys(here["pair"]))
    figure, panels = _panels(pairs)
    for axes, pair in zip(panels, pairs, strict=False):
        of_pair = here[here["pair"] == pair]
        labels = [
            str(kind) if kind == "none" else f"{kind} {level:g}"
            for kind, level in of_pair[["kind", "level"]].to_numpy()
        ]
        colours = {kind: f"C{i}" for i, kind in enumerate(dict.fromkeys(of_pair["kind"]))}
        for kind, of_kind in of_pair.groupby("kind", sort=False):
            positions = np.flatnonzero(of_pair["kind"] == kind)
            _draw(axes, positions, of_kind, colours[kind])
        axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize="x-small")
    return figure


def _phases_figure(cells: pd.DataFrame) -> Figure:
    """Draw the share of two Reno flows over the difference of their round-trip times."""
    figure = Figure(figsize=(5.5, 3.5), layout="constrained")
    axes = figure.subplots()
    phases = cells[cells["pair"] == _PHASE]
    for i, (kind, of_kind) in enumerate(phases.groupby("kind", sort=False)):
        label = "no noise" if kind == "none" else "up to a packet time at the sender"
        _draw(axes, of_kind["extra_rtt_ms"], of_kind, f"C{i}", label)
    axes.set_xlabel("RTT of the second flow minus 50 ms (ms)")
    axes.set_ylabel("share of the first flow (%)")
    axes.set_ylim(0, 100)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return figure


def _losses_figure(cells: pd.DataFrame) -> Figure:
    """Draw which flows lose packets when the queue is full, and burst lengths, over the jitter."""
    here = _in_one_network(cells)
    here = here[here["kind"].isin(("none", "reverse jitter"))]
    pairs = list(dict.fromkeys(here["pair"]))[:3]
    figure = Figure(figsize=(4 * len(pairs), 3.4), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(pairs), sharey=True))
    for axes, pair in zip(panels, pairs, strict=True):
        of_pair = here[here["pair"] == pair].sort_values("level")
        both, first = 100 * of_pair["both_lose"], 100 * of_pair["only_first_loses"]
        names = pair.split(" against ")
        parts = {
            f"only {names[0]}": first,
            "both": both,
            f"only {names[1]}": 100 - both - first,
        }
        below = np.zeros(len(of_pair))
        positions = range(len(of_pair))
        for i, (label, part) in enumerate(parts.items()):
            axes.bar(positions, part, bottom=below, label=label, color=f"C{i}", alpha=0.8)
            below += part.to_numpy()
        for x, burst in zip(positions, of_pair["burst_packets"], strict=True):
            axes.annotate(f"{burst:.1f}", (x, 3), ha="center", fontsize="x-small", color="white")
        axes.set_xticks(positions, [f"{level:g}" for level in of_pair["level"]])
        axes.set_xlabel("jitter of ACKs (packet times)")
        axes.set_title(f"{pair} (in the bars: packets in a burst)", fontsize="small")
        axes.legend(fontsize="x-small", loc="upper right", framealpha=0.9)
    panels[0].set_ylabel("times that a full queue drops (%)")
    return figure


def _repetitions_figure(cells: pd.DataFrame) -> Figure:
    """Draw the width of the interval over the number of repetitions, for each pair."""
    counts = np.arange(2, _SEEDS + 1)
    figure = Figure(figsize=(5.5, 3.5), layout="constrained")
    axes = figure.subplots()
    noisy = cells[(cells["pair"] != _PHASE) & (cells["kind"] != "none")]
    quantiles = special.stdtrit(counts - 1, 0.975) / np.sqrt(counts)
    for i, (pair, of_pair) in enumerate(noisy.groupby("pair", sort=False)):
        typical, largest = of_pair["deviation"].median(), of_pair["deviation"].quantile(0.9)
        axes.plot(counts, 100 * typical * quantiles, color=f"C{i}", label=pair)
        axes.plot(counts, 100 * largest * quantiles, color=f"C{i}", linestyle=":", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_xticks(range(2, _SEEDS + 1, 2))
    axes.set_xlabel("repetitions")
    axes.set_ylabel("half of the interval of the share (points)")
    axes.set_title("median cell of a pair; dotted: 90th percentile", fontsize="small")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize="x-small")
    return figure


def _in_one_network(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of the reference network, or of the first if it was not run."""
    is_it = cells["network"] == _REFERENCE
    return cells[is_it if is_it.any() else cells["network"] == cells["network"].iloc[0]]


def _draw(axes: Axes, x: ArrayLike, cells: pd.DataFrame, colour: str, label: str = "") -> None:
    """Draw shares with their intervals, if any."""
    share = 100 * cells["first_share"]
    half = (100 * (cells["high"] - cells["first_share"])).fillna(0)
    axes.errorbar(x, share, yerr=half, marker="o", markersize=3, color=colour, label=label)


def _panels(titles: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """Return a figure with one panel per title, at most three in a row."""
    columns = min(3, len(titles))
    rows = -(-len(titles) // columns)
    figure = Figure(figsize=(4 * columns, 3.4 * rows), layout="constrained")
    panels = list(figure.subplots(rows, columns, sharey=True, squeeze=False).ravel())
    for axes, title in zip(panels, titles, strict=False):
        axes.set_title(title, fontsize="small")
        axes.grid(alpha=0.3)
    for axes in panels[::columns]:
        axes.set_ylabel("share of the first flow (%)")
    for axes in panels[len(titles) :]:
        axes.set_visible(False)
    return figure, panels


STUDY = Study(
    info=info("noise"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
