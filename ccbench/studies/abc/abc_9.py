# SPDX-License-Identifier: Apache-2.0
"""ABC and others over Wi-Fi, with one user and with two (Goyal et al. 2020, Figure 9).

The bitrate alternates between those of MCS 1 and MCS 7 every two seconds. There are three runs of
45 s each. Two users share the router's queue. ABC's router uses the estimate of section 5.1, which
the link derives from its block ACKs (:mod:`ccbench.studies.abc.wifi`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.studies.abc.tradeoff import draw_tradeoff
from ccbench.studies.abc.wifi import (
    COMPARED,
    D_T_MS,
    DURATION_S,
    MCS_MBPS,
    SEEDS,
    beaten,
    measure,
    named,
    scenario,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_most, between, exactly, percentage
from ccbench.studies.study import Comparison, Findings, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario

_BITRATES_MBPS = (MCS_MBPS[1], MCS_MBPS[7])
_QUICK_S = 8.0
#: Throughput advantage of ABC with 100 ms and two users, in percent; with one user up to 29 %.
_MORE = {"Cubic+Codel, 5 ms": 38, "Copa": 41, "Vegas": 31}
_TEXT = "section 7.3"
_NONE = exactly(0, "caption of Figure 9", text="none: all versions are outside the Pareto frontier")


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    seeds, duration_s = (SEEDS[:1], _QUICK_S) if quick else (SEEDS, DURATION_S)
    return tuple(
        scenario(scheme, _BITRATES_MBPS, users=users, seed=seed, duration_s=duration_s)
        for users in (1, 2)
        for scheme in COMPARED
        for seed in seeds
    )


def _conclude(table: pd.DataFrame) -> Findings:
    figure = Figure(figsize=(10, 4), layout="constrained")
    comparisons: list[Comparison] = []
    for (users, rows), axes in zip(table.groupby("users"), figure.subplots(1, 2), strict=True):
        means = rows.groupby("scheme", sort=False)[["throughput_mbps", "p95_ms"]].mean()
        users_label = "one user" if users == 1 else "two users"
        draw_tradeoff(axes, means, "throughput_mbps", "throughput (Mbit/s)")
        axes.set_title(users_label)
        comparisons += _of_one_user(rows) if users == 1 else _of_two_users(rows)
        comparisons.append(beaten(means, users_label, _NONE))
    return Findings(table=table, figure=figure, comparisons=tuple(comparisons))


def _by_seed(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    return rows.pivot_table(column, "seed", "scheme")


def _more(mbps: pd.DataFrame, faster: str, slower: str) -> Estimate:
    """Return the throughput advantage of one scheme over another, in percent."""
    return Estimate(100 * (mbps[faster] / mbps[slower] - 1))


def _of_one_user(rows: pd.DataFrame) -> list[Comparison]:
    mbps, p95_ms = _by_seed(rows, "throughput_mbps"), _by_seed(rows, "p95_ms")
    own = named(D_T_MS[-1])
    more = {name: _more(mbps, own, name) for name in _MORE}
    faster = mbps[["Cubic", "BBR"]].mean().idxmax()
    return [
        Comparison(
            quantity="one user: throughput of ABC, d_t 100 ms, above that of the slowest of three",
            measured=max(more.values(), key=lambda estimate: estimate.mean),
            published=at_most(29, _TEXT, text="up to 29"),
            unit="%",
            note=", ".join(f"{name}: {estimate.mean:.0f}" for name, estimate in more.items()),
        ),
        Comparison(
            quantity="one user: throughput of the faster of Cubic and BBR, above ABC's",
            measured=_more(mbps, str(faster), own),
            published=percentage(4, _TEXT),
            unit="%",
        ),
        *(
            Comparison(
                quantity=f"one user: 95th percentile of {name}'s delay ÷ ABC's",
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
            quantity=f"two users: throughput of ABC, d_t 100 ms, above that of {name}",
            measured=_more(mbps, named(D_T_MS[-1]), name),
            published=percentage(percent, _TEXT),
            unit="%",
        )
        for name, percent in _MORE.items()
    ]


STUDY = Study(
    info=info("abc-9"),
    scenarios=_scenarios,
    measure=measure,
    conclude=_conclude,
)
