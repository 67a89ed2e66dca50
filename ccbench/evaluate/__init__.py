# SPDX-License-Identifier: Apache-2.0
"""Evaluation of a congestion control by the criteria of an RFC, beside CUBIC and Reno.

A pack (:mod:`~ccbench.evaluate.pack`) has criteria (:mod:`~ccbench.evaluate.criterion`): scenarios,
metrics, and limits beyond which a value is a definite failure. :func:`evaluate` runs them for the
candidate and each baseline, compares the values (:mod:`~ccbench.evaluate.judgement`), and
:mod:`~ccbench.evaluate.page` writes the report.
"""

from __future__ import annotations

from ccbench.evaluate.criterion import CANDIDATE, Criterion, Measure, Network, load_criterion
from ccbench.evaluate.evaluation import (
    BASELINES,
    REPETITIONS,
    Case,
    Cell,
    Design,
    Evaluation,
    Failed,
    evaluate,
    plan,
)
from ccbench.evaluate.judgement import Comparison, Judgement
from ccbench.evaluate.pack import DEFAULT_PACK, Pack, load_pack, pack_names

__all__ = [
    "BASELINES",
    "CANDIDATE",
    "DEFAULT_PACK",
    "REPETITIONS",
    "Case",
    "Cell",
    "Comparison",
    "Criterion",
    "Design",
    "Evaluation",
    "Failed",
    "Judgement",
    "Measure",
    "Network",
    "Pack",
    "evaluate",
    "load_criterion",
    "load_pack",
    "pack_names",
    "plan",
]
