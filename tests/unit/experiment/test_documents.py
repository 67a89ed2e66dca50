# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ccbench.base.errors import InputError
from ccbench.experiment.scenario import Flow, Scenario, Trace
from tests.unit.experiment.conftest import EVERYTHING, scenario

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.toml"))


class TestDocuments:
    def test_dict(self) -> None:
        """A scenario survives conversion to JSON, names and labels included."""
        back = Scenario.from_dict(json.loads(json.dumps(EVERYTHING.to_dict())))
        assert back == EVERYTHING
        assert back.to_dict() == EVERYTHING.to_dict()

    def test_toml(self) -> None:
        """A scenario survives conversion to TOML, names and labels included."""
        back = Scenario.from_toml(EVERYTHING.to_toml())
        assert back == EVERYTHING
        assert back.to_dict() == EVERYTHING.to_dict()

    def test_toml_is_short(self) -> None:
        """Settings at their defaults are omitted from the file."""
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
        """A saved scenario is loaded equal."""
        EVERYTHING.save(tmp_path / "all.toml")
        assert Scenario.load(tmp_path / "all.toml") == EVERYTHING

    @pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
    def test_examples(self, example: Path) -> None:
        """The examples can be loaded, and describe themselves."""
        assert Scenario.load(example).name

    def test_files(self, tmp_path: Path) -> None:
        """Files named by a scenario are relative to it, from any working directory."""
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
        assert loaded.path.bottlenecks[0].trace == Trace(name="", opportunities_ms=(1, 2))

    def test_sysctls_unquoted(self) -> None:
        """Sysctls may be tables and numbers, as is natural in TOML."""
        toml = scenario().to_toml() + "[sysctls.net.ipv4]\ntcp_sack = 0\n"
        assert Scenario.from_toml(toml).path.sysctls == (("net.ipv4.tcp_sack", "0"),)

    def test_module_parameters_unquoted(self) -> None:
        """Parameters may be tables, numbers and booleans; the kernel gets its own words."""
        toml = scenario().to_toml() + "[module_parameters.tcp_rapid]\npush = false\ntolerance = 9\n"
        expected = (("tcp_rapid.push", "N"), ("tcp_rapid.tolerance", "9"))
        assert Scenario.from_toml(toml).path.module_parameters == expected

    def test_python_values(self) -> None:
        """Mappings with numbers and booleans equal the scenario of their words."""
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
            ("rtt_ms", "bandwidth_mbps = 1\nrtt_ms", "did you mean bandwidth_mbps in bottlenecks?"),
            ("rtt_ms", "cca = 'bbr'\nrtt_ms", "cca is not a setting; did you mean cca in flows?"),
            (
                "rtt_ms",
                "jitter_ms = 3\nrtt_ms",
                "did you mean jitter in bottlenecks, forward_jitter_ms in",
            ),
            (
                "rtt_ms",
                "noise.jitter_ms = 3\nrtt_ms",
                (
                    "noise.jitter_ms is not a setting; did you mean forward_jitter_ms, "
                    "reverse_jitter_ms, sender_jitter_ms or wifi_jitter_ms?"
                ),
            ),
            ("rtt_ms = 50.0", "", "rtt_ms is missing"),
            ("bandwidth_mbps = 12.0", "trace = 3", "bottlenecks[0].trace is 3"),
            ("bandwidth_mbps = 12.0", "trace = {}", "bottlenecks[0].trace.name is missing"),
            ("bandwidth_mbps = 12.0", 'trace = "no.file"', "bottlenecks[0].trace is 'no.file'"),
            ('cca = "cubic"', 'cca = ""', "flows[0].cca is ''; it must be a Linux name"),
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
        """An error in a file is reported with the file, the position and the remedy."""
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
        """An error in a list of arrivals is reported with the line."""
        (tmp_path / "web.csv").write_bytes(content)
        with pytest.raises(InputError, match=message):
            Flow.from_dict({"kind": "bytes", "arrivals": "web.csv"}, tmp_path)

    def test_byte_order_mark(self, tmp_path: Path) -> None:
        """Files with a byte order mark are read."""
        (tmp_path / "web.csv").write_text("\ufeffstart_s,size_bytes\n0.5,1000\n", encoding="utf-8")
        flow = Flow.from_dict({"kind": "bytes", "arrivals": "web.csv"}, tmp_path)
        assert flow.arrivals == ((0.5, 1000),)

    def test_missing_file(self, tmp_path: Path) -> None:
        """A missing scenario file is an input error."""
        with pytest.raises(InputError, match=r"none\.toml cannot be read"):
            Scenario.load(tmp_path / "none.toml")
