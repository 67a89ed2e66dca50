# SPDX-License-Identifier: Apache-2.0
"""Randomised trees as arrays."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from ccbench.classify.setting import SETTINGS
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.trees import Trees, grown

if TYPE_CHECKING:
    from pathlib import Path

_MEASUREMENTS = 30


def rows(levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return measurements of three CCAs; with few levels, rows of several CCAs are equal."""
    rng = np.random.default_rng(levels)
    values = rng.integers(0, levels, (300, _MEASUREMENTS), dtype=np.uint8)
    values[:, 3:] //= levels  # a few measurements only, so that rows repeat
    return values, np.array(["bbr", "cubic", "reno"])[rng.integers(0, 3, 300)]


@pytest.mark.parametrize("levels", [2, 33])
def test_probabilities(levels: int) -> None:
    """Probabilities equal scikit-learn's to the last digit, also of leaves with several CCAs."""
    values, names = rows(levels)
    forest = ExtraTreesClassifier(24, max_features=20, class_weight="balanced", random_state=0)
    asked = np.random.default_rng(1).integers(0, 34, (200, _MEASUREMENTS), dtype=np.uint8)
    trees = grown(values, names)
    every = np.vstack([values, asked])
    expected = forest.fit(values, names).predict_proba(every)
    np.testing.assert_array_equal(expected, trees.probabilities(every))
    stored = Trees.from_dict(json.loads(json.dumps(trees.to_dict())))
    np.testing.assert_array_equal(expected, stored.probabilities(every))


def test_packaged() -> None:
    """The trees of the packaged training set are those that grow from its rows."""
    packaged = TrainingSet.load(PACKAGED)
    setting = SETTINGS[0]
    one, other = (each.reactions(setting) for each in (packaged, replace(packaged, trees={})))
    assert one is not None
    assert other is not None
    assert one.key == other.key in packaged.trees
    assert packaged.reactions_in_context.key in packaged.trees
    for name in ("sizes", "features", "values", "shares"):
        np.testing.assert_array_equal(getattr(one.trees, name), getattr(other.trees, name))


def test_imports(tmp_path: Path) -> None:
    """An answer without a figure needs neither scikit-learn nor scipy nor matplotlib."""
    queue = np.tile(np.linspace(20, 64, 300), 5)
    lines = (f"{0.02 * i:.2f},{round(each)}" for i, each in enumerate(queue.tolist()))
    path = tmp_path / "5bw-85rtt-64q.csv"
    path.write_text("\n".join(["time_s,occupancy_packets", *lines]))
    script = (
        "import sys; from ccbench.cli.main import program;"
        "program(['classify', sys.argv[1]], standalone_mode=False);"
        "sys.exit(bool({'sklearn', 'scipy', 'matplotlib'} & set(sys.modules)))"
    )
    assert not subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode
