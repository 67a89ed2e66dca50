# SPDX-License-Identifier: Apache-2.0
"""``ccbench model bbr``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from ccbench import _fields
from ccbench.cli._console import print_json, print_pairs
from ccbench.cli._options import (
    bandwidth_option,
    json_option,
    positive,
    queue_option,
    rtt_option,
)

if TYPE_CHECKING:
    from ccbench.models.bbr import BbrModel

__all__ = ["model"]


@click.group()
def model() -> None:
    """Say what to expect of a network by a closed-form model, without running it."""


@model.command()
@bandwidth_option
@rtt_option
@queue_option
@click.option("--bbr-flows", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--duration",
    type=positive,
    metavar="S",
    default=400.0,
    show_default=True,
    help="How long the flows compete after they have converged, in seconds.",
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
    """Predict what BBRv1 gets of a link that it shares with CUBIC or Reno (Ware chapter 3).

    How many flows CUBIC or Reno has does not matter to BBR's in-flight cap, which decides. The
    model is about queues of more than 1 BDP and about flows that have converged; a remark says
    where one of its equations does not hold.
    """
    from ccbench.models.bbr import BbrModel

    made = BbrModel(bandwidth_mbps=bandwidth, rtt_ms=rtt, bbr_flows=bbr_flows, **queue_setting)
    if as_json:
        settings = {**_fields.present(made), "duration_s": duration}
        print_json({"settings": settings, "prediction": made.predict(duration).to_dict()})
    else:
        _print(made, duration)


def _print(made: BbrModel, duration: float) -> None:
    prediction = made.predict(duration)
    share, simple = prediction.loss_based_share, prediction.simple_loss_based_share
    probing, fraction = "no meaning here", "no meaning here"  # a remark says why
    if not math.isnan(prediction.bbr_fraction):
        probing = f"{prediction.probe_time_s:.1f} of {duration:g} s"
        fraction = f"{prediction.bbr_fraction:.1%} of the link over time"
    print_pairs(
        {
            "network": f"{made.bandwidth_mbps:g} Mbit/s, {made.rtt_ms:g} ms, "
            f"{prediction.bdp_packets:.1f} packets in flight fill the pipe (1 BDP)",
            "queue": f"{prediction.queue_packets} packets ({made.queue_in_bdp:.3g} BDP)",
            "flows": f"{made.bbr_flows} bbr against any number of cubic or reno",
            "simple model": f"{1 - simple:.1%} for bbr in an endless queue (3.5)",
            "RTT estimate alone": f"{prediction.rtt_est_alone_ms:.1f} ms (3.6)",
            "RTT estimate": f"{prediction.rtt_est_ms:.1f} ms (3.7)",
            "in-flight cap": f"{prediction.inflight_cap_packets:.1f} packets, all bbr flows (3.8)",
            "share while sending": f"{1 - share:.1%} for bbr, {share:.1%} for the others (3.9)",
            "time in ProbeRTT": f"{probing} (3.11)",
            "bbr's fraction": f"{fraction} (3.10)",
        }
    )
    for remark in prediction.remarks:
        click.echo(f"remark: {remark}")
