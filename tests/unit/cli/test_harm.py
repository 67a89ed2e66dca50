# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json

import pytest

from ccbench.cli._status import ExitStatus
from tests.unit.cli.conftest import assert_refused, command

HARM = {
    "--alpha": "greedy",
    "--beta": "even",
    "--bandwidth": "10",
    "--rtt": "40",
    "--queue": "1bdp",
}


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
