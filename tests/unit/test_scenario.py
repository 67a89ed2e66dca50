# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccbench.errors import InputError
from ccbench.scenario import MSS_BYTES, MTU_BYTES, Bottleneck, Flow, Scenario, Trace

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))
LINK = Bottleneck(bandwidth_mbps=12, queue_packets=50)


def scenario(**changes: Any) -> Scenario:
    """Make a scenario in which only the changes matter."""
    settings = {"flows": (Flow(),), "bottlenecks": (LINK,), "rtt_ms": 50, "duration_s": 60}
    return Scenario(**{**settings, **changes})


_VIDEO: dict[str, Any] = {"bitrates_mbps": (1, 2), "segment_s": 4, "buffer_s": 12}
EVERYTHING = scenario(
    name='all "settings" \\ é',
    flows=(
        Flow(cca="bbr", count=2, start_s=1, stop_s=50, extra_rtt_ms=20, label="new"),
        Flow(kind="bytes", size_bytes=10_000),
        Flow(kind="bytes", arrivals=((0.5, 1000), (0.5, 2000), (7, 3000))),
        Flow(kind="rate", rate_mbps=2.5),
        Flow(kind="onoff", on_s=1, off_s=0.5),
        Flow(kind="video", bitrates_mbps=(0.5, 2), segment_s=4, buffer_s=30),
        Flow(kind="cbr", rate_mbps=1, packet_bytes=200),
        Flow(kind="poisson", rate_mbps=1),
    ),
    bottlenecks=(
        Bottleneck(bandwidth_mbps=12, queue_bdp=2, loss=0.01),
        Bottleneck(
            trace=Trace(name="two", opportunities_ms=(0, 3, 3, 8)),
            queue_packets=9,
            qdisc="codel",
            qdisc_options=(("target_ms", 5), ("ecn", True), ("mode", "x"), ("interval_ms", 0.5)),
        ),
    ),
    seed=7,
    sample_interval_ms=5,
    queue_log=False,
    ecn=True,
    sysctls=(("net.ipv4.tcp_sack", "0"), ("net.ipv4.tcp_rmem", "4096 131072 6291456")),
    module_parameters=(("tcp_rapid.tolerance", "64"),),
    ack_batch_ms=2,
)


class TestFlow:
    def test_cca_default(self) -> None:
        """A TCP flow runs CUBIC unless told otherwise, a UDP flow has no CCA."""
        assert Flow().cca == "cubic"
        assert Flow(kind="poisson", rate_mbps=1).cca == ""

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"kind": "ftp"}, "kind is 'ftp'; it must be one of bulk, bytes"),
            ({"cca": "BBR v3"}, "cca is 'BBR v3'; it must be a Linux name"),
            ({"kind": "cbr", "rate_mbps": 1, "cca": "bbr"}, "cca is 'bbr'; it must be left out"),
            ({"count": 0}, "count is 0; it must be a whole number at least 1"),
            ({"count": 1.5}, "count is 1.5"),
            ({"count": True}, "count is True"),
            ({"start_s": -1}, "start_s is -1"),
            ({"start_s": float("nan")}, "start_s is nan"),
            ({"start_s": 5, "stop_s": 5}, "stop_s is 5.0; it must be above start_s = 5"),
            ({"kind": "bytes"}, "size_bytes is missing"),
            ({"kind": "onoff", "on_s": 1}, "off_s is missing"),
            ({"kind": "rate"}, "rate_mbps is missing"),
            ({"kind": "video", **_VIDEO, "bitrates_mbps": ()}, "bitrates_mbps is ()"),
            ({"kind": "video", **_VIDEO, "bitrates_mbps": (2, 1)}, "bitrates_mbps is (2, 1)"),
            ({"kind": "video", **_VIDEO, "bitrates_mbps": (1, 0)}, "bitrates_mbps[1] is 0"),
            ({"kind": "video", **_VIDEO, "buffer_s": 2}, "buffer_s is 2.0; it must be at least"),
            ({"kind": "video", "bitrates_mbps": (1,), "segment_s": 1}, "buffer_s is missing"),
            (_VIDEO, "bitrates_mbps is (1, 2); it must be left out for kind 'bulk'"),
            ({"size_bytes": 1}, "size_bytes is 1; it must be left out for kind 'bulk'"),
            ({"kind": "cbr", "rate_mbps": 0}, "rate_mbps is 0; it must be a number at least 0.001"),
            ({"kind": "cbr", "rate_mbps": 1, "packet_bytes": 1501}, "packet_bytes is 1501"),
            ({"packet_bytes": 500}, "packet_bytes is 500; it must be left out"),
            ({"delayed_acks": 1}, "delayed_acks is 1; it must be true or false"),
            (
                {"kind": "cbr", "rate_mbps": 1, "delayed_acks": True},
                "delayed_acks is True; it must be left out",
            ),
            ({"extra_rtt_ms": "20"}, "extra_rtt_ms is '20'"),
            ({"first_bottleneck": 8}, "first_bottleneck is 8; it must be a whole number at least"),
            (
                {"first_bottleneck": 2, "last_bottleneck": 1},
                "last_bottleneck is 1; it must be a whole number at least 2",
            ),
            ({"label": "two\nlines"}, "label is"),
            ({"arrivals": ((1, 10),)}, "arrivals is ((1.0, 10),); it must be left out"),
            ({"kind": "bytes", "arrivals": ((2, 9), (1, 9))}, "arrivals[1].start_s is 1.0"),
            ({"kind": "bytes", "arrivals": ((1, 0),)}, "arrivals[0].size_bytes is 0"),
            ({"kind": "bytes", "arrivals": (1, 2)}, "arrivals[0] is 1; it must be a pair"),
            ({"kind": "bytes", "arrivals": "1"}, "arrivals is '1'; it must be a list of pairs"),
            ({"kind": "bytes", "arrivals": ((1, 9),), "count": 2}, "count is 2"),
            ({"kind": "bytes", "arrivals": ((1, 9),), "size_bytes": 2}, "size_bytes is 2"),
        ],
    )
    def test_bad(self, settings: dict[str, Any], message: str) -> None:
        """A setting that is out of range, missing or without meaning is named with its value."""
        with pytest.raises(InputError) as caught:
            Flow(**settings)
        assert str(caught.value).startswith(message)

    def test_numpy_numbers(self) -> None:
        """Numbers that come out of numpy are as good as Python's."""
        flow = Flow(count=np.int64(2), start_s=np.float64(1.5))  # type: ignore[arg-type]
        assert flow == Flow(count=2, start_s=1.5)
        assert json.dumps(flow.to_dict())


class TestTrace:
    def test_mean(self) -> None:
        """The mean rate is that of the opportunities of 1500 bytes in a period."""
        assert Trace(name="", opportunities_ms=(1, 1, 2)).mean_mbps == 3 * 12_000 / 2e-3 / 1e6

    def test_file(self, tmp_path: Path) -> None:
        """A trace that is written to a file is the same when it is read back."""
        trace = Trace(name="lte", opportunities_ms=(0, 2, 2, 10))
        trace.to_file(tmp_path / "lte")
        assert Trace.from_file(tmp_path / "lte") == trace
        assert Trace.from_file(tmp_path / "lte").name == "lte"

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("1\n2.5\n", " line 2 is '2.5'; it must be a whole number of milliseconds"),
            ("3\n1\n", ": opportunities_ms[1] is 1; it must be at least 3"),
            ("-1\n1\n", ": opportunities_ms[0] is -1"),
            ("0\n", ": opportunities_ms is (0,); it must be a list of times in ms, the last above"),
            ("", ": opportunities_ms is ()"),
        ],
    )
    def test_bad_file(self, tmp_path: Path, content: str, message: str) -> None:
        """What is wrong in a trace file is said with the file's name and the line."""
        path = tmp_path / "bad"
        path.write_text(content)
        with pytest.raises(InputError) as caught:
            Trace.from_file(path)
        assert str(caught.value).startswith(f"{path}{message}")


class TestBottleneck:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({}, "bandwidth_mbps or trace or wifi is missing"),
            ({"bandwidth_mbps": 1}, "queue_packets or queue_bdp is missing"),
            (
                {"bandwidth_mbps": 1, "queue_bdp": 1, "queue_packets": 1},
                "queue_packets and queue_bdp exclude each other",
            ),
            ({"bandwidth_mbps": 0, "queue_bdp": 1}, "bandwidth_mbps is 0"),
            ({"bandwidth_mbps": 1, "queue_packets": 0}, "queue_packets is 0"),
            ({"bandwidth_mbps": 1, "queue_bdp": 0}, "queue_bdp is 0"),
            ({"bandwidth_mbps": 1, "queue_bdp": 1, "loss": 1}, "loss is 1; it must be a number"),
            ({"bandwidth_mbps": 1, "queue_bdp": 1, "qdisc": "Fair Queue"}, "qdisc is 'Fair Queue'"),
            (
                {"bandwidth_mbps": 1, "queue_bdp": 1, "qdisc_options": (("limit", 1),)},
                "qdisc_options is {'limit': 1}; it must be left out for droptail",
            ),
            ({"trace": "file", "queue_bdp": 1}, "trace is 'file'; it must be a Trace"),
        ],
    )
    def test_bad(self, settings: dict[str, Any], message: str) -> None:
        """A setting that is out of range or excluded by another is named with its value."""
        with pytest.raises(InputError) as caught:
            Bottleneck(**settings)
        assert str(caught.value).startswith(message)

    def test_order_of_options(self) -> None:
        """Bottlenecks whose options are written in another order are equal."""

        def codel(*options: tuple[str, int]) -> Bottleneck:
            return Bottleneck(
                bandwidth_mbps=1, queue_packets=1, qdisc="codel", qdisc_options=options
            )

        assert codel(("a", 1), ("b", 2)) == codel(("b", 2), ("a", 1))


class TestScenario:
    def test_mss(self) -> None:
        """A full segment is a full packet less headers and timestamps."""
        assert MTU_BYTES - 20 - 20 - 12 == MSS_BYTES

    def test_queue_bdp(self) -> None:
        """A queue of 2 BDP at 12 Mbit/s and 50 ms holds 100 packets of 1500 bytes."""
        sized = scenario(bottlenecks=(Bottleneck(bandwidth_mbps=12, queue_bdp=2),))
        assert sized.bottlenecks[0].queue_packets == 100
        same = scenario(bottlenecks=(Bottleneck(bandwidth_mbps=12, queue_packets=100),))
        assert sized == same
        assert hash(sized) == hash(same)
        assert sized.key() == same.key()

    def test_queue_bdp_at_least_one(self) -> None:
        """However small the BDP is, the queue holds a packet."""
        tiny = scenario(bottlenecks=(Bottleneck(bandwidth_mbps=0.1, queue_bdp=0.1),), rtt_ms=1)
        assert tiny.bottlenecks[0].queue_packets == 1

    def test_queue_bdp_of_trace(self) -> None:
        """The BDP of a trace is that of its mean rate."""
        trace = Trace(name="12 Mbit/s", opportunities_ms=(1,))
        sized = scenario(bottlenecks=(Bottleneck(trace=trace, queue_bdp=1),))
        assert sized.bottlenecks[0].queue_packets == 50

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"flows": ()}, "flows is (); it must be a list of one Flow or more"),
            ({"flows": (LINK,)}, "flows[0] is Bottleneck("),
            ({"bottlenecks": (LINK,) * 9}, "bottlenecks is 9; it must be 1 to 8 of them"),
            ({"flows": (Flow(count=10**6), Flow())}, "flows is 1000001"),
            ({"rtt_ms": 0}, "rtt_ms is 0; it must be a number at least 0.001 and at most 10000"),
            ({"duration_s": float("inf")}, "duration_s is inf"),
            ({"rtt_ms": 10**400}, "rtt_ms is 1000000"),
            ({"seed": -1}, "seed is -1"),
            ({"sample_interval_ms": 0.5}, "sample_interval_ms is 0.5"),
            ({"ecn": 1}, "ecn is 1; it must be true or false"),
            ({"flows": (Flow(), Flow(start_s=60))}, "flows[1].start_s is 60.0; it must be below"),
            ({"flows": (Flow(stop_s=61),)}, "flows[0].stop_s is 61.0"),
            (
                {"flows": (Flow(first_bottleneck=1),)},
                "flows[0].first_bottleneck is 1; it must be at most 0",
            ),
            (
                {"flows": (Flow(last_bottleneck=1),)},
                "flows[0].last_bottleneck is 1; it must be at most 0",
            ),
            (
                {"flows": (Flow(kind="bytes", arrivals=((1, 1), (60, 1))),)},
                "flows[0].arrivals[1].start_s is 60.0",
            ),
            ({"sysctls": (("kernel.panic", "1"),)}, "sysctls is 'kernel.panic'"),
            ({"sysctls": (("net.a/../../b", "1"),)}, "sysctls is 'net.a/../../b'"),
            ({"sysctls": (("net.ipv4.tcp_sack", 0.5),)}, "sysctls.net.ipv4.tcp_sack is 0.5"),
            (
                {"queue_log": "short"},
                "queue_log is 'short'; it must be true, false or \"summary\"",
            ),
            ({"module_parameters": (("tolerance", "1"),)}, "module_parameters is 'tolerance'"),
            (
                {"module_parameters": (("tcp_rapid.push", "N init=/x"),)},
                "module_parameters.tcp_rapid.push is 'N init=/x'",
            ),
            ({"module_parameters": 3}, "module_parameters is 3; it must be a table"),
            (
                {
                    "bottlenecks": (Bottleneck(bandwidth_mbps=100_000, queue_bdp=100),),
                    "rtt_ms": 1000,
                },
                "bottlenecks[0].queue_bdp = 100: queue_packets is 833333333",
            ),
        ],
    )
    def test_bad(self, settings: dict[str, Any], message: str) -> None:
        """A setting that is out of range is named with its place and value."""
        with pytest.raises(InputError) as caught:
            scenario(**settings)
        assert str(caught.value).startswith(message)

    def test_one_line(self) -> None:
        """A message stays one short line, however long the bad value is."""
        with pytest.raises(InputError) as caught:
            Flow(kind="bulk", arrivals=((0.5, 1),) * 1000)
        assert len(str(caught.value)) < 200

    def test_flow_table(self) -> None:
        """Single flows are numbered group by group, arrivals one by one."""
        table = EVERYTHING.flow_table()
        assert len(table) == EVERYTHING.flow_count == 11
        assert list(table.index) == list(range(11))
        assert list(table["group"]) == [0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7]
        assert list(table["label"][:4]) == ["new", "new", "cubic", "cubic"]
        assert list(table["label"][-2:]) == ["cbr", "poisson"]
        assert list(table["start_s"][3:6]) == [0.5, 0.5, 7.0]
        assert list(table["size_bytes"][2:6]) == [10_000, 1000, 2000, 3000]
        assert list(table["stop_s"][:3]) == [50.0, 50.0, 60.0]
        assert table["rate_mbps"].isna().sum() == 8
        assert table["size_bytes"].isna().sum() == 7

    def test_many_arrivals(self) -> None:
        """A hundred thousand short flows are a scenario like any other."""
        arrivals = tuple((i / 2000, 1000 + i) for i in range(100_000))
        many = scenario(flows=(Flow(kind="bytes", arrivals=arrivals),))
        assert Scenario.from_toml(many.to_toml()) == many
        assert many.flow_table()["size_bytes"].iloc[-1] == 100_999


class TestIdentity:
    def test_numbers(self) -> None:
        """It does not matter whether a number is written 60 or 60.0."""
        assert scenario(duration_s=60) == scenario(duration_s=60.0)
        assert scenario(duration_s=60).key() == scenario(duration_s=60.0).key()

    def test_names(self) -> None:
        """Names and labels are for people: another name makes no other scenario."""
        renamed = replace(
            EVERYTHING,
            name="other",
            flows=tuple(replace(flow, label="other") for flow in EVERYTHING.flows),
            bottlenecks=(
                EVERYTHING.bottlenecks[0],
                replace(
                    EVERYTHING.bottlenecks[1],
                    trace=Trace(name="other", opportunities_ms=(0, 3, 3, 8)),
                ),
            ),
        )
        assert renamed == EVERYTHING
        assert hash(renamed) == hash(EVERYTHING)
        assert renamed.key() == EVERYTHING.key()

    @pytest.mark.parametrize(
        "changes",
        [
            {"seed": 2},
            {"rtt_ms": 51},
            {"queue_log": False},
            {"ecn": True},
            {"ack_batch_ms": 1},
            {"sysctls": (("net.ipv4.tcp_sack", "0"),)},
            {"module_parameters": (("tcp_rapid.tolerance", "64"),)},
            {"flows": (Flow(cca="bbr"),)},
            {"flows": (Flow(), Flow())},
            {"bottlenecks": (replace(LINK, loss=0.1),)},
        ],
    )
    def test_changes(self, changes: dict[str, Any]) -> None:
        """Whatever can change the result makes another key."""
        assert scenario(**changes).key() != scenario().key()

    def test_across_processes(self) -> None:
        """Another Python process computes the same key."""
        code = (
            "import sys; from ccbench.scenario import Scenario;"
            "print(Scenario.from_toml(sys.stdin.read()).key())"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code],
            input=EVERYTHING.to_toml(),
            capture_output=True,
            encoding="utf-8",
            env={"PYTHONUTF8": "1"},
            check=True,
        )
        assert ran.stdout.strip() == EVERYTHING.key()


class TestDocuments:
    def test_dict(self) -> None:
        """A scenario survives the way through JSON, names and labels included."""
        back = Scenario.from_dict(json.loads(json.dumps(EVERYTHING.to_dict())))
        assert back == EVERYTHING
        assert back.to_dict() == EVERYTHING.to_dict()

    def test_toml(self) -> None:
        """A scenario survives the way through TOML, names and labels included."""
        back = Scenario.from_toml(EVERYTHING.to_toml())
        assert back == EVERYTHING
        assert back.to_dict() == EVERYTHING.to_dict()

    def test_toml_is_short(self) -> None:
        """Settings at their defaults do not clutter the file."""
        assert scenario().to_toml().splitlines() == [
            "rtt_ms = 50.0",
            "duration_s = 60.0",
            "",
            "[[flows]]",
            'cca = "cubic"',
            "",
            "[[bottlenecks]]",
            "bandwidth_mbps = 12.0",
            "queue_packets = 50",
        ]

    def test_save(self, tmp_path: Path) -> None:
        """A scenario that is saved is the same when it is loaded."""
        EVERYTHING.save(tmp_path / "all.toml")
        assert Scenario.load(tmp_path / "all.toml") == EVERYTHING

    @pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
    def test_examples(self, example: Path) -> None:
        """The examples can be loaded, and say what they are."""
        assert Scenario.load(example).name

    def test_files(self, tmp_path: Path) -> None:
        """Files that a scenario names are found beside it, wherever it is loaded from."""
        (tmp_path / "link.trace").write_text("1\n2\n")
        (tmp_path / "web.csv").write_text("start_s, size_bytes\n0.5,1000\n1,2000\n")
        (tmp_path / "s.toml").write_text(
            """
            rtt_ms = 50
            duration_s = 60
            flows = [{kind = "bytes", arrivals = "web.csv"}]
            bottlenecks = [{trace = "link.trace", queue_packets = 5}]
            """
        )
        loaded = Scenario.load(tmp_path / "s.toml")
        assert loaded.flows[0].arrivals == ((0.5, 1000), (1.0, 2000))
        assert loaded.bottlenecks[0].trace == Trace(name="", opportunities_ms=(1, 2))

    def test_sysctls_unquoted(self) -> None:
        """Sysctls can be written as tables and as numbers, as TOML invites to."""
        toml = scenario().to_toml() + "[sysctls.net.ipv4]\ntcp_sack = 0\n"
        assert Scenario.from_toml(toml).sysctls == (("net.ipv4.tcp_sack", "0"),)

    def test_module_parameters_unquoted(self) -> None:
        """Parameters can be tables, numbers, true and false; the kernel gets its own words."""
        toml = scenario().to_toml() + "[module_parameters.tcp_rapid]\npush = false\ntolerance = 9\n"
        expected = (("tcp_rapid.push", "N"), ("tcp_rapid.tolerance", "9"))
        assert Scenario.from_toml(toml).module_parameters == expected

    def test_settings_as_python_writes_them(self) -> None:
        """Mappings with numbers, true and false make the scenario that their words would make."""
        written = scenario(
            sysctls={"net.ipv4.tcp_sack": 0},
            module_parameters={"tcp_rapid.push": False, "tcp_rapid.tolerance": 9},
        )
        words = (("tcp_rapid.push", "N"), ("tcp_rapid.tolerance", "9"))
        assert written == scenario(sysctls=(("net.ipv4.tcp_sack", "0"),), module_parameters=words)

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                "12.0",
                "-3",
                "bottlenecks[0].bandwidth_mbps is -3; it must be a number at least 0.001",
            ),
            ("bandwidth_mbps", "bandwith_mbps", "did you mean bandwidth_mbps?"),
            ("[[flows]]", "[[flow]]", "did you mean flows?"),
            ("[[flows]]", "[flows]", "head each with [[flows]]"),
            ("rtt_ms = 50.0", "", "rtt_ms is missing"),
            ("bandwidth_mbps = 12.0", "trace = 3", "bottlenecks[0].trace is 3"),
            ("bandwidth_mbps = 12.0", "trace = {}", "bottlenecks[0].trace.name is missing"),
            ("bandwidth_mbps = 12.0", 'trace = "no.file"', "bottlenecks[0].trace is 'no.file'"),
            ('cca = "cubic"', 'arrivals = "no.file"', "flows[0].arrivals file"),
            ("rtt_ms =", "rtt_ms", "this is not valid TOML"),
            ("rtt_ms = 50.0", f"rtt_ms = {'[' * 5000}", "nested too deeply"),
            ("rtt_ms = 50.0", f"rtt_ms = {'9' * 5000}", "more than 4300 digits"),
            ("rtt_ms", '"rtt\\nms"', r"'rtt\nms' is not a setting; did you mean rtt_ms?"),
            ("rtt_ms", "seed = -1\nrtt_ms", "at least 0 and at most 9223372036854775807"),
            ("rtt_ms", "sysctls = 5\nrtt_ms", "sysctls is 5; it must be a table"),
            ("rtt_ms", f"sysctls.{'a.' * 5000}b = 1\nrtt_ms", "shorten its dotted names"),
            ("rtt_ms = 50.0", f"rtt_ms = 1{'0' * 400}", "at most 10000"),
            ("rtt_ms", f"seed = 0x{'f' * 5000}\nrtt_ms", "seed is too large to be shown (int)"),
            ('cca = "cubic"', 'arrivals = "a\\u0000b"', "embedded null byte"),
            (
                "bandwidth_mbps = 12.0",
                'trace = {name = "a", opportunities_ms = 12}',
                "trace.opportunities_ms is 12; it must be a list of times",
            ),
            (
                "rtt_ms",
                "module_parameters = {'a.b' = [1]}\nrtt_ms",
                "module_parameters.a.b is [1]",
            ),
            (
                "rtt_ms",
                "module_parameters = {'a.b' = 1.0}\nrtt_ms",  # and not Y, which equals it
                "module_parameters.a.b is 1.0",
            ),
        ],
    )
    def test_bad(self, tmp_path: Path, old: str, new: str, message: str) -> None:
        """A mistake in a file is reported with the file, the place in it and the way out."""
        path = tmp_path / "s.toml"
        path.write_text(scenario().to_toml().replace(old, new))
        with pytest.raises(InputError) as caught:
            Scenario.load(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert message in str(caught.value)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "line 1 is ''"),
            (b"0.5,1000\n", "line 1 is '0.5,1000'"),
            (b"start_s,size_bytes\n", "lists no flow"),
            (b"start_s,size_bytes\n0.5\n", "line 2 is '0.5'"),
            (b"start_s,size_bytes\n0.5,\xff\n", r"web.csv cannot be read \(byte 23 is not UTF-8\)"),
            (b"start_s,size_bytes\n" + b"1" * 200_000, "is not CSV"),
        ],
    )
    def test_bad_arrivals(self, tmp_path: Path, content: bytes, message: str) -> None:
        """What is wrong in a list of arrivals is said with the line."""
        (tmp_path / "web.csv").write_bytes(content)
        with pytest.raises(InputError, match=message):
            Flow.from_dict({"kind": "bytes", "arrivals": "web.csv"}, tmp_path)

    def test_byte_order_mark(self, tmp_path: Path) -> None:
        """Files that an editor has put a byte order mark in front of are read."""
        (tmp_path / "web.csv").write_text("\ufeffstart_s,size_bytes\n0.5,1000\n", encoding="utf-8")
        flow = Flow.from_dict({"kind": "bytes", "arrivals": "web.csv"}, tmp_path)
        assert flow.arrivals == ((0.5, 1000),)

    def test_missing_file(self, tmp_path: Path) -> None:
        """A scenario file that does not exist is an input error."""
        with pytest.raises(InputError, match=r"none\.toml cannot be read"):
            Scenario.load(tmp_path / "none.toml")
