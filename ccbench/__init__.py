# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of congestion control on the real Linux TCP stack in virtual time.

An experiment is data: a :class:`Scenario` describes it, :func:`ccbench.emulate.run` runs it on an
engine, and the returned :class:`Run` holds the result.

Examples
--------
>>> import ccbench
>>> link = ccbench.Bottleneck(bandwidth_mbps=100, queue_bdp=1)
>>> scenario = ccbench.Scenario(
...     flows=(ccbench.Flow(cca="bbr"), ccbench.Flow(cca="cubic")),
...     path=ccbench.NetworkPath(bottlenecks=(link,), rtt_ms=40),
...     duration_s=60,
... )
>>> ccbench.emulate.run(scenario).throughput()  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ccbench.base.lazy_names import lazy_names
from ccbench.base.versions import installed_version

if TYPE_CHECKING:
    from ccbench import classify, emulate, harm, plots, raygen, studies, sweeps
    from ccbench.base import errors
    from ccbench.experiment import traffic
    from ccbench.experiment.bottleneck import Bottleneck
    from ccbench.experiment.change import Change
    from ccbench.experiment.flow import Flow
    from ccbench.experiment.impairments import BurstLoss, Jitter, Policer, Reordering
    from ccbench.experiment.loss_trace import LossTrace
    from ccbench.experiment.noise import Noise
    from ccbench.experiment.path import NetworkPath, typical_path
    from ccbench.experiment.receiver import Receiver
    from ccbench.experiment.rtt_trace import RttTrace
    from ccbench.experiment.scenario import Scenario
    from ccbench.experiment.subflow import Subflow
    from ccbench.experiment.trace import Trace
    from ccbench.experiment.when import When
    from ccbench.run import packets
    from ccbench.run.run import Run
    from ccbench.sweeps import sweep

    __version__: str

__all__ = [
    "Bottleneck",
    "BurstLoss",
    "Change",
    "Flow",
    "Jitter",
    "LossTrace",
    "NetworkPath",
    "Noise",
    "Policer",
    "Receiver",
    "Reordering",
    "RttTrace",
    "Run",
    "Scenario",
    "Subflow",
    "Trace",
    "When",
    "__version__",
    "classify",
    "emulate",
    "errors",
    "harm",
    "packets",
    "plots",
    "raygen",
    "studies",
    "sweep",
    "sweeps",
    "traffic",
    "typical_path",
]

# Names are imported on first use: pandas and pyarrow take most of a second to import, and --help
# needs neither.
_HOMES = {
    "Bottleneck": "ccbench.experiment.bottleneck",
    "BurstLoss": "ccbench.experiment.impairments",
    "Change": "ccbench.experiment.change",
    "Flow": "ccbench.experiment.flow",
    "Jitter": "ccbench.experiment.impairments",
    "LossTrace": "ccbench.experiment.loss_trace",
    "NetworkPath": "ccbench.experiment.path",
    "Noise": "ccbench.experiment.noise",
    "Policer": "ccbench.experiment.impairments",
    "Receiver": "ccbench.experiment.receiver",
    "Reordering": "ccbench.experiment.impairments",
    "RttTrace": "ccbench.experiment.rtt_trace",
    "Run": "ccbench.run.run",
    "Scenario": "ccbench.experiment.scenario",
    "Subflow": "ccbench.experiment.subflow",
    "Trace": "ccbench.experiment.trace",
    "When": "ccbench.experiment.when",
    "sweep": "ccbench.sweeps",
    "typical_path": "ccbench.experiment.path",
}
_MODULES = {
    **{
        name: f"ccbench.{name}"
        for name in ("classify", "emulate", "harm", "plots", "raygen", "studies")
    },
    "errors": "ccbench.base.errors",
    "packets": "ccbench.run.packets",
    "traffic": "ccbench.experiment.traffic",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return installed_version()
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    return lazy_names(__name__, _HOMES)(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
