# SPDX-License-Identifier: Apache-2.0
"""``ccbench model``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from ccbench.base import dataclass_dicts
from ccbench.base.counts import counted
from ccbench.cli._console import print_json, print_pairs
from ccbench.cli._options import (
    bandwidth_option,
    json_option,
    quantity,
    queue_option,
    rtt_option,
)

if TYPE_CHECKING:
    from ccbench.models.bbr import BbrModel

__all__ = ["model"]


@click.group(short_help="Predict results with closed-form models.")
def model() -> None:
    """Predict results with closed-form models, without running a network."""


@model.command(short_help="Predict BBRv1's share against CUBIC or Reno.")
@bandwidth_option
@rtt_option
@queue_option
@click.option(
    "--bbr-flows",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of BBR flows.",
)
@click.option(
    "--duration",
    type=quantity("s"),
    metavar="S",
    default=400.0,
    show_default=True,
    help="Time in seconds that the flows compete after convergence.",
)
@json_option
def bbr(
    *,
    bandwidth: float,
    rtt: float,
    queue_setting: dict[str, Any],
    bbr_flows: int,
    duration: float,
    as_json: bool,
) -> None:
    """Predict BBRv1's share of a link against CUBIC or Reno (Ware chapter 3).

    The share depends on BBR's in-flight cap, and not on the number of CUBIC or Reno flows. The
    model applies to queues of more than 1 BDP and to converged flows; remarks name equations that
    do not hold.
    """
    from ccbench.models.bbr import BbrModel
    from ccbench.models.bbr_errors import measured_errors

    made = BbrModel(bandwidth_mbps=bandwidth, rtt_ms=rtt, bbr_flows=bbr_flows, **queue_setting)
    if as_json:
        settings = {**dataclass_dicts.plain(made), "duration_s": duration}
        prediction = made.predict(duration).to_dict()
        error = measured_errors().to_dict(made)
        print_json({"settings": settings, "prediction": prediction, "measured_error": error})
    else:
        _print(made, duration)


def _print(made: BbrModel, duration: float) -> None:
    from ccbench.models.bbr_errors import measured_errors

    measured = measured_errors()
    prediction = made.predict(duration)
    share, simple = prediction.loss_based_share, prediction.simple_loss_based_share
    probing, fraction = "not applicable", "not applicable"  # a remark gives the reason
    if not math.isnan(prediction.bbr_fraction):
        probing = f"{prediction.probe_time_s:.1f} of {duration:g} s"
        fraction = f"{prediction.bbr_fraction:.1%} of the link over time"
    print_pairs(
        {
            "network": f"{made.bandwidth_mbps:g} Mbit/s, {made.rtt_ms:g} ms, "
            f"1 BDP is {prediction.bdp_packets:.1f} packets",
            "queue": f"{counted(prediction.queue_packets, 'packet')} ({made.queue_in_bdp:.3g} BDP)",
            "flows": f"{made.bbr_flows} bbr against any number of cubic or reno",
            "simple model": f"{1 - simple:.1%} for bbr in an endless queue (3.5)",
            "RTT estimate alone": f"{prediction.rtt_est_alone_ms:.1f} ms (3.6)",
            "RTT estimate": f"{prediction.rtt_est_ms:.1f} ms (3.7)",
            "in-flight cap": f"{prediction.inflight_cap_packets:.1f} packets, all bbr flows (3.8)",
            "share while sending": f"{1 - share:.1%} for bbr, {share:.1%} for the others (3.9)",
            "time in ProbeRTT": f"{probing} (3.11)",
            "bbr's fraction": f"{fraction} (3.10)",
            "measured error": measured.describe(made),
        }
    )
    for remark in filter(None, (*prediction.remarks, measured.remark(made))):
        click.echo(f"remark: {remark}")


@model.command(short_help="Predict idle time, active flows and deadlocks of BFC.")
@click.option(
    "--speed",
    type=quantity("Gbit/s"),
    metavar="GBITPS",
    default=100.0,
    show_default=True,
    help="Port rate in Gbit/s.",
)
@click.option(
    "--hrtt",
    type=quantity("μs"),
    metavar="US",
    default=2.0,
    show_default=True,
    help="Round-trip time of one hop in microseconds.",
)
@click.option(
    "--threshold",
    type=quantity("BDP"),
    metavar="BDP",
    default=1.0,
    show_default=True,
    help="Pause threshold in BDPs of one hop at the rate of a queue; 1 in BFC.",
)
@click.option(
    "--load",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.6,
    show_default=True,
    help="Offered load as a fraction of the port rate.",
)
@click.option(
    "--queues",
    type=click.IntRange(2, 256),
    default=32,
    show_default=True,
    help="Queues of a port, including the one for pause packets.",
)
@click.option(
    "--tors",
    type=click.IntRange(min=1, max=100),
    default=8,
    show_default=True,
    help="Number of racks (ToR switches).",
)
@click.option(
    "--spines",
    type=click.IntRange(min=1, max=100),
    default=8,
    show_default=True,
    help="Number of spine switches.",
)
@json_option
def bfc(
    *,
    speed: float,
    hrtt: float,
    threshold: float,
    load: float,
    queues: int,
    tors: int,
    spines: int,
    as_json: bool,
) -> None:
    """Predict idle time, active flows and deadlocks of BFC (Goyal chapter 3, C, D).

    Deadlocks are cycles of backpressure in a Clos network of the given ToRs and spines, if packets
    may take any path.
    """
    from ccbench.datacenter.switch import pause_threshold_bytes
    from ccbench.models import bfc as theory

    links, layers = theory.clos(tors, spines)
    hosts = [name for name, layer in layers.items() if layer == 0]
    graph = theory.backpressure_graph(links, hosts)
    removed = frozenset(edge for edge in graph if theory.closes_valley(edge, layers))
    bdp_bytes = pause_threshold_bytes(max(1, round(hrtt * 1e3)), speed * 1e3, 1)
    ratio = float(theory.worst_rate_ratio(threshold))
    prediction = {
        "threshold_bytes": round(threshold * bdp_bytes),
        "worst_rate_ratio": ratio,
        "worst_empty_fraction": float(theory.worst_empty_fraction(threshold)),
        "mean_active_flows": float(theory.mean_active_flows(load)),
        "more_flows_than_queues": float(theory.active_flows_exceed(queues - 1, load)),
        "backpressure_edges": len(graph),
        "edges_to_remove": len(removed),
        "has_cycle": theory.find_cycle(graph) is not None,
        "has_cycle_without_them": theory.find_cycle(graph - removed) is not None,
    }
    if as_json:
        settings = {
            "speed_gbps": speed,
            "hrtt_us": hrtt,
            "threshold_bdp": threshold,
            "load": load,
            "queues": queues,
            "tors": tors,
            "spines": spines,
        }
        print_json({"settings": settings, "prediction": prediction})
        return
    cycle = "a cycle" if prediction["has_cycle"] else "no cycle"
    rest = "a cycle" if prediction["has_cycle_without_them"] else "no cycle"
    print_pairs(
        {
            "pause threshold": f"{prediction['threshold_bytes']} bytes for one active queue, "
            "1/n of that for each of n",
            "a flow's queue is empty": f"at most {prediction['worst_empty_fraction']:.1%} of the "
            f"time, if packets arrive {ratio:.3g} times as fast as they leave (C.5)",
            "active flows": f"{prediction['mean_active_flows']:.3g} on average at {load:.0%} load, "
            f"more than {queues - 1} in a fraction {prediction['more_flows_than_queues']:.2g} of "
            "the time (3.2.3)",
            "backpressure": f"{len(graph)} edges between the egress ports of {tors} ToRs and "
            f"{spines} spines, {cycle}; without the {len(removed)} down-up edges, {rest} (D)",
        },
        words=True,
    )
