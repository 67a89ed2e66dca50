# SPDX-License-Identifier: Apache-2.0
"""Results of applications: what each kind of flow has achieved, one module per kind.

Tables and JSON of ``ccbench run`` read the descriptions in :data:`OUTCOMES`.
"""

from ccbench.run.outcomes._outcome import OutcomeColumn, OutcomeTable
from ccbench.run.outcomes.transfers import TRANSFERS
from ccbench.run.outcomes.videos import VIDEOS

__all__ = ["OUTCOMES", "OutcomeColumn", "OutcomeTable"]

OUTCOMES: tuple[OutcomeTable, ...] = (TRANSFERS, VIDEOS)
