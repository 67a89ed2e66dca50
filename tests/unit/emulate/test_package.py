# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import ccbench
from ccbench.base.errors import EngineError, InputError
from ccbench.emulate import get_engine, run, run_many
from ccbench.emulate.realtime.host import lacking
from ccbench.experiment.scenario import Scenario
from ccbench.run import Run
from tests.unit.emulate.conftest import BASE

if TYPE_CHECKING:
    from pathlib import Path


class TestPackage:
    def test_names(self) -> None:
        """Every public name exists and is listed by dir()."""
        for name in ccbench.__all__:
            assert getattr(ccbench, name) is not None
            assert name in dir(ccbench)
        assert ccbench.Scenario is Scenario
        assert ccbench.emulate.run is run
        assert ccbench.errors.InputError is InputError

    @pytest.mark.parametrize("package", ["classify", "emulate", "harm", "raygen", "run", "sweeps"])
    def test_names_of_packages(self, package: str) -> None:
        """Every public name of a package can be imported from the package."""
        module = importlib.import_module(f"ccbench.{package}")
        assert all(getattr(module, name) is not None for name in module.__all__)

    def test_run(self) -> None:
        """The packages ccbench and ccbench.run export the same class of runs."""
        assert ccbench.Run is Run

    def test_strategies(self) -> None:
        """The strategies of the package are public classes that are imported on first use."""
        names = {
            "Genetic": "genetic",
            "RandomSearch": "random",
            "Surrogate": "surrogate",
            "SweepStrategy": "sweep",
        }
        for public, name in names.items():
            assert getattr(ccbench.raygen, public) is ccbench.raygen.strategies.get(name)
        code = (
            "import sys, ccbench.raygen as raygen; package = 'ccbench.raygen.strategies.';"
            "print(*(name for name in sys.modules if name.startswith(package)))"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert ran.stdout == "\n"

    def test_unknown_name(self) -> None:
        """An unknown name is an AttributeError."""
        with pytest.raises(AttributeError, match="nonsense"):
            ccbench.nonsense  # noqa: B018

    def test_light(self) -> None:
        """Importing the package imports nothing heavy; its modules are loaded on first use."""
        code = "import sys, ccbench; print('pandas' in sys.modules, ccbench.harm.harm(2, 1))"
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert ran.stdout == "False 0.5\n"


class TestScenarioArguments:
    @pytest.mark.parametrize("given", ["bbr.toml", [], None])
    def test_one(self, given: object) -> None:
        """A path or a list is refused as a scenario, and the message says how to load one."""
        with pytest.raises(
            InputError, match=r"^scenario is .*; it must be a Scenario: load a file"
        ):
            run(given)  # type: ignore[arg-type]

    def test_many(self) -> None:
        """`run_many` requires a sequence, each item of which is a scenario."""
        for given, field in (
            (BASE, "scenarios"),
            ("bbr.toml", "scenarios"),
            ([BASE, 1], r"scenarios\[1\]"),
        ):
            with pytest.raises(InputError, match=f"^{field} is "):
                list(run_many(given))  # type: ignore[arg-type]


class TestLacking:
    def test_system_folders(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Programs in root's folders are found without root, because a run with sudo finds them."""
        monkeypatch.setenv("PATH", str(tmp_path))
        wanted = {"ldconfig": "libc-bin", "no-such-program": "some-package"}
        assert {"no-such-program": "some-package"} == lacking(wanted)


class TestGetEngine:
    def test_unknown(self) -> None:
        """An unknown engine is an input error that lists the engines."""
        with pytest.raises(InputError, match="engine is 'ns-3'; it must be one of kernel"):
            get_engine("ns-3")


class TestEngineError:
    def test_console(self) -> None:
        """The text of the error is its message; console lines are stored separately."""
        error = EngineError("the guest died", ["one", "two"])
        assert str(error) == "the guest died"
        assert error.console == ("one", "two")
        assert EngineError("it did not start").console == ()
