# SPDX-License-Identifier: Apache-2.0
"""Search for the commit or patch of a module that changed a run, a metric or a criterion.

:mod:`~ccbench.bisect.history` has the versions, :mod:`~ccbench.bisect.question` what is asked of
each, :mod:`~ccbench.bisect.search` the search, and :func:`bisect` runs it.
"""

from __future__ import annotations

from ccbench.bisect.bisection import SAVED, Bisection, Tested, bisect, most_tests, plan
from ccbench.bisect.history import Commits, History, Series, Version
from ccbench.bisect.question import CriterionQuestion, MetricQuestion, Question, RunQuestion
from ccbench.bisect.search import Verdict, next_version, suspects

__all__ = [
    "SAVED",
    "Bisection",
    "Commits",
    "CriterionQuestion",
    "History",
    "MetricQuestion",
    "Question",
    "RunQuestion",
    "Series",
    "Tested",
    "Verdict",
    "Version",
    "bisect",
    "most_tests",
    "next_version",
    "plan",
    "suspects",
]
