# SPDX-License-Identifier: Apache-2.0
"""Convergence of real flows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ccbench import Flow
from ccbench.convergence import Convergence, converged_at
from ccbench.convergence.evaluation import evaluate
from ccbench.convergence.labels import LABELLED_S, SHOWN_S, labelled_run
from ccbench.studies import run_study
from tests.kernel.conftest import dumbbell, run

pytestmark = pytest.mark.kernel

#: BBR and CUBIC at once, and CUBIC a minute before BBR.
TOGETHER = dumbbell(
    Flow(cca="bbr"), Flow(cca="cubic"), duration_s=LABELLED_S, queue_log=False, queue_packets=33
)
LATER = dumbbell(
    Flow(cca="cubic"), Flow(cca="bbr", start_s=60), duration_s=LABELLED_S, queue_log=False
)


def test_length_changes_nothing_before_the_end() -> None:
    """The first 180 s of a longer run are those of a run of 180 s, to the byte."""
    longer = run(LATER).throughput(1.0)
    shorter = dumbbell(
        Flow(cca="cubic"), Flow(cca="bbr", start_s=60), duration_s=SHOWN_S, queue_log=False
    )
    assert np.array_equal(longer.iloc[:180], run(shorter).throughput(1.0))


def test_flows_that_share_from_the_start() -> None:
    """Flows mostly settle at once, and their throughput is then nearly that of ten minutes."""
    tables = [evaluate(labelled_run(run(replace(TOGETHER, seed=seed)))) for seed in range(1, 5)]
    table = pd.concat(tables).query("method == 'Algorithm 1'")
    assert table["label_s"].median() < 30
    assert (table["steady_difference_percent"] < 10).all()


def test_a_flow_that_comes_later() -> None:
    """Neither rule nor detector has the flows converge before the second one starts."""
    labelled = labelled_run(run(LATER))
    time_s = converged_at(labelled.throughput)
    assert (labelled.labels_s >= 60).all()
    assert time_s is not None
    assert 60 <= time_s <= 120
    assert all(len(flow.steps) > 1 for flow in Convergence.of(labelled.throughput).flows)


def test_wide_swings_that_stay() -> None:
    """BBR and CUBIC swing by half of the link and converge, though near no point (Figure 5.5)."""
    findings = run_study("ware-5.5", quick=True, store=None).findings
    measured = {comparison.quantity: comparison.value for comparison in findings.comparisons}
    for name in ("BBR", "CUBIC"):
        assert measured[f"{name}'s deviation from its later mean, median"] > 30
    converged = "flows, of two, that have converged by"
    assert 0 == measured[f"{converged} Axiomatizing's rule, alpha 0.9"]
    assert 2 == measured[f"{converged} Algorithm 1"]
