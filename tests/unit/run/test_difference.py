# SPDX-License-Identifier: Apache-2.0
"""The first difference between two runs, against runs that differ in a known place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from ccbench import plots
from ccbench.base.errors import InputError
from ccbench.cli._status import ExitStatus
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.run.difference import difference
from ccbench.run.tables import NO_FLOW, QUEUE_COLUMNS, dtypes
from tests.unit.cli.conftest import ccbench

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ccbench.run.run import Run

    MakeRun = Callable[..., Run]

SCENARIO = Scenario(
    flows=(Flow(cca="bbr"), Flow(cca="cubic")),
    path=NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=10, queue_packets=20),), rtt_ms=40),
    duration_s=10,
    sample_interval_ms=1000,
    queue_log=True,
)


def with_packets(run: Run, count: int = 10, **changed: Any) -> Run:
    """Return a run with a packet each second from 0.5 s, and others in the seventh row."""
    rows = pd.DataFrame(
        {
            "time_ns": [i * 1_000_000_000 + 500_000_000 for i in range(count)],
            "bottleneck": 0,
            "event": "enqueue",
            "flow": [i % 2 for i in range(count)],
            "bytes": 1500,
            "backlog_packets": range(1, count + 1),
            "backlog_bytes": [1500 * i for i in range(1, count + 1)],
        }
    )
    for name, value in changed.items():
        rows.loc[6, name] = value
    return replace(run, queue=rows.astype(dtypes(QUEUE_COLUMNS)))


def with_sample(run: Run, row: int, **changed: Any) -> Run:
    """Return a run in which values of a row of the samples differ."""
    flows = run.flows.copy()
    for name, value in changed.items():
        flows.loc[row, name] = value
    return replace(run, flows=flows)


@pytest.fixture
def run(make_run: MakeRun) -> Run:
    """Give a run with a packet and two samples each second."""
    return with_packets(make_run(SCENARIO, [5, 3]))


def test_itself(run: Run) -> None:
    """A run is like itself, although samples without a value are NaN."""
    found = difference(run, run)
    assert found.is_alike
    assert (None, None, None) == (found.packet, found.state, found.time_ns)
    assert plots.around_difference(run, run, found) is None


@pytest.mark.parametrize(
    "changed",
    [{"bytes": 40}, {"flow": 1}, {"event": "drop"}, {"backlog_packets": 1}, {"flow": NO_FLOW}],
)
def test_first_packet(run: Run, changed: dict[str, Any]) -> None:
    """The first packet is the one that differs, with the states of its flows before it."""
    found = difference(run, with_packets(run, **changed)).packet
    assert found is not None
    assert (6_500_000_000, 0) == (found.time_ns, found.bottleneck)
    assert found.a
    assert found.b
    assert changed.items() <= found.b.items()
    assert {0, changed.get("flow", 0)} - {NO_FLOW} == set(found.states)
    for flow, states in found.states.items():
        for state in states:
            assert state
            assert (6_000_000_000, flow) == (state["time_ns"], state["flow"])


def test_last_packets(run: Run) -> None:
    """If a run has more packets than the other, the first of them is the difference."""
    found = difference(run, with_packets(run, count=8)).packet
    assert found is not None
    assert 8_500_000_000 == found.time_ns
    assert found.a
    assert found.b is None


def test_first_state(run: Run) -> None:
    """The first state is the earliest sample that differs, with the names of its columns."""
    other = with_sample(with_sample(run, 15, cwnd_packets=7), 9, cwnd_packets=5, srtt_us=1e4)
    found = difference(run, other)
    assert found.packet is None
    assert found.state is not None
    assert (5_000_000_000, 1) == (found.state.time_ns, found.state.flow)
    assert ("cwnd_packets", "srtt_us") == found.state.columns
    assert ("flows",) == found.tables


def test_missing_sample(run: Run) -> None:
    """A sample that only one run has is the difference, not the sample after it."""
    found = difference(run, replace(run, flows=run.flows.drop(index=9))).state
    assert found is not None
    assert (5_000_000_000, 1) == (found.time_ns, found.flow)
    assert found.a
    assert found.b is None


def test_symmetry(run: Run) -> None:
    """Exchanging the runs exchanges their values, and nothing else."""
    other = replace(
        with_sample(with_packets(run, bytes=40), 9, cwnd_packets=5),
        scenario=replace(SCENARIO, seed=SCENARIO.seed + 1),
    )
    one, two = difference(run, other), difference(other, run)
    assert one.packet
    assert two.packet
    assert one.state
    assert two.state
    mirrored = {flow: (b, a) for flow, (a, b) in two.packet.states.items()}
    assert one.packet == replace(two.packet, a=two.packet.b, b=two.packet.a, states=mirrored)
    assert one.state == replace(two.state, a=two.state.b, b=two.state.a)
    assert one.tables == two.tables
    assert {"seed": (SCENARIO.seed, SCENARIO.seed + 1)} == dict(one.settings)


def described(run: Run, names: list[str], digest: str) -> Run:
    """Return a run whose first congestion control reports states of these names."""
    own = {"cca_info": {"bbr": names}, "modules": {"tcp_bbr": digest, "tcp_cubic": "c"}}
    return replace(run, provenance={**run.provenance, **own})


def test_modules(run: Run) -> None:
    """Modules with other digests are named, and states have the names of their descriptions."""
    one, two = (described(run, ["mode", "gain"], digest) for digest in "ab")
    found = difference(one, with_sample(two, 8, cca_info_1=2.0))
    assert {"tcp_bbr": ("a", "b")} == dict(found.modules)
    assert found.state is not None
    assert ("gain",) == found.state.columns
    assert found.state.b
    assert 2.0 == found.state.b["gain"]
    assert "mode" in found.state.b


def test_states_of_two_ccas(run: Run) -> None:
    """States with other names are not compared; the first of any other column is the difference."""
    one = with_sample(described(run, ["mode"], "a"), 4, cca_info_0=1.0)
    two = with_sample(described(run, ["rate"], "a"), 8, cwnd_packets=5)
    found = difference(one, two).state
    assert found is not None
    assert ("cwnd_packets",) == found.columns
    assert 5_000_000_000 == found.time_ns


def test_without_log(run: Run, make_run: MakeRun) -> None:
    """Without a queue log in one run, states are compared and the run is named."""
    found = difference(run, make_run(replace(SCENARIO, queue_log=False), [5, 3]))
    assert found.is_alike
    assert ("b",) == found.without_packets


def test_other_scenario(run: Run, make_run: MakeRun) -> None:
    """Runs with other numbers of flows or durations are not runs of one scenario."""
    with pytest.raises(InputError, match="flow_count is 2 in A and 1 in B"):
        difference(run, make_run(replace(SCENARIO, flows=(Flow(),)), [5]))
    with pytest.raises(InputError, match="duration_s is 10"):
        difference(run, make_run(replace(SCENARIO, duration_s=5), [5, 3]))


def test_command(run: Run, tmp_path: Path) -> None:
    """The exit status is 0 for equal runs and 1 for others, which are drawn."""
    run.save(tmp_path / "a")
    with_sample(with_packets(run, bytes=40), 9, cwnd_packets=5).save(tmp_path / "b")
    names = [str(tmp_path / name) for name in "ab"]
    other = ccbench("diff", *names, "-o", str(tmp_path / "difference.svg"))
    assert ExitStatus.OK == ccbench("diff", names[0], names[0]).exit_code
    assert ExitStatus.FAILED == other.exit_code
    assert "6.500000000 s, bottleneck 0" in other.stdout
    assert "5.000000000 s, flow 1" in other.stdout
    assert "first difference" in (tmp_path / "difference.svg").read_text(encoding="utf-8")
