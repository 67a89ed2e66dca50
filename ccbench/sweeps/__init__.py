# SPDX-License-Identifier: Apache-2.0
"""Sweeps: a scenario with all combinations of some settings' values.

:func:`sweep`, which is ``ccbench.sweep`` too, returns a table. A :class:`Sweep` is the same in
steps: its :meth:`~Sweep.plan` says how long it will take, :func:`estimates` are the means over its
repetitions, :mod:`.figures` draws them, and :func:`save_table` writes the table.

Examples
--------
>>> from ccbench import sweeps
>>> chosen = sweeps.Sweep.of(
...     "examples/bbr-vs-cubic.toml", vary={"rtt_ms": [10, 40]}, repeat=5, metrics=["share"]
... )
>>> table = chosen.run()  # doctest: +SKIP
>>> sweeps.save_table(table, "sweep.csv")  # doctest: +SKIP
"""

from ccbench.sweeps._settings import paths
from ccbench.sweeps._sweep import Case, Sweep, SweepPlan, sweep
from ccbench.sweeps.estimates import CaseEstimate, estimates
from ccbench.sweeps.metrics import METRICS, SweepMetric, metrics_named
from ccbench.sweeps.table import TABLE_FORMATS, check_table_path, save_table

__all__ = [
    "METRICS",
    "TABLE_FORMATS",
    "Case",
    "CaseEstimate",
    "Sweep",
    "SweepMetric",
    "SweepPlan",
    "check_table_path",
    "estimates",
    "metrics_named",
    "paths",
    "save_table",
    "sweep",
]
