# SPDX-License-Identifier: Apache-2.0
"""Evaluation of a congestion control by the criteria of an RFC, compared with CUBIC and Reno.

A pack (:mod:`~ccbench.evaluate.pack`) has criteria (:mod:`~ccbench.evaluate.criterion`): scenarios,
metrics, and limits beyond which a value is a definite failure. :func:`evaluate` runs them for the
candidate and each baseline, compares the values (:mod:`~ccbench.evaluate.judgement`), and
:mod:`~ccbench.evaluate.report` writes the report.
"""

from __future__ import annotations

from ccbench.evaluate.answers import NO_ANSWERS, Answers, load_answers
from ccbench.evaluate.criterion import CANDIDATE, Criterion, Measure, Variant, load_criterion
from ccbench.evaluate.design import BASELINES, EXTENTS, Case, Design, Extent
from ccbench.evaluate.evaluation import Cell, Evaluation, Failed
from ccbench.evaluate.evaluator import evaluate, plan
from ccbench.evaluate.judgement import BaselineComparison, Judgement
from ccbench.evaluate.pack import DEFAULT_PACK, Pack, load_pack, pack_names
from ccbench.evaluate.report import save
from ccbench.evaluate.witness import Witness

__all__ = [
    "BASELINES",
    "CANDIDATE",
    "DEFAULT_PACK",
    "EXTENTS",
    "NO_ANSWERS",
    "Answers",
    "BaselineComparison",
    "Case",
    "Cell",
    "Criterion",
    "Design",
    "Evaluation",
    "Extent",
    "Failed",
    "Judgement",
    "Measure",
    "Pack",
    "Variant",
    "Witness",
    "evaluate",
    "load_answers",
    "load_criterion",
    "load_pack",
    "pack_names",
    "plan",
    "save",
]
