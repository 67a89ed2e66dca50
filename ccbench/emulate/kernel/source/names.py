# SPDX-License-Identifier: Apache-2.0
"""The names by which kernel code registers congestion control algorithms and qdiscs.

Read from the C sources of what was compiled, so that the lists say what is there and not what
somebody thought would be.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ccas", "qdiscs"]

#: Qdiscs in which no packet ever waits.
_NOT_A_QUEUE = frozenset({"blackhole", "clsact", "ingress", "mq", "noqueue"})


def ccas(sources: Iterable[str]) -> tuple[str, ...]:
    """Return the congestion control algorithms that some C sources register, sorted.

    Examples
    --------
    >>> ccas(
    ...     [
    ...         '''static struct tcp_congestion_ops fast __read_mostly = {
    ...     .name = "fast",
    ... };
    ... static int init(void) { return tcp_register_congestion_control(&fast); }'''
    ...     ]
    ... )
    ('fast',)
    """
    return _registered(sources, "tcp_register_congestion_control", "tcp_congestion_ops", "name")


def qdiscs(sources: Iterable[str]) -> tuple[str, ...]:
    """Return the qdiscs that some C sources register and in which packets can wait, sorted."""
    names = _registered(sources, "register_qdisc", "Qdisc_ops", "id")
    return tuple(name for name in names if name not in _NOT_A_QUEUE)


def _registered(sources: Iterable[str], function: str, struct: str, field: str) -> tuple[str, ...]:
    # A struct may be defined in one file and registered in another; one that nobody registers (as
    # DCTCP's fallback) cannot be chosen by its name.
    text = "\n".join(sources)
    registered = set(re.findall(rf"\b{function}\(\s*&\s*(\w+)\s*\)", text))
    # Somebody's own module need not be in the kernel's coding style.
    definition = re.compile(
        rf"\bstruct\s+{struct}\s+(?:__\w+\s+)*(\w+)[^=;{{]*=\s*{{(.*?)}}\s*;", re.DOTALL
    )
    names = set()
    for variable, body in definition.findall(text):
        name = re.search(rf'\.{field}\s*=\s*"([^"]+)"', body)
        if name and variable in registered:
            names.add(name[1])
    return tuple(sorted(names))
