# SPDX-License-Identifier: Apache-2.0
"""Running scenarios: :func:`run` for one, :func:`run_many` for many side by side.

:func:`cluster` gives :func:`run_many` the machines of a dask cluster.
"""

from __future__ import annotations

from ccbench._cores import cores
from ccbench.emulate._cluster import cluster
from ccbench.emulate._run import DEFAULT_STORE, resolve, run
from ccbench.emulate._run_many import run_many
from ccbench.emulate.engine import Check, Engine, get_engine
from ccbench.emulate.store import Store

__all__ = [
    "DEFAULT_STORE",
    "Check",
    "Engine",
    "Store",
    "cluster",
    "cores",
    "get_engine",
    "resolve",
    "run",
    "run_many",
]
