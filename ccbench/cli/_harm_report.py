# SPDX-License-Identifier: Apache-2.0
"""Text output of ``ccbench harm``."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

from ccbench.base.counts import counted
from ccbench.cli._console import in_mbps, made_by, print_pairs, print_table, repeat_more

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.base.estimate import Estimate
    from ccbench.harm import Experiment, RepeatedHarm, Sensitivity

__all__ = ["print_harm", "print_sensitivity"]

#: Share of the variance above which the order of starts decides the result.
_DECISIVE = 0.5


def print_harm(result: RepeatedHarm, output: Path | None) -> None:
    """Print harm with its parts, and a table of the other metrics."""
    pairs = {
        **_circumstances(result.experiment),
        "noise": result.noise.describe(),
        "repetitions": _repetitions(result),
        "order": _order(result),
    }
    if result.repetitions[0].harm is not None:
        pairs |= _parts(result)
    if result.bound is not None:
        step = "; raise --max-repeat" if result.decision == "undecided" else ""
        pairs[f"bound {result.bound:g}"] = f"{result.decision}{step}"
    if not result.is_precise:
        pairs["precision"] = _imprecise(result)
    if result.doubt:
        pairs["caution"] = repeat_more(result.doubt, len(result.repetitions))
    maker = {"made by": made_by(result.repetitions[0].provenance), **_files(output)}
    if result.repetitions[0].metrics:
        print_pairs(pairs)
        _print_metrics(result)
        print_pairs(maker)
    else:
        print_pairs(pairs | maker)


def _files(output: Path | None) -> dict[str, str]:
    return {} if output is None else {"all values": str(output / "harm.csv")}


def _imprecise(result: RepeatedHarm) -> str:
    name, estimate = result.headline
    missing = [i for i, value in enumerate(estimate.values, start=1) if not math.isfinite(value)]
    if missing:
        step = "choose a longer --duration or another --metric"
        return f"not reached: repetition {missing[0]} has no {name}; {step}"
    reached = f"{estimate.half_width:.2g} instead of {result.precision:g}"
    return f"not reached: {reached}; raise --max-repeat"


def print_sensitivity(result: Sensitivity, plot: Path | None, output: Path | None) -> None:
    """Print harm at each level of noise, and how its sign depends on the level."""
    name = result.harms[0].headline[0]
    print_pairs(_circumstances(result.experiment))
    print_table(
        ["times", "noise", "repetitions", name, "joint 95 % interval"],
        [
            [
                f"{level:g}",
                harm.noise.describe(),
                str(len(harm.repetitions)),
                f"{harm.headline[1].value:+.3f}",
                _interval(harm),
            ]
            for level, harm in zip(result.levels, result.harms, strict=True)
        ],
        words=2,
    )
    pairs = {"sign": _sign(result)}
    doubts = [harm for harm in result.harms if harm.doubt]
    if doubts:
        pairs["caution"] = repeat_more(doubts[0].doubt, len(doubts[0].repetitions))
    pairs |= {"made by": made_by(result.harms[0].repetitions[0].provenance), **_files(output)}
    if plot is not None:
        pairs["plot"] = str(plot)
    print_pairs(pairs)


def _circumstances(experiment: Experiment) -> dict[str, str]:
    from ccbench.harm import flow_names

    scenario = experiment.competing
    bottleneck = scenario.path.bottlenecks[0]
    alpha, beta = flow_names(experiment.alpha), flow_names(experiment.beta)
    kind = "accurate ECN" if scenario.path.ecn == "accecn" else "ECN"
    ecn = f", {kind}" if scenario.path.ecn else ""
    return {
        "network": f"{bottleneck.mean_mbps:g} Mbit/s, {scenario.path.rtt_ms:g} ms, "
        f"{bottleneck.qdisc} queue of {counted(bottleneck.queue_packets or 0, 'packet')}{ecn}",
        "flows": f"{alpha} (alpha) against {beta} (beta)",
    }


def _repetitions(result: RepeatedHarm) -> str:
    if result.is_exact:
        return "1 (exact: nothing is random, so all seeds give this run; add noise to vary it)"
    count = len(result.repetitions)
    return f"{count} (median, 95 % interval)" if count > 1 else "1 (no interval)"


def _order(result: RepeatedHarm) -> str:
    """Return how harm depends on which flows start first."""
    order = result.order
    if order is None:
        return "fixed: beta first; harm includes its effect (start_spread_ms randomises it)"
    count = len(result.repetitions)
    text = f"random: alpha starts first in {len(order.alpha_first)} of {count}"
    if order.alpha_first and order.beta_first:
        medians = map(median, (order.alpha_first, order.beta_first))
        text += " (median {:+.3f}, otherwise {:+.3f})".format(*medians)
    if not math.isnan(order.explained):
        text += f"; explains {100 * order.explained:.0f} % of the variance"
    if order.explained > _DECISIVE:
        text += f"; {order.balanced:+.3f} with both orders equally often"
    return text


def _parts(result: RepeatedHarm) -> dict[str, str]:
    estimate = result.estimate
    note = "absolute - expected"
    if result.sign == 0 and len(result.repetitions) > 1:
        note += "; the interval contains 0"
    return {
        "measured": _measured(result),
        "beta alone": f"{in_mbps(estimate('solo_mbps'))} Mbit/s",
        "beta with alpha": f"{in_mbps(estimate('competing_mbps'))} Mbit/s",
        "alpha with beta": f"{in_mbps(estimate('alpha_mbps'))} Mbit/s",
        "absolute harm": f"{estimate('absolute'):.3f}",
        "expected harm": f"{estimate('expected').value:.3f} (sharing by number of flows)",
        "relative harm": f"{result.relative:+.3f} ({note})",
        "Jain's index": f"{estimate('jain'):.3f} (all flows, 1 is equal)",
    }


def _measured(result: RepeatedHarm) -> str:
    """Return the measured part of the runs and the reason for it."""
    values = result.values()
    first, last, end = values["from_s"].min(), values["from_s"].max(), values["to_s"].max()
    window = f"{first:g} to {end:g} s" if first == last else f"{first:g}-{last:g} to {end:g} s"
    converged = values["converged_at_s"].dropna()
    if converged.empty:
        reason = "throughput did not converge"
    elif len(converged) == len(values):
        reason = "after throughput converged"
    else:
        reason = f"throughput converged in {len(converged)} of {len(values)}"
    trends = values["has_trend"].sum()
    if trends:
        where = "" if trends == len(values) else f" in {trends} of {len(values)}"
        reason += f"; a trend remains{where}, a longer --duration would change the result"
    return f"{window} ({reason})"


def _print_metrics(result: RepeatedHarm) -> None:
    def shown(estimate: Estimate, form: str) -> str:
        return "-" if math.isnan(estimate.value) else format(estimate, form)

    print_table(
        ["metric", "unit", "beta\nalone", "beta\nwith alpha", "absolute\nharm"],
        [
            [
                harm.metric,
                harm.unit or "share",
                shown(result.metric_estimate(harm.metric, "solo"), ".4g"),
                shown(result.metric_estimate(harm.metric, "competing"), ".4g"),
                shown(result.metric_estimate(harm.metric, "absolute"), ".3f"),
            ]
            for harm in result.repetitions[0].metrics
        ],
    )


def _interval(harm: RepeatedHarm) -> str:
    if harm.is_exact:
        return "exact"
    estimate = harm.headline[1]
    return f"{estimate.low:+.3f} to {estimate.high:+.3f}" if len(estimate.values) > 1 else "-"


def _sign(result: Sensitivity) -> str:
    from ccbench.harm.noise_levels import NEGLIGIBLE

    high, low = (f"{sign}{NEGLIGIBLE:g}" for sign in ("+", "-"))
    above, below = (
        ", ".join(
            f"{level:g}"
            for level, shown in zip(result.levels, result.signs, strict=True)
            if shown == sign
        )
        for sign in (1, -1)
    )
    if above and below:
        return (
            f"depends on the noise: above {high} at {above} times it, "
            f"below {low} at {below} times it"
        )
    if above:
        return f"above {high} at {above} times the noise, never below {low}"
    if below:
        return f"below {low} at {below} times the noise, never above {high}"
    if math.isnan(result.largest):
        return "unknown: no level has an interval"
    largest = math.ceil(100 * result.largest) / 100
    return f"no harm beyond \u00b1{largest:.2f} at any level with an interval"
