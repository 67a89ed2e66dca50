# SPDX-License-Identifier: Apache-2.0
"""Conformance of QUIC stacks with Linux."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ccbench import studies
from ccbench.studies.quic import quic_conformance


def seconds(
    cca: str, other: str, delay_ms: float, mbps: float, spread: float = 1.0
) -> pd.DataFrame:
    """Return seconds whose delays and rates fill a square around a point."""
    grid = np.array([(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1)]) * spread
    return pd.DataFrame(
        {
            "cca": cca,
            "other": other,
            "seed": 1,
            "time_s": np.arange(len(grid)) + 6.0,
            "throughput_mbps": mbps + grid[:, 0] * 0.1,
            "other_mbps": np.nan if other == "alone" else 4 - mbps,
            "queueing_ms": delay_ms + grid[:, 1],
        }
    )


def both(stack: pd.DataFrame, linux: pd.DataFrame) -> studies.Findings:
    """Return the findings of the seconds of a stack and of Linux."""
    study = studies.get("quic-conformance")
    assert isinstance(study, studies.Study)
    others = [
        seconds(str(of["cca"].iloc[0]), other, 20, 3.0)
        for of in (stack, linux)
        for other in {"alone", "cubic"} - {*stack["other"]}
    ]
    return study.conclude(pd.concat([stack, linux, *others], ignore_index=True))


def conformance(findings: studies.Findings, cca: str, against: str) -> float:
    """Return the conformance of a case."""
    table = findings.table
    case = (table["cca"] == cca) & (table["against"] == against)
    (percent,) = table.loc[case, "conformance_percent"]
    return float(percent)


class TestConformance:
    @pytest.mark.parametrize(
        ("delay_ms", "mbps", "percent"), [(20, 3.0, 100), (40, 3.0, 0), (20, 1.5, 0)]
    )
    def test_envelope(self, delay_ms: float, mbps: float, percent: float) -> None:
        """Points like Linux's conform, and those of another delay or rate do not."""
        stack = seconds("quic:ngtcp2/reno", "cubic", delay_ms, mbps)
        findings = both(stack, seconds("reno", "cubic", 20, 3.0))
        assert conformance(findings, "quic:ngtcp2/reno", "cubic") == percent
        assert conformance(findings, "reno", "cubic") == 100

    def test_margin(self) -> None:
        """Points that fill a larger square than Linux's and the margin conform in part."""
        stack = seconds("quic:ngtcp2/reno", "alone", 20, 3.0, spread=10)
        findings = both(stack, seconds("reno", "alone", 20, 3.0))
        assert conformance(findings, "quic:ngtcp2/reno", "alone") == pytest.approx(100 / 9)

    def test_share(self) -> None:
        """The share is that of the link, against Linux's congestion control of the same name."""
        stack = seconds("quic:ngtcp2/reno", "reno", 20, 3.0)
        findings = both(stack, seconds("reno", "reno", 20, 2.0))
        (share,) = (c for c in findings.comparisons if "share" in c.quantity)
        assert share.value == pytest.approx(75)
        assert "quic:aioquic" in share.note

    def test_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stacks that are not installed have no scenarios."""
        monkeypatch.setattr(quic_conformance, "installed", lambda: iter(()))
        assert quic_conformance.STUDY.scenarios(quick=False) == ()
