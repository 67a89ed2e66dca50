# SPDX-License-Identifier: Apache-2.0
"""Queueing disciplines: what a user may set, and how the guest's kernel is told.

Options of qdiscs are a table: what a user writes, the attribute it becomes, and how. Older qdiscs
take all of theirs as one structure, so each of them has a function in :mod:`.structures`.
"""

from ccbench.emulate.kernel.qdiscs.table import QDISCS, check_qdisc_options, set_qdisc

__all__ = ["QDISCS", "check_qdisc_options", "set_qdisc"]
