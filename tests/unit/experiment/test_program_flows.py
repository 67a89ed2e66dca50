# SPDX-License-Identifier: Apache-2.0
"""Settings of flows between programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Bottleneck, Change, Flow, Scenario
from ccbench.base.errors import InputError
from ccbench.experiment.receiver import Receiver
from tests.scenarios import flat

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = """
rtt_ms = 40
duration_s = 10
bottlenecks = [{ bandwidth_mbps = 10, queue_bdp = 1 }]
[[flows]]
"""
_PAIR = """
kind = "program"
sender = "server {address} {port}"
receiver = "client {address} {port}"
"""


_PATH: dict[str, Any] = {
    "bottlenecks": (Bottleneck(bandwidth_mbps=10, queue_packets=64),),
    "rtt_ms": 40,
    "duration_s": 10,
}


def flow(**settings: Any) -> Flow:
    """Return a flow between programs."""
    receiver = Receiver(program="client {address} {port}")
    given = {"sender": "server {address} {port}", "receiver": receiver, **settings}
    return Flow(kind="program", **given)


class TestDocument:
    def test_round_trip(self, tmp_path: Path) -> None:
        """A file with all settings is read, and written with the contents of its files."""
        (tmp_path / "own.py").write_text("print(\"a\")\n\tb = 'c'\n")
        text = f"""{_HEAD}{_PAIR}
server = "receiver"
env = {{ A = "1", B = "" }}
files = ["own.py"]
keep = ["*.sqlog"]
may_exit = true
memory_mb = 100
"""
        scenario = Scenario.from_toml(text, tmp_path)
        (one,) = scenario.flows
        assert one == flow(
            server="receiver",
            env=(("A", "1"), ("B", "")),
            files=(("own.py", "print(\"a\")\n\tb = 'c'\n"),),
            keep=("*.sqlog",),
            may_exit=True,
            memory_mb=100,
        )
        assert Scenario.from_toml(scenario.to_toml()) == scenario

    def test_identity(self) -> None:
        """The key of a scenario without programs does not name their settings."""
        document = flat(**_PATH, flows=(Flow(),)).to_dict()
        assert "date" not in document
        assert not {"may_exit", "server", "env"} & document["flows"][0].keys()

    @pytest.mark.parametrize(
        ("settings", "error"),
        [
            ('kind = "program"\nreceiver = "a"', "sender is missing: add it, as kind 'program'"),
            ('kind = "program"\nsender = "a"', "receiver is missing: write for example receiver ="),
            (
                'kind = "program"\nsender = "a"\nreceiver = { window_bytes = 9000 }',
                "receiver is missing: write for example receiver =",
            ),
            (f"{_PAIR}acks = 'every'", r"acks is 'every'; it must be left out for kind 'program'"),
            (f"{_PAIR}ecn = 'ect0'", r"ecn is 'ect0'; it must be left out for kind 'program'"),
            (f"{_PAIR}rate_mbps = 1", r"rate_mbps is 1; it must be left out for kind 'program'"),
            (f"{_PAIR}server = 'both'", r"server is 'both'; it must be 'sender' or 'receiver'"),
            (f"{_PAIR}may_exit = 'no'", r"may_exit is 'no'; it must be true or false"),
            (f"{_PAIR}env = {{ 'A B' = '1' }}", r"env.* 'A B'; it must be a name of letters"),
            (f"{_PAIR}keep = ['/etc/*']", r"keep\[0\] is '/etc/\*'; it must be a list of patterns"),
            (f"{_PAIR}keep = ['../a']", r"keep\[0\] is '../a'; it must be a list of patterns"),
            (f"{_PAIR}files = ['none.py']", r"file of files\[0\]"),
            (f"{_PAIR}files = {{ '/a' = '' }}", r"files is '/a'; it must be a path below"),
            (f"{_PAIR}memory_mb = 1", r"memory_mb is 1; it must be"),
            (
                f'{_PAIR}cca = "bbr"\nserver = "receiver"',
                "cca is 'bbr'; it must be left out with server = \"receiver\"",
            ),
            ('receiver = "client"', r"receiver is 'client'; it must be a table for kind 'bulk'"),
            ('sender = "server"', r"sender is 'server'; it must be left out for kind 'bulk'"),
        ],
    )
    def test_errors(self, settings: str, error: str) -> None:
        """Each invalid setting is named with what is allowed."""
        with pytest.raises(InputError, match=error):
            Scenario.from_toml(_HEAD + settings)

    @pytest.mark.parametrize(
        ("command", "error"),
        [
            ("", "sender is missing"),
            ("   ", "a command line of 1 to 1024 words"),
            ("a 'b", "no closing quotation"),
            ("a\nb", "one line"),
            (
                "a {adress}",
                r"'\{adress\}'; it must be a command line with .*: did you mean 'address'",
            ),
            ("a {cca}", r"one without \{cca\} unless cca is set"),
        ],
    )
    def test_commands(self, command: str, error: str) -> None:
        """A command line that cannot be executed is an error."""
        with pytest.raises(InputError, match=error):
            flow(sender=command)

    def test_braces(self) -> None:
        """Braces around other text than a name are no placeholders."""
        command = """awk '{ print $1 }' {"a":1}"""
        assert flow(sender=command).sender == command

    @pytest.mark.parametrize("day", ["2000-12-31", "2100-01-01", "tomorrow", 3])
    def test_dates(self, day: object) -> None:
        """A date that is none, or out of range, is an error."""
        with pytest.raises(InputError, match="it must be a date from 2001 to 2099"):
            flat(**_PATH, flows=(Flow(),), date=day)

    def test_changes(self) -> None:
        """The receive window and the rate of programs cannot change."""
        for change in (
            Change(at_s=1, flow=0, window_bytes=20_000),
            Change(at_s=1, flow=0, app_rate_mbps=1),
        ):
            with pytest.raises(InputError, match=r"changes\[0\]\.flow is 0"):
                flat(**_PATH, flows=(flow(cca="bbr"),), changes=(change,))
