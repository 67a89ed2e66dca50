# SPDX-License-Identifier: Apache-2.0
"""Published figures and tables, run again: one module for each.

A :class:`Study` says what to run, what to measure in a run, and what the publication states; a
:class:`SearchStudy` says what to search for instead, a :class:`SimulationStudy` which data centres
to simulate. :func:`run_study` runs one and sets our numbers beside the published ones.

Examples
--------
>>> from ccbench import studies
>>> result = studies.run_study("ware-3.2", quick=True)  # doctest: +SKIP
>>> result.findings.table  # doctest: +SKIP
"""

from ccbench.studies.registry import get, names
from ccbench.studies.runner import StudyResult, run_study
from ccbench.studies.study import (
    Comparison,
    Findings,
    Rows,
    SearchStudy,
    SimulationStudy,
    Study,
)

__all__ = [
    "Comparison",
    "Findings",
    "Rows",
    "SearchStudy",
    "SimulationStudy",
    "Study",
    "StudyResult",
    "get",
    "names",
    "run_study",
]
