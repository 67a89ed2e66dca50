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

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ccbench.studies.catalogue import About, about, get, names
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
    "About",
    "Comparison",
    "Findings",
    "Rows",
    "SearchStudy",
    "SimulationStudy",
    "Study",
    "StudyResult",
    "about",
    "get",
    "names",
    "run_study",
]

# Imported when they are first used: a list of all studies needs nothing of what runs them.
_HOMES = {
    **dict.fromkeys(("About", "about", "get", "names"), "ccbench.studies.catalogue"),
    **dict.fromkeys(("StudyResult", "run_study"), "ccbench.studies.runner"),
    **dict.fromkeys(
        ("Comparison", "Findings", "Rows", "SearchStudy", "SimulationStudy", "Study"),
        "ccbench.studies.study",
    ),
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
