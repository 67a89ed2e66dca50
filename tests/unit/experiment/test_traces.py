# SPDX-License-Identifier: Apache-2.0
"""Figures of traces, and their lookup by name."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from ccbench import Scenario, Trace
from ccbench.base.errors import InputError, MissingRequirement
from ccbench.cli import main as cli
from ccbench.cli._status import ExitStatus
from ccbench.experiment import trace_library
from ccbench.raygen.space import Space
from tests.documentation import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

#: 12 Mbit/s for a second, then 1.2, then nothing for a second and a half.
SLOWING = Trace(name="slowing", opportunities_ms=(*range(1, 1001), *range(1010, 2001, 10), 3500))

needs_package = pytest.mark.skipif(
    not trace_library.PACKAGE_FOLDER.is_dir(), reason="the package mahimahi-traces is not installed"
)


@pytest.fixture(autouse=True)
def own_folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Give a folder of traces, and hide the package's except from tests that need it."""
    folder = tmp_path / "traces"
    folder.mkdir()
    SLOWING.to_file(folder / "slowing.down")
    Trace(name="steady", opportunities_ms=(1,)).to_file(folder / "steady.trace")
    (folder / "README").write_text("No trace.\n")
    if request.node.get_closest_marker("skipif") is None:
        monkeypatch.setattr(trace_library, "PACKAGE_FOLDER", tmp_path / "package")
        monkeypatch.setenv("CCBENCH_TRACES", str(folder))
    else:
        monkeypatch.delenv("CCBENCH_TRACES", raising=False)
    return folder


def traces_list(*options: str) -> Result:
    """Run ``ccbench traces list`` in this process."""
    return CliRunner().invoke(cli.program, ["traces", "list", *options])


def scenario(trace: str) -> str:
    """Return a scenario with this trace, as TOML."""
    link = f"[[bottlenecks]]\ntrace = {json.dumps(trace)}\nqueue_packets = 9\n"
    return f"rtt_ms = 40\nduration_s = 2\n[[flows]]\ncca = 'bbr'\n{link}"


class TestFigures:
    def test_rates(self) -> None:
        """Rates are those of the opportunities in each window; a partial last window is dropped."""
        assert [12, 1.2, 0] == pytest.approx(SLOWING.rates_mbps())
        assert [12, 12, 1.2, 1.2, 0, 0, 0.024] == pytest.approx(SLOWING.rates_mbps(0.5))

    @pytest.mark.parametrize(("period_ms", "window_s"), [(300, 0.1), (57_000, 0.57)])
    def test_rates_of_odd_windows(self, period_ms: int, window_s: float) -> None:
        """Window boundaries without an exact binary form lose no opportunity and no window."""
        steady = Trace(name="", opportunities_ms=tuple(range(1, period_ms + 1)))
        rates = steady.rates_mbps(window_s)
        assert [12] * round(period_ms / 1e3 / window_s) == pytest.approx(list(rates))

    def test_rates_of_no_window(self) -> None:
        """A window has a positive length."""
        with pytest.raises(InputError, match="window_s is 0"):
            SLOWING.rates_mbps(0)

    def test_rates_and_mean(self) -> None:
        """The mean over windows that fill the period is the mean rate."""
        rates = SLOWING.rates_mbps(0.5)
        assert SLOWING.mean_mbps == pytest.approx(sum(rates) / len(rates))

    def test_rates_of_a_short_period(self) -> None:
        """A period shorter than the window is repeated until it fills it."""
        assert (12,) == Trace(name="", opportunities_ms=(1, 2, 3)).rates_mbps()

    def test_duration(self) -> None:
        """A trace lasts until its last opportunity, after which it repeats."""
        assert 3.5 == SLOWING.duration_s

    @pytest.mark.parametrize(
        ("times", "gap_s"), [((1, 1, 5), 0.004), ((7, 8), 0.007), ((0, 3), 0.003)]
    )
    def test_longest_gap(self, times: tuple[int, ...], gap_s: float) -> None:
        """A gap lies between two opportunities, also across the end of a period."""
        assert gap_s == Trace(name="", opportunities_ms=times).longest_gap_s


class TestFind:
    def test_by_name(self) -> None:
        """A trace is found by name, wherever the scenario lies."""
        assert SLOWING == trace_library.find("slowing.down", "/")

    def test_file_first(self, tmp_path: Path) -> None:
        """A file beside the scenario takes precedence over a trace of that name."""
        near = Trace(name="near", opportunities_ms=(5,))
        near.to_file(tmp_path / "slowing.down")
        assert near == trace_library.find("slowing.down", tmp_path)

    def test_name_not_utf8(self, own_folder: Path) -> None:
        """A file whose name is not UTF-8 gets a printable name, and hides no other."""
        (own_folder / os.fsdecode(b"link\xff.trace")).write_text("12\n")
        assert ["link\ufffd.trace", "slowing.down", "steady.trace"] == list(trace_library.paths())
        assert "link\ufffd.trace" in traces_list().stdout

    def test_own_before_package(self, tmp_path: Path) -> None:
        """Of two traces with the same name, the user's own counts."""
        (tmp_path / "package").mkdir()
        for name in ("slowing.down", "recorded.up"):
            Trace(name=name, opportunities_ms=(7,)).to_file(tmp_path / "package" / name)
        assert ["recorded.up", "slowing.down", "steady.trace"] == list(trace_library.paths())
        assert SLOWING == trace_library.find("slowing.down", "/")

    def test_in_scenario(self, tmp_path: Path) -> None:
        """A scenario names a trace, and includes it once loaded."""
        file = tmp_path / "s.toml"
        file.write_text(scenario("slowing.down"))
        loaded = Scenario.load(file)
        assert SLOWING == loaded.path.bottlenecks[0].trace
        assert loaded == Scenario.from_toml(loaded.to_toml())

    def test_in_search_space(self, tmp_path: Path) -> None:
        """A gene may have names and files as its values."""
        Trace(name="near", opportunities_ms=(5,)).to_file(tmp_path / "near.trace")
        file = tmp_path / "space.toml"
        file.write_text(
            "[[genes]]\nname = 'trace'\nscale = 'choice'\nvalues = ['slowing.down', 'near.trace']\n"
            "[[genes]]\nname = 'rtt_ms'\nlow = 10\nhigh = 20\n"
            "[[genes]]\nname = 'queue_bdp'\nlow = 1\nhigh = 2\n"
        )
        space = Space.load(file)
        assert SLOWING == space.trace("slowing.down")
        assert 5 == space.trace("near.trace").opportunities_ms[0]

    def test_neither(self, tmp_path: Path) -> None:
        """An unknown trace is answered with the nearest name and the package."""
        file = tmp_path / "s.toml"
        file.write_text(scenario("slowing.dwn"))
        with pytest.raises(InputError) as refused:
            Scenario.load(file)
        message = str(refused.value)
        assert message.startswith(f"{file}: bottlenecks[0].trace is 'slowing.dwn'; it must be")
        assert "did you mean 'slowing.down'?" in message
        assert "mahimahi-traces, which `sudo scripts/mahimahi.sh` installs" in message
        assert (CHECKOUT / "scripts" / "mahimahi.sh").exists()
        assert 1 == len(message.splitlines())

    def test_installed_package(self, tmp_path: Path) -> None:
        """If the package is installed, its installation is not suggested."""
        (tmp_path / "package").mkdir()
        with pytest.raises(InputError, match=r"did you mean 'slowing\.down'") as refused:
            trace_library.find("slowing.dwn")
        assert "mahimahi.sh" not in str(refused.value)

    def test_missing_folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A missing folder of traces is an error."""
        monkeypatch.setenv("CCBENCH_TRACES", "/nowhere")
        with pytest.raises(InputError, match=r"CCBENCH_TRACES is '/nowhere'; it must be a folder"):
            trace_library.paths()

    def test_unknown_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A folder in the home of an unknown user is an error."""
        monkeypatch.setenv("CCBENCH_TRACES", "~nobody-at-all/traces")
        with pytest.raises(InputError, match=r"~nobody-at-all.* home folder of an existing user"):
            trace_library.paths()


class TestList:
    def test_json(self) -> None:
        """Each trace has its period, its mean, percentiles over 1 s, and its longest gap."""
        result = traces_list("--json")
        assert ExitStatus.OK == result.exit_code
        slowing, steady = json.loads(result.stdout)["traces"]
        assert {
            "name": "slowing.down",
            "duration_s": 3.5,
            "mean_mbps": pytest.approx(1101 * 0.012 / 3.5),
            # NumPy interpolates linearly between the rates 0, 1.2 and 12.
            "p5_mbps": pytest.approx(0.1 * 1.2),
            "p95_mbps": pytest.approx(1.2 + 0.9 * 10.8),
            "longest_gap_s": 1.5,
        } == slowing
        assert [12, 12, 12] == [steady[key] for key in ("mean_mbps", "p5_mbps", "p95_mbps")]

    def test_table(self) -> None:
        """Text output has a row for each trace, and none for other files."""
        result = traces_list()
        assert ExitStatus.OK == result.exit_code
        rows = [line.split() for line in result.stdout.splitlines()]
        assert ["slowing.down", "4", "3.77", "0.12", "10.92", "1.5"] in rows
        assert "README" not in result.stdout

    def test_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without traces, one line names the package."""
        monkeypatch.delenv("CCBENCH_TRACES")
        result = traces_list()
        assert ExitStatus.FAILED == result.exit_code
        assert "" == result.stdout
        (message,) = result.stderr.splitlines()
        assert "mahimahi-traces" in message
        with pytest.raises(MissingRequirement):
            trace_library.summary()


class TestPackage:
    @needs_package
    def test_all_of_them(self) -> None:
        """The package's traces are cellular links: slow, uneven, with gaps."""
        table = trace_library.summary()
        assert {"Verizon-LTE-driving.down", "TMobile-UMTS-driving.up"} <= set(table.index)
        assert table["mean_mbps"].between(0.1, 100).all()
        assert (table["duration_s"] > 100).all()
        assert (table["p5_mbps"] < table["mean_mbps"] / 2).all()
        assert (table["p95_mbps"] > table["mean_mbps"]).all()
        assert (table["longest_gap_s"] > 0.5).all()
