# SPDX-License-Identifier: Apache-2.0
"""Metrics of runs: one table that all commands read.

A metric is described once (:class:`Metric`): its name, unit and definition, the objects of which
each has a value, and the record that it needs. To add one, add an entry to a module of this
package.
"""

from __future__ import annotations

from ccbench.metrics._metric import Metric, Part, Scope, Window
from ccbench.metrics._table import (
    METRICS,
    achieved,
    column_of,
    group_names,
    least_log,
    measured,
    named,
    of_objects,
)
from ccbench.metrics.rates import jain_index
from ccbench.metrics.transfers import DOWNLOAD_S, downloaded

__all__ = [
    "DOWNLOAD_S",
    "METRICS",
    "Metric",
    "Part",
    "Scope",
    "Window",
    "achieved",
    "column_of",
    "downloaded",
    "group_names",
    "jain_index",
    "least_log",
    "measured",
    "named",
    "of_objects",
]
