# SPDX-License-Identifier: Apache-2.0
"""Barycentres of traces, and figures with them."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

from ccbench.base.errors import InputError, MissingRequirement
from ccbench.classify.barycentre import barycentre
from ccbench.classify.clusters_plot import ClusterPanel, medoids_figure
from ccbench.classify.figures import traces_of_each, traces_over_each
from ccbench.classify.setting import SETTINGS
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.cli.main import program

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt
    from matplotlib.axes import Axes


@pytest.fixture(autouse=True)
def tslearn() -> Any:
    """Give the module of tslearn, without its compilation, which takes longer than the tests.

    If another test has imported it already, it is compiled: numba cannot mix the two.
    """
    numba = pytest.importorskip("numba")
    if "tslearn" not in sys.modules:
        numba.config.DISABLE_JIT = True
    return pytest.importorskip("tslearn.metrics")


def sawtooth(start: int, points: int = 40) -> npt.NDArray[np.float32]:
    """Return a sawtooth of period 10 that begins at a point of its period."""
    return ((np.arange(points) + start) % 10).astype(np.float32)


def summed(tslearn: Any, average: Any, traces: Any) -> float:
    """Return the sum of the squares of tslearn's distances."""
    return sum(float(tslearn.dtw(average, trace)) ** 2 for trace in traces)


class TestBarycentre:
    def test_equal(self) -> None:
        """The barycentre of equal traces is the trace."""
        np.testing.assert_allclose(barycentre([sawtooth(3)] * 4), sawtooth(3))

    def test_one(self) -> None:
        """The barycentre of one trace is that trace."""
        np.testing.assert_allclose(barycentre([sawtooth(0)]), sawtooth(0))

    @pytest.mark.parametrize("seed", range(3))
    def test_no_further_than_the_medoid(self, seed: int, tslearn: Any) -> None:
        """The barycentre is at most as far from the traces as each of them is, summed."""
        random = np.random.default_rng(seed)
        traces = [sawtooth(start) + random.normal(0, 1, 40) for start in range(5)]
        least = min(summed(tslearn, trace, traces) for trace in traces)
        assert summed(tslearn, barycentre(traces), traces) <= least * (1 + 1e-9)

    def test_shape(self) -> None:
        """The barycentre of shifted teeth has their amplitude, which the mean has not."""
        traces = [sawtooth(start) for start in range(-2, 3)]
        average = barycentre(traces)
        assert np.ptp(average[10:30]) > 8
        assert np.ptp(np.mean(traces, axis=0)[10:30]) < 7

    def test_scale(self) -> None:
        """Adding a number to traces and stretching them does the same to the barycentre."""
        traces = [sawtooth(start) for start in range(4)]
        expected = 5 + 2 * barycentre(traces)
        np.testing.assert_allclose(barycentre([5 + 2 * trace for trace in traces]), expected)

    def test_order(self) -> None:
        """The order of the traces does not matter."""
        random = np.random.default_rng(1)
        traces = [sawtooth(start) + random.normal(0, 1, 40) for start in range(4)]
        np.testing.assert_allclose(barycentre(traces), barycentre(traces[::-1]))

    def test_lengths(self) -> None:
        """Traces may differ in length; the barycentre is as long as the medoid."""
        traces = [sawtooth(0, 40), sawtooth(0, 40), sawtooth(0, 35)]
        assert 40 == len(barycentre(traces))

    def test_none(self) -> None:
        """No traces are an input error."""
        with pytest.raises(InputError):
            barycentre([])

    def test_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without tslearn the error names the package to install."""
        monkeypatch.setitem(sys.modules, "tslearn.barycenters", None)
        with pytest.raises(MissingRequirement, match=r"pip install 'ccbench\[barycentres\]'"):
            barycentre([sawtooth(0)])


@pytest.fixture
def small() -> TrainingSet:
    """Give two CCAs of the packaged set in a setting, with traces of 0.8 s."""
    packaged = TrainingSet.load(PACKAGED)
    samples = [
        replace(sample, points=sample.points[:40])
        for cca in ("bbr", "vegas")
        for sample in [one for one in packaged.samples_of(SETTINGS[0]) if one.cca == cca][:3]
    ]
    limits = {SETTINGS[0]: packaged.thresholds[SETTINGS[0]]}
    return replace(packaged, samples=samples, thresholds=limits, noisy=(), windows=())


def drawn(axes: Axes) -> npt.NDArray[np.float64]:
    """Return the points of the line in front."""
    return np.asarray(axes.lines[-1].get_ydata(), dtype=np.float64)


class TestFigures:
    def test_explained(self, small: TrainingSet) -> None:
        """Each panel has the nearest trace, the observed one and, if asked for, the barycentre."""
        traces = small.samples[:1]
        (without,) = traces_over_each(["a"], traces, small).subfigs
        assert [2, 2] == [len(axes.lines) for axes in without.axes]
        (part,) = traces_over_each(["a"], traces, small, barycentres=True).subfigs
        assert [3, 3] == [len(axes.lines) for axes in part.axes]
        average = barycentre([each.points for each in small.samples if each.cca == "bbr"])
        np.testing.assert_allclose(drawn(part.axes[0]), average)

    def test_training_set(self, small: TrainingSet) -> None:
        """The figure of a training set has each CCA with all of its traces and the barycentre."""
        (part,) = traces_of_each(small).subfigs
        assert ["bbr", "vegas"] == [axes.get_title(loc="left") for axes in part.axes]
        assert [4, 4] == [len(axes.lines) for axes in part.axes]

    def test_cluster(self) -> None:
        """The panel of a cluster has the barycentre of its traces in front."""
        traces = [sawtooth(start) for start in range(3)]
        panel = ClusterPanel(
            title="cubic", medoid=traces[1], others=[traces[0], traces[2]], has_barycentre=True
        )
        ((axes,),) = (medoids_figure([[panel]]).axes,)
        average = barycentre([traces[1], traces[0], traces[2]])
        np.testing.assert_allclose(drawn(axes), average)


class TestCommands:
    def test_classify_alone(self, tmp_path: Path) -> None:
        """The option of `ccbench classify` without a figure of each CCA is refused."""
        path = tmp_path / "queue.csv"
        path.write_text("time_s,occupancy_packets\n0,1\n", encoding="utf-8")
        words = ["classify", str(path), "--barycentres", "--plot", str(tmp_path / "a.png")]
        done = CliRunner().invoke(program, words)
        assert 2 == done.exit_code
        assert "given with --explain and --plot FILE" in done.output

    def test_cluster_alone(self, tmp_path: Path) -> None:
        """The option of `ccbench classify-cluster` without a folder for pictures is refused."""
        done = CliRunner().invoke(program, ["classify-cluster", str(tmp_path), "--barycentres"])
        assert 2 == done.exit_code
        assert "given with -o FOLDER" in done.output
