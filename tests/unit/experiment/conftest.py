# SPDX-License-Identifier: Apache-2.0
"""A simple scenario, and one with every feature."""

from __future__ import annotations

from typing import Any

from ccbench.experiment.change import Change
from ccbench.experiment.impairments import BurstLoss, Jitter, Policer, Reordering
from ccbench.experiment.loss_trace import LossTrace
from ccbench.experiment.receiver import Receiver
from ccbench.experiment.scenario import Bottleneck, Flow, Scenario, Trace
from ccbench.experiment.subflow import Subflow
from ccbench.experiment.when import When
from tests.scenarios import flat

LINK = Bottleneck(bandwidth_mbps=12, queue_packets=50)


def scenario(**changes: Any) -> Scenario:
    """Return a scenario in which only the changes matter."""
    settings = {"flows": (Flow(),), "bottlenecks": (LINK,), "rtt_ms": 50, "duration_s": 60}
    return flat(**{**settings, **changes})


VIDEO: dict[str, Any] = {"bitrates_mbps": (1, 2), "segment_s": 4, "buffer_s": 12}

EVERYTHING = scenario(
    name='all "settings" \\ é',
    flows=(
        Flow(cca="bbr", count=2, start_s=1, stop_s=50, extra_rtt_ms=20, initcwnd=32, label="new"),
        Flow(kind="bytes", size_bytes=10_000, ip_version=6, host="a"),
        Flow(kind="bytes", arrivals=((0.5, 1000), (0.5, 2000), (7, 3000))),
        Flow(kind="rate", rate_mbps=2.5, segmentation_offload=False),
        Flow(
            kind="onoff",
            on_s=1,
            off_s=0.5,
            receiver=Receiver(
                window_bytes=90_000,
                read_mbps=2,
                read_interval_ms=5,
                packets_per_ack=4,
                ack_delay_ms=25,
                ack_parts=3,
                hides_ecn=True,
            ),
        ),
        Flow(kind="video", bitrates_mbps=(0.5, 2), segment_s=4, buffer_s=30),
        Flow(kind="cbr", rate_mbps=1, packet_bytes=200),
        Flow(kind="frames", frames_per_s=30, frame_bytes=(20_000, 3000), packet_bytes=1200),
        Flow(kind="poisson", rate_mbps=1, direction="reverse"),
        Flow(
            kind="program",
            sender="server {address}",
            receiver=Receiver(program="client {address}"),
            server="receiver",
            env=(("A", "1"),),
            files=(("a.txt", 'one\n"two"\n'),),
            keep=("*.log",),
            may_exit=True,
            memory_mb=100,
        ),
        Flow(count=2, subflows=(Subflow(last_bottleneck=0), Subflow(cca="reno", extra_rtt_ms=9))),
    ),
    bottlenecks=(
        Bottleneck(bandwidth_mbps=12, queue_bdp=2, loss=0.01),
        Bottleneck(
            trace=Trace(name="two", opportunities_ms=(0, 3, 3, 8)),
            queue_packets=9,
            qdisc="codel",
            qdisc_options=(("target_ms", 5), ("ecn", True), ("mode", "x"), ("interval_ms", 0.5)),
        ),
    ),
    reverse_bottlenecks=(
        Bottleneck(
            bandwidth_mbps=3,
            queue_bdp=1,
            overhead_bytes=10,
            cells=True,
            qdisc="pfifo",
            loss_packets=(3, 8),
            burst_loss=BurstLoss(to_bad=0.001, to_good=0.1, loss_good=0.01),
            policer=Policer(rate_mbps=2, burst_bytes=15_000),
            duplicates=0.01,
            reordering=Reordering(share=0.02, packets=3),
        ),
        Bottleneck(
            bandwidth_mbps=3,
            queue_bdp=1,
            loss_trace=LossTrace(points=((0, 0), (5, 0.1), (9, 0)), name="fades"),
            burst_loss=BurstLoss(good_ms=2000, bad_ms=50),
            jitter=Jitter(delays_ms=(3, 1, 2), correlation=0.5),
        ),
    ),
    forward_delay_ms=20,
    mtu_bytes=1501,
    changes=(
        Change(at_s=10, rtt_ms=80, forward_delay_ms=30, overtakes=True),
        Change(
            at_s=15,
            every_s=15,
            bottleneck=1,
            loss=0.01,
            queue_packets=20,
            qdisc_options=(("target_ms", 9),),
        ),
        Change(at_s=20, bandwidth_mbps=6, outage_s=0.5),
        Change(when=When(flow=0, packet=100), after_s=1, wifi_jitter_ms=7),
        Change(when=When(flow=1, info="state", equals="loss", occurrence=2), loss=0),
        Change(at_s=30, flow=1, app_rate_mbps=0),
        Change(at_s=31, flow=2, window_bytes=50_000),
    ),
    seed=7,
    sample_interval_ms=5,
    queue_log=False,
    ecn=True,
    sysctls=(("net.ipv4.tcp_sack", "0"), ("net.ipv4.tcp_rmem", "4096 131072 6291456")),
    module_parameters=(("tcp_rapid.tolerance", "64"),),
    ack_batch_ms=2,
)
