# SPDX-License-Identifier: Apache-2.0
"""Sweeps: runs of a scenario with all combinations of the values of some settings.

:func:`sweep`, also available as ``ccbench.sweep``, returns a table. :class:`Sweep` offers the
single steps: :meth:`~Sweep.plan` predicts the cost, :meth:`~Sweep.run` returns the table,
:func:`estimates` computes medians over repetitions, :mod:`.figures` plots them, and
:func:`save_table` writes the table. :class:`SavedSweep` reads a folder of ``ccbench sweep -o``.

Examples
--------
>>> from ccbench import sweeps
>>> chosen = sweeps.Sweep.of(
...     "examples/bbr-vs-cubic.toml", vary={"rtt_ms": [10, 40]}, repeat=5, metrics=["share"]
... )
>>> table = chosen.run()  # doctest: +SKIP
>>> sweeps.save_table(table, "sweep.csv")  # doctest: +SKIP
"""

from ccbench.experiment.setting_paths import paths
from ccbench.sweeps._sweep import Combination, Sweep, SweepPlan, sweep
from ccbench.sweeps.estimates import CaseEstimate, estimates
from ccbench.sweeps.metrics import METRICS, metrics_named
from ccbench.sweeps.saved import SavedSweep
from ccbench.sweeps.table import TABLE_FORMATS, check_table_path, save_table

__all__ = [
    "METRICS",
    "TABLE_FORMATS",
    "CaseEstimate",
    "Combination",
    "SavedSweep",
    "Sweep",
    "SweepPlan",
    "check_table_path",
    "estimates",
    "metrics_named",
    "paths",
    "save_table",
    "sweep",
]
