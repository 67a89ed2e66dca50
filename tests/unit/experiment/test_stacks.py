# SPDX-License-Identifier: Apache-2.0
"""Stacks: their descriptions, and the flows that name them."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Bottleneck, Flow
from ccbench.base.errors import InputError
from ccbench.experiment import stacks
from ccbench.experiment.receiver import Receiver
from ccbench.experiment.subflow import Subflow
from tests.scenarios import flat

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench import Scenario

DESCRIPTION = """
protocol = "quic"
summary = "mine"
install = "make install"
ccas = { bbr = "BBRv9", reno = "newreno" }
sender = "myserver {cca} {address} {port}"
receiver = "myclient {address} {port}"
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the file of a user's own stack."""
    file = tmp_path / "mine.toml"
    file.write_text(DESCRIPTION)
    monkeypatch.setenv(stacks.OWN_STACKS, str(tmp_path))
    return file


def scenario(*flows: Flow, **settings: Any) -> Scenario:
    """Return a scenario at 10 Mbit/s."""
    link = Bottleneck(bandwidth_mbps=10, queue_packets=64)
    return flat(
        **{"flows": flows, "bottlenecks": (link,), "rtt_ms": 40, "duration_s": 8, **settings}
    )


class TestFlows:
    def test_programs(self, own: Path) -> None:
        """A flow of a stack is one of programs, with all its other settings."""
        assert own.exists()
        settings: dict[str, Any] = {"count": 2, "start_s": 1, "stop_s": 5, "direction": "reverse"}
        back = (Bottleneck(bandwidth_mbps=10, queue_packets=64),)
        flows = (Flow(cca="cubic"), Flow(cca="quic:mine/bbr", **settings))
        given = scenario(*flows, reverse_bottlenecks=back)
        kernel, programs = stacks.expanded(given).flows
        assert kernel == given.flows[0]
        assert (programs.kind, programs.cca) == ("program", "")
        assert programs.sender == "myserver BBRv9 {address} {port}"
        assert programs.receiver == Receiver(program="myclient {address} {port}")
        assert {name: getattr(programs, name) for name in settings} == settings

    def test_others(self) -> None:
        """A scenario without stacks stays as it is."""
        given = scenario(Flow(cca="bbr"))
        assert stacks.expanded(given) is given

    def test_document(self) -> None:
        """A scenario file names the stack, not its programs."""
        given = scenario(Flow(cca="quic:ngtcp2/bbr"))
        assert 'cca = "quic:ngtcp2/bbr"' in given.to_toml()
        assert "gtlsserver" not in given.to_toml()
        assert type(given).from_toml(given.to_toml()) == given

    def test_random(self) -> None:
        """Programs draw random numbers, so that runs with other seeds differ."""
        assert scenario(Flow(cca="quic:ngtcp2/bbr")).draws_at_random
        assert not scenario(Flow(cca="bbr")).draws_at_random

    def test_memory(self) -> None:
        """The memory of programs grows with the qlog, and so with the data of the path."""
        small, large = (
            stacks.expanded(scenario(Flow(cca="quic:ngtcp2/bbr"), duration_s=duration_s)).flows[0]
            for duration_s in (10, 1000)
        )
        assert small.memory_mb is not None
        assert large.memory_mb is not None
        # 10 Mbit/s for 990 s, of which the qlog is at most 0.6, in memory that is half for files.
        assert large.memory_mb - small.memory_mb == pytest.approx(990 * 10 / 8 * 1.2, rel=0.01)

    @pytest.mark.parametrize(
        "settings",
        [
            {"kind": "bytes", "size_bytes": 1000},
            {"kind": "rate", "rate_mbps": 1},
            {"acks": "every"},
            {"initcwnd": 32},
            {"receiver": Receiver(window_bytes=10_000)},
            {"host": "a"},
            {"subflows": (Subflow(), Subflow())},
        ],
    )
    def test_settings(self, settings: dict[str, Any]) -> None:
        """Settings of TCP's sockets and applications do not apply to a stack."""
        with pytest.raises(InputError, match="left out for quic:ngtcp2/bbr"):
            Flow(cca="quic:ngtcp2/bbr", **settings)

    def test_certificate(self) -> None:
        """Servers have a key and a certificate whose authority clients can check."""
        (flow,) = stacks.expanded(scenario(Flow(cca="quic:ngtcp2/bbr"))).flows
        assert {"ca.pem", "cert.pem", "key.pem"} <= {name for name, _ in flow.files}

    def test_python(self) -> None:
        """A program in Python runs with the Python of ccbench."""
        (flow,) = stacks.expanded(scenario(Flow(cca="quic:aioquic/reno"))).flows
        assert shlex.split(flow.sender)[0] == sys.executable
        assert {"server.py", "client.py"} <= {name for name, _ in flow.files}


class TestDescriptions:
    def test_shipped(self) -> None:
        """Every description that ccbench has can be read, and its names are unique."""
        names = stacks.names()
        assert {"quic:ngtcp2/bbr", "quic:aioquic/cubic"} <= set(names)
        assert len(names) == len(set(names))

    def test_own(self, own: Path) -> None:
        """A file in the user's folder adds a stack, named as the file."""
        assert stacks.load(own).names == ("quic:mine/bbr", "quic:mine/reno")
        assert "quic:mine/reno" in stacks.names()

    @pytest.mark.parametrize(
        ("cca", "message"),
        [
            ("quic:mina/bbr", "did you mean 'quic:mine'"),
            ("quic:mine/bbr2", "did you mean 'quic:mine/bbr'"),
        ],
    )
    @pytest.mark.usefixtures("own")
    def test_unknown(self, cca: str, message: str) -> None:
        """An unknown name is an error that names those that exist."""
        with pytest.raises(InputError, match=f"--alpha is '{cca}'.*{message}"):
            stacks.named(cca, "--alpha")

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('protocol = "QUIC"', "protocol is 'QUIC'"),
            ("ccas = []", "ccas is .*one or more"),
            ('ccas = ["a/b"]', "ccas is 'a/b'"),
            ('sender = "server {adress}"', "did you mean 'address'"),
            ("packages = [1]", r"packages\[0\] is 1"),
            ('colour = "red"', "colour is not a setting"),
        ],
    )
    def test_invalid(self, own: Path, line: str, message: str) -> None:
        """An invalid setting is an error that names the file and the setting."""
        name = line.partition(" ")[0]
        lines = [each for each in DESCRIPTION.splitlines() if each.partition(" ")[0] != name]
        own.write_text("\n".join([*lines, line]))
        with pytest.raises(InputError, match=f"mine.toml: .*{message}"):
            stacks.load(own)

    @pytest.mark.parametrize("name", ["protocol", "install", "ccas", "receiver"])
    def test_missing(self, own: Path, name: str) -> None:
        """A missing setting is an error with an example."""
        lines = DESCRIPTION.splitlines()
        own.write_text("\n".join(line for line in lines if not line.startswith(name)))
        with pytest.raises(InputError, match=f"mine.toml: {name} is missing: write for example"):
            stacks.load(own)

    def test_missing_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A folder of stacks that does not exist is an error."""
        monkeypatch.setenv(stacks.OWN_STACKS, str(tmp_path / "none"))
        with pytest.raises(InputError, match=r"CCBENCH_STACKS is .*it must be a folder"):
            stacks.stacks()
