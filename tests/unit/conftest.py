# SPDX-License-Identifier: Apache-2.0
"""Runs computed by arithmetic, for tests of analysis."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import pytest

from ccbench.base.errors import InputError
from ccbench.emulate.engine import run_identity
from ccbench.emulate.kernel.needs import needs
from ccbench.emulate.registry import ENGINES
from ccbench.run.run import Run
from ccbench.run.stored_tables import Arrays
from ccbench.run.tables import (
    CATEGORIES,
    CCA_COLUMNS,
    FLOW_COLUMNS,
    MEASURED_COLUMNS,
    QUEUE_COLUMNS,
    RUN_TABLES,
    no_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy.typing as npt
    from typing_extensions import Self

    from ccbench.emulate import Check, Engine, Needs
    from ccbench.emulate.engine import EngineInfo
    from ccbench.experiment.scenario import Scenario
    from ccbench.raygen import SearchResult

PROVENANCE = {"ccbench": "0", "engine": "arithmetic", "engine_version": "1"}

MakeRun: TypeAlias = "Callable[[Scenario, Any], Run]"


def identity_of(scenario: Scenario) -> str:
    """Return the identity of a run of arithmetic."""
    return run_identity(PROVENANCE["engine"], PROVENANCE["engine_version"], scenario.key())


_CAPABILITIES_V3, _CAP_DAC_OVERRIDE = 0x20080522, 1


@pytest.fixture
def forbidden(tmp_path: Path) -> Iterator[Path]:
    """Give a folder that this process cannot write, not even as root, whatever access(2) says."""
    folder = tmp_path / "forbidden"
    folder.mkdir(mode=0o555)
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(_CAPABILITIES_V3, 0), (ctypes.c_uint32 * 6)()
    assert 0 == libc.capget(header, sets)
    effective = sets[0]
    sets[0] &= ~(1 << _CAP_DAC_OVERRIDE)
    assert 0 == libc.capset(header, sets)
    yield folder
    sets[0] = effective
    assert 0 == libc.capset(header, sets)


def steps(scenario: Scenario, *phases: tuple[int, Any]) -> np.ndarray[Any, Any]:
    """Return rates of shape (seconds, flows) from phases of a duration and rates."""
    rows = [np.tile(np.asarray(rates, dtype=float), (seconds, 1)) for seconds, rates in phases]
    rates: np.ndarray[Any, Any] = np.concatenate(rows)
    assert (scenario.duration_s, scenario.flow_count) == rates.shape
    return rates


def run_with_rates(scenario: Scenario, mbps: npt.ArrayLike, draws: int = 0) -> Run:
    """Return a run in which the flows get `mbps`, shape (seconds, flows) or (flows,)."""
    seconds, flows = int(scenario.duration_s), scenario.flow_count
    rates = np.broadcast_to(np.asarray(mbps, dtype=np.float64), (seconds, flows))
    totals = np.rint(np.cumsum(rates, axis=0) * 1e6 / 8).astype(np.uint64)
    # Of the types of the columns and without pandas, as the tables of the virtual kernel.
    count = seconds * flows
    samples = {
        **{
            name: np.zeros(count, "i1" if name == "state" else str(kind))
            for name, kind in FLOW_COLUMNS.items()
        },
        **dict.fromkeys((*MEASURED_COLUMNS, *CCA_COLUMNS), np.full(count, np.nan)),
        "time_ns": np.repeat(np.arange(1, seconds + 1) * 1_000_000_000, flows),
        "flow": np.tile(np.arange(flows, dtype=np.uint32), seconds),
        "delivered_bytes": totals.ravel(),
        "throughput_bytes": totals.ravel(),
        "state": np.full(count, CATEGORIES["state"].index("open"), np.int8),
    }
    completions = {
        "start_ns": np.zeros(flows, np.int64),
        "end_ns": np.full(flows, -1),
        "delivered_bytes": totals[-1],
        "sent_bytes": totals[-1],
        "retransmits": np.zeros(flows, np.uint32),
    }
    sent_bytes = totals[-1].sum()
    of_links = {
        "bottleneck": np.arange(len(scenario.path.links)),
        "carried_packets": sent_bytes // 1500,
        "carried_bytes": sent_bytes,
        "left_packets": sent_bytes // 1500,
    }
    links = {
        name: np.full(len(scenario.path.links), of_links.get(name, 0), str(kind))
        for name, kind in RUN_TABLES["links"].items()
    }
    table: Any = Arrays
    return Run(
        scenario=scenario,
        queue=table(no_rows(QUEUE_COLUMNS)),
        flows=table(samples),
        completions=table(completions),
        links=table(links),
        provenance={
            **PROVENANCE,
            "identity": identity_of(scenario),
            "random_draws": {"cca_phase": draws} if draws else {},
        },
    )


@pytest.fixture
def make_run() -> MakeRun:
    """Give :func:`run_with_rates`."""
    return run_with_rates


def assert_same(first: SearchResult, second: SearchResult) -> None:
    """Check that two searches have the same results."""
    assert first.config == second.config
    assert first.provenance == second.provenance
    pd.testing.assert_frame_equal(first.experiments, second.experiments)
    pd.testing.assert_frame_equal(first.claims, second.claims)


class ArithmeticEngine:
    """An engine whose runs are arithmetic: the share of a flow depends on its CCA and the network.

    An "even" flow has a weight of 1. A "greedy" flow weighs more in short queues and at long
    round-trip times, so that the most harmful scenarios are known.
    """

    name = "arithmetic"

    def __init__(self) -> None:
        self.ran: list[Scenario] = []

    @classmethod
    def of_version(cls, version: str) -> Self:  # noqa: ARG003 - there is but one
        """Return an engine; there is only one version."""
        return cls()

    def version(self) -> str:
        """Return the version of the arithmetic."""
        return "1"

    def provenance(self) -> dict[str, object]:
        """Return the provenance of the runs."""
        return {**PROVENANCE, "engine_version": self.version()}

    def identity(self, scenario: Scenario) -> str:
        """Return the identity of the run of a scenario."""
        return identity_of(scenario)

    def check_cca(self, cca: str, field: str = "cca") -> None:
        """Accept every CCA; :meth:`check` refuses."""

    def check(self, scenario: Scenario) -> None:
        """Refuse CCAs other than even and greedy."""
        for i, flow in enumerate(scenario.flows):
            if flow.cca not in {"even", "greedy"}:
                raise InputError(f"flows[{i}].cca is {flow.cca!r}; it must be even or greedy")

    def run(self, scenario: Scenario, *, on_progress: Callable[[float], None] | None = None) -> Run:
        """Divide the link by weight."""
        self.ran.append(scenario)
        if on_progress is not None:
            on_progress(scenario.duration_s)
        (bottleneck,) = scenario.path.bottlenecks
        room_bdp = (bottleneck.queue_packets or 0) / scenario.path.bdp_packets()
        greedy = 1 + scenario.path.rtt_ms / 320 + 1 / (1 + room_bdp)
        weights = np.array([greedy if flow.cca == "greedy" else 1.0 for flow in scenario.flows])
        weights = weights.repeat([flow.flow_count for flow in scenario.flows])
        return run_with_rates(scenario, bottleneck.mean_mbps * weights / weights.sum())

    def needs(self, scenario: Scenario) -> Needs:
        """Return the needs of the virtual kernel."""
        return needs(scenario)

    def doctor(self) -> list[Check]:
        """Return no checks."""
        return []


class NoisyEngine(ArithmeticEngine):
    """An arithmetic engine whose weights vary with the seed, in proportion to the noise.

    Attributes
    ----------
    deviation : float
        Standard deviation of a weight's logarithm for each millisecond of reverse jitter.
    draws : bool
        Whether congestion controls draw at random themselves, as BBR does, without noise.
    """

    deviation = 0.1
    draws = False

    def run(self, scenario: Scenario, *, on_progress: Callable[[float], None] | None = None) -> Run:
        """Divide the link by weight."""
        exact = super().run(scenario, on_progress=on_progress)
        noise = scenario.path.noise.reverse_jitter_ms + (1.0 if self.draws else 0.0)
        if not noise:
            return exact
        mbps = exact.throughput().iloc[0].to_numpy()
        draws = np.random.default_rng(scenario.seed).normal(size=mbps.size)
        weights = mbps * np.exp(noise * self.deviation * draws)
        shares = mbps.sum() * weights / weights.sum()
        return run_with_rates(scenario, shares, draws=scenario.flow_count if self.draws else 0)


def stand_in(engine: Engine) -> EngineInfo:
    """Return the description of the virtual kernel, with its engine replaced."""
    make: Any = lambda: engine  # noqa: E731 - an annotated function
    return replace(ENGINES["kernel"], load=lambda: make)


@pytest.fixture
def noisy_engine() -> NoisyEngine:
    """Give a :class:`NoisyEngine`."""
    return NoisyEngine()


@pytest.fixture
def engine() -> ArithmeticEngine:
    """Give an :class:`ArithmeticEngine`."""
    return ArithmeticEngine()
