# SPDX-License-Identifier: Apache-2.0
"""Search for the networks in which one CCA (alpha) harms another (beta) most.

:func:`search` searches for the scenarios with the greatest relative harm, with short runs first,
the genetic algorithm of the thesis or another :class:`Strategy`, and returns a
:class:`SearchResult`.

=============================================================== ====================================
modules                                                         subject
=============================================================== ====================================
:mod:`.quantities`, :mod:`.gene`, :mod:`.space`                 the search space
:mod:`.strategy`, :mod:`.strategies`                            proposals
:mod:`.config`, :mod:`.search`, :mod:`.progress`                the search
:mod:`.objective`                                               what a search maximises
:mod:`.experiments`, :mod:`.evaluated`, :mod:`.timeline`        runs and their harm
:mod:`.perturbations`, :mod:`.trials`                           one flow on a perturbed link
:mod:`.selection`, :mod:`.ranking`                              further seeds, claims and confidence
:mod:`.shrinking`, :mod:`.simplest`                             the simplest scenario that shows it
:mod:`.plan`                                                    expected time
:mod:`.result`, :mod:`.folder`                                  results, in memory and as files
:mod:`.analysis`                                                regions, importance of genes, models
:mod:`ccbench.raygen.figures`, :mod:`.html`, :mod:`.page`       figures and the report
=============================================================== ====================================

Examples
--------
>>> from ccbench import raygen
>>> small = {"budget": 4, "population": 4, "duration_s": 2}
>>> result = raygen.search(alpha="bbr", beta="cubic", **small)  # doctest: +SKIP
>>> list(result.top_table().index)  # doctest: +SKIP
[1, 2, 3, 4]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.lazy_names import lazy_names
from ccbench.base.settings import StrategySetting
from ccbench.base.validation import Range
from ccbench.raygen.config import SearchConfig
from ccbench.raygen.evaluated import EvaluatedCandidate
from ccbench.raygen.folder import CLAIMS_CSV, RESULTS_CSV, SEARCH_JSON, TIMELINES_JSON, WORST_PNG
from ccbench.raygen.gene import Choice, Gene, Number
from ccbench.raygen.html import report
from ccbench.raygen.plan import Plan, plan
from ccbench.raygen.progress import Progress
from ccbench.raygen.result import SearchResult
from ccbench.raygen.search import search
from ccbench.raygen.space import DEFAULT_SPACE, Chromosome, Space
from ccbench.raygen.strategy import (
    BaseStrategy,
    Candidate,
    ScreeningStrategy,
    Strategy,
    batches,
    check_budget,
)
from ccbench.raygen.timeline import Timeline

if TYPE_CHECKING:
    from ccbench.raygen.strategies.genetic import Genetic
    from ccbench.raygen.strategies.halving import Halving
    from ccbench.raygen.strategies.random import RandomSearch
    from ccbench.raygen.strategies.surrogate import Surrogate
    from ccbench.raygen.strategies.sweep import SweepStrategy

__all__ = [
    "CLAIMS_CSV",
    "DEFAULT_SPACE",
    "RESULTS_CSV",
    "SEARCH_JSON",
    "TIMELINES_JSON",
    "WORST_PNG",
    "BaseStrategy",
    "Candidate",
    "Choice",
    "Chromosome",
    "EvaluatedCandidate",
    "Gene",
    "Genetic",
    "Halving",
    "Number",
    "Plan",
    "Progress",
    "RandomSearch",
    "Range",
    "ScreeningStrategy",
    "SearchConfig",
    "SearchResult",
    "Space",
    "Strategy",
    "StrategySetting",
    "Surrogate",
    "SweepStrategy",
    "Timeline",
    "batches",
    "check_budget",
    "plan",
    "report",
    "search",
]

# Imported on first use: a search imports its own strategy only.
_HOMES = {
    "Genetic": "ccbench.raygen.strategies.genetic",
    "Halving": "ccbench.raygen.strategies.halving",
    "RandomSearch": "ccbench.raygen.strategies.random",
    "Surrogate": "ccbench.raygen.strategies.surrogate",
    "SweepStrategy": "ccbench.raygen.strategies.sweep",
}

__getattr__ = lazy_names(__name__, _HOMES)
