# SPDX-License-Identifier: Apache-2.0
"""Execution of scenarios: :func:`run` for one, :func:`run_many` for many in parallel.

:func:`repeat` runs one scenario with several seeds and returns means with confidence intervals.
:class:`Campaign` runs what many results need, and repeats it. :func:`cluster` gives
:func:`run_many` the machines of a dask cluster. :mod:`ccbench.emulate.engine` defines the interface
of engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from ccbench.base.cores import cores
    from ccbench.emulate._cluster import cluster
    from ccbench.emulate._load import work_mbit
    from ccbench.emulate._machine import Machine
    from ccbench.emulate._repeat import repeat
    from ccbench.emulate._run import DEFAULT_STORE, run
    from ccbench.emulate._run_many import run_many
    from ccbench.emulate._work import expected_s, measured_s
    from ccbench.emulate.campaign import Campaign, CampaignPlan, Gathered, Repeated
    from ccbench.emulate.engine import Check, Engine
    from ccbench.emulate.registry import get_engine, resolve
    from ccbench.emulate.resources import Needs
    from ccbench.emulate.store import Store

__all__ = [
    "DEFAULT_STORE",
    "Campaign",
    "CampaignPlan",
    "Check",
    "Engine",
    "Gathered",
    "Machine",
    "Needs",
    "Repeated",
    "Store",
    "cluster",
    "cores",
    "expected_s",
    "get_engine",
    "measured_s",
    "repeat",
    "resolve",
    "run",
    "run_many",
    "work_mbit",
]

# Names are imported on first use: the command line's --help needs only the engines' descriptions.
_HOMES = {
    "Check": "ccbench.emulate.engine",
    "DEFAULT_STORE": "ccbench.emulate._run",
    "Engine": "ccbench.emulate.engine",
    "Campaign": "ccbench.emulate.campaign",
    "CampaignPlan": "ccbench.emulate.campaign",
    "Gathered": "ccbench.emulate.campaign",
    "Machine": "ccbench.emulate._machine",
    "Needs": "ccbench.emulate.resources",
    "Repeated": "ccbench.emulate.campaign",
    "Store": "ccbench.emulate.store",
    "cluster": "ccbench.emulate._cluster",
    "cores": "ccbench.base.cores",
    "expected_s": "ccbench.emulate._work",
    "get_engine": "ccbench.emulate.registry",
    "measured_s": "ccbench.emulate._work",
    "repeat": "ccbench.emulate._repeat",
    "resolve": "ccbench.emulate.registry",
    "run": "ccbench.emulate._run",
    "run_many": "ccbench.emulate._run_many",
    "work_mbit": "ccbench.emulate._load",
}

__getattr__ = lazy_names(__name__, _HOMES)
