# SPDX-License-Identifier: Apache-2.0
"""The commands on the virtual kernel: text and JSON output."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import ccbench
from ccbench import Bottleneck, Flow, NetworkPath, Run, Scenario
from ccbench.cli.main import main
from ccbench.cli.main import program as cli
from ccbench.emulate.kernel.source.lookup import installed
from tests.kernel.conftest import dumbbell, kernel_with

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccbench.emulate.kernel.engine import KernelEngine

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("own_store")]

EXAMPLES = Path(__file__).parents[2] / "examples"
NETWORK = ("--alpha", "bbr", "--beta", "cubic", "--duration", "10")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """Write a scenario with two links in a row and an AQM."""
    link = Bottleneck(bandwidth_mbps=10, queue_bdp=1)
    codel = Bottleneck(bandwidth_mbps=20, queue_packets=500, qdisc="codel")
    flows = (Flow(cca="bbr"), Flow(cca="cubic"))
    path = tmp_path / "scenario.toml"
    Scenario(
        flows=flows, path=NetworkPath(bottlenecks=(link, codel), rtt_ms=40), duration_s=10
    ).save(path)
    return path


class TestRun:
    def test_text(self, program: Callable[..., str], scenario: Path, boots: list[Path]) -> None:
        """Text output has a row for each flow and each bottleneck; a repetition uses the store."""
        output = program("run", scenario)
        rows = [line.split() for line in output.splitlines()]
        assert ["0", "bbr", "bbr"] in [row[:3] for row in rows]
        assert ["1", "20", "500", "codel"] in [row[:4] for row in rows]
        assert program("run", scenario) == output
        assert len(boots) == 1
        assert program("run", scenario, "--fresh") == output
        assert len(boots) == 2

    def test_repeated_from_its_folder(
        self, program: Callable[..., str], scenario: Path, tmp_path: Path
    ) -> None:
        """A saved run is repeated from its folder, or from the scenario file in it."""
        program("run", scenario, "--jitter", 1, "--seed", 7, "-o", tmp_path / "first")
        first = Run.load(tmp_path / "first")
        for source in (tmp_path / "first", tmp_path / "first" / "scenario.toml"):
            program("run", source, "--fresh", "-o", tmp_path / "again")
            again = Run.load(tmp_path / "again")
            assert again.digest() == first.digest()
            assert again.provenance["seed"] == 7
        program("run", tmp_path / "first", "-o", tmp_path / "first")
        assert Run.load(tmp_path / "first").digest() == first.digest()

    def test_metrics(self, program: Callable[..., str], scenario: Path) -> None:
        """Metrics beside the tables agree with them, and shares add up to 1."""
        words = [w for name in ("share", "retransmits", "queue_length") for w in ("--metric", name)]
        document = json.loads(program("run", scenario, *words, "--json"))
        values = {(row["metric"], row["of"]): row["value"] for row in document["metrics"]}
        assert values["share", "bbr"] + values["share", "cubic"] == pytest.approx(1)
        for flow in document["flows"]:
            assert values["retransmits", flow["label"]] == flow["retransmits"]
        for number, link in enumerate(document["bottlenecks"]):
            length = values["queue_length", str(number)]
            assert length == pytest.approx(link["mean_queue_packets"])

    def test_json(self, program: Callable[..., str], scenario: Path) -> None:
        """JSON output has flows and bottlenecks, with units in all names."""
        document = json.loads(program("run", scenario, "--json"))
        assert set(document) == {"scenario", "flows", "bottlenecks", "queues", "provenance"}
        assert [set(flow) for flow in document["flows"]] == 2 * [
            {
                "flow",
                "label",
                "cca",
                "throughput_mbps",
                "goodput_mbps",
                "srtt_ms",
                "retransmits",
                "drops",
            }
        ]
        first, second = document["bottlenecks"]
        assert set(first) == {
            "bandwidth_mbps",
            "qdisc",
            "queue_packets",
            "utilisation",
            "mean_queue_packets",
            "queueing_delay_ms",
            "losses",
        }
        assert first["utilisation"] == pytest.approx(2 * second["utilisation"], rel=0.02)
        assert 0.9 < first["utilisation"] <= 1
        # The second link is never full, so nothing waits there; Little's law at the first.
        assert second["queueing_delay_ms"] < 1
        packets_per_ms = first["utilisation"] * 10 / 12
        by_occupancy = first["mean_queue_packets"] / packets_per_ms
        assert first["queueing_delay_ms"] == pytest.approx(by_occupancy, rel=0.05)

    @pytest.mark.parametrize("options", [(), ("--repeat", 2)])
    def test_refused_sysctl(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        options: tuple[object, ...],
    ) -> None:
        """A sysctl that the kernel refuses is bad input, and reported in one line."""
        file = tmp_path / "bad.toml"
        file.write_text(
            "rtt_ms = 20\nduration_s = 1\nsysctls = { 'net.ipv4.tcp_sack' = 'foo' }\n"
            "flows = [{}]\nbottlenecks = [{ bandwidth_mbps = 10, queue_bdp = 1 }]\n"
        )
        monkeypatch.setattr(sys, "argv", ["ccbench", "run", str(file), *map(str, options)])
        with pytest.raises(SystemExit) as end:
            main()
        errors = capsys.readouterr().err
        assert end.value.code == 2
        assert "sysctls.net.ipv4.tcp_sack = 'foo'" in errors
        assert errors.count("\n") == 1

    def test_unknown_cca(self, tmp_path: Path) -> None:
        """A setting that only the kernel can judge is named with its file, as all others are."""
        file = tmp_path / "bad.toml"
        file.write_text(
            "rtt_ms = 20\nduration_s = 1\nflows = [{ cca = 'quic' }]\n"
            "bottlenecks = [{ bandwidth_mbps = 10, queue_bdp = 1 }]\n"
        )
        result = CliRunner().invoke(cli, ["run", str(file)])
        assert 2 == result.exit_code
        assert "bad.toml: flows[0].cca is 'quic'" in result.stderr

    def test_losses_and_events(self, program: Callable[..., str], tmp_path: Path) -> None:
        """Losses and times of changes are printed, of repetitions those of the first seed."""
        file = tmp_path / "loss.toml"
        file.write_text(
            "rtt_ms = 20\nduration_s = 2\nflows = [{}]\n"
            "bottlenecks = [{ bandwidth_mbps = 10, queue_bdp = 1, loss_packets = [20, 40] }]\n"
            "[[changes]]\nwhen = { flow = 0, packet = 10 }\nrtt_ms = 30\n"
            "[[changes]]\nwhen = { flow = 0, packet = 1_000_000 }\nrtt_ms = 40\n"
        )
        once, twice = program("run", file), program("run", file, "--repeat", 2)
        assert re.search(r"losses\n.*packets\n[ ─]*\n 0 .* 2$", once, re.MULTILINE)
        (time,) = re.findall(r"^changes\[0\]: at 0\..* s$", once, re.MULTILINE)
        assert "changes[1]: never" in once
        assert f"with seed 1:\n{time}\nchanges[1]: never\n" in twice

    def test_files(self, program: Callable[..., str], scenario: Path, tmp_path: Path) -> None:
        """-o saves a run with its full provenance, and --plot draws it."""
        folder, plot = tmp_path / "out", tmp_path / "run.svg"
        program("run", scenario, "-o", folder, "--plot", plot)
        assert {path.name for path in folder.iterdir()} == {
            "run.json",
            "scenario.toml",
            "links.parquet",
            "queue.parquet",
            "flows.parquet",
            "completions.parquet",
        }
        assert "<svg" in plot.read_text()
        provenance = json.loads((folder / "run.json").read_text())["provenance"]
        kernel = installed()
        assert provenance["ccbench"] == ccbench.__version__
        assert provenance["engine"] == "kernel"
        assert provenance["engine_version"].endswith(kernel.identity)
        assert provenance["kernel_release"] == kernel.release
        assert provenance["hz"] == kernel.hz
        assert provenance["modules"] == kernel.digests(["ccbench_flows", "ccbench_link"])
        assert provenance["seed"] == 1
        run = Run.load(folder)
        assert run.scenario == Scenario.load(scenario)
        assert run.scenario.key() == provenance["scenario_key"]

    @pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
    def test_examples(self, program: Callable[..., str], example: Path) -> None:
        """Every example runs, and moves data."""
        qdiscs = [link.qdisc for link in Scenario.load(example).path.bottlenecks]
        release = kernel_with(*qdiscs).release
        document = json.loads(program("run", example, "--kernel", release, "--json"))
        assert document["flows"][0]["throughput_mbps"] > 0


class TestHarm:
    def test_text(self, program: Callable[..., str]) -> None:
        """Text output lists the parts of the harm line by line."""
        output = program("harm", *NETWORK, "--bandwidth", 20, "--rtt", 20, "--queue", "1bdp")
        lines = dict(line.split("  ", 1) for line in output.splitlines())
        assert lines["repetitions"].split()[0] == "6"
        assert lines["network"].strip() == "20 Mbit/s, 20 ms, droptail queue of 33 packets"
        assert "5 to 10 s" in lines["measured"]
        assert float(lines["relative harm"].split()[0]) > 0

    def test_json(self, program: Callable[..., str], boots: list[Path]) -> None:
        """JSON output has the same numbers of the same runs."""
        network = ("--bandwidth", 20, "--rtt", 20, "--queue", "33", "--repeat", 2)
        document = json.loads(program("harm", *NETWORK, *network, "--json"))
        assert set(document) == {
            "harm",
            "metrics",
            "flows",
            "noise",
            "exact",
            "error",
            "doubt",
            "order",
            "scenarios",
            "engine",
        }
        assert set(document["scenarios"]) == {"solo", "competing"}
        harm: dict[str, Any] = document["harm"]
        assert harm["relative"] == pytest.approx(harm["absolute"] - harm["expected"])
        assert (harm["n_alpha"], harm["n_beta"], harm["from_s"], harm["to_s"]) == (1, 1, 5, 10)
        assert len(boots) == 4
        program("harm", *NETWORK, *network)
        assert len(boots) == 4


class TestRaygen:
    def test_json(self, program: Callable[..., str], tmp_path: Path) -> None:
        """JSON output has the worst networks with their harm and their scenarios."""
        options = ("--budget", 4, "--population", 4, "--confirm", 1, "-o", tmp_path / "out")
        network = ("--alpha", "bbr", "--beta", "cubic", "--duration", 2)
        document = json.loads(program("raygen", *network, *options, "--json"))
        assert document["experiments"] == 4
        harms = [network["relative_harm"] for network in document["claims"]]
        assert harms == sorted(harms, reverse=True)
        assert Scenario.from_dict(document["claims"][0]["scenario"]).duration_s == 2
        again = program("raygen", *network, *options)
        assert "of 4 tried" in again
        assert str(tmp_path / "out" / "worst.png") in again


class TestKernel:
    def test_info(self, program: Callable[..., str], engine: KernelEngine) -> None:
        """All names listed by info are valid in a scenario."""
        document = json.loads(program("kernel", "info", "--json"))
        for cca in document["ccas"]:
            engine.check(dumbbell(Flow(cca=cca)))
        needs = {"tbf": (("rate_mbps", 5),)}  # no shaper without a rate
        for qdisc in document["qdiscs"]:
            bottleneck = Bottleneck(
                bandwidth_mbps=10,
                queue_packets=64,
                qdisc=qdisc,
                qdisc_options=needs.get(qdisc, ()),
            )
            engine.check(
                replace(dumbbell(), path=replace(dumbbell().path, bottlenecks=(bottleneck,)))
            )
        assert "droptail" in document["qdiscs"]
        assert ", ".join(document["ccas"]) in program("kernel", "info")

    def test_info_of_a_cca(self, program: Callable[..., str]) -> None:
        """A congestion control is described by its needs, its state and its module's parameters."""
        described = json.loads(program("kernel", "info", "--cca", "abc_ns", "--json"))
        assert described["needs_receiver"]
        assert described["qdisc_option"] == ["abc", "encoding", "full"]
        assert "w_abc" in described["state"]
        assert "tolerance" in program("kernel", "info", "--cca", "rapid")

    def test_info_of_two(self) -> None:
        """A qdisc and a congestion control cannot be described at once."""
        done = CliRunner().invoke(cli, ["kernel", "info", "--cca", "bbr", "--qdisc", "pie"])
        assert done.exit_code == 2
        assert "--qdisc and --cca are given; give one of them" in done.stderr

    def test_build(self, program: Callable[..., str]) -> None:
        """An existing build is not repeated."""
        kernel = installed()
        before = kernel.init.stat()
        assert kernel.version in program("kernel", "build")
        after = kernel.init.stat()
        # Other tests may link the file meanwhile, which changes its ctime.
        assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)

    def test_doctor(self, program: Callable[..., str]) -> None:
        """With a built kernel nothing is missing."""
        assert json.loads(program("doctor", "--json"))["ok"]
