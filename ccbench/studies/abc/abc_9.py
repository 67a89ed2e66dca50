# SPDX-License-Identifier: Apache-2.0
"""ABC and others over Wi-Fi, with one user and with two (Goyal et al. 2020, Figure 9).

The bitrate alternates between those of MCS 1 and MCS 7 (one stream of 20 MHz: 13 and 65 Mbit/s)
every two seconds. There are three runs of 45 s each. Two users share the router's queue. ABC's
router uses the estimate of section 5.1, which the link derives from its block ACKs.

Choices left open by the paper: its link was a real one in a crowded room. Here batches have up to
20 frames, as in Figure 5, and an overhead that is uniformly distributed between 0.3 and 3 ms. The
round-trip time is 20 ms, the queue 250 packets. Delta is 133 ms and T 40 ms, as stated. CoDel is
compared with its default target of 5 ms, as the paper's router ran OpenWrt; CoDel with 50 ms, as in
the authors' scripts for cellular links, is shown as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.experiment.noise import NO_NOISE, typical
from ccbench.experiment.scenario import Flow, NetworkPath, Scenario
from ccbench.experiment.wifi import Wifi
from ccbench.run import packets
from ccbench.studies.abc.links import ABC, QUEUE_PACKETS, SCHEMES, router, scheme_of
from ccbench.studies.abc.tradeoff import draw_tradeoff
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_most, between, exactly, percentage
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run
    from ccbench.studies.abc.links import Scheme

_BITRATES_MBPS = (13.0, 65.0)
_STEP_S = 2.0
_MAX_FRAMES = 20
_OVERHEAD_MS = (0.3, 3.0)
_RTT_MS = 20.0
_WINDOW_MS = 40
_DURATION_S = 45.0
_SEEDS = (1, 2, 3)
_QUICK_S = 8.0
#: The compared delay thresholds of ABC in ms.
_D_T_MS = (20, 60, 100)
#: Throughput advantage of ABC with 100 ms and two users, in percent; with one user up to 29 %.
_MORE = {"Cubic+Codel, 5 ms": 38, "Copa": 41, "Vegas": 31}
_TEXT = "section 7.3"


def _name(d_t_ms: int) -> str:
    return f"{ABC.name}, d_t {d_t_ms} ms"


_ROUTERS = tuple(
    replace(ABC, name=_name(d_t_ms), options=router(d_t_ms=d_t_ms, window_ms=_WINDOW_MS))
    for d_t_ms in _D_T_MS
)
_ABC_NAMES = {scheme.options: scheme.name for scheme in _ROUTERS}
_COMPARED = (*_ROUTERS, *SCHEMES[1:])


def _scenario(scheme: Scheme, users: int, seed: int, duration_s: float) -> Scenario:
    wifi = Wifi(
        bitrates_mbps=_BITRATES_MBPS,
        step_s=_STEP_S,
        max_frames=_MAX_FRAMES,
        overhead_ms=_OVERHEAD_MS,
        stations=users,
    )
    link = replace(scheme.bottleneck(1.0, QUEUE_PACKETS), bandwidth_mbps=None, wifi=wifi)
    return Scenario(
        flows=(Flow(cca=scheme.cca, count=users),),
        path=NetworkPath(
            bottlenecks=(link,),
            rtt_ms=_RTT_MS,
            noise=typical(rtt_ms=_RTT_MS) if users > 1 else NO_NOISE,
        ),
        duration_s=duration_s,
        seed=seed,
        name=f"{scheme.name} over Wi-Fi, users: {users}",
    )


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    seeds, duration_s = (_SEEDS[:1], _QUICK_S) if quick else (_SEEDS, _DURATION_S)
    return tuple(
        _scenario(scheme, users, seed, duration_s)
        for users in (1, 2)
        for scheme in _COMPARED
        for seed in seeds
    )


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    waited = packets.delivered(run).groupby("flow")["queueing_ms"].quantile(0.95)
    return [
        {
            "users": scenario.flow_count,
            "scheme": _ABC_NAMES.get(
                scenario.path.bottlenecks[0].qdisc_options, scheme_of(scenario)
            ),
            "seed": scenario.seed,
            "throughput_mbps": run.carried_bytes() * 8e-6 / scenario.duration_s,
            "p95_ms": float(waited.mean()),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    figure = Figure(figsize=(10, 4), layout="constrained")
    comparisons: list[Comparison] = []
    for (users, rows), axes in zip(table.groupby("users"), figure.subplots(1, 2), strict=True):
        means = rows.groupby("scheme", sort=False)[["throughput_mbps", "p95_ms"]].mean()
        users_label = "one user" if users == 1 else "two users"
        draw_tradeoff(axes, means, "throughput_mbps", "throughput (Mbit/s)")
        axes.set_title(users_label)
        comparisons += _of_one_user(rows) if users == 1 else _of_two_users(rows)
        comparisons.append(_beaten(means, users_label))
    return Findings(table=table, figure=figure, comparisons=tuple(comparisons))


def _by_seed(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    return rows.pivot_table(column, "seed", "scheme")


def _more(mbps: pd.DataFrame, faster: str, slower: str) -> Estimate:
    """Return the throughput advantage of one scheme over another, in percent."""
    return Estimate(100 * (mbps[faster] / mbps[slower] - 1))


def _of_one_user(rows: pd.DataFrame) -> list[Comparison]:
    mbps, p95_ms = _by_seed(rows, "throughput_mbps"), _by_seed(rows, "p95_ms")
    own = _name(_D_T_MS[-1])
    more = {name: _more(mbps, own, name) for name in _MORE}
    faster = mbps[["Cubic", "BBR"]].mean().idxmax()
    return [
        Comparison(
            quantity="one user: throughput of ABC, d_t 100 ms, more than that of the slowest of "
            "three",
            measured=max(more.values(), key=lambda estimate: estimate.mean),
            published=at_most(29, _TEXT, text="up to 29"),
            unit="%",
            note=", ".join(f"{name}: {estimate.mean:.0f}" for name, estimate in more.items()),
        ),
        Comparison(
            quantity="one user: throughput of the faster of Cubic and BBR, more than ABC's",
            measured=_more(mbps, str(faster), own),
            published=percentage(4, _TEXT),
            unit="%",
        ),
        *(
            Comparison(
                quantity=f"one user: 95th percentile of {name}'s delay, by ABC's",
                measured=Estimate(p95_ms[name] / p95_ms[own]),
                published=between(1.67, 6, _TEXT, text="67 % to 6× higher"),
            )
            for name in ("Cubic", "BBR")
        ),
    ]


def _of_two_users(rows: pd.DataFrame) -> list[Comparison]:
    mbps = _by_seed(rows, "throughput_mbps")
    return [
        Comparison(
            quantity=f"two users: throughput of ABC, d_t 100 ms, more than that of {name}",
            measured=_more(mbps, _name(_D_T_MS[-1]), name),
            published=percentage(percent, _TEXT),
            unit="%",
        )
        for name, percent in _MORE.items()
    ]


def _beaten(means: pd.DataFrame, users_label: str) -> Comparison:
    """Count the schemes that are at least as good as one of the versions of ABC."""
    is_own = means.index.isin(_ABC_NAMES.values())
    own, others = means[is_own], means[~is_own]
    better = [
        str(name)
        for name, mbps, p95_ms in others[["throughput_mbps", "p95_ms"]].itertuples()
        if ((own["throughput_mbps"] <= mbps) & (own["p95_ms"] >= p95_ms)).any()
    ]
    return Comparison(
        quantity=f"{users_label}: schemes that beat one of the three ABC in throughput and delay",
        measured=len(better),
        published=exactly(
            0, "caption of Figure 9", text="none: all versions are outside the Pareto frontier"
        ),
        note=", ".join(better),
    )


STUDY = Study(
    info=info("abc-9"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
