# SPDX-License-Identifier: Apache-2.0
"""The studies of L4S on tables of known outcome, without the virtual kernel."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from ccbench.experiment.noise import typical
from ccbench.studies import names
from ccbench.studies.l4s.paths import MBPS, RTTS_MS
from tests.unit.studies.conftest import scenarios_of, study_of, verdicts

if TYPE_CHECKING:
    from ccbench.studies import Rows

NAMES = [name for name in names() if name.startswith("l4s-")]
AGREES, DIFFERS = "agrees", "differs"


def rates(ratio: float) -> Rows:
    """Return rows in which Prague has this multiple of CUBIC's rate on every path."""
    return [
        {
            "mbps": mbps,
            "rtt_ms": rtt_ms,
            "flows_of_each": count,
            "draft": draft,
            "seed": seed,
            "ratio": ratio,
            "oscillation": 1.0,
        }
        for mbps, rtt_ms, seed in product(MBPS, RTTS_MS, (1, 2))
        for count, draft in ((1, False), (1, True), (5, False))
    ]


def delays(l4s_ms: float, classic_ms: float, used_percent: float) -> Rows:
    """Return rows with these delays and this use of the link on every path."""
    return [
        {
            "mbps": mbps,
            "rtt_ms": rtt_ms,
            "flows": flows,
            "seed": seed,
            "l4s_mean_ms": l4s_ms / 2,
            "l4s_p99_ms": l4s_ms,
            "classic_ms": classic_ms,
            "used_percent": used_percent,
        }
        for mbps, rtt_ms, flows, seed in product(MBPS, RTTS_MS, (1, 2), (1, 2))
    ]


def overloads(*, benefit: float, delay_ms: float, rest: float, lost: float) -> Rows:
    """Return rows in which ECT(1) gives UDP this multiple of its rate and its delay.

    The other flows use this part of the rest. Prague loses this part of what CUBIC loses, or of all
    its packets if UDP is below the link's rate.
    """
    rows = []
    for load, ecn, seed in product((50, 75, 100, 150, 200), ("", "ect1"), (1, 2)):
        factor = benefit if ecn else 1.0
        carried = factor * min(load, 95)
        rows.append(
            {
                "udp_mbps": load,
                "ecn": ecn,
                "seed": seed,
                "cubic_mbps": rest * (100 - carried) / 2,
                "prague_mbps": rest * (100 - carried) / 2,
                "udp_carried_mbps": carried,
                "udp_delay_ms": delay_ms * factor,
                "classic_delay_ms": 0.0,
                "l4s_p99_ms": delay_ms / 10,
                "cubic_lost_percent": 30.0,
                "prague_lost_percent": 30 * lost if load > 75 else 100 * (1 - lost),
                "udp_lost_percent": 0.0,
            }
        )
    return rows


def shares(prague_percent: float, cubic_by_reno: float) -> Rows:
    """Return rows in which Prague has this share of every link, and CUBIC what Reno leaves it."""
    mixes = ("prague cubic", "prague bbr", "prague cubic bbr")
    cases = [
        *product(mixes, ("DualPI2", "DualPI2, no ECN", "FQ-CoDel", "drop-tail")),
        ("reno cubic", "drop-tail"),
        ("cubic", "DualPI2"),
    ]
    return [
        {
            "mix": mix,
            "queue": queue,
            "mbps": 100.0,
            "rtt_ms": 20.0,
            "seed": seed,
            "cca": cca,
            "flow_mbps": 50 * (cubic_by_reno if mix == "prague cubic" else 1),
            "share_percent": prague_percent,
            "used_percent": 100.0,
            "l4s_p99_ms": 1.0,
        }
        for (mix, queue), seed in product(cases, (1, 2))
        for cca in mix.split()
    ]


@pytest.mark.parametrize(
    ("name", "published", "reverse"),
    [
        ("l4s-rates", rates(1.02), rates(1.6)),
        (
            "l4s-delay",
            delays(1.5, 15.0, 98.0),
            delays(2.5, 30.0, 90.0),
        ),
        (
            "l4s-overload",
            overloads(benefit=1, delay_ms=15, rest=1, lost=1),
            overloads(benefit=1.1, delay_ms=30, rest=0.5, lost=0.8),
        ),
        ("l4s-harm", shares(50, 1), shares(70, 0.6)),
    ],
)
def test_verdicts(name: str, published: Rows, reverse: Rows) -> None:
    """The statements agree in each row of a table that fulfils them, and differ in another."""
    assert {AGREES} == {*verdicts(name, published)}
    assert DIFFERS in verdicts(name, reverse)


@pytest.mark.parametrize("name", NAMES)
def test_scenarios(name: str) -> None:
    """All studies run on kernels with accurate ECN only, with typical noise and several seeds."""
    study = study_of(name)
    scenarios = scenarios_of(study, quick=False)
    assert ("7.3",) == study.kernels
    assert all(
        scenario.path.noise == typical(rtt_ms=scenario.path.rtt_ms) for scenario in scenarios
    )
    assert len({scenario.seed for scenario in scenarios}) >= 4
