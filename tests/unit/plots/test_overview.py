# SPDX-License-Identifier: Apache-2.0
"""Figures of runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench import plots
from ccbench.base.errors import InputError
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.axes import Axes

    from ccbench.run.run import Run

SCENARIO = Scenario(
    flows=(Flow(cca="bbr"), Flow(cca="cubic", count=2, label="web")),
    path=NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=10, queue_packets=20),) * 2, rtt_ms=40),
    duration_s=60,
    sample_interval_ms=1000,
)


def last_points(axes: Axes) -> dict[str, float]:
    """Return the end of each line, by its label."""
    return {str(line.get_label()): np.asarray(line.get_ydata())[-1] for line in axes.lines}


class TestThroughputAndQueue:
    def test_panels(self, make_run: Callable[[Scenario, Any], Run]) -> None:
        """Throughput is on top and each bottleneck's queue below it."""
        axes = plots.throughput_and_queue(make_run(SCENARIO, [5, 3, 2])).axes
        labels = ["throughput (Mbit/s)", "queue 0 (packets)", "queue 1 (packets)"]
        assert labels == [a.get_ylabel() for a in axes]
        assert "time (s)" == axes[-1].get_xlabel()

    def test_without_queue_log(self, make_run: Callable[[Scenario, Any], Run]) -> None:
        """Without a queue log only the throughput is drawn."""
        run = make_run(replace(SCENARIO, queue_log=False), [5, 3, 2])
        assert 1 == len(plots.throughput_and_queue(run).axes)

    def test_lines(self, make_run: Callable[[Scenario, Any], Run]) -> None:
        """Each flow has a line with its label, number and throughput."""
        top = plots.throughput_and_queue(make_run(SCENARIO, [5, 3, 2])).axes[0]
        assert {"bbr (0)": 5, "web (1)": 3, "web (2)": 2} == pytest.approx(last_points(top))

    def test_directions(self, make_run: Callable[[Scenario, Any], Run]) -> None:
        """Flows and queues of the reverse path are marked, with their numbers in the run."""
        flows = (Flow(cca="bbr"), Flow(cca="cubic", direction="reverse"))
        links, back = SCENARIO.path.bottlenecks[:1], SCENARIO.path.bottlenecks[:1]
        scenario = replace(
            SCENARIO,
            flows=flows,
            path=replace(SCENARIO.path, bottlenecks=links, reverse_bottlenecks=back),
        )
        top, *queues = plots.throughput_and_queue(make_run(scenario, [5, 3])).axes
        assert ["bbr (0)", "reverse cubic (1)"] == [*last_points(top)]
        names = ["queue 0 (packets)", "reverse queue 1 (packets)"]
        assert names == [a.get_ylabel() for a in queues]

    def test_many_flows(self, make_run: Callable[[Scenario, Any], Run]) -> None:
        """With many flows, each line is the sum of a group."""
        flows = (Flow(cca="bbr", count=10), Flow(cca="cubic", count=90))
        run = make_run(replace(SCENARIO, flows=flows), [0.5] * 10 + [0.05] * 90)
        top = plots.throughput_and_queue(run).axes[0]
        assert {"bbr (sum of 10)": 5, "cubic (sum of 90)": 4.5} == pytest.approx(last_points(top))

    @pytest.mark.parametrize("sample_interval_ms", [1, 7.5, 100, 333, 7000])
    @pytest.mark.parametrize("duration_s", [0.5, 60, 5000])
    def test_any_interval(
        self,
        make_run: Callable[[Scenario, Any], Run],
        sample_interval_ms: float,
        duration_s: float,
    ) -> None:
        """A run of any length and sample interval can be drawn."""
        run = make_run(SCENARIO, [5, 3, 2])
        scenario = replace(SCENARIO, duration_s=duration_s, sample_interval_ms=sample_interval_ms)
        plots.throughput_and_queue(replace(run, scenario=scenario))


class TestSave:
    @pytest.mark.parametrize(
        ("name", "start"), [("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.SVG", b"<?xml")]
    )
    def test_formats(
        self, make_run: Callable[[Scenario, Any], Run], tmp_path: Path, name: str, start: bytes
    ) -> None:
        """The suffix chooses the format."""
        plots.save(plots.throughput_and_queue(make_run(SCENARIO, [5, 3, 2])), tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)

    @pytest.mark.parametrize("name", ["a", "a.xyz", "a.tiff", "nowhere/a.png"])
    def test_bad_path(self, tmp_path: Path, name: str) -> None:
        """Another format, or a missing folder, is refused."""
        with pytest.raises(InputError, match="plot file is"):
            plots.check_path(tmp_path / name)

    def test_not_half(
        self,
        make_run: Callable[[Scenario, Any], Run],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """If writing fails, the previous file stays and no other is left."""
        (tmp_path / "a.png").write_bytes(b"before")
        figure = plots.throughput_and_queue(make_run(SCENARIO, [5, 3, 2]))

        def fail(*_: object) -> None:
            raise ValueError("half")

        monkeypatch.setattr(figure, "draw", fail)
        with pytest.raises(ValueError, match="half"):
            plots.save(figure, tmp_path / "a.png")
        assert [tmp_path / "a.png"] == list(tmp_path.iterdir())
        assert b"before" == (tmp_path / "a.png").read_bytes()
