# SPDX-License-Identifier: Apache-2.0
"""Results of applications: what each kind of flow has achieved, one module per kind.

Tables and JSON of ``ccbench run`` read the descriptions in :data:`OUTCOMES`.
"""

from ccbench.run.outcomes._outcome import Column, Outcome
from ccbench.run.outcomes.transfers import TRANSFERS
from ccbench.run.outcomes.videos import VIDEOS

__all__ = ["OUTCOMES", "Column", "Outcome"]

OUTCOMES: tuple[Outcome, ...] = (TRANSFERS, VIDEOS)
