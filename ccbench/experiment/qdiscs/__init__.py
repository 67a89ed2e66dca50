# SPDX-License-Identifier: Apache-2.0
"""Queueing disciplines of Linux: options, their encoding for the kernel, and properties.

Each module here whose name does not begin with an underscore describes a qdisc, or several that
have much in common, as ``QDISCS``; there is no other list of them. Qdiscs of modules describe
themselves in the module (``kernel_modules/include/ccbench_describe.h``).

The kernel has more qdiscs in which packets can wait: they need several priorities or classes (gred,
htb, pfifo_fast, prio, skbprio), or are no queue but a link of their own (netem).
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from ccbench.experiment.qdiscs._attributes import attribute
from ccbench.experiment.qdiscs._descriptor import AttributeQdisc, Drops, Link, Qdisc
from ccbench.experiment.qdiscs._option import Option, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "MODULES",
    "QDISCS",
    "AttributeQdisc",
    "Drops",
    "Link",
    "Option",
    "Qdisc",
    "Value",
    "attribute",
]

#: The modules that describe qdiscs.
MODULES = tuple(
    f"{__name__}.{module.name}"
    for module in pkgutil.iter_modules(__path__)
    if not module.name.startswith("_")
)


def _described() -> Mapping[str, Qdisc]:
    found = [qdisc for module in MODULES for qdisc in import_module(module).QDISCS]
    return MappingProxyType({qdisc.name: qdisc for qdisc in sorted(found, key=lambda q: q.name)})


#: The qdiscs of Linux that can be a bottleneck's queue, by the names that scenarios use.
QDISCS = _described()
