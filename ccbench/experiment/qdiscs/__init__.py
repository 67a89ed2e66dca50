# SPDX-License-Identifier: Apache-2.0
"""Queueing disciplines of Linux: options, their encoding for the kernel, and properties.

Each module of this package without a leading underscore describes one or several related qdiscs as
``QDISCS``; there is no other list. A qdisc in a kernel module of its own describes itself there
(``kernel_modules/include/ccbench_describe.h``). :data:`EXCLUDED` are the other queues of Linux.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from ccbench.experiment.qdiscs._attributes import attribute
from ccbench.experiment.qdiscs._descriptor import NO_LIMIT, AttributeQdisc, Drops, Qdisc, QueuedLink
from ccbench.experiment.qdiscs._option import Option, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "EXCLUDED",
    "MODULES",
    "NO_LIMIT",
    "QDISCS",
    "AttributeQdisc",
    "Drops",
    "Option",
    "Qdisc",
    "QueuedLink",
    "Value",
    "attribute",
]

_CLASSES = "separates packets by priorities or classes, which packets here do not have"
#: Qdiscs of Linux that cannot be the queue of a bottleneck, with the reason.
EXCLUDED: Mapping[str, str] = MappingProxyType(
    {
        "cake_mq": "runs cake in each of several transmit queues, and a link has one: use cake",
        **dict.fromkeys(("gred", "htb", "pfifo_fast", "prio", "skbprio"), _CLASSES),
        "netem": "emulates a link itself: set the scenario's rtt_ms, loss or noise",
    }
)

#: Modules that describe qdiscs.
MODULES = tuple(
    f"{__name__}.{module.name}"
    for module in pkgutil.iter_modules(__path__)
    if not module.name.startswith("_")
)


def _described() -> Mapping[str, Qdisc]:
    qdiscs = [qdisc for module in MODULES for qdisc in import_module(module).QDISCS]
    return MappingProxyType({qdisc.name: qdisc for qdisc in sorted(qdiscs, key=lambda q: q.name)})


#: Qdiscs of Linux for the queue of a bottleneck, by their names in scenarios.
QDISCS = _described()
