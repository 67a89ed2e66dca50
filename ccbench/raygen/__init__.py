# SPDX-License-Identifier: Apache-2.0
"""Where one congestion control algorithm (alpha) hurts another (beta) most.

:func:`search` looks for the scenarios with the greatest relative harm, by the genetic algorithm of
the thesis or another :class:`Strategy`, and returns a :class:`SearchResult`.

What varies: :mod:`.quantities`, :mod:`.gene`, :mod:`.space`. What is proposed: :mod:`.strategy` and
:mod:`.genetic`, :mod:`.random_search`, :mod:`.sweep`, :mod:`.surrogate`. What is run for it, and
found: :mod:`.experiments`, :mod:`.measuring`, :mod:`.evaluation`, :mod:`.result`, :mod:`.folder`.
What is measured again and claimed, and how sure that is: :mod:`.selection`, :mod:`.ranking`. How
long it takes: :mod:`.plan`, :mod:`.work`. What that says: :mod:`.regions`, :mod:`.importance`,
:mod:`.diversity`, :mod:`.predictor`, :mod:`ccbench.raygen.figures` and the report (:mod:`.html`,
:mod:`.page`).

Examples
--------
>>> from ccbench import raygen
>>> small = {"budget": 4, "population": 4, "duration_s": 2}
>>> result = raygen.search(alpha="bbr", beta="cubic", **small)  # doctest: +SKIP
>>> list(result.top_table().index)  # doctest: +SKIP
[1, 2, 3, 4]
"""

from ccbench.raygen.config import SearchConfig
from ccbench.raygen.evaluation import Evaluation
from ccbench.raygen.folder import CLAIMS_CSV, RESULTS_CSV, SEARCH_JSON, WORST_PNG
from ccbench.raygen.gene import Choice, Gene, Number
from ccbench.raygen.genetic import Genetic
from ccbench.raygen.html import report
from ccbench.raygen.plan import Plan, plan
from ccbench.raygen.random_search import RandomSearch
from ccbench.raygen.result import SearchResult
from ccbench.raygen.search import Progress, search
from ccbench.raygen.space import DEFAULT_SPACE, Chromosome, Space
from ccbench.raygen.strategy import Candidate, Strategy
from ccbench.raygen.surrogate import Surrogate
from ccbench.raygen.sweep import Sweep

__all__ = [
    "CLAIMS_CSV",
    "DEFAULT_SPACE",
    "RESULTS_CSV",
    "SEARCH_JSON",
    "WORST_PNG",
    "Candidate",
    "Choice",
    "Chromosome",
    "Evaluation",
    "Gene",
    "Genetic",
    "Number",
    "Plan",
    "Progress",
    "RandomSearch",
    "SearchConfig",
    "SearchResult",
    "Space",
    "Strategy",
    "Surrogate",
    "Sweep",
    "plan",
    "report",
    "search",
]
