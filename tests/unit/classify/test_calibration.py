# SPDX-License-Identifier: Apache-2.0
"""Tests of the confidence in labels."""

from __future__ import annotations

import numpy as np
import pytest

from ccbench.base.random_streams import stream
from ccbench.classify.calibration import CrossValidated, calibrated, confidences
from ccbench.classify.evidence import Evidence

_CCAS = ("a", "b", "c")
_SERVERS, _FOLDS = 6000, 5


@pytest.fixture(scope="module")
def servers() -> CrossValidated:
    """Servers of known CCAs, whose labels are right with a probability that the evidence tells."""
    rng = stream(1, "servers")
    log_ratios = rng.uniform(0, 4, _SERVERS)
    evidence = tuple(
        Evidence(
            label=i % len(_CCAS),
            second=(i + 1) % len(_CCAS),
            log_ratio=log_ratio,
            distance=0.1,
            noise=0.2,
            size=5.0,
            unfinished=0.0,
            recordings=1 + i % 4,
        )
        for i, log_ratio in enumerate(log_ratios.tolist())
    )
    odds = log_ratios - 1.5
    return CrossValidated(
        ccas=_CCAS,
        evidence=evidence,
        is_right=rng.random(_SERVERS) < 1 / (1 + np.exp(-odds)),
        is_known=np.ones(_SERVERS, dtype=bool),
        folds=np.arange(_SERVERS) % _FOLDS,
    )


def test_reliability(servers: CrossValidated) -> None:
    """Of the labels with a confidence of p, fitted to other servers, a share of p is right."""
    sure = confidences(servers)
    for low in (0.2, 0.4, 0.6, 0.8):
        own = (sure >= low) & (sure < low + 0.2)
        # Four standard deviations of the share.
        allowed = 4 * 0.5 / np.sqrt(own.sum())
        assert servers.is_right[own].mean() == pytest.approx(sure[own].mean(), abs=allowed)


def test_wrong_answers(servers: CrossValidated) -> None:
    """At most 1 % of the servers of known CCAs get a wrong answer, for any number of recordings."""
    calibration = calibrated(servers)
    for count in range(1, 5):
        own = [i for i, each in enumerate(servers.evidence) if each.recordings == count]
        wrong = [
            not servers.is_right[i]
            and calibration.confidence(servers.evidence[i], _CCAS[servers.evidence[i].label])
            > calibration.least[count - 1]
            for i in own
        ]
        # The limit is rounded, which can admit one more.
        assert np.sum(wrong) <= 0.01 * len(own) + 1


def test_unknown_share(servers: CrossValidated) -> None:
    """One server in four runs an unknown CCA, however many of them were judged."""
    some = servers._replace(is_known=np.arange(_SERVERS) % 3 > 0)
    weights = some.weights
    assert weights[~some.is_known].sum() / weights.sum() == pytest.approx(0.25)
