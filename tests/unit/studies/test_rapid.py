# SPDX-License-Identifier: Apache-2.0
"""The studies of RAPID on runs of known outcome, without the virtual kernel."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from ccbench.run.queue_summary import QueueSummary
from ccbench.studies.rapid.links import PACKET_BYTES
from tests.unit.conftest import run_with_rates
from tests.unit.studies.conftest import scenarios_of, study_of, verdicts

if TYPE_CHECKING:
    from ccbench import Run, Scenario
    from ccbench.studies import Rows

#: Packets of the standing queue.
STANDING = 50


def with_standing_queue(scenario: Scenario) -> Run:
    """Return a run of a full link with a standing queue."""
    (link,) = scenario.path.bottlenecks
    flows = scenario.flow_count
    carried = round(link.mean_mbps * 1e6 / 8 * scenario.duration_s)
    packets = carried // PACKET_BYTES
    occupancy = {
        "bottleneck": [0],
        "packets": [STANDING],
        "time_ns": [round(scenario.duration_s * 1e9)],
        "arrivals": [packets],
    }
    counts = {
        "bottleneck": 0,
        "flow": 0,
        "event": ["enqueue", "dequeue"],
        "packets": packets,
        "bytes": carried,
        "waited_ns": [0, STANDING * round(scenario.duration_s * 1e9)],
    }
    nothing = pd.DataFrame({"bottleneck": [], "from_ns": [], "to_ns": [], "packets": []})
    samples = {"time_ns": [0], "bottleneck": 0, "backlog_packets": STANDING, "backlog_bytes": 0}
    summary = QueueSummary(
        occupancy=pd.DataFrame(occupancy),
        waits=nothing,
        counts=pd.DataFrame(counts),
        samples=pd.DataFrame(samples),
    )
    run = run_with_rates(replace(scenario, queue_log=False), [link.mean_mbps / flows] * flows)
    waited_ns = STANDING * round(scenario.duration_s * 1e9)
    links = run.links.assign(left_packets=packets, waited_ns=waited_ns)
    return replace(run, scenario=scenario, queue_summary=summary, links=links)


@pytest.mark.parametrize("name", ["rapid-acks", "rapid-buffers", "rapid-fairness", "rapid-others"])
def test_queueing_delay(name: str) -> None:
    """The delay of packets is the transmission time of those before them, of 1040 bytes."""
    study = study_of(name)
    scenario = scenarios_of(study, quick=True)[0]
    rows = study.measure(with_standing_queue(scenario))
    packet_ms = PACKET_BYTES * 8e-3 / scenario.path.bottlenecks[0].mean_mbps
    assert rows
    for row in rows:
        assert row["queue_ms"] == pytest.approx(STANDING * packet_ms, rel=1e-3)


def table_1(**rtts: float) -> Rows:
    """Return the rows of Table I; new transfers are faster by half."""
    return [
        {"scheme": scheme, "case": case, "rtts": 1, "mbps": 1.0, "acquired_rtts": time * part}
        for scheme, time in rtts.items()
        for case, part in (("load ends", 1.0), ("new", 0.5))
    ]


def changes(**rtts: tuple[float, float]) -> Rows:
    """Return rows of two changes and a course, after which each scheme needs this long."""
    return [
        {
            "scheme": scheme.replace("_", ", "),
            "kind": kind,
            "time_s": float(i),
            "mbps": 900.0,
            "spare_mbps": 1000.0,
            "rtts": time,
            "used_percent": 90.0,
            "longest_without_rtts": max(both),
        }
        for scheme, both in rtts.items()
        for i, time in enumerate(both)
        for kind in ("change", "course")
    ]


def queues(others: tuple[int, int], fast: tuple[int, int]) -> Rows:
    """Return rows of queues with this many lost packets and longest queue: of all, of FAST."""
    schemes = ("RAPID", "HighSpeed", "NewReno", "FAST, short", "Reno, SACK")
    return [
        {
            "scheme": scheme,
            "part": part,
            "packets": packets * part,
            "mean_packets": packets / 2,
            "room_packets": packets,
            "lost_after_first_change": lost,
        }
        for scheme, (lost, packets) in {**dict.fromkeys(schemes, others), "FAST": fast}.items()
        for part in (0.5, 0.9, 0.99, 1.0)
    ]


def losses(
    highspeed: tuple[float, ...], rapid: tuple[float, ...], queue: float, fast: float
) -> Rows:
    """Return rows of losses with recovery times of schemes; RAPID's queue is 10 packets."""
    common = {"mean_mbps": 9.0, "link_mbps": 10.0, "p99_packets": 9, "room_packets": 10}
    schemes = {
        "HighSpeed": (highspeed, queue),
        "RAPID": (rapid, 10.0),
        "FAST": ((fast, fast), 10.0),
    }
    return [
        {**common, "scheme": scheme, "mean_packets": packets, "kind": kind, "rtts": time}
        | {"time_s": 1.0, "mbps": 1.0}
        for scheme, (times, packets) in schemes.items()
        for kind, time in (("course", math.nan), *(("loss", time) for time in times))
    ]


def transfers(scheme: str, factor: float, rapid_mbps: float = 0.0) -> Rows:
    """Return rows of transfers that take `factor` times 0.1 to 10 s, with that much queue."""
    times_s = np.geomspace(0.01, 1000, 2000)
    shorter = np.interp(np.log10(times_s), np.log10(factor * np.array([0.1, 10])), [0, 100])
    counts = ("p50_packets", "p90_packets", "p99_packets", "wait_ms", "drops", "unfinished")
    common = {
        "mix": "web",
        "scheme": scheme,
        "transfers": 10,
        "tcp_mbps": 90.0,
        "rapid_mbps": rapid_mbps,
        "mean_packets": 50 * factor,
        **dict.fromkeys(counts, 0),
    }
    return [
        {**common, "response_s": time_s, "longer_percent": 100 - part}
        for time_s, part in zip(times_s, shorter, strict=True)
    ]


def beside_reno(rapid_mbps: float) -> Rows:
    """Return rows of RAPID and Reno on 100 Mbit/s, in both orders, and of Reno alone."""
    alone = {"first": "reno", "second": "", "first_mbps": 100, "tolerance": math.nan}
    pairs = {("reno", "rapid"): 100 - rapid_mbps, ("rapid", "reno"): rapid_mbps}
    together = [
        {"first": first, "second": second, "first_mbps": mbps, "second_mbps": 100 - mbps}
        | {"tolerance": tolerance, "queue_ms": 1}
        for (first, second), mbps in pairs.items()
        for tolerance in (0, 64)
    ]
    return [{**alone, "second_mbps": math.nan, "queue_ms": 1}, *together]


AGREES, DIFFERS = "agrees", "differs"


@pytest.mark.parametrize(
    ("name", "published", "reverse"),
    [
        (
            "rapid-t1",
            table_1(NewReno=7433, HighSpeed=666, FAST=70, RAPID=4),
            table_1(NewReno=666, HighSpeed=70, FAST=4, RAPID=7433),
        ),
        (
            "rapid-1",
            changes(
                NewReno=(10, 7500),
                HighSpeed=(30, 690),
                RAPID=(1, 2),
                FAST=(30, 50),
                FAST_short=(9, 5000),
                Reno_SACK=(10, 300),
            ),
            changes(
                NewReno=(10, 690),
                HighSpeed=(30, 7500),
                RAPID=(1, 4),
                FAST=(30, 5000),
                FAST_short=(9, 50),
                Reno_SACK=(10, 300),
            ),
        ),
        ("rapid-2", queues((20, 12_000), (0, 11_000)), queues((0, 8_000), (20, 9_000))),
        (
            "rapid-3",
            losses(highspeed=(2, 90, 4, 3), rapid=(1, 2, 1, 3), queue=500, fast=70),
            losses(highspeed=(80, 90, 75), rapid=(80, 90, 75), queue=1, fast=7),
        ),
        (
            "rapid-4",
            transfers("none", 1) + transfers("RAPID", 1.01, 29),
            transfers("none", 1) + transfers("RAPID", 1.3, 15),
        ),
        ("rapid-others", beside_reno(5), beside_reno(60)),
    ],
)
def test_verdicts(name: str, published: Rows, reverse: Rows) -> None:
    """The paper's statements agree in each row, their reverse differs in each."""
    assert {AGREES} == {*verdicts(name, published)}
    assert {DIFFERS} == {*verdicts(name, reverse)}


def test_unfinished() -> None:
    """A transfer that does not end in the run takes longer than any that does."""
    study = study_of("rapid-4")
    scenario = scenarios_of(study, quick=True)[0]
    run = with_standing_queue(replace(scenario, flows=scenario.flows[:1]))
    half_ns = scenario.duration_s / 2 * 1e9
    ends_ns = np.where(np.arange(len(run.completions)) % 4 == 0, -1, half_ns + 1e9)
    done = run.completions.assign(start_ns=half_ns, end_ns=ends_ns)
    rows = study.measure(replace(run, completions=done))
    part = 100 * np.mean(ends_ns < 0)
    assert part == pytest.approx(rows[-1]["longer_percent"])
    assert len({row["longer_percent"] for row in rows}) == 2
