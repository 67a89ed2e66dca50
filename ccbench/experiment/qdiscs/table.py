# SPDX-License-Identifier: Apache-2.0
"""The qdiscs that there are, with their options."""

from __future__ import annotations

import struct
from types import MappingProxyType
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.base.validation import Range
from ccbench.experiment.flow import MTU_BYTES
from ccbench.experiment.qdiscs import structures
from ccbench.experiment.qdiscs.attributes import attribute, u32
from ccbench.experiment.qdiscs.kinds import Drops, Qdisc, StructQdisc
from ccbench.experiment.qdiscs.option import LARGEST_U32, YES_NO, Option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.experiment.qdiscs.option import Value

__all__ = ["QDISCS", "check_qdisc_options"]


def _in_bytes(queue_packets: int) -> bytes:
    return u32(queue_packets * MTU_BYTES)


def _sfq(queue_packets: int) -> bytes:
    # Quantum, perturbation period, limit, divisor, flows: 0 is the kernel's default.
    return struct.pack("=IiIII", 0, 0, queue_packets, 0, 0)


def _none(_: int) -> bytes:
    return b""


def _attribute_1(queue_packets: int) -> bytes:
    return attribute(1, u32(queue_packets))


def _attribute_2(queue_packets: int) -> bytes:
    return attribute(2, u32(queue_packets))


_US_PER_MS = 1000
_BYTES_PER_MBIT = 1e6 / 8
#: Of options that become a number of bytes.
_MOST_PACKETS = LARGEST_U32 // MTU_BYTES
_FLAG = Option  # a number as well: 0 or 1

_CODEL = {
    "target_ms": Option(1, _US_PER_MS),
    "interval_ms": Option(3, _US_PER_MS),
    "ecn": _FLAG(4),
    "ce_threshold_ms": Option(5, _US_PER_MS),
}
_PIE = {
    "target_ms": Option(1, _US_PER_MS),
    "tupdate_ms": Option(3, _US_PER_MS),
    "alpha": Option(4),
    "beta": Option(5),
    "ecn": _FLAG(6),
    "bytemode": _FLAG(7),
    "dq_rate_estimator": _FLAG(8),
}
_FQ = {
    "flow_limit": Option(2),
    "quantum": Option(3),
    "initial_quantum": Option(4),
    "pacing": _FLAG(5),
    "flow_max_rate_mbps": Option(7, _BYTES_PER_MBIT),
    "horizon_ms": Option(14, _US_PER_MS),
    "ce_threshold_ms": Option(12, _US_PER_MS),
}
_FQ_CODEL = {
    "target_ms": Option(1, _US_PER_MS),
    "interval_ms": Option(3, _US_PER_MS),
    "ecn": _FLAG(4),
    "flows": Option(5),
    "quantum": Option(6),
    "ce_threshold_ms": Option(7, _US_PER_MS),
    "drop_batch": Option(8),
    "memory_limit": Option(9),
}
_FQ_PIE = {
    "flows": Option(2),
    "target_ms": Option(3, _US_PER_MS),
    "tupdate_ms": Option(4, _US_PER_MS),
    "alpha": Option(5),
    "beta": Option(6),
    "quantum": Option(7),
    "memory_limit": Option(8),
    "ecn_prob": Option(9),
    "ecn": _FLAG(10),
    "bytemode": _FLAG(11),
}
_CAKE = {
    "rtt_ms": Option(7, _US_PER_MS),
    "target_ms": Option(8, _US_PER_MS),
    "flow_mode": Option(5),
    "diffserv_mode": Option(3),
    "memory": Option(10),
    "ack_filter": Option(16),
}
_HHF = {
    "quantum": Option(2),
    "hh_limit": Option(3),
    "reset_timeout_ms": Option(4, _US_PER_MS),
    "admit_bytes": Option(5),
    "evict_timeout_ms": Option(6, _US_PER_MS),
    "non_hh_weight": Option(7),
}
_CHOKE = {
    # 0: a quarter of the queue, and a third of that.
    "max_packets": Option(largest=_MOST_PACKETS),
    "min_packets": Option(largest=_MOST_PACKETS),
    "probability": Option(scale=2**32, default=0.02, largest=2**32),
    "ecn": _FLAG(),
}
_RED = {**_CHOKE, "adaptive": _FLAG()}
_SFB_PROBABILITY = 2**16 - 1
_SFB = {
    "max_packets": Option(default=25),
    "bin_packets": Option(default=20),
    "increment": Option(scale=_SFB_PROBABILITY, default=0.001),
    "decrement": Option(scale=_SFB_PROBABILITY, default=0.000_17),
    "rehash_ms": Option(default=600_000),
    "warmup_ms": Option(default=60_000),
    "penalty_rate": Option(default=10),
    "penalty_burst": Option(default=20),
}
_SHARE = 2**16
_LONGEST_MS = 1e5
_ABC = {
    "eta": Option(2, _SHARE, 0.98, Range(0.001, 1)),
    "delta_ms": Option(3, _US_PER_MS, 133, Range(1, _LONGEST_MS)),
    "d_t_ms": Option(4, _US_PER_MS, 20, Range(0, _LONGEST_MS)),
    "window_ms": Option(5, _US_PER_MS, 40, Range(1, 1e4)),
    "token_limit": Option(6, _SHARE, 5, Range(2, 1000)),
    "rate_mbps": Option(7, 1000, 24, Range(0.001, 4e6)),
    "rate": Option(8, choices=("known", "estimated")),
    "encoding": Option(9, choices=("proxied", "full")),
    "feedback": Option(10, choices=("dequeue", "enqueue")),
    "lookahead_ms": Option(11, _US_PER_MS, 100, Range(0, _LONGEST_MS)),
    "two_queues": Option(12, 1, 1, YES_NO),
    "largest_flows": Option(13, 1, 10, Range(1, 64)),
    "headroom": Option(14, _SHARE, 0.1, Range(0, 1)),
    "weight_interval_ms": Option(15, _US_PER_MS, 200, Range(1, _LONGEST_MS)),
}
_TBF = {
    "rate_mbps": Option(scale=_BYTES_PER_MBIT),
    "burst_packets": Option(default=10, largest=_MOST_PACKETS),
}

#: The qdiscs that can be a bottleneck's queue, by the names that scenarios use. The kernel has more
#: in which packets can wait: they need several priorities or classes (gred, htb, pfifo_fast, prio,
#: skbprio), or are no queue but a link of their own (netem).
QDISCS: Mapping[str, Qdisc | StructQdisc] = MappingProxyType(
    {
        "droptail": Qdisc("pfifo", u32),
        "pfifo": Qdisc("pfifo", u32),
        "pfifo_head_drop": Qdisc("pfifo_head_drop", u32, drops=Drops.OLDEST),
        "bfifo": Qdisc("bfifo", _in_bytes),
        "sfq": Qdisc("sfq", _sfq, drops=Drops.NEWEST),
        "codel": Qdisc("codel", _attribute_2, _CODEL),
        "pie": Qdisc("pie", _attribute_2, _PIE),
        "fq": Qdisc("fq", _attribute_1, _FQ),
        "fq_codel": Qdisc("fq_codel", _attribute_2, _FQ_CODEL, Drops.OLDEST),
        "fq_pie": Qdisc("fq_pie", _attribute_1, _FQ_PIE),
        # cake's queue is limited by its memory, not in packets.
        "cake": Qdisc("cake", _none, _CAKE, Drops.OLDEST),
        "hhf": Qdisc("hhf", _attribute_1, _HHF, Drops.OLDEST),
        "abc": Qdisc("abc", _attribute_1, _ABC),
        "red": StructQdisc("red", structures.red, _RED),
        "choke": StructQdisc("choke", structures.choke, _CHOKE, drops=Drops.ANY),
        "sfb": StructQdisc("sfb", structures.sfb, _SFB),
        # A rate below the link's, with bursts: what providers shape with.
        "tbf": StructQdisc("tbf", structures.tbf, _TBF, needs="rate_mbps"),
    }
)


def check_qdisc_options(qdisc: str, options: Mapping[str, Value]) -> None:
    """Check that a qdisc is known and takes these options.

    Raises
    ------
    InputError
        If it is not or does not; the message names what there is.
    """
    if qdisc not in QDISCS:
        hint = validation.choice_hint(qdisc, QDISCS)
        message = f"qdisc = {qdisc!r}: allowed are {', '.join(sorted(QDISCS))}: {hint}"
        raise InputError(message)
    kind = QDISCS[qdisc]
    for name, value in options.items():
        if name not in kind.options:
            names = ", ".join(kind.options) or "none"
            message = (
                f"qdisc_options.{name}: {qdisc} takes {names}: remove it or choose one of these"
            )
            raise InputError(message)
        kind.options[name].scaled(name, value)
    if kind.needs and kind.needs not in options:
        message = f"qdisc_options.{kind.needs} is missing: add it, as {qdisc} needs it"
        raise InputError(message)
