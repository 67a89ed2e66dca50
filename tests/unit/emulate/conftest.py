# SPDX-License-Identifier: Apache-2.0
"""An engine whose guests are programs that sleep, fail, or never end; code that changes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccbench.base import code_digests
from ccbench.base.errors import EngineError, InputError, MissingRequirement
from ccbench.emulate import Check, Store
from ccbench.emulate.engine import run_identity
from ccbench.emulate.resources import Needs
from ccbench.experiment.scenario import Bottleneck, Flow, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import Self

    from ccbench.emulate.engine import Progress
    from ccbench.run.run import Run


BASE = Scenario(
    flows=(Flow(),),
    bottlenecks=(Bottleneck(bandwidth_mbps=12, queue_packets=50),),
    rtt_ms=50,
    duration_s=5,
)

#: What a run of the engine below takes, as it says.
NEEDS = Needs(
    running_bytes=1e6,
    reading_bytes=2e6,
    result_bytes=0.5e6,
    scratch_bytes=3e6,
    work=5,
    running_remedy="shorten the queues",
    reading_remedy="record less",
    shared_bytes=0.25e6,
)

#: Scenarios that the engine below treats in a special way.
FAILS = replace(BASE, rtt_ms=51, name="the bad one")
ENDLESS = replace(BASE, rtt_ms=52)
REFUSED = replace(BASE, rtt_ms=53)
KILLS = replace(BASE, rtt_ms=54)


@dataclass(frozen=True)
class GuestEngine:
    """An engine whose guest is a program that sleeps; what it started is written to `folder`."""

    folder: Path
    make_run: Callable[..., Run]
    name: str = "arithmetic"

    @classmethod
    def of_version(cls, version: str) -> Self:
        """Be none that a worker can make."""
        raise MissingRequirement(version)

    def version(self) -> str:
        """Return the version that the runs of `make_run` bear."""
        return "1"

    def provenance(self) -> dict[str, object]:
        """Return name and version."""
        return {"engine": self.name, "engine_version": self.version()}

    def identity(self, scenario: Scenario) -> str:
        """Return that of the runs of `make_run`."""
        return run_identity(self.name, self.version(), scenario.key())

    def check_cca(self, cca: str, field: str = "cca") -> None:
        """Know every congestion control."""

    def check(self, scenario: Scenario) -> None:
        """Refuse one scenario."""
        if scenario == REFUSED:
            raise InputError("rtt_ms is 53; it must be something else: change it")

    def needs(self, scenario: Scenario) -> Needs:
        """Need as much as `NEEDS`, and time as long as the scenario."""
        return replace(NEEDS, work=scenario.duration_s)

    def doctor(self) -> list[Check]:
        """Need nothing."""
        return []

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Start a guest, fail or go on until stopped if the scenario says so, and stop it."""
        with subprocess.Popen(["sleep", "60"]) as guest:
            (self.folder / str(guest.pid)).touch()
            try:
                if scenario == KILLS:
                    os.kill(os.getpid(), signal.SIGKILL)
                if scenario == FAILS:
                    raise EngineError("the guest died", ["Kernel panic", "not syncing"])
                deadline = time.monotonic() + 30
                while scenario == ENDLESS and time.monotonic() < deadline:
                    time.sleep(0.01)
                    if on_progress is not None:
                        on_progress(0.0)
                if on_progress is not None:
                    on_progress(scenario.duration_s)
            finally:
                guest.kill()
        return self.make_run(scenario, 6.0)

    def started(self) -> int:
        """Return how many guests there were."""
        return len(list(self.folder.iterdir()))

    def running(self) -> int:
        """Return how many guests there are."""
        return sum(Path(f"/proc/{path.name}").exists() for path in self.folder.iterdir())


class Failures(list[tuple[int, str]]):
    """Keeps what it is called with."""

    def __call__(self, position: int, error: EngineError) -> None:
        """Keep a failure."""
        self.append((position, str(error)))


@pytest.fixture
def engine(tmp_path: Path, make_run: Callable[..., Run]) -> GuestEngine:
    """Make an engine that runs what conftest.py computes."""
    (tmp_path / "guests").mkdir()
    return GuestEngine(tmp_path / "guests", make_run)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Make a store in a new folder."""
    return Store(tmp_path / "store")


def seeds(count: int) -> list[Scenario]:
    """Make so many different scenarios."""
    return [replace(BASE, seed=i) for i in range(count)]


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that takes a moment; whether it came about is for the test to say."""
    deadline = time.monotonic() + 30
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Give what adds text to a module's source."""
    source = code_digests._source

    def add(module: str, text: str) -> None:
        code_digests.code_digest.cache_clear()
        monkeypatch.setattr(
            code_digests, "_source", lambda name: source(name) + (text if name == module else "")
        )

    yield add
    code_digests.code_digest.cache_clear()
