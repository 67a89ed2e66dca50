# SPDX-License-Identifier: Apache-2.0
"""The command line, in process and without the virtual kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest
from click.testing import CliRunner, Result

from ccbench.cli import main as cli
from ccbench.cli._status import ExitStatus
from ccbench.emulate.registry import ENGINES
from tests.unit.conftest import stand_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.conftest import ArithmeticEngine, NoisyEngine

    Made = TypeVar("Made", bound=ArithmeticEngine)


SCENARIO = """
rtt_ms = 40
duration_s = 2
[[flows]]
cca = "even"
[[bottlenecks]]
bandwidth_mbps = 10
queue_bdp = 1
"""


def ccbench(*args: object) -> Result:
    """Run the program in this process."""
    return CliRunner().invoke(cli.program, [str(arg) for arg in args])


def assert_refused(
    result: Result,
    *words: str,
    status: ExitStatus = ExitStatus.BAD_INPUT,
    phases: tuple[str, ...] = (),
) -> None:
    """Check that one line on standard error contains these words, and nothing was printed.

    `phases` are the progress lines reported before it.
    """
    assert status == result.exit_code, result.output
    assert "" == result.stdout
    *before, message = result.stderr.splitlines()
    assert list(phases) == before, result.stderr
    assert message.startswith("ccbench: ")
    for word in words:
        assert word in message


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """Write a scenario file."""
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def arithmetic(engine: ArithmeticEngine, monkeypatch: pytest.MonkeyPatch) -> ArithmeticEngine:
    """Replace the virtual kernel by the arithmetic engine."""
    return take_the_place(engine, monkeypatch)


@pytest.fixture
def noisy(noisy_engine: NoisyEngine, monkeypatch: pytest.MonkeyPatch) -> NoisyEngine:
    """Replace the virtual kernel by the arithmetic engine with noise."""
    return take_the_place(noisy_engine, monkeypatch)


def take_the_place(engine: Made, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Replace the virtual kernel by this engine."""
    monkeypatch.setitem(ENGINES, "kernel", stand_in(engine))
    return engine


def command(name: str, options: dict[str, str], *flags: str, **changes: str | None) -> Result:
    """Run a command with `options`, some of them changed or left out (None)."""
    changed = {**options, **{f"--{key.replace('_', '-')}": value for key, value in changes.items()}}
    given = [f"{key}={value}" for key, value in changed.items() if value is not None]
    return ccbench(name, *flags, *given)
