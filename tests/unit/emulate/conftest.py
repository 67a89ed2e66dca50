# SPDX-License-Identifier: Apache-2.0
"""An engine whose guests are programs that sleep, fail, or never end; modified code."""

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
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import Self

    from ccbench.emulate.engine import Progress
    from ccbench.run.run import Run


BASE = Scenario(
    flows=(Flow(),),
    path=NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=12, queue_packets=50),), rtt_ms=50),
    duration_s=5,
)

#: Declared needs of a run of the engine below.
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

#: Scenarios with special treatment in the engine below.
FAILS = replace(BASE, path=replace(BASE.path, rtt_ms=51), name="the bad one")
ENDLESS = replace(BASE, path=replace(BASE.path, rtt_ms=52))
REFUSED = replace(BASE, path=replace(BASE.path, rtt_ms=53))
KILLS = replace(BASE, path=replace(BASE.path, rtt_ms=54))


@dataclass(frozen=True)
class GuestEngine:
    """An engine whose guest is a program that sleeps; each start is recorded in `folder`."""

    folder: Path
    make_run: Callable[..., Run]
    name: str = "arithmetic"

    @classmethod
    def of_version(cls, version: str) -> Self:
        """Refuse: a worker cannot create this engine."""
        raise MissingRequirement(version)

    def version(self) -> str:
        """Return the version of the runs of `make_run`."""
        return "1"

    def provenance(self) -> dict[str, object]:
        """Return name and version."""
        return {"engine": self.name, "engine_version": self.version()}

    def identity(self, scenario: Scenario) -> str:
        """Return the identity of the runs of `make_run`."""
        return run_identity(self.name, self.version(), scenario.key())

    def check_cca(self, cca: str, field: str = "cca") -> None:
        """Accept every congestion control."""

    def check(self, scenario: Scenario) -> None:
        """Refuse one scenario."""
        if scenario == REFUSED:
            raise InputError("rtt_ms is 53; it must be something else: change it")

    def needs(self, scenario: Scenario) -> Needs:
        """Return `NEEDS`, with as much work as the scenario has seconds."""
        return replace(NEEDS, work=scenario.duration_s)

    def doctor(self) -> list[Check]:
        """Return no checks."""
        return []

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Start a guest; stop it at once, after a failure, or never, as the scenario says."""
        with subprocess.Popen(["sleep", "600"]) as guest:
            (self.folder / str(guest.pid)).touch()
            try:
                if scenario == KILLS:
                    os.kill(os.getpid(), signal.SIGKILL)
                if scenario == FAILS:
                    raise EngineError("the guest died", ["Kernel panic", "not syncing"])
                deadline = time.monotonic() + 300
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
        """Return the number of guests started so far."""
        return len(list(self.folder.iterdir()))

    def running(self) -> int:
        """Return the number of running guests."""
        return sum(Path(f"/proc/{path.name}").exists() for path in self.folder.iterdir())


class Failures(list[tuple[int, str]]):
    """A callback that records its calls."""

    def __call__(self, position: int, error: EngineError) -> None:
        """Record a failure."""
        self.append((position, str(error)))


@pytest.fixture
def engine(tmp_path: Path, make_run: Callable[..., Run]) -> GuestEngine:
    """Make an engine whose runs are arithmetic."""
    (tmp_path / "guests").mkdir()
    return GuestEngine(tmp_path / "guests", make_run)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Make a store in a new folder."""
    return Store(tmp_path / "store")


def seeds(count: int) -> list[Scenario]:
    """Return this many different scenarios."""
    return [replace(BASE, seed=i) for i in range(count)]


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait up to a time limit for a condition; the test itself asserts it."""
    deadline = time.monotonic() + 300
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Give a function that appends text to a module's source."""
    source = code_digests._source

    def append(module: str, text: str) -> None:
        code_digests.code_digest.cache_clear()
        monkeypatch.setattr(
            code_digests, "_source", lambda name: source(name) + (text if name == module else "")
        )

    yield append
    code_digests.code_digest.cache_clear()
