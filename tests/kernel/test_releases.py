# SPDX-License-Identifier: Apache-2.0
"""Releases of Linux other than the default one: a small test of everything on each.

``make kernels`` runs all tests of the virtual kernel on each release.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from ccbench import Bottleneck, Flow, Noise
from ccbench.base.errors import CcbenchError
from ccbench.cli.main import program
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source import lookup
from tests.kernel.conftest import dumbbell, events

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.experiment.scenario import Scenario

pytestmark = pytest.mark.kernel

#: The oldest supported release, and the newest that Debian offers.
RELEASES = ("6.1", "7.3")

#: CCAs that need an ECN-capable path, or a bottleneck of their own, or leave a lone link idle.
SPECIAL = {"dctcp", "abc", "abc_ns", "abc_accecn", "prague", "dctcp-reno"}


@pytest.fixture(scope="module", params=RELEASES)
def engine(request: pytest.FixtureRequest) -> KernelEngine:
    """Give the engine with the kernel of a release."""
    try:
        return KernelEngine(kernel=request.param)
    except CcbenchError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("setting", ['cca = "prague"', 'cca = "cubic", label = "dualpi2"'])
def test_chosen_by_need(setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What only a newer Linux has runs on that one, and the command says so; the default stays."""
    newest = next(lookup.released())
    default = next((one for one in lookup.released() if one.release.startswith("6.")), newest)
    if newest.release.startswith("6."):
        pytest.skip("needs Linux 7.0 or newer: ccbench kernel build 7.3")
    monkeypatch.setattr(lookup, "installed", lambda: default)
    qdisc = "dualpi2" if "dualpi2" in setting else "droptail"
    (tmp_path / "mine.toml").write_text(
        f"rtt_ms = 20\nduration_s = 2\nflows = [{{ {setting} }}]\nbottlenecks = "
        f'[{{ bandwidth_mbps = 5, queue_packets = 20, qdisc = "{qdisc}" }}]\n'
    )
    ran = CliRunner().invoke(program, ["run", str(tmp_path / "mine.toml"), "--json"])
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["provenance"]["kernel_release"] == newest.release
    assert f"on {newest.title}, as the default, {default.title}, lacks" in ran.stderr
    refused = CliRunner().invoke(
        program, ["run", str(tmp_path / "mine.toml"), "--kernel", default.release]
    )
    assert refused.exit_code == 2, refused.output


def test_same_bytes(engine: KernelEngine) -> None:
    """The same seed gives the same record of the queue, another seed another one."""
    scenario = replace(
        dumbbell(Flow(cca="bbr"), Flow(cca="cubic"), duration_s=4),
        path=replace(
            dumbbell(Flow(cca="bbr"), Flow(cca="cubic"), duration_s=4).path,
            noise=Noise(reverse_jitter_ms=1),
        ),
    )
    first, again, other = (
        engine.run(replace(scenario, seed=seed)).queue_events() for seed in (1, 1, 2)
    )
    assert first.equals(again)
    assert not first.equals(other)


def test_congestion_controls(engine: KernelEngine) -> None:
    """Every CCA of the kernel and of the modules fills most of an idle link in 10 s."""
    for cca in sorted({*engine.kernel.ccas} - SPECIAL):
        run = engine.run(dumbbell(Flow(cca=cca), duration_s=10))
        assert run.utilisation() > 0.8, cca


@pytest.mark.parametrize("cca", ["abc", "abc_ns"])
def test_abc(engine: KernelEngine, cca: str) -> None:
    """ABC fills most of a link with its own qdisc, and keeps the queue short."""
    needed = engine.kernel.cca(cca).qdisc_option
    assert needed is not None
    qdisc, option, value = needed
    link = Bottleneck(
        bandwidth_mbps=10, queue_packets=100, qdisc=qdisc, qdisc_options=((option, value),)
    )
    scenario: Scenario = replace(
        dumbbell(Flow(cca=cca), duration_s=10),
        path=replace(dumbbell(Flow(cca=cca), duration_s=10).path, bottlenecks=(link,)),
    )
    run = engine.run(scenario)
    assert run.utilisation() > 0.8
    assert run.queueing_delay_ms() < 60


def test_qdiscs(engine: KernelEngine) -> None:
    """Every qdisc conserves the packets of an overloaded link, and delivers its rate."""
    for qdisc in engine.kernel.queues:
        if any(option.is_required for option in engine.kernel.queue(qdisc).options.values()):
            continue
        run = engine.run(
            dumbbell(
                *(Flow(cca="", kind="cbr", rate_mbps=6) for _ in range(2)),
                qdisc=qdisc,
                duration_s=4,
            )
        )
        counts = {event: len(events(run, event)) for event in ("enqueue", "dequeue", "drop")}
        waiting = counts["enqueue"] - counts["dequeue"] - counts["drop"]
        assert 0 <= waiting <= 10_000, qdisc
        assert counts["drop"] or waiting > 64, qdisc
        assert run.utilisation() > 0.9, qdisc
