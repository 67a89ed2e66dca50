# SPDX-License-Identifier: Apache-2.0
"""Runs of BBRv1 and BBRv3 against loss-based flows, and their harm.

All paths have typical noise and a link of 50 Mbit/s unless another rate is stated. Runs last 120 s,
of which the first 40 s do not count.
"""

from __future__ import annotations

import math
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ccbench import harm
from ccbench.base.estimate import Estimate
from ccbench.experiment.flow import MTU_BYTES
from ccbench.experiment.path import typical_path
from ccbench.harm import beta_groups, long_flows
from ccbench.studies.published import Published, unbounded
from ccbench.studies.study import Comparison

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from ccbench.experiment.bottleneck import Bottleneck
    from ccbench.experiment.scenario import Scenario
    from ccbench.harm import Experiment
    from ccbench.run.run import Run
    from ccbench.studies.study import Rows

__all__ = [
    "COLOURS",
    "MBPS",
    "NOT_STATED",
    "RTT_MS",
    "SEEDS",
    "VERSIONS",
    "against",
    "each",
    "estimates",
    "mean_harm",
    "measure",
    "with_link",
]

#: The versions of BBR by their Linux names.
VERSIONS: Mapping[str, str] = MappingProxyType({"bbr": "BBRv1", "bbr3": "BBRv3"})
COLOURS: Mapping[str, str] = MappingProxyType({"bbr": "C3", "bbr3": "C1"})

#: The centre of the grid.
MBPS, RTT_MS = 50.0, 40.0
SEEDS = (1, 2, 3, 4, 5)
NOT_STATED = unbounded("not stated", "nowhere")

_DURATION_S, _QUICK_S = 120.0, 6.0
#: Part of a run that does not count.
_SETTLING = 1 / 3


def against(  # noqa: PLR0913 - settings of a network, all by keyword
    alpha: str,
    *,
    seed: int,
    quick: bool,
    beta: str = "cubic",
    mbps: float = MBPS,
    rtt_ms: float = RTT_MS,
    queue_bdp: float = 1.0,
    flows: tuple[int, int] = (1, 1),
) -> Experiment:
    """Return an experiment with a drop-tail queue.

    Parameters
    ----------
    alpha, beta : str
        Linux names of BBR and of the loss-based CCA.
    seed : int
        Seed of the noise.
    quick : bool
        Whether the run is too short to settle.
    mbps, rtt_ms, queue_bdp : float
        The network.
    flows : (int, int)
        Number of flows of alpha and of beta.

    Examples
    --------
    >>> against("bbr3", seed=1, quick=False, flows=(1, 4)).describe()
    '1 bbr3 against 4 cubic, 40 ms, 50 Mbit/s, 167 packets (1 BDP)'
    """
    return long_flows(
        alpha=alpha,
        beta=beta,
        path=typical_path(bandwidth_mbps=mbps, rtt_ms=rtt_ms, queue_bdp=queue_bdp),
        alpha_flows=flows[0],
        beta_flows=flows[1],
        duration_s=_QUICK_S if quick else _DURATION_S,
        seed=seed,
    )


def with_link(experiment: Experiment, link: Bottleneck, *, ecn: bool | str) -> Experiment:
    """Return an experiment with another link, and with or without ECN."""
    return replace(experiment, path=replace(experiment.path, bottlenecks=(link,), ecn=ecn))


def measure(*runs: Run) -> Rows:
    """Return a row with the rates and the lost packets of both groups of flows, and the harm.

    Parameters
    ----------
    *runs : Run
        The two runs of an experiment, or the competing run alone, of which harm is NaN.
    """
    run = runs[-1]
    scenario = run.scenario
    (link,) = scenario.path.bottlenecks
    from_s = scenario.duration_s * _SETTLING
    (of_beta,) = beta_groups(scenario)
    is_beta = (scenario.flow_table()["group"] == of_beta).to_numpy()
    throughput = run.throughput(1.0)
    mbps = throughput[throughput.index > from_s].mean().to_numpy()
    counted = run.samples("drops").fillna(0)
    drops = (counted.iloc[-1] - counted[counted.index <= from_s].iloc[-1]).to_numpy()
    rtt_ms = run.samples("srtt_us").loc[from_s:].mean().to_numpy() / 1e3
    packets = mbps * (throughput.index[-1] - from_s) * 1e6 / 8 / MTU_BYTES
    return [
        {
            "alpha": scenario.flows[1 - of_beta].cca,
            "alpha_flows": int((~is_beta).sum()),
            "beta": scenario.flows[of_beta].cca,
            "beta_flows": int(is_beta.sum()),
            "mbps": link.mean_mbps,
            "rtt_ms": scenario.path.rtt_ms,
            "qdisc": link.qdisc,
            "queue_bdp": _bdp(scenario) if link.qdisc == "droptail" else 0.0,
            "ecn": str(scenario.path.ecn),
            "seed": scenario.seed,
            "beta_mbps": float(mbps[is_beta].sum()),
            "alpha_mbps": float(mbps[~is_beta].sum()),
            "beta_lost_percent": 100 * float(drops[is_beta].sum() / packets[is_beta].sum()),
            "lost_percent": 100 * float(drops.sum() / packets.sum()),
            "beta_rtt_ms": float(rtt_ms[is_beta].mean()),
            **_harm(runs, from_s),
        }
    ]


def _harm(runs: tuple[Run, ...], from_s: float) -> dict[str, float]:
    """Return the harm to beta and its share of the link, from a time on."""
    if len(runs) == 1:
        names = ("solo_mbps", "absolute_harm", "relative_harm", "beta_share_percent")
        return dict.fromkeys(names, math.nan)
    solo, competing = runs
    of = harm.measure(solo, competing, (from_s, competing.scenario.duration_s))
    return {
        "solo_mbps": of.solo_mbps,
        "absolute_harm": of.absolute,
        "relative_harm": of.relative,
        "beta_share_percent": 100 * of.competing_mbps / (of.competing_mbps + of.alpha_mbps),
    }


def _bdp(scenario: Scenario) -> float:
    """Return the length of the queue in bandwidth-delay products, to two digits."""
    packets = scenario.path.bottlenecks[0].queue_packets or 0
    return float(f"{packets / scenario.path.bdp_packets():.2g}")


def estimates(rows: pd.DataFrame, by: str, column: str = "relative_harm") -> dict[float, Estimate]:
    """Return the mean of a column over seeds, by the values of another column."""
    return {value: Estimate(rows.loc[rows[by] == value, column]) for value in np.unique(rows[by])}


def mean_harm(rows: pd.DataFrame) -> Estimate:
    """Return the mean relative harm over networks, with the interval over seeds."""
    return Estimate(rows.groupby("seed")["relative_harm"].mean())


def each(
    pairs: pd.DataFrame,
    words: str,
    by: str,
    unit: str = "",
    published: Published = NOT_STATED,
) -> Iterable[Comparison]:
    """Return the relative harm of both versions, mean over networks and by the values of a column.

    Parameters
    ----------
    pairs : DataFrame
        Rows of :func:`measure` with harm.
    words : str
        Where, in a few words.
    by, unit : str
        Column whose values the note lists, and their unit.
    published : Published
        Statement about it.
    """
    for alpha, name in VERSIONS.items():
        rows = pairs[pairs["alpha"] == alpha]
        if rows.empty:  # of a network that only the usual version has
            continue
        values = estimates(rows, by)
        listed = "; ".join(f"{value:g}{unit}: {of:+.2f}" for value, of in values.items())
        means = rows[["absolute_harm", "beta_share_percent"]].mean()
        more = "Absolute harm {:.2f}, CUBIC's share {:.0f} %.".format(*means)
        yield Comparison(
            quantity=f"relative harm of {name}, {words}",
            measured=mean_harm(rows),
            published=published,
            note=f"{listed}. {more}" if len(values) > 1 else more,
        )
