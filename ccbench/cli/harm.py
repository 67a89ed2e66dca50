# SPDX-License-Identifier: Apache-2.0
"""``ccbench harm``."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from ccbench.cli._console import made_by, print_json, print_pairs, progress
from ccbench.cli._options import (
    alpha_option,
    beta_option,
    duration_option,
    json_option,
    positive,
    queue,
    seed_option,
)
from ccbench.errors import EngineError, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.harm import Experiment, HarmResult

__all__ = ["harm"]


@click.command()
@alpha_option
@beta_option
@click.option(
    "--bandwidth", type=positive, metavar="MBPS", required=True, help="Bottleneck rate in Mbit/s."
)
@click.option(
    "--rtt", type=positive, metavar="MS", required=True, help="Base round-trip time in ms."
)
@click.option(
    "--queue",
    "queue_setting",
    type=queue,
    metavar="QUEUE",
    required=True,
    help="Bottleneck queue: 1.5bdp, or a number of packets such as 64.",
)
@click.option("--alpha-flows", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--beta-flows", type=click.IntRange(min=1), default=1, show_default=True)
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
    alpha_flows: int,
    beta_flows: int,
    duration: float,
    seed: int,
    as_json: bool,
) -> None:
    """Measure how much ALPHA harms BETA in one network.

    The number is printed with its parts. Two runs of the same network are compared: BETA's flows
    alone, and BETA's together with ALPHA's. Absolute harm is the share of its solo throughput that
    BETA loses; relative harm is what is left of it after the loss that fair sharing would bring.
    Above 0, ALPHA takes more than its share.
    """
    from ccbench import harm as library
    from ccbench.emulate import get_engine, run_many

    experiment = library.long_flows(
        alpha=alpha,
        beta=beta,
        bandwidth_mbps=bandwidth,
        rtt_ms=rtt,
        alpha_flows=alpha_flows,
        beta_flows=beta_flows,
        duration_s=duration,
        seed=seed,
        **queue_setting,
    )
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
        result = library.measure(runs[0], runs[1])
    except InputError as error:  # the runs are to blame, not what the user wrote
        raise EngineError(f"{experiment.describe()}: {error}") from error
    if as_json:
        scenarios = {"solo": experiment.solo.to_dict(), "competing": experiment.competing.to_dict()}
        print_json({"harm": result.to_dict(), "scenarios": scenarios, "engine": runs[1].provenance})
    else:
        _print(experiment, result, runs[1].provenance, alpha=alpha, beta=beta)


def _print(
    experiment: Experiment,
    result: HarmResult,
    provenance: Mapping[str, Any],
    *,
    alpha: str,
    beta: str,
) -> None:
    scenario = experiment.competing
    bottleneck = scenario.bottlenecks[0]
    window = f"{result.from_s:g} to {result.to_s:g} s"
    if result.converged_at_s is None:
        window += " (throughput did not converge)"
    else:
        window += f" (converged at {result.converged_at_s:g} s)"
    print_pairs(
        {
            "network": f"{bottleneck.mean_mbps:g} Mbit/s, {scenario.rtt_ms:g} ms, "
            f"{bottleneck.qdisc} queue of {bottleneck.queue_packets} packets",
            "flows": f"{result.n_alpha} {alpha} (alpha) against {result.n_beta} {beta} (beta)",
            "measured": window,
            "beta alone": f"{result.solo_mbps:.2f} Mbit/s",
            "beta with alpha": f"{result.competing_mbps:.2f} Mbit/s",
            "alpha with beta": f"{result.alpha_mbps:.2f} Mbit/s",
            "absolute harm": f"{result.absolute:.3f}",
            "expected harm": f"{result.expected:.3f} (sharing by number of flows)",
            "relative harm": f"{result.relative:+.3f} (absolute - expected)",
            "Jain's index": f"{result.jain:.3f} (all flows, 1 is equal)",
            "made by": made_by(provenance),
        }
    )
