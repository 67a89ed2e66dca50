# SPDX-License-Identifier: Apache-2.0
"""Running scenarios: :func:`run` for one, :func:`run_many` for many side by side.

:func:`repeat` runs one scenario with several seeds and returns means with their intervals.
:func:`gather` brings the runs together that one result needs. :func:`cluster` gives
:func:`run_many` the machines of a dask cluster.
"""

from __future__ import annotations

from ccbench.base.cores import cores
from ccbench.emulate._cluster import cluster
from ccbench.emulate._gather import Gathered, RunMany, gather
from ccbench.emulate._load import work_mbit
from ccbench.emulate._machine import Machine
from ccbench.emulate._repeat import repeat
from ccbench.emulate._run import DEFAULT_STORE, resolve, run
from ccbench.emulate._run_many import run_many
from ccbench.emulate._work import expected_s, measured_s
from ccbench.emulate.engine import Check, Engine, get_engine
from ccbench.emulate.resources import Needs
from ccbench.emulate.store import Store

__all__ = [
    "DEFAULT_STORE",
    "Check",
    "Engine",
    "Gathered",
    "Machine",
    "Needs",
    "RunMany",
    "Store",
    "cluster",
    "cores",
    "expected_s",
    "gather",
    "get_engine",
    "measured_s",
    "repeat",
    "resolve",
    "run",
    "run_many",
    "work_mbit",
]
