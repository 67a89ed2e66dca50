# SPDX-License-Identifier: Apache-2.0
"""Any damaged file or command line yields a result or one helpful line.

Valid files are damaged at random: characters changed, parts removed, doubled or exchanged, numbers
made extreme. ``CCBENCH_EXAMPLES=10000`` sets the number of examples of each, 100 by default.
"""

from __future__ import annotations

import errno
import re
import shutil
import stat
import string
import tempfile
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ccbench.base.errors import EngineError, InputError
from ccbench.classify.recording import read
from ccbench.classify.setting import SETTINGS
from ccbench.cli.main import program
from ccbench.emulate.mahimahi.link_log import LinkLog
from ccbench.experiment.rtt_trace import RttTrace
from ccbench.experiment.scenario import Scenario
from ccbench.experiment.trace import Trace
from ccbench.raygen.space import Space
from ccbench.run.captures.reader import read_capture
from ccbench.run.run import Run
from tests.damage import WORDS, damages, refused_or_read

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).parents[2]
_LOG = _ROOT / "tests" / "realtime" / "mahimahi" / "reno.log"
_TRACE = _ROOT / "examples" / "varying-link.trace"
_SCENARIOS = sorted((_ROOT / "examples").glob("*.toml"))
_RTTS = _ROOT / "examples" / "delays.csv"
_SPACE = _ROOT / "examples" / "raygen" / "space.toml"


class TestText:
    """Files that people write."""

    @pytest.mark.parametrize("path", _SCENARIOS, ids=lambda path: path.stem)
    @given(damage=damages())
    def test_scenario(self, tmp_path: Path, path: Path, damage: Callable[[bytes], bytes]) -> None:
        """A damaged scenario that is read can be written and read again unchanged."""
        (tmp_path / "scenario.toml").write_bytes(damage(path.read_bytes()))
        for other in (
            _TRACE,
            _ROOT / "examples" / "cellular.trace",
            _ROOT / "examples" / "web-traffic.csv",
            _RTTS,
        ):
            (tmp_path / other.name).write_bytes(other.read_bytes())

        def read(file: Path) -> None:
            scenario = Scenario.load(file)
            assert Scenario.from_dict(scenario.to_dict()) == scenario

        refused_or_read(read, tmp_path / "scenario.toml")

    @given(damage=damages())
    def test_rtt_trace(self, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
        """A damaged RTT trace that is read can be written and read again unchanged."""
        (tmp_path / "rtts.csv").write_bytes(damage(_RTTS.read_bytes()))

        def read(file: Path) -> None:
            trace = RttTrace.from_file(file)
            trace.to_file(tmp_path / "again.csv")
            assert RttTrace.from_file(tmp_path / "again.csv") == trace
            assert np.isfinite(trace.at(np.linspace(0, 2 * trace.points[-1][0], 50))).all()

        refused_or_read(read, tmp_path / "rtts.csv")

    @given(damage=damages())
    def test_space(self, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
        """A damaged search space that is read can be written and read again unchanged."""
        (tmp_path / "space.toml").write_bytes(damage(_SPACE.read_bytes()))

        def read(file: Path) -> None:
            space = Space.load(file)
            assert Space.from_dict(space.to_dict()) == space

        refused_or_read(read, tmp_path / "space.toml")

    @given(damage=damages())
    def test_trace(self, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
        """A damaged trace that is read has a rate."""
        (tmp_path / "link.trace").write_bytes(damage(_TRACE.read_bytes()[:2000]))

        def read(file: Path) -> None:
            assert Trace.from_file(file).mean_mbps > 0

        refused_or_read(read, tmp_path / "link.trace")


class TestRecords:
    """Files that programs write."""

    @given(damage=damages())
    def test_mahimahi_log(self, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
        """A damaged log of Mahimahi is read or refused."""
        (tmp_path / "log").write_bytes(damage(_LOG.read_bytes()[:3000]))
        refused_or_read(LinkLog.read, tmp_path / "log")

    @given(damage=damages(), number=st.integers(0, 5))
    def test_capture(
        self,
        tmp_path: Path,
        damage: Callable[[bytes], bytes],
        number: int,
        write_pcap: Callable[..., Path],
        tcp_headers: Callable[..., bytes],
    ) -> None:
        """A damaged capture is refused, or has at most as many packets as fit."""
        packets = [(i * 1000, tcp_headers(i + number), 1500) for i in range(6)]
        path = write_pcap(tmp_path / "capture.pcap", packets)
        path.write_bytes(damage(path.read_bytes()))

        def read(file: Path) -> None:
            assert len(list(read_capture(file))) <= file.stat().st_size // 16

        refused_or_read(read, path)

    @given(damage=damages(), table=st.sampled_from(["run.json", "flows.parquet", "queue.parquet"]))
    def test_run(
        self,
        tmp_path: Path,
        damage: Callable[[bytes], bytes],
        table: str,
        make_run: Callable[..., Run],
    ) -> None:
        """A damaged stored run is refused, or equals the stored run."""
        scenario = Scenario.from_dict(
            {
                "flows": [{"cca": "cubic"}],
                "bottlenecks": [{"bandwidth_mbps": 10, "queue_packets": 50}],
                "rtt_ms": 20,
                "duration_s": 3,
            }
        )
        stored = make_run(scenario, [5])
        folder = tmp_path / "run"
        stored.save(folder)
        (folder / table).write_bytes(damage((folder / table).read_bytes()))

        def read(path: Path) -> None:
            run = Run.load(path)
            assert run.scenario == scenario
            assert run.flows.equals(stored.flows)

        refused_or_read(read, folder)


_COMMANDS = sorted(program.commands)
_OPTIONS = sorted(
    {
        option
        for command in program.commands.values()
        for parameter in command.params
        for option in parameter.opts
    }
)
#: Excluded: commands that ask servers, compile, start programs, or examine the machine.
_QUICK = [name for name in _COMMANDS if name not in {"classify", "doctor", "kernel", "shell"}]


@given(
    command=st.sampled_from(_QUICK),
    words=st.lists(
        st.one_of(
            st.sampled_from(_OPTIONS),
            st.sampled_from([word for word in WORDS if "\x00" not in word]),
            st.text(string.printable, max_size=8),
        ),
        max_size=6,
    ),
)
def test_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, words: list[str]
) -> None:
    """A command line of arbitrary words is answered or refused, never with a traceback."""
    monkeypatch.chdir(tmp_path)
    answered(command, *words)


def answered(*words: str) -> None:
    """Run a command line; the program must not report a bug, nor print much."""
    done = CliRunner().invoke(program, words)
    assert done.exit_code in {0, 1, 2}
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert "bug in ccbench" not in done.output, done.output
    assert "Traceback" not in done.output
    if done.exit_code == 2:
        assert len(done.stderr.splitlines()) == 1 or "Usage" in done.stderr


#: Valid command lines; those that run scenarios report the missing virtual kernel. None asks
#: servers, even after changes.
_LINES = (
    "run scenario.toml -o run",
    "harm --alpha bbr --beta cubic --bandwidth 100 --rtt 40 --queue 1bdp --duration 30 --seed 2",
    "harm --alpha abc --beta abc --bandwidth 9 --rtt 4 --queue 64packets --qdisc-option eta=0.9",
    "harm --alpha bbr --beta cubic --bandwidth 9 --rtt 4 --queue 9 --metric all --workload short",
    "deployable --alpha bbr --beta cubic --duration 10 --repeat 2 --leeway 0.1 --seed 1",
    "raygen --alpha bbr --beta cubic --budget 12 --population 8 --duration 30 --dry-run",
    "raygen --alpha westwood --beta reno --strategy-option initial=stratified --repeat 3 --dry-run",
    "sweep scenario.toml --vary rtt_ms=10,40 --repeat 2 --metric harm --plot s.png -o s",
    "sweep scenario.toml --vary flows.0.cca=bbr --vary seed=1,2 --beta 1 --metric harm --dry-run",
    "model bbr --bandwidth 100 --rtt 40 --queue 1.5bdp",
    "traffic --sizes heavy-tailed --load 4 --duration 3 --seed 4 -o flows.csv",
    "elasticity run --flow 0-3 --bandwidth 96 --rate-window 50 --frequency 5 --threshold 2",
    "report found --heatmap rtt_ms queue_bdp",
    "bfc simulate --workload google --load 0.3 --scheme bfc --clos 2x2x1 --duration 0.01",
    "bfc p4 test --random 0",
    "classify-train -o set.parquet --samples 1 --setting 5bw-85rtt-64q --cca mine",
    "study run nothing --quick -o results",
)


@given(
    line=st.sampled_from(_LINES),
    changes=st.lists(
        st.tuples(
            st.sampled_from(["replace", "remove", "double", "append"]),
            st.floats(0, 1, exclude_max=True),
            st.sampled_from([word for word in WORDS if "\x00" not in word]),
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_damaged_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    changes: list[tuple[str, float, str]],
) -> None:
    """A valid command line with some words changed is answered or refused."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(_SCENARIOS[0], tmp_path / "scenario.toml")
    words = line.split()
    for kind, where, word in changes:
        at = 1 + int(where * max(len(words) - 1, 1))
        if kind == "append":
            words.append(word)
        elif kind == "replace":
            words[at : at + 1] = [word]
        elif kind == "remove":
            words[at : at + 1] = []
        else:
            words[at:at] = words[at : at + 1]
    answered(*words)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this machine has no /dev/zero")
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("run",), "scenario file"),
        (("raygen", "--alpha", "bbr", "--beta", "cubic", "--space"), "file of the search space"),
        (("classify",), "file"),
    ],
    ids=("run", "space", "classify"),
)
def test_endless(monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], name: str) -> None:
    """An endless device is refused, and not read until memory is exhausted."""
    monkeypatch.setattr("ccbench.base.validation._MAX_TEXT_BYTES", 1000)
    done = CliRunner().invoke(program, [*words, "/dev/zero"])
    assert 2 == done.exit_code
    assert done.stderr.startswith(f"ccbench: {name} ")


@pytest.mark.parametrize("words", ["elasticity", "report", "classify-cluster", "bfc p4 compile"])
def test_no_such_folder(tmp_path: Path, words: str) -> None:
    """Missing results are bad input."""
    for path in (tmp_path / "none", tmp_path, Path("/dev/null")):
        done = CliRunner().invoke(program, [*words.split(), str(path)])
        assert 2 == done.exit_code, done.stderr
        assert 1 == len(done.stderr.splitlines())


@pytest.mark.parametrize(
    "line",
    [
        "run scenario.toml -o kept/run",
        "run scenario.toml --plot kept/run.png",
        "study run rapid-fairness --quick -o kept",
        "bfc simulate --clos 8x16x8 --duration 100 -o kept",
        "classify-train -o kept/set.parquet",
        "classify-train -o link.parquet",
        "traffic --sizes web --load 4 --duration 3 -o kept/flows.csv",
    ],
)
def test_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """An unwritable output is reported before anything is run."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(_SCENARIOS[0], "scenario.toml")
    Path("kept").mkdir(mode=0o555)
    Path("link.parquet").symlink_to("kept/set.parquet")

    make_file = tempfile.TemporaryFile

    def allowed(**given: Any) -> Any:  # also root
        if not Path(given["dir"]).stat().st_mode & stat.S_IWUSR:
            raise PermissionError(errno.EACCES, "Permission denied")
        return make_file(**given)

    monkeypatch.setattr("tempfile.TemporaryFile", allowed)
    done = CliRunner().invoke(program, line.split())
    assert 2 == done.exit_code, done.output
    assert re.search(line.rsplit(maxsplit=1)[-1].partition("/")[0], done.stderr)
    assert re.search(r"can(not)? be written|writable", done.stderr)
    assert 1 == len(done.stderr.splitlines())


def test_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may replace a folder, but not the current one."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(program, ["run", "scenario.toml", "-o", "."])
    assert 2 == done.exit_code
    assert "is the working directory" in done.stderr


def test_names_in_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message about a file is one printable line, whatever the file's name."""
    monkeypatch.chdir(tmp_path)
    answered("run", "0", "--plot", "\r\x1b[2J\udcff")
    done = CliRunner().invoke(program, ["run", "0", "--plot", "\r\x1b[2J\udcff"])
    assert done.stderr.strip().isprintable()


@pytest.mark.parametrize("base", ["1", "9" * 30, "9" * 5000])
@pytest.mark.parametrize("line", ["1e999 + 1500", "9 + 99999999999999999999"])
def test_numbers_of_a_log(tmp_path: Path, base: str, line: str) -> None:
    """Numbers of a Mahimahi log that are too large are refused, without a warning."""
    path = tmp_path / "log"
    head = f"# queue: droptail\n# init timestamp: 1\n# base timestamp: {base}\n"
    path.write_text(f"{head}5 + 1500\n{line}\n")
    with pytest.raises(EngineError, match="not a log of mm-link"):
        LinkLog.read(path)


@pytest.mark.parametrize("size", [0, 5, 2**31])
def test_no_record(tmp_path: Path, size: int) -> None:
    """A file without records is bad input, and is not read completely."""
    with (tmp_path / "file").open("wb") as file:
        file.truncate(size)
    tracemalloc.start()
    with pytest.raises(InputError, match=r"file is .*a log of ss, mm-link"):
        read(tmp_path / "file", SETTINGS[0])
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


@pytest.mark.parametrize("name", ["", "linux.tar", "linux.tar.xz"])
def test_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A file that is no kernel source is refused before its gigabytes are read."""
    monkeypatch.setattr("hashlib.sha256", lambda *_: pytest.fail("the file is read"))
    with (tmp_path / "linux.tar").open("wb") as file:
        file.truncate(2**31)
    (tmp_path / "linux.tar.xz").symlink_to("linux.tar")
    done = CliRunner().invoke(program, ["kernel", "build", "--source", str(tmp_path / name)])
    assert 2 == done.exit_code
    assert "name a kernel tree or tarball" in done.stderr


@pytest.mark.parametrize(
    "field",
    ["flows = [{{kind = 'bytes', arrivals = {}}}]", "flows = [{{cca = 'reno'}}]; rtt_trace = {}"],
)
@pytest.mark.parametrize("name", ["a\\u0000b", "a\\nb", "\\u001b[2J"])
def test_names_of_files(name: str, field: str) -> None:
    """An impossible file name is refused in one printable line."""
    text = f"""
        rtt_ms = 40
        duration_s = 5
        {field.replace("; ", chr(10)).format(f'"{name}"')}
        bottlenecks = [{{bandwidth_mbps = 5, queue_bdp = 1}}]
    """
    with pytest.raises(InputError, match=r"arrivals|RTT trace") as caught:
        Scenario.from_toml(text)
    assert str(caught.value).isprintable()
