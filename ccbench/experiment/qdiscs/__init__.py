# SPDX-License-Identifier: Apache-2.0
"""Queueing disciplines: options, their encoding for Linux, and what they drop.

Options of qdiscs are a table: what a user writes, the attribute it becomes, and how. Older qdiscs
take all of theirs as one structure, so each of them has a function in :mod:`.structures`.
"""

from ccbench.experiment.qdiscs.kinds import Drops
from ccbench.experiment.qdiscs.table import QDISCS, check_qdisc_options

__all__ = ["QDISCS", "Drops", "check_qdisc_options"]
