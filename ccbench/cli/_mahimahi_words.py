# SPDX-License-Identifier: Apache-2.0
"""Command lines of Mahimahi's shells, as options of ``ccbench shell``."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["equivalent"]

_LINK, _DELAY, _LOSS = "mm-link", "mm-delay", "mm-loss"
_QUEUE = re.compile(r"--downlink-queue-args=.*packets=(\d+)")


def equivalent(words: Sequence[str]) -> str | None:
    """Return the command line of ``ccbench shell`` for one of Mahimahi's; None if it is another.

    Examples
    --------
    >>> equivalent(["mm-delay", "40", "mm-link", "up", "down", "--", "curl", "example.com"])
    'ccbench shell --trace down --rtt 80 --queue 1000 -- curl example.com'
    >>> equivalent(["curl", "example.com"]) is None
    True
    """
    options = {}
    rest = list(words)
    while rest and rest[0] in {_LINK, _DELAY, _LOSS}:
        shell = rest.pop(0)
        flags = [rest.pop(0) for _ in range(_leading_flags(rest))]
        arguments = [rest.pop(0) for _ in range(min(len(rest), 1 if shell == _DELAY else 2))]
        if shell == _DELAY and arguments and arguments[0].isdecimal():
            options["--rtt"] = str(2 * int(arguments[0]))
        elif shell == _LINK:
            options["--trace"] = arguments[-1] if arguments else "FILE"
            queues = [match[1] for flag in flags if (match := _QUEUE.match(flag))]
            options["--queue"] = queues[-1] if queues else "1000"
        elif shell == _LOSS and arguments[:1] == ["downlink"]:
            options["--loss"] = arguments[-1]
        while rest and rest[0] == "--":
            rest.pop(0)
    if len(rest) == len(words):
        return None
    defaults = {"--trace": "FILE", "--rtt": "1", "--queue": "1000"}
    given = [word for name in defaults | options for word in (name, (defaults | options)[name])]
    return shlex.join(["ccbench", "shell", *given, "--", *rest])


def _leading_flags(words: Sequence[str]) -> int:
    """Return the number of options at the beginning."""
    flags = [word.startswith("-") and word != "--" for word in words]
    return flags.index(False) if False in flags else len(flags)
