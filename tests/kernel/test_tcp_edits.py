# SPDX-License-Identifier: Apache-2.0
"""Additions to Linux's TCP: congestion controls that do not use them do not see them.

The comparison compiles a kernel without the additions, which takes minutes: ``make soak``.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source import home, tree
from ccbench.emulate.kernel.source.build import build
from ccbench.emulate.kernel.source.lookup import installed
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import Flow
from ccbench.experiment.noise import typical
from tests.scenarios import flat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.experiment.scenario import Scenario

pytestmark = [pytest.mark.kernel, pytest.mark.long]

_MODULE = "tcp_bbr3"


def _scenarios() -> Mapping[str, Scenario]:
    """Return scenarios of all other congestion controls, with losses, marks and short flows."""
    base: dict[str, Any] = {"rtt_ms": 30, "duration_s": 12, "noise": typical(rtt_ms=30)}
    link = Bottleneck(bandwidth_mbps=30, queue_packets=80)
    rival = Flow(cca="cubic", start_s=1)
    codel = Bottleneck(bandwidth_mbps=30, queue_packets=200, qdisc="codel")
    abc = Bottleneck(bandwidth_mbps=30, queue_packets=200, qdisc="abc")
    lossy = Bottleneck(bandwidth_mbps=30, queue_packets=80, loss=0.01)
    ccas = sorted({*installed().ccas} - {"bbr3", "dctcp", "abc", "abc_ns", "abc_accecn", "prague"})
    parts = [ccas[i::7] for i in range(7)]
    mixes: dict[str, tuple[tuple[Flow, ...], Bottleneck, dict[str, Any]]] = {
        f"{', '.join(part)}": ((*(Flow(cca=cca) for cca in part), rival), link, {})
        for part in parts
    }
    mixes |= {
        "losses": (tuple(Flow(cca=cca) for cca in ("bbr", "cubic", "reno", "copa")), lossy, {}),
        "marks": ((Flow(cca="dctcp"), Flow(cca="cubic"), Flow(cca="bbr")), codel, {"ecn": True}),
        "ABC": ((Flow(cca="abc"), rival), abc, {}),
        "without offload": (
            tuple(Flow(cca=cca, segmentation_offload=False) for cca in ("bbr", "cubic")),
            link,
            {},
        ),
        "short flows": (
            (Flow(cca="bbr"), Flow(kind="bytes", size_bytes=200_000, count=40, start_s=1)),
            link,
            {},
        ),
    }
    return {
        name: flat(flows=flows, bottlenecks=(bottleneck,), **{**base, **settings})
        for name, (flows, bottleneck, settings) in mixes.items()
    }


def _digests(engine: KernelEngine) -> dict[str, str]:
    return {name: engine.run(scenario).digest() for name, scenario in _scenarios().items()}


@pytest.mark.skipif("CCBENCH_KILLS" not in os.environ, reason="takes minutes: make soak")
def test_unseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without the additions, every other congestion control gives the same bytes."""
    kernel = installed()
    scenarios = _scenarios()
    expected = _digests(KernelEngine())
    source = next((kernel.path.parents[1] / "sources").glob(f"*{kernel.release}*"), None)
    if source is None:
        pytest.skip("the cache has no source of this kernel")
    sources = Path(shutil.copytree(home.sources_dir(), tmp_path / "kernel_modules"))
    shutil.rmtree(sources / _MODULE)
    monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(home, "sources_dir", lambda: sources)
    monkeypatch.setattr(tree, "TCP_EDITS", ())
    without = build(source)
    engine = KernelEngine(without)
    assert len(scenarios) == 12
    actual = {name: engine.run(scenario).digest() for name, scenario in scenarios.items()}
    assert actual == expected
