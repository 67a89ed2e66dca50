# SPDX-License-Identifier: Apache-2.0
"""Where one congestion control algorithm (alpha) hurts another (beta) most.

:func:`search` looks for the scenarios with the greatest relative harm, by the genetic algorithm of
the thesis or another :class:`Strategy`, and returns a :class:`SearchResult`.

Examples
--------
>>> from ccbench import raygen
>>> config = raygen.SearchConfig(alpha="bbr", beta="cubic", budget=12, population=8, duration_s=30)
>>> raygen.search(config).top_table()  # doctest: +SKIP
"""

from ccbench.raygen.config import SearchConfig
from ccbench.raygen.genetic import Genetic
from ccbench.raygen.random_search import RandomSearch
from ccbench.raygen.report import RESULTS_CSV, SEARCH_JSON, WORST_PNG, throughput_figure
from ccbench.raygen.result import Evaluation, SearchResult
from ccbench.raygen.search import Progress, search
from ccbench.raygen.space import DEFAULT_SPACE, Chromosome, Gene, Space
from ccbench.raygen.strategy import Candidate, Strategy
from ccbench.raygen.surrogate import Surrogate
from ccbench.raygen.sweep import Sweep

__all__ = [
    "DEFAULT_SPACE",
    "RESULTS_CSV",
    "SEARCH_JSON",
    "WORST_PNG",
    "Candidate",
    "Chromosome",
    "Evaluation",
    "Gene",
    "Genetic",
    "Progress",
    "RandomSearch",
    "SearchConfig",
    "SearchResult",
    "Space",
    "Strategy",
    "Surrogate",
    "Sweep",
    "search",
    "throughput_figure",
]
