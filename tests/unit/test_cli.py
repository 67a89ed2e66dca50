# SPDX-License-Identifier: Apache-2.0
"""The command line: what it accepts, what it prints, how it ends. No virtual kernel takes part."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from ccbench.cli import main as cli
from ccbench.cli._status import ExitStatus
from ccbench.emulate.engine import ENGINES, Check
from ccbench.errors import EngineError, MissingRequirement
from ccbench.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.conftest import ArithmeticEngine

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
    """Check that one line on standard error says why, with these words, and nothing was printed.

    `phases` are what was reported of the work before.
    """
    assert status == result.exit_code, result.output
    assert "" == result.stdout
    *before, message = result.stderr.splitlines()
    assert list(phases) == before, result.stderr
    assert message.startswith("ccbench: ")
    for word in words:
        assert word in message


def commands(group: click.Group, *path: str) -> list[tuple[str, ...]]:
    """Return the words of a group, and of all commands in it."""
    found = [path]
    for name, one in group.commands.items():
        if isinstance(one, click.Group):
            found += commands(one, *path, name)
        else:
            found.append((*path, name))
    return found


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """Write a scenario file."""
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], Result]:
    """Run a command in which an error comes up."""

    def run(error: BaseException, *options: str) -> Result:
        @click.command()
        def fail() -> None:
            raise error

        monkeypatch.setitem(cli.program.commands, "fail", fail)
        return ccbench(*options, "fail")

    return run


@pytest.fixture
def arithmetic(engine: ArithmeticEngine, monkeypatch: pytest.MonkeyPatch) -> ArithmeticEngine:
    """Let the commands use arithmetic instead of the virtual kernel."""
    monkeypatch.setitem(sys.modules, "arithmetic", SimpleNamespace(make=lambda: engine))
    monkeypatch.setitem(ENGINES, "kernel", ("arithmetic", "make"))
    return engine


@pytest.fixture
def half_there(arithmetic: ArithmeticEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the engine miss one of two things."""
    compiler = Check(name="compiler", ok=True, detail="gcc 12")
    flex = Check(name="flex", ok=False, detail="none", remedy="apt-get install flex")
    monkeypatch.setattr(arithmetic, "doctor", lambda: [compiler, flex])


class TestProgram:
    @pytest.mark.parametrize("command", commands(cli.program), ids=" ".join)
    def test_help(self, command: tuple[str, ...]) -> None:
        """Every command explains itself with --help and -h, in a list of them in one whole line."""
        for option in ("--help", "-h"):
            result = ccbench(*command, option)
            assert ExitStatus.OK == result.exit_code
            assert "Usage: " in result.stdout
            assert "\\b" not in result.stdout  # what keeps examples as they are written
            assert "..." not in result.stdout.partition("Commands:")[2]

    def test_version(self) -> None:
        """--version prints name and version, and which virtual kernel there is: here none."""
        first, second = ccbench("--version").stdout.splitlines()
        assert first == "ccbench 0.1.0"
        assert second == "virtual kernel: not built; run: ccbench kernel build"

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no /dev/full")
    @pytest.mark.parametrize("option", ["--help", "--version"])
    def test_full(self, option: str) -> None:
        """What has no room is a line too where no command has begun."""
        code = f"import sys; sys.argv[1:] = ['{option}']; from ccbench.cli.main import main; main()"
        with Path("/dev/full").open("w") as full:
            words = [sys.executable, "-c", code]
            done = subprocess.run(
                words, stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert (1, "ccbench: No space left on device\n") == (done.returncode, done.stderr)

    def test_closed(self) -> None:
        """Standard streams that are closed are no reason to fail, and no file takes their place."""
        code = (
            "import os, sys; from ccbench.cli.main import main; sys.argv[1:] = ['traces', 'list']\n"
            "try: main()\n"
            "finally: assert 0 == len({os.readlink(f'/proc/self/fd/{n}') for n in range(3)}) - 1"
        )
        words = ["sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, code]
        assert 0 == subprocess.run(words, check=False).returncode

    def test_quick_to_start(self) -> None:
        """What computes nothing does not wait for pandas, which takes most of a second."""
        code = (
            "import sys; from click.testing import CliRunner; from ccbench.cli.main import program;"
            "[CliRunner().invoke(program, words.split()) for words in sys.argv[1:]];"
            "sys.exit('pandas' in sys.modules)"
        )
        commands = ("--help", "--version", "kernel info", "run nowhere.toml", "model bfc")
        more = ("model bbr --bandwidth 9 --rtt 9 --queue 2bdp", "study list")
        words = [sys.executable, "-c", code, *commands, *more]
        assert 0 == subprocess.run(words, check=False).returncode

    @pytest.mark.parametrize("command", [(), ("kernel",)])
    def test_nothing_to_do(self, command: tuple[str, ...]) -> None:
        """A group without a command prints its help and counts as bad input."""
        result = ccbench(*command)
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert "Commands:" in result.output

    def test_unknown_command(self) -> None:
        """A command that does not exist is bad input, and the line says where the list is."""
        assert_refused(ccbench("raygun"), "raygun", "ccbench --help")

    @pytest.mark.parametrize("command", ["doctor", "run", "harm", "raygen"])
    def test_unknown_option(self, command: str) -> None:
        """An option that does not exist is bad input, and the line says where the list is."""
        assert_refused(ccbench(command, "--colour"), "--colour", f"ccbench {command} --help")


class TestErrors:
    def test_missing_requirement(self, failing: Callable[..., Result]) -> None:
        """What is not installed is one line and status 1."""
        result = failing(MissingRequirement("no kernel here; run: ccbench kernel build"))
        assert_refused(result, "ccbench kernel build", status=ExitStatus.FAILED)

    def test_engine_error(self, failing: Callable[..., Result]) -> None:
        """A failed run is status 1 and shows the guest's last lines below the message."""
        result = failing(EngineError("the guest panicked", ["[1.0] Oops", "[1.1] Kernel panic"]))
        assert ExitStatus.FAILED == result.exit_code
        lines = ["ccbench: the guest panicked", "  | [1.0] Oops", "  | [1.1] Kernel panic"]
        assert lines == result.stderr.splitlines()

    def test_fault_of_ours(self, failing: Callable[..., Result]) -> None:
        """An error that nobody foresaw is one line that names --debug, and status 1."""
        result = failing(ZeroDivisionError("division by zero"))
        words = ("ZeroDivisionError: division by zero", "ccbench --debug fail")
        assert_refused(result, *words, status=ExitStatus.FAILED)

    def test_debug(self, failing: Callable[..., Result]) -> None:
        """With --debug such an error comes out with its traceback."""
        result = failing(ZeroDivisionError("division by zero"), "--debug")
        assert isinstance(result.exception, ZeroDivisionError)

    def test_file_error(self, failing: Callable[..., Result]) -> None:
        """A file that cannot be written is named with the reason, and is nobody's fault."""
        result = failing(PermissionError(13, "Permission denied", "/results"))
        assert_refused(result, "/results: Permission denied", status=ExitStatus.FAILED)
        assert "fault" not in result.stderr

    def test_no_room(self, failing: Callable[..., Result]) -> None:
        """Nor is a full disk, which Python often reports without a name."""
        result = failing(OSError(28, "No space left on device"))
        assert "ccbench: No space left on device\n" == result.stderr
        assert ExitStatus.FAILED == result.exit_code

    def test_no_memory(self, failing: Callable[..., Result]) -> None:
        """Nor is too little memory, of which Python says nothing at all."""
        result = failing(MemoryError())
        assert_refused(result, "not enough memory: free some", status=ExitStatus.FAILED)
        assert "fault" not in result.stderr

    def test_ctrl_c(self, failing: Callable[..., Result]) -> None:
        """Ctrl-C ends with a short line, no traceback, and the shell's status for it."""
        result = failing(KeyboardInterrupt())
        assert ExitStatus.INTERRUPTED == result.exit_code
        assert "ccbench: interrupted; what was finished is kept" == result.stderr.strip()


class TestKernel:
    @pytest.mark.parametrize(
        ("option", "value"),
        [("hz", "0"), ("hz", "1e3"), ("hz", "99999"), ("jobs", "0"), ("jobs", "all")],
    )
    def test_bad_number(self, option: str, value: str) -> None:
        """HZ and the number of compilers are whole numbers within bounds."""
        assert_refused(ccbench("kernel", "build", f"--{option}={value}"), option, value)

    def test_missing_source(self, tmp_path: Path) -> None:
        """A source that does not exist is named."""
        path = tmp_path / "linux.tar"
        assert_refused(ccbench("kernel", "build", "--source", path), "source", str(path))

    def test_source_is_no_kernel(self, tmp_path: Path) -> None:
        """A folder without a kernel in it is refused, after a line for each phase of the build."""
        folder = tmp_path / "empty"
        folder.mkdir()
        result = ccbench("kernel", "build", "--source", folder)
        assert_refused(result, "source", str(folder), phases=("unpacking the kernel's source",))

    @pytest.mark.parametrize("options", [(), ("--json",)])
    def test_not_built(self, options: tuple[str, ...]) -> None:
        """Without a virtual kernel, info says how to build one, and the status is 1."""
        result = ccbench("kernel", "info", *options)
        assert_refused(result, "run: ccbench kernel build", status=ExitStatus.FAILED)


class TestRun:
    def test_no_scenario(self) -> None:
        """The scenario must be named."""
        assert_refused(ccbench("run"), "SCENARIO.toml")

    def test_missing_file(self, tmp_path: Path) -> None:
        """A scenario file that does not exist is named."""
        assert_refused(ccbench("run", tmp_path / "nowhere.toml"), "nowhere.toml", "No such file")

    def test_folder_as_scenario(self, tmp_path: Path) -> None:
        """A folder is no scenario."""
        assert_refused(ccbench("run", tmp_path), str(tmp_path))

    def test_binary_file(self, tmp_path: Path) -> None:
        """A file that is no text is no scenario."""
        path = tmp_path / "scenario.toml"
        path.write_bytes(b"\xff\xfe\x00")
        assert_refused(ccbench("run", path), "scenario.toml")

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ("rtt_ms = 40", "rtt_ms = ", ("scenario.toml",)),
            ("rtt_ms = 40", "rtt = 40", ("rtt", "rtt_ms")),
            ("rtt_ms = 40", "rtt_ms = -1", ("rtt_ms", "-1")),
            ("rtt_ms = 40", 'rtt_ms = "40ms"', ("rtt_ms", "40ms")),
            ("duration_s = 2", "", ("duration_s",)),
            ("duration_s = 2", "duration_s = nan", ("duration_s", "nan")),
            ('cca = "even"', 'cca = "Not a CCA"', ("flows[0].cca", "Not a CCA")),
            ("queue_bdp = 1", "", ("bottlenecks[0]", "queue_bdp")),
            ("queue_bdp = 1", "queue_bdp = 1\nqueue_packets = 9", ("bottlenecks[0]", "queue_bdp")),
            ("bandwidth_mbps = 10", 'trace = "none"', ("bottlenecks[0]", "none")),
        ],
    )
    def test_bad_scenario(self, scenario: Path, old: str, new: str, words: tuple[str, ...]) -> None:
        """A mistake in the file is one line that names file, field and value."""
        scenario.write_text(SCENARIO.replace(old, new))
        assert_refused(ccbench("run", scenario), "scenario.toml", *words)

    def test_unknown_engine(self, scenario: Path) -> None:
        """An engine that does not exist is answered with those that do."""
        assert_refused(ccbench("run", scenario, "--engine", "ns-3"), "ns-3", "kernel")

    @pytest.mark.parametrize("plot", ["run", "run.xyz", "nowhere/run.png"])
    def test_bad_plot(self, scenario: Path, tmp_path: Path, plot: str) -> None:
        """A plot that could not be written is refused before anything runs."""
        assert_refused(ccbench("run", scenario, "--plot", tmp_path / plot), "plot", plot)

    def test_plot_is_a_folder(self, scenario: Path, tmp_path: Path) -> None:
        """A folder is no plot."""
        assert_refused(ccbench("run", scenario, "--plot", tmp_path), "--plot")

    def test_output_is_a_file(self, scenario: Path) -> None:
        """The run is kept in a folder: a file in its place is refused before anything runs."""
        assert_refused(ccbench("run", scenario, "-o", scenario), "--output")

    def test_output_holds_other_things(self, scenario: Path, arithmetic: ArithmeticEngine) -> None:
        """A folder that is no run is refused before anything runs."""
        assert_refused(ccbench("run", scenario, "-o", scenario.parent), "scenario.toml")
        assert [] == arithmetic.ran

    @pytest.mark.usefixtures("arithmetic")
    def test_table(self, scenario: Path) -> None:
        """A person gets a row for each flow and one for each bottleneck."""
        result = ccbench("run", scenario)
        assert ExitStatus.OK == result.exit_code, result.output
        assert "even" in result.stdout
        assert " 10.00 " in result.stdout
        assert "100.0%" in result.stdout
        assert "" == result.stderr

    @pytest.mark.usefixtures("arithmetic")
    def test_many_flows(self, scenario: Path) -> None:
        """With many flows there is a row for each group of them."""
        scenario.write_text(SCENARIO.replace('"even"', '"even"\ncount = 50'))
        rows = [line.split() for line in ccbench("run", scenario).stdout.splitlines()]
        assert ["mean", "of", "50", "even", "even", "0.20"] in [row[:6] for row in rows]

    @pytest.mark.usefixtures("arithmetic")
    def test_json(self, scenario: Path) -> None:
        """A program gets one document with scenario, flows, bottlenecks and provenance."""
        document = json.loads(ccbench("run", scenario, "--json").stdout)
        assert 40 == document["scenario"]["rtt_ms"]
        assert 10 == pytest.approx(document["flows"][0]["throughput_mbps"], rel=1e-6)
        assert 1 == pytest.approx(document["bottlenecks"][0]["utilisation"], rel=1e-6)
        assert "arithmetic" == document["provenance"]["engine"]

    @pytest.mark.usefixtures("arithmetic")
    def test_files(self, scenario: Path, tmp_path: Path) -> None:
        """The run is kept where -o says and drawn where --plot says, and the output says where."""
        folder, plot = tmp_path / "results", tmp_path / "run.png"
        result = ccbench("run", scenario, "-o", folder, "--plot", plot)
        assert 40 == Run.load(folder).scenario.rtt_ms
        assert plot.read_bytes().startswith(b"\x89PNG")
        assert str(folder) in result.stdout
        assert str(plot) in result.stdout

    @pytest.mark.usefixtures("arithmetic")
    def test_unknown_cca(self, scenario: Path) -> None:
        """What the engine cannot run is bad input."""
        scenario.write_text(SCENARIO.replace("even", "tahoe"))
        assert_refused(ccbench("run", scenario), "tahoe", "greedy")


class TestTraffic:
    def test_no_folder(self, tmp_path: Path) -> None:
        """A file cannot be written where there is no folder, and nothing is drawn for it."""
        file = tmp_path / "none" / "flows.csv"
        result = ccbench("traffic", "--load", "1", "--duration", "9", "-o", str(file))
        assert_refused(result, "--output", f"mkdir -p {file.parent}")


class TestDoctor:
    @pytest.mark.usefixtures("half_there")
    def test_something_missing(self) -> None:
        """What is missing is shown with its remedy, and makes the status 1."""
        result = ccbench("doctor")
        assert ExitStatus.FAILED == result.exit_code
        assert "ok       compiler: gcc 12" in result.stdout
        assert "missing  flex: none" in result.stdout
        assert "-> apt-get install flex" in result.stdout

    @pytest.mark.usefixtures("half_there")
    def test_json(self) -> None:
        """A program gets every check with its remedy."""
        result = ccbench("doctor", "--json")
        document = json.loads(result.stdout)
        assert ExitStatus.FAILED == result.exit_code
        assert document["ok"] is False
        assert ["compiler", "flex"] == [check["name"] for check in document["checks"]]
        assert "apt-get install flex" == document["checks"][1]["remedy"]

    @pytest.mark.usefixtures("arithmetic")
    def test_all_there(self) -> None:
        """If nothing is missing, the status is 0."""
        result = ccbench("doctor")
        assert ExitStatus.OK == result.exit_code
        assert "can run here." in result.stdout


HARM = {
    "--alpha": "greedy",
    "--beta": "even",
    "--bandwidth": "10",
    "--rtt": "40",
    "--queue": "1bdp",
}
RAYGEN = {"--alpha": "greedy", "--beta": "even"}


def command(name: str, options: dict[str, str], *flags: str, **changes: str | None) -> Result:
    """Run a command with `options` of which some are changed, or left out (None)."""
    changed = {**options, **{f"--{key.replace('_', '-')}": value for key, value in changes.items()}}
    given = [f"{key}={value}" for key, value in changed.items() if value is not None]
    return ccbench(name, *flags, *given)


class TestHarm:
    @pytest.mark.parametrize("option", HARM)
    def test_missing_option(self, option: str) -> None:
        """CCAs, bandwidth, round-trip time and queue must be given."""
        assert_refused(command("harm", HARM, **{option[2:]: None}), option, "ccbench harm --help")

    @pytest.mark.parametrize("option", ["bandwidth", "rtt", "duration"])
    @pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "fast", "10mbit", ""])
    def test_bad_number(self, option: str, value: str) -> None:
        """Rates and times are finite numbers above 0."""
        words = (f"--{option}", repr(value), "number above 0")
        assert_refused(command("harm", HARM, **{option: value}), *words)

    @pytest.mark.parametrize(
        "value", ["", "0", "0bdp", "-1bdp", "-64", "bdp", "1.5", "1.5packets", "1kB", "nanbdp", "٣"]
    )
    def test_bad_queue(self, value: str) -> None:
        """A queue is a number of BDPs or a whole number of packets, above 0."""
        words = ("--queue", repr(value), "1.5bdp", "64packets")
        assert_refused(command("harm", HARM, queue=value), *words)

    @pytest.mark.parametrize("value", ["", "target_ms", "=5", "target_ms="])
    def test_bad_qdisc_option(self, value: str) -> None:
        """A setting of the queue is a name and a value."""
        words = ("--qdisc-option", repr(value), "NAME=VALUE")
        assert_refused(command("harm", HARM, qdisc_option=value), *words)

    @pytest.mark.parametrize("option", ["alpha_flows", "beta_flows"])
    @pytest.mark.parametrize("value", ["0", "-1", "1.5", "many"])
    def test_bad_count(self, option: str, value: str) -> None:
        """Numbers of flows are whole and above 0."""
        option_name = f"--{option.replace('_', '-')}"
        assert_refused(command("harm", HARM, **{option: value}), option_name, value)

    @pytest.mark.parametrize("value", ["-1", "1.5", "x", str(2**63)])
    def test_bad_seed(self, value: str) -> None:
        """A seed is a whole number that fits into 63 bits."""
        assert_refused(command("harm", HARM, seed=value), "seed", value)

    @pytest.mark.parametrize("option", ["alpha", "beta"])
    @pytest.mark.parametrize("value", ["BBR", "a/b", "abcdefghijklmnop", "c u"])
    def test_bad_cca(self, option: str, value: str) -> None:
        """What cannot be the name of a congestion control is refused before anything runs."""
        assert_refused(command("harm", HARM, **{option: value}), option, value)

    def test_out_of_bounds(self) -> None:
        """Numbers beyond what a scenario allows are refused with the bound."""
        assert_refused(command("harm", HARM, rtt="99999"), "rtt", "10000")

    @pytest.mark.usefixtures("arithmetic")
    def test_parts(self) -> None:
        """A person gets the number with its parts: what is lost beyond the half that is fair."""
        result = command("harm", HARM, duration="30")
        assert ExitStatus.OK == result.exit_code, result.output
        lines = dict(line.split("  ", 1) for line in result.stdout.splitlines())
        absolute, expected, relative = (
            float(lines[f"{kind} harm"].split()[0]) for kind in ("absolute", "expected", "relative")
        )
        assert 0.5 == expected
        assert 0.5 < absolute < 1
        assert relative == pytest.approx(absolute - expected, abs=1e-9)

    @pytest.mark.usefixtures("arithmetic")
    def test_json(self) -> None:
        """A program gets the parts and both scenarios."""
        document = json.loads(command("harm", HARM, "--json", duration="30").stdout)
        parts = document["harm"]
        assert parts["relative"] == pytest.approx(parts["absolute"] - parts["expected"])
        assert 1 == len(document["scenarios"]["solo"]["flows"])
        assert 2 == len(document["scenarios"]["competing"]["flows"])

    @pytest.mark.usefixtures("arithmetic")
    @pytest.mark.parametrize(
        ("queue", "packets"), [("2bdp", 67), (".5BDP", 17), ("64", 64), ("64packets", 64)]
    )
    def test_queue(self, queue: str, packets: int) -> None:
        """A queue may be given in BDPs (33.3 packets here) or in packets."""
        result = command("harm", HARM, "--json", queue=queue, duration="5")
        bottlenecks = json.loads(result.stdout)["scenarios"]["solo"]["bottlenecks"]
        assert packets == bottlenecks[0]["queue_packets"]


class TestRaygen:
    @pytest.mark.parametrize("option", RAYGEN)
    def test_missing_option(self, option: str) -> None:
        """Both CCAs must be given."""
        words = (option, "ccbench raygen --help")
        assert_refused(command("raygen", RAYGEN, **{option[2:]: None}), *words)

    @pytest.mark.parametrize("option", ["budget", "population", "jobs"])
    @pytest.mark.parametrize("value", ["0", "-4", "1.5", "all"])
    def test_bad_count(self, option: str, value: str) -> None:
        """Budget, population and jobs are whole numbers above 0."""
        assert_refused(command("raygen", RAYGEN, **{option: value}), f"--{option}", value)

    @pytest.mark.parametrize(
        ("budget", "population"), [("12", "60"), ("12", "5"), ("12", "2"), ("3", "4")]
    )
    def test_bad_population(self, budget: str, population: str) -> None:
        """A population that cannot be halved into pairs, or is beyond the budget, is refused."""
        result = command("raygen", RAYGEN, budget=budget, population=population)
        assert_refused(result, "population", population)

    @pytest.mark.parametrize("value", ["0", "-1", "nan", "long"])
    def test_bad_duration(self, value: str) -> None:
        """The length of a run is a finite number above 0."""
        assert_refused(command("raygen", RAYGEN, duration=value), "--duration", value)

    @pytest.mark.parametrize("option", ["alpha", "beta"])
    @pytest.mark.parametrize("value", ["BBR", "../../etc", ""])
    def test_bad_cca(
        self, option: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What cannot be the name of a congestion control is refused before a folder is made."""
        monkeypatch.chdir(tmp_path)
        assert_refused(command("raygen", RAYGEN, **{option: value}), option, value)
        assert [] == list(tmp_path.iterdir())

    def test_output_is_a_file(self, scenario: Path) -> None:
        """Results go into a folder: a file in its place is refused before anything runs."""
        assert_refused(command("raygen", RAYGEN, output=str(scenario)), "--output")

    def test_jobs_and_scheduler(self) -> None:
        """A search runs here or on a cluster, not both."""
        result = command("raygen", RAYGEN, jobs="2", scheduler="tcp://head:8786")
        assert_refused(result, "--jobs", "--scheduler")

    @pytest.mark.parametrize("value", ["", "head", "head:8786", "http://head:8786", "tcp://head"])
    def test_bad_scheduler(self, value: str) -> None:
        """A scheduler is named by its dask address."""
        assert_refused(command("raygen", RAYGEN, scheduler=value), "scheduler", "tcp://host:8786")

    def test_no_dask(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without dask installed, --scheduler says how to install it."""
        monkeypatch.setitem(sys.modules, "distributed", None)
        result = command("raygen", RAYGEN, scheduler="tcp://head:8786")
        assert_refused(result, "pip install 'ccbench[cluster]'", status=ExitStatus.FAILED)

    @pytest.mark.usefixtures("arithmetic")
    def test_search(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A person gets the worst networks, and where results, plot and scenarios are."""
        monkeypatch.chdir(tmp_path)
        result = command("raygen", RAYGEN, budget="6", population="4", duration="5")
        assert ExitStatus.OK == result.exit_code, result.output
        assert "greedy harms even most, of 6 tried" in result.stdout
        for name in ("results.csv", "worst.png", "worst-1.toml"):
            path = f"raygen-greedy-even-genetic/{name}"
            assert path in result.stdout
            assert (tmp_path / path).is_file()

    @pytest.mark.usefixtures("arithmetic")
    def test_one_fresh_seed(self, tmp_path: Path) -> None:
        """One fresh seed has no spread: its column is empty."""
        sizes = {"budget": "4", "population": "4", "duration": "5", "confirm": "1"}
        result = command("raygen", RAYGEN, output=str(tmp_path), **sizes)
        assert ExitStatus.OK == result.exit_code, result.output
        assert "over a seed that" in " ".join(result.stdout.split())
        assert "nan" not in result.stdout

    @pytest.mark.usefixtures("arithmetic")
    def test_json(self, tmp_path: Path) -> None:
        """A program gets settings, the worst networks, and the folder."""
        options = {**RAYGEN, "--budget": "6", "--population": "4", "--duration": "5"}
        result = command("raygen", options, "--json", output=str(tmp_path))
        document = json.loads(result.stdout)
        assert 6 == document["experiments"]
        assert str(tmp_path) == document["output"]

    @pytest.mark.usefixtures("arithmetic")
    def test_dry_run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A dry run says how much there is to do and how long it takes, and leaves nothing."""
        monkeypatch.chdir(tmp_path)
        result = command("raygen", RAYGEN, "--dry-run", duration="5")
        assert ExitStatus.OK == result.exit_code, result.output
        assert "300, in generations of 60, 8 x 30" in result.stdout
        assert "side by side" in result.stdout
        assert [] == list(tmp_path.iterdir())
        document = json.loads(command("raygen", RAYGEN, "--dry-run", "--json").stdout)
        assert 2 * (300 + 5 * 3) == document["runs"]
        assert document["virtual_hours"] == pytest.approx(630 * 180 / 3600)

    @pytest.mark.usefixtures("arithmetic")
    def test_space(self, tmp_path: Path) -> None:
        """The genes of a file are those that are varied, and head the table."""
        space = "".join(
            f'[[genes]]\nname = "{name}"\nlow = {low}\nhigh = {high}\n'
            for name, low, high in (
                *(("bandwidth_mbps", 5, 10), ("rtt_ms", 20, 20), ("queue_packets", 20, 90)),
            )
        )
        (tmp_path / "space.toml").write_text(space)
        options = {**RAYGEN, "--budget": "6", "--population": "4", "--duration": "5"}
        given = {"space": str(tmp_path / "space.toml"), "output": str(tmp_path / "out")}
        result = command("raygen", options, **given)
        assert ExitStatus.OK == result.exit_code, result.output
        table = pd.read_csv(tmp_path / "out" / "results.csv")
        assert table["queue_packets"].between(20, 90).all()
        assert table["bandwidth_mbps"].between(5, 10).all()
        assert "queue" in result.stdout
        assert "packets" in result.stdout

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", ("genes are missing", "[[genes]]")),
            ('[[genes]]\nname = "bandwith_mbps"\nlow = 1\nhigh = 2\n', ("did you mean",)),
            ('[[genes]]\nname = "rtt_ms"\nlow = 9\nhigh = 2\n', ("rtt_ms.high", "exchange")),
        ],
    )
    def test_bad_space(self, tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
        """A file that is no space is refused with its name and the place of the mistake."""
        (tmp_path / "space.toml").write_text(text)
        result = command("raygen", RAYGEN, space=str(tmp_path / "space.toml"))
        assert_refused(result, "space.toml: ", *words)

    @pytest.mark.usefixtures("arithmetic")
    def test_folder_of_another_search(self, tmp_path: Path) -> None:
        """A folder that holds another search is not touched."""
        options = {**RAYGEN, "--budget": "6", "--population": "4", "--duration": "5"}
        command("raygen", options, output=str(tmp_path))
        result = command("raygen", options, output=str(tmp_path), seed="2")
        assert_refused(result, "output folder", "another")
