# SPDX-License-Identifier: Apache-2.0
"""The three deployment thresholds (Ware section 4.4), over harms that were measured.

A threshold bounds the harm that a new CCA (alpha) with some workload may do to flows of the
deployed one (beta) with some workload, by harms that beta flows do to beta flows in the same
network and by the same metric:

worst-case
    by the most that beta flows of *any* workload do to them (4.4.1);
equivalent
    by what beta flows do with the workload that alpha has (4.4.2);
symmetric
    by that, or by what they do to beta flows with the workload that alpha has (4.4.3).

The thesis asks whether there should be leeway, since outcomes are distributed (4.5). Here a harm is
measured several times, what counts is the mean of harm minus bound, and there is leeway. A case is
*broken* if the mean is above the leeway with confidence, *respected* if it is not above it with
confidence, and else *undecided*; with one repetition there is no confidence and the number decides.
A threshold is broken by a single case, so intervals that show a case broken hold together for all
cases (Bonferroni): alpha is blamed wrongly with a probability of 5 % at most, however many cases
there are. It is respected in all cases or not at all, so there single intervals do. The worst-case
and the symmetric bound are the most of several noisy harms, each repetition's own, and so a little
lenient.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import pandas as pd

from ccbench.base.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["THRESHOLDS", "Verdict", "bounds", "judge", "overall"]

Verdict: TypeAlias = Literal["respected", "broken", "undecided"]

THRESHOLDS = ("equivalent", "symmetric", "worst-case")

_CASE = ["network", "victim", "attacker", "metric"]


def bounds(harms: pd.DataFrame) -> pd.DataFrame:
    """Return alpha's harm in every case and repetition, beside what each threshold allows.

    Parameters
    ----------
    harms : DataFrame
        One row per harm that was measured. Columns: ``network``; ``victim``, the workload of the
        beta flows that are harmed; ``attacker``, that of the flows that harm them; ``side``,
        whether those are ``"alpha"`` or ``"beta"``; ``metric``; ``repetition``; ``harm``; and
        optionally ``censored``, whether the harm is at least that.

    Returns
    -------
    DataFrame
        A row for each of alpha's harms: ``network``, ``victim``, ``attacker``, ``metric``,
        ``repetition``, ``harm``, ``censored`` and a bound for each of `THRESHOLDS`. NaN where one
        of the harms it follows from is NaN; but where there is no row for the harm in return, as
        a workload may not have the metric, that bounds nothing.

    Examples
    --------
    >>> one = {"network": "n", "victim": "w", "attacker": "w", "metric": "m", "repetition": 0}
    >>> rows = [{**one, "side": "alpha", "harm": 0.6}, {**one, "side": "beta", "harm": 0.5}]
    >>> bounds(pd.DataFrame(rows))["worst-case"].tolist()
    [0.5]
    """
    key = [*_CASE, "repetition"]
    harms = harms.assign(censored=harms.get("censored", False))
    by_side = {str(side): rows for side, rows in harms.groupby("side")}
    beta = by_side["beta"][[*key, "harm"]]
    done_back = {"victim": "attacker", "attacker": "victim", "harm": "back"}
    to_victim = [column for column in key if column != "attacker"]
    worst = beta.groupby(to_victim)["harm"].agg(lambda done: done.max(skipna=False))
    table = (
        by_side["alpha"][[*key, "harm", "censored"]]
        .merge(beta.rename(columns={"harm": "equivalent"}), on=key, how="left")
        .merge(beta.rename(columns=done_back), on=key, how="left", indicator="returned")
        .merge(worst.rename("worst-case").reset_index(), on=to_victim, how="left")
    )
    both = table[["equivalent", "back"]].max(axis=1, skipna=False)
    table["symmetric"] = both.where(table["returned"] == "both", table["equivalent"])
    return table[[*key, "harm", "censored", *THRESHOLDS]]


def judge(table: pd.DataFrame, leeway: float = 0.0) -> pd.DataFrame:
    """Return the verdict of every case by every threshold.

    Parameters
    ----------
    table : DataFrame
        As :func:`bounds` returns it.
    leeway : float
        By how much harm may exceed a bound.

    Returns
    -------
    DataFrame
        One row per threshold and case: ``threshold``, ``network``, ``victim``, ``attacker``,
        ``metric``; ``harm`` and ``bound``, means over the repetitions; ``excess``, the mean of harm
        minus bound, and ``excess_ci``, half the width of its 95 % interval (NaN with one
        repetition); ``verdict``. The worst excess comes first.

    Examples
    --------
    >>> one = {"network": "n", "victim": "w", "attacker": "w", "metric": "m", "repetition": 0}
    >>> rows = [{**one, "side": "alpha", "harm": 0.6}, {**one, "side": "beta", "harm": 0.5}]
    >>> judge(bounds(pd.DataFrame(rows)), leeway=0.05)["verdict"].unique().tolist()
    ['broken']
    """
    rows = []
    cases = table.groupby(_CASE)
    for case, group in cases:
        excesses = {name: Estimate(group["harm"] - group[name]) for name in THRESHOLDS}
        verdicts = _consistent(
            {name: _verdict(e, leeway, len(cases)) for name, e in excesses.items()}
        )
        if group["censored"].any():  # a harm of at least so much respects nothing
            verdicts = {n: "undecided" if v == "respected" else v for n, v in verdicts.items()}
        rows += [
            {
                "threshold": name,
                **dict(zip(_CASE, case, strict=True)),
                "harm": float(group["harm"].mean(skipna=False)),
                "bound": float(group[name].mean(skipna=False)),
                "excess": excesses[name].mean,
                "excess_ci": excesses[name].half_width,
                "verdict": verdicts[name],
            }
            for name in THRESHOLDS
        ]
    return pd.DataFrame(rows).sort_values("excess", ascending=False, ignore_index=True)


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a threshold from those of its cases, all of which it must hold in.

    Examples
    --------
    >>> overall(["respected", "undecided"]), overall(["undecided", "broken"])
    ('undecided', 'broken')
    """
    outcomes = set(verdicts)
    if "broken" in outcomes:
        return "broken"
    return "undecided" if "undecided" in outcomes or not outcomes else "respected"


def _verdict(excess: Estimate, leeway: float, cases: int) -> Verdict:
    if math.isnan(excess.mean):
        return "undecided"
    low, high = excess.mean - excess.joint_half_width(cases), excess.high
    if excess.repetitions == 1:
        low = high = excess.mean
    if low > leeway:
        return "broken"
    return "respected" if high <= leeway else "undecided"


def _consistent(verdicts: dict[str, Verdict]) -> dict[str, Verdict]:
    """Let no case respect the strictest threshold and leave another undecided, nor the other way.

    The other two bounds are nowhere below the equivalent one, whatever their intervals say.
    """
    if verdicts["equivalent"] == "respected":
        return {name: "respected" if v == "undecided" else v for name, v in verdicts.items()}
    if "broken" in verdicts.values():
        return {**verdicts, "equivalent": "broken"}
    return verdicts
