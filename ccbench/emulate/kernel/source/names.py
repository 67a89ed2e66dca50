# SPDX-License-Identifier: Apache-2.0
"""Names of the congestion control algorithms and qdiscs registered by kernel code.

They are parsed from the compiled C sources, so the lists are complete by construction.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ccas", "qdiscs"]

#: Qdiscs without a queue.
_NOT_A_QUEUE = frozenset({"blackhole", "clsact", "ingress", "mq", "noqueue"})


def ccas(sources: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the congestion control algorithms that C sources register, sorted.

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
    return _registered(sources, "tcp_register_congestion_control", "name")


def qdiscs(sources: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the qdiscs that C sources register, sorted.

    Qdiscs without a queue, such as noqueue, are excluded.
    """
    names = _registered(sources, "register_qdisc", "id")
    return tuple(name for name in names if name not in _NOT_A_QUEUE)


def _registered(sources: Iterable[str], function: str, field: str) -> tuple[str, ...]:
    # The argument is the operations' variable, or an array whose elements contain them. It may be
    # defined in another file. Unregistered operations, such as DCTCP's fallback, are excluded.
    text = "\n".join(sources)
    registered = set(re.findall(rf"\b{function}\(\s*&\s*(\w+)", text))
    # Users' modules may not follow the kernel's coding style.
    definition = re.compile(r"\bstruct\s+\w+\s+(?:__\w+\s+)*(\w+)[^=;{]*=\s*{(.*?)}\s*;", re.DOTALL)
    names: set[str] = set()
    for variable, body in definition.findall(text):
        if variable in registered:
            names.update(re.findall(rf'\.{field}\s*=\s*"([^"]+)"', body))
    return tuple(sorted(names))
