# SPDX-License-Identifier: Apache-2.0
"""``ccbench harm``."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ccbench._progress import progress
from ccbench.cli._console import made_by, print_json, print_pairs, print_table
from ccbench.cli._options import (
    alpha_option,
    bandwidth_option,
    beta_option,
    check_ccas,
    duration_option,
    json_option,
    qdisc_options,
    queue_option,
    rtt_option,
    seed_option,
)
from ccbench.errors import EngineError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.harm import Experiment, HarmResult, MetricHarm

__all__ = ["harm"]


@click.command()
@alpha_option
@beta_option
@bandwidth_option
@rtt_option
@queue_option
@qdisc_options
@click.option(
    "--alpha-flows",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many flows ALPHA has.",
)
@click.option(
    "--beta-flows",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many flows BETA has.",
)
@click.option(
    "--workload",
    metavar="NAME",
    default="long",
    show_default=True,
    help="What BETA's flows send: long, short, video or call.",
)
@click.option(
    "--metric",
    "metrics",
    metavar="M",
    multiple=True,
    help="Harm by this metric as well; may be repeated. `all` is all of them.",
)
@duration_option
@seed_option
@json_option
def harm(
    *,
    alpha: str,
    beta: str,
    bandwidth: float,
    rtt: float,
    queue_setting: dict[str, Any],
    qdisc: str,
    qdisc_settings: tuple[tuple[str, int | float | str | bool], ...],
    alpha_flows: int,
    beta_flows: int,
    workload: str,
    metrics: tuple[str, ...],
    duration: float,
    seed: int,
    as_json: bool,
) -> None:
    """Measure how much ALPHA harms BETA in one network.

    The number is printed with its parts. Two runs of the same network are compared: BETA's flows
    alone, and BETA's together with ALPHA's. Absolute harm is the share of its solo throughput that
    BETA loses; relative harm is what is left of it after the loss that fair sharing would bring.
    Above 0, ALPHA takes more than its share.

    Other workloads than long flows are judged by metrics of their own, such as flow completion time
    or delay.
    """
    from ccbench import harm as library
    from ccbench.emulate import get_engine, run_many

    service = library.workload_named(workload)
    service.check_duration(duration)
    own = () if workload == "long" else service.metrics
    by = library.metrics_named((*own, *metrics))
    experiment = library.long_flows(
        alpha=alpha,
        beta=beta,
        bandwidth_mbps=bandwidth,
        rtt_ms=rtt,
        alpha_flows=alpha_flows,
        beta_flows=beta_flows,
        duration_s=duration,
        seed=seed,
        qdisc=qdisc,
        qdisc_options=qdisc_settings,
        **queue_setting,
    )
    if workload != "long":
        flow = service.with_cca(beta)
        experiment = replace(experiment, beta=(replace(flow, count=beta_flows * flow.count),))
    experiment = replace(experiment, queue_log=any(metric.needs_queue_log for metric in by))
    check_ccas(("--alpha", alpha), ("--beta", beta))
    engine = get_engine("kernel")
    engine.check(experiment.competing)
    runs = {}
    with (
        closing(run_many((experiment.solo, experiment.competing), engine=engine)) as results,
        progress("{task.completed} of {task.total} runs") as bar,
    ):
        task = bar.add_task(f"{alpha} against {beta}", total=2)
        for i, run in results:
            runs[i] = run
            bar.advance(task)
    try:
        result = library.measure(runs[0], runs[1]) if workload == "long" else None
        window = None if result is None else (result.from_s, result.to_s)
        parts = library.compare(runs[0], runs[1], by, window)
    except InputError as error:  # the runs are to blame, not what the user wrote
        raise EngineError(f"{experiment.describe()}: {error}") from error
    if as_json:
        scenarios = {"solo": experiment.solo.to_dict(), "competing": experiment.competing.to_dict()}
        print_json(
            {
                "harm": None if result is None else result.to_dict(),
                "metrics": [part.to_dict() for part in parts],
                "flows": library.compare_flows(runs[0], runs[1], window=window)["harm"]
                .reset_index()
                .to_dict("records"),
                "scenarios": scenarios,
                "engine": runs[1].provenance,
            }
        )
        return
    pairs = {**_circumstances(experiment), **({} if result is None else _parts(result))}
    maker = {"made by": made_by(runs[1].provenance)}
    if parts:
        print_pairs(pairs)
        _print_metrics(parts)
        print_pairs(maker)
    else:
        print_pairs({**pairs, **maker})


def _circumstances(experiment: Experiment) -> dict[str, str]:
    from ccbench import harm as library

    scenario = experiment.competing
    bottleneck = scenario.bottlenecks[0]
    alpha, beta = library.flow_names(experiment.alpha), library.flow_names(experiment.beta)
    return {
        "network": f"{bottleneck.mean_mbps:g} Mbit/s, {scenario.rtt_ms:g} ms, "
        f"{bottleneck.qdisc} queue of {bottleneck.queue_packets} packets",
        "flows": f"{alpha} (alpha) against {beta} (beta)",
    }


def _parts(result: HarmResult) -> dict[str, str]:
    window = f"{result.from_s:g} to {result.to_s:g} s"
    if result.converged_at_s is None:
        window += " (throughput did not converge)"
    else:
        window += f" (converged at {result.converged_at_s:g} s)"
    return {
        "measured": window,
        "beta alone": f"{result.solo_mbps:.2f} Mbit/s",
        "beta with alpha": f"{result.competing_mbps:.2f} Mbit/s",
        "alpha with beta": f"{result.alpha_mbps:.2f} Mbit/s",
        "absolute harm": f"{result.absolute:.3f}",
        "expected harm": f"{result.expected:.3f} (sharing by number of flows)",
        "relative harm": f"{result.relative:+.3f} (absolute - expected)",
        "Jain's index": f"{result.jain:.3f} (all flows, 1 is equal)",
    }


def _print_metrics(parts: Sequence[MetricHarm]) -> None:
    def shown(value: float, form: str) -> str:
        return "-" if math.isnan(value) else format(value, form)

    print_table(
        ["metric", "unit", "beta\nalone", "beta\nwith alpha", "absolute\nharm"],
        [
            [
                part.metric,
                part.unit or "share",
                shown(part.solo, ".4g"),
                shown(part.competing, ".4g"),
                shown(part.absolute, ".3f"),
            ]
            for part in parts
        ],
    )
