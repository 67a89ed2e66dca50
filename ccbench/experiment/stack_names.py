# SPDX-License-Identifier: Apache-2.0
"""Names of the congestion controls of stacks, such as ``quic:ngtcp2/bbr``."""

from __future__ import annotations

__all__ = ["STACK_CCA", "names_stack"]

#: Form of a name: protocol, stack and congestion control.
STACK_CCA = "[a-z0-9]+:[A-Za-z0-9._-]+/[A-Za-z0-9._-]+"


def names_stack(cca: str) -> bool:
    """Return whether a congestion control is that of a stack, whose programs send and receive.

    Examples
    --------
    >>> names_stack("quic:ngtcp2/bbr"), names_stack("bbr")
    (True, False)
    """
    return ":" in cca
