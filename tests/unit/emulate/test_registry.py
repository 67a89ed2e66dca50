# SPDX-License-Identifier: Apache-2.0
"""Descriptions of engines, and their readers."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.base.errors import InputError
from ccbench.emulate import get_engine
from ccbench.emulate.engine import LinkEngine
from ccbench.emulate.registry import ENGINES, resolve, resolve_link
from tests.documentation import DOCS

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.emulate.engine import EngineInfo
    from tests.unit.conftest import ArithmeticEngine

#: An engine as a package of one file, as a contributor adds it.
_EXAMPLE = """
from pathlib import Path

from ccbench.base.errors import InputError
from ccbench.emulate.engine import Check, EngineInfo, EngineOption


class Still:
    name = "still"

    def __init__(self, folder=None, speed=1.0):
        self.folder, self.speed = folder, speed

    def check(self, scenario):
        raise InputError(f"nothing moves at {self.speed} in {self.folder}")

    def doctor(self):
        return [Check(name="stillness", ok=True, detail=f"speed {self.speed}")]


FOLDER = EngineOption(
    flag="--still-dir", parameter="folder", kind=Path, metavar="DIR", help="Where to rest",
    default="here",
)
SPEED = EngineOption(
    flag="--speed", parameter="speed", kind=float, metavar="MPS", help="How fast", default="1",
)
ENGINES = (
    EngineInfo(
        name="still", summary="an engine that stands still", load=lambda: Still, page="still.md",
        install="nothing", is_real_time=False, is_repeatable=True, needs_root=False,
        has_links=False, options=(FOLDER, SPEED),
    ),
)
"""
_PROGRAM = """
import sys
import ccbench.emulate
ccbench.emulate.__path__.append(sys.argv.pop(1))
from ccbench.cli.main import main
main()
"""


@pytest.mark.parametrize("info", ENGINES.values(), ids=lambda info: info.name)
class TestInfo:
    def test_class(self, info: EngineInfo) -> None:
        """A description matches its class: name, links, and options as arguments."""
        engine = get_engine(info.name)
        assert info.name == engine.name
        assert info.has_links == isinstance(engine, LinkEngine)
        arguments = inspect.signature(info.load()).parameters
        assert {option.parameter for option in info.options} <= set(arguments)

    def test_environment(self, info: EngineInfo, monkeypatch: pytest.MonkeyPatch) -> None:
        """The environment variable of an option is its default."""
        for option in info.options:
            if option.environment:
                monkeypatch.setenv(option.environment, "/nowhere")
                assert "/nowhere" == str(getattr(get_engine(info.name), option.parameter))

    def test_page(self, info: EngineInfo) -> None:
        """The page of the engine exists and names it."""
        assert f"--engine {info.name}" in (DOCS / info.page).read_text(encoding="utf-8")


class TestAddedEngine:
    """An engine added by one file."""

    @pytest.fixture
    def ccbench(self, tmp_path: Path) -> Any:
        """Give a function that runs the program with that engine."""
        (tmp_path / "still").mkdir()
        (tmp_path / "still" / "__init__.py").write_text(_EXAMPLE, encoding="utf-8")

        def run(*words: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-c", _PROGRAM, str(tmp_path), *words]
            return subprocess.run(command, capture_output=True, text=True, check=False)

        return run

    def test_commands(self, ccbench: Any) -> None:
        """Help, options and doctor read the engine's description alone."""
        shown = re.sub(r"\s+", " ", ccbench("sweep", "--help").stdout)
        assert "still (an engine that stands still)" in shown
        assert "--still-dir DIR Where to rest, for --engine still. [default: here]" in shown
        done = ccbench("doctor", "--engine", "still", "--speed", "2")
        assert "stillness: speed 2.0" in done.stdout, done.stderr
        done = ccbench("doctor", "--speed", "2")
        assert "--speed is '2.0'; it must be left out with --engine kernel" in done.stderr
        assert "write --engine still" in done.stderr


def test_light() -> None:
    """The command line lists the engines without importing packages that only runs need."""
    heavy = ("numpy", "pandas", "pyarrow", "grpc", "sklearn", "matplotlib")
    code = f"import sys, ccbench.cli.main; print([m for m in {heavy} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]\n" == ran.stdout


class TestResolve:
    def test_own(self, engine: ArithmeticEngine) -> None:
        """An engine object is used as it is, under any name."""
        assert engine is resolve(engine)

    def test_links(self, engine: ArithmeticEngine) -> None:
        """Where links are needed, other engines are refused with the list of link engines."""
        assert "mahimahi" == resolve_link("mahimahi").name
        links = ", ".join(info.name for info in ENGINES.values() if info.has_links)
        with pytest.raises(InputError, match=rf"engine is 'arithmetic'; .*: {links}: choose"):
            resolve_link(engine)
