# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from ccbench.base.errors import InputError
from ccbench.cli.main import program
from ccbench.datacenter import schemes as package
from ccbench.datacenter.schemes import scheme, schemes, with_options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ccbench.datacenter.scheme import Scheme

_SMALL = ["--clos", "2x2x1", "--duration", "0.01", "--load", "0.2"]


@pytest.fixture
def _added_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add a module to the package of schemes."""
    (tmp_path / "mine.py").write_text(
        "from ccbench.datacenter.scheme import Scheme\n"
        "SCHEMES = (Scheme(name='mine', summary='a window of two BDPs', control='window',"
        " window_bdp=2),)\n"
    )
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    schemes.cache_clear()
    yield
    schemes.cache_clear()
    sys.modules.pop(f"{package.__name__}.mine", None)


class TestSchemes:
    def test_described(self) -> None:
        """Each scheme has a summary, and no two have the same name."""
        assert all(one.summary for one in schemes().values())
        actual = [item for module in iter_modules(package.__path__) for item in _of(module.name)]
        assert len(actual) == len(schemes())

    @pytest.mark.usefixtures("_added_scheme")
    def test_module_is_enough(self) -> None:
        """A module in the package's folder adds a scheme to the library, the help and runs."""
        assert 2.0 == scheme("mine").window_bdp
        shown = " ".join(CliRunner().invoke(program, ["bfc", "simulate", "--help"]).output.split())
        assert "mine a window of two BDPs" in shown
        done = CliRunner().invoke(program, ["bfc", "simulate", "--scheme", "mine", *_SMALL])
        assert 0 == done.exit_code, done.output
        assert "mine" in done.output

    def test_options(self) -> None:
        """Settings are changed by name, and the others stay."""
        chosen = with_options(scheme("bfc"), [("queues", 16), ("sampling", 0.25)])
        assert (16, 0.25, 100) == (chosen.queues, chosen.sampling, chosen.table_per_queue)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ([("queue", 16)], "^queue is not a setting; did you mean queues"),
            ([("name", "x")], "^name is not a setting"),
            (
                [("queues", 1)],
                "^queues is 1; it must be a whole number at least 2 and",
            ),
            ([("ecn_kb", 100)], "^ecn_kb is 100; it must be two lengths, the smaller first"),
        ],
    )
    def test_bad_options(self, options: list[tuple[str, Any]], message: str) -> None:
        """Unknown settings and values out of range are refused in one line."""
        with pytest.raises(InputError, match=message):
            with_options(scheme("bfc"), options)


def _of(module: str) -> tuple[Scheme, ...]:
    actual: tuple[Scheme, ...] = sys.modules[f"{package.__name__}.{module}"].SCHEMES
    return actual
