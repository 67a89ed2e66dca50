# SPDX-License-Identifier: Apache-2.0
"""The three deployment thresholds (Ware section 4.4), applied to measured harms.

A threshold bounds the harm of a new CCA (alpha) with some workload to flows of the deployed CCA
(beta), the victim, by harms between beta flows in the same network and by the same metric:

worst-case
    the largest harm of beta flows of *any* workload to the victim (4.4.1);
equivalent
    the harm of beta flows of alpha's workload to the victim (4.4.2);
symmetric
    the larger of the equivalent bound and the victim's harm to beta flows of alpha's workload
    (4.4.3).

The thesis discusses leeway, since outcomes are distributed (4.5). Here each harm is measured
several times, the mean of harm minus bound decides, and a leeway is allowed. A case is *broken* if
the confidence interval of the mean lies above the leeway, *respected* if it does not exceed the
leeway, and otherwise *undecided*; with one repetition, the value itself decides. A single broken
case breaks a threshold, so the intervals for broken cases hold jointly (Bonferroni): the
probability of wrongly blaming alpha is at most 5 %, independent of the number of cases. A threshold
is respected only if all cases are, for which single intervals suffice. If undecided cases are
repeated, the looks at a case share the probability of error, so its intervals hold at all looks
together. The worst-case and symmetric bounds are slightly lenient, because they are maxima of noisy
harms within each repetition.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import pandas as pd

from ccbench.base.estimate import ERROR, Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ccbench.emulate.policies import Look

__all__ = ["THRESHOLDS", "Verdict", "bounds", "judge", "overall", "undecided"]

Verdict: TypeAlias = Literal["respected", "broken", "undecided"]

THRESHOLDS = ("equivalent", "symmetric", "worst-case")

_CASE = ["network", "victim", "attacker", "metric"]


def bounds(harms: pd.DataFrame) -> pd.DataFrame:
    """Return alpha's harm and the bound of each threshold in every case and repetition.

    Parameters
    ----------
    harms : DataFrame
        One row per measured harm. Columns: ``network``; ``victim``, the workload of the harmed beta
        flows; ``attacker``, the workload of the harming flows; ``side``, ``"alpha"`` or ``"beta"``,
        the CCA of the harming flows; ``metric``; ``repetition``; ``harm``; and optionally
        ``censored``, whether ``harm`` is a lower bound.

    Returns
    -------
    DataFrame
        A row for each of alpha's harms: ``network``, ``victim``, ``attacker``, ``metric``,
        ``repetition``, ``harm``, ``censored`` and a bound for each of `THRESHOLDS`. A bound is NaN
        if one of its harms is NaN. A missing row for the harm in the opposite direction, because
        the workload does not have the metric, is ignored.

    Examples
    --------
    >>> case = {"network": "n", "victim": "w", "attacker": "w", "metric": "m", "repetition": 0}
    >>> rows = [{**case, "side": "alpha", "harm": 0.6}, {**case, "side": "beta", "harm": 0.5}]
    >>> bounds(pd.DataFrame(rows))["worst-case"].tolist()
    [0.5]
    """
    key = [*_CASE, "repetition"]
    harms = harms.assign(censored=harms.get("censored", False))
    by_side = {str(side): rows for side, rows in harms.groupby("side")}
    beta = by_side["beta"][[*key, "harm"]]
    opposite = {"victim": "attacker", "attacker": "victim", "harm": "opposite"}
    to_victim = [column for column in key if column != "attacker"]
    worst = beta.groupby(to_victim)["harm"].agg(lambda values: values.max(skipna=False))
    table = (
        by_side["alpha"][[*key, "harm", "censored"]]
        .merge(beta.rename(columns={"harm": "equivalent"}), on=key, how="left")
        .merge(beta.rename(columns=opposite), on=key, how="left", indicator="has_opposite")
        .merge(worst.rename("worst-case").reset_index(), on=to_victim, how="left")
    )
    larger = table[["equivalent", "opposite"]].max(axis=1, skipna=False)
    table["symmetric"] = larger.where(table["has_opposite"] == "both", table["equivalent"])
    return table[[*key, "harm", "censored", *THRESHOLDS]]


def judge(table: pd.DataFrame, leeway: float = 0.0, looks: Sequence[Look] = ()) -> pd.DataFrame:
    """Return the verdict of every case by every threshold.

    Parameters
    ----------
    table : DataFrame
        Result of :func:`bounds`.
    leeway : float
        Amount by which harm may exceed a bound.
    looks : sequence of Look
        The looks at a growing table, see :func:`ccbench.emulate.policies.looks`. Default: one.

    Returns
    -------
    DataFrame
        One row per threshold and case: ``threshold``, ``network``, ``victim``, ``attacker``,
        ``metric``; ``repetitions``; ``harm`` and ``bound``, means over the repetitions; ``excess``,
        the mean of harm minus bound, and ``excess_ci``, half the width of its interval (NaN with
        one repetition), which holds at all looks together with a confidence of 95 %; ``verdict``;
        ``doubt``, a reason for which the repetitions hardly support the interval, or empty. Sorted
        by ``excess`` in descending order.

    Examples
    --------
    >>> case = {"network": "n", "victim": "w", "attacker": "w", "metric": "m", "repetition": 0}
    >>> rows = [{**case, "side": "alpha", "harm": 0.6}, {**case, "side": "beta", "harm": 0.5}]
    >>> judge(bounds(pd.DataFrame(rows)), leeway=0.05)["verdict"].unique().tolist()
    ['broken']
    """
    rows = []
    errors = {look.repetitions: look.error for look in looks}
    cases = table.groupby(_CASE)
    for case, group in cases:
        error = errors.get(len(group), ERROR)
        excesses = {name: Estimate(group["harm"] - group[name], error=error) for name in THRESHOLDS}
        verdicts = _consistent(
            {name: _verdict(e, leeway, len(cases)) for name, e in excesses.items()}
        )
        if group["censored"].any():  # a lower bound of harm cannot show that a case is respected
            verdicts = {n: "undecided" if v == "respected" else v for n, v in verdicts.items()}
        rows += [
            {
                "threshold": name,
                **dict(zip(_CASE, case, strict=True)),
                "repetitions": len(group),
                "harm": float(group["harm"].mean(skipna=False)),
                "bound": float(group[name].mean(skipna=False)),
                "excess": excesses[name].mean,
                "excess_ci": excesses[name].half_width,
                "verdict": verdicts[name],
                "doubt": excesses[name].doubt,
            }
            for name in THRESHOLDS
        ]
    return pd.DataFrame(rows).sort_values("excess", ascending=False, ignore_index=True)


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a threshold, which must be respected in all its cases.

    Examples
    --------
    >>> overall(["respected", "undecided"]), overall(["undecided", "broken"])
    ('undecided', 'broken')
    """
    outcomes = set(verdicts)
    if "broken" in outcomes:
        return "broken"
    return "undecided" if "undecided" in outcomes or not outcomes else "respected"


def undecided(cases: pd.DataFrame, leeway: float) -> pd.DataFrame:
    """Return the cases of :func:`judge` that decide about a threshold with more repetitions.

    A broken threshold stays broken. More repetitions decide no case without an interval, nor one
    whose interval lies below the leeway, but whose harm is a lower bound.

    Examples
    --------
    >>> case = {"network": "n", "victim": "w", "attacker": "w", "metric": "m"}
    >>> harms = [("alpha", 0.5), ("alpha", 0.7), ("beta", 0.5), ("beta", 0.5)]
    >>> rows = [
    ...     {**case, "side": side, "harm": harm, "repetition": i % 2}
    ...     for i, (side, harm) in enumerate(harms)
    ... ]
    >>> len(undecided(judge(bounds(pd.DataFrame(rows))), leeway=0))
    3
    """
    verdicts = cases.groupby("threshold")["verdict"].agg(overall)
    is_open = cases["threshold"].map(verdicts) == "undecided"
    may_exceed = cases["excess"] + cases["excess_ci"] > leeway
    return cases[is_open & (cases["verdict"] == "undecided") & may_exceed]


def _verdict(excess: Estimate, leeway: float, cases: int) -> Verdict:
    if math.isnan(excess.mean):
        return "undecided"
    low, high = excess.joint(cases).low, excess.high
    if excess.repetitions == 1:
        low = high = excess.mean
    if low > leeway:
        return "broken"
    return "respected" if high <= leeway else "undecided"


def _consistent(verdicts: dict[str, Verdict]) -> dict[str, Verdict]:
    """Return consistent verdicts of a case, although the thresholds' intervals differ.

    The other two bounds are never below the equivalent bound. If that is respected, undecided
    bounds are respected, too; if another bound is broken, so is the equivalent one.
    """
    if verdicts["equivalent"] == "respected":
        return {name: "respected" if v == "undecided" else v for name, v in verdicts.items()}
    if "broken" in verdicts.values():
        return {**verdicts, "equivalent": "broken"}
    return verdicts
