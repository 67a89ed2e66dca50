# SPDX-License-Identifier: Apache-2.0
"""Dual-queue coupled AQM for L4S (RFC 9332): a low-latency queue and a classic queue."""

from __future__ import annotations

from dataclasses import replace

from ccbench.base.structures import Field
from ccbench.experiment.qdiscs._descriptor import AttributeQdisc
from ccbench.experiment.qdiscs._option import Option, flag, milliseconds

__all__ = ["QDISCS"]

#: Longest time in milliseconds that the kernel stores as 32 bits of nanoseconds.
_LONGEST_MS = 4294.967

#: Largest gain in Hz: the kernel's products of gains and probabilities must not overflow.
_LARGEST_HZ = (2**31 - 1) / 256

QDISCS = (
    AttributeQdisc(
        name="dualpi2",
        summary="DualPI2: a queue of low latency for L4S, coupled with a classic queue (RFC 9332)",
        limit_attribute=1,
        marks=True,
        since="6.17",
        l4s_option="ecn_mask",
        statistics=(
            Field("probability", scale=1 / (2**32 - 1)),
            Field("classic_delay_ms", scale=1e-3),
            Field("l4s_delay_ms", scale=1e-3),
            Field("classic_arrivals_packets"),
            Field("l4s_arrivals_packets"),
            Field("longest_packets"),
            Field("marks"),
            Field("step_marks"),
            Field("credit_bytes", "i4", 0.01),
            Field("memory_bytes"),
            Field("max_memory_bytes"),
            Field("memory_limit_bytes"),
        ),
        options={
            "memory_limit": Option(
                attribute=2,
                unit="bytes",
                low=1,
                summary="memory limit of all packets; default: two full packets per packet of the "
                "limit",
            ),
            "target_ms": milliseconds(3, "target delay of the classic queue", default=15),
            "tupdate_ms": milliseconds(
                4,
                "time between updates of the probability",
                default=16,
                low=0.001,
                high=_LONGEST_MS,
            ),
            "alpha": Option(
                attribute=5,
                unit="Hz",
                scale=256,
                low=1 / 256,
                high=_LARGEST_HZ,
                summary="weight of the delay",
                default=0.16,
            ),
            "beta": Option(
                attribute=6,
                unit="Hz",
                scale=256,
                low=1 / 256,
                high=_LARGEST_HZ,
                summary="weight of the delay's trend",
                default=3.2,
            ),
            "step_packets": Option(
                attribute=7,
                unit="packets",
                summary="length of the L4S queue above which its packets are marked",
                excludes="step_ms",
                marks_above=True,
                exempted_by="min_qlen_step",
            ),
            "step_ms": replace(
                milliseconds(
                    8,
                    "delay in the L4S queue above which packets are marked",
                    default=1,
                    high=_LONGEST_MS,
                ),
                marks_above=True,
                exempted_by="min_qlen_step",
            ),
            "min_qlen_step": Option(
                attribute=9,
                unit="packets",
                summary="length of the L4S queue below which packets that arrive are not marked by "
                "step_packets or step_ms",
                default=0,
            ),
            "coupling": Option(
                attribute=10,
                size=1,
                low=1,
                summary="factor k between the classic queue's probability, before it is squared, "
                "and that of the L4S queue",
                default=2,
            ),
            "drop_overload": flag(
                11,
                "drop L4S packets at overload, instead of a longer queue",
                default=1,
                size=1,
            ),
            "drop_early": flag(12, "drop on arrival instead of departure", size=1),
            "c_protection": Option(
                attribute=13,
                size=1,
                unit="%",
                high=100,
                summary="share of the link that the L4S queue leaves to the classic queue",
                default=10,
            ),
            "ecn_mask": Option(
                attribute=14,
                size=1,
                low=1,
                choices=("ect1", "ect0", "any"),
                summary="ECN-capable packets of the L4S queue, in addition to CE",
                default="ect1",
                is_fixed=True,  # the queue log knows the packets of each queue by it
            ),
            "split_gso": flag(
                15, "split aggregated packets on arrival (a link has none)", default=1, size=1
            ),
        },
    ),
)
