# SPDX-License-Identifier: Apache-2.0
"""Classification of congestion control algorithms by traces of queue occupancy.

A record of a queue comes in many forms (:mod:`.recording`; captures of packets: :mod:`.pcap_pair`);
:mod:`.occupancy` makes a trace of it, :mod:`.filters` cleans that. :mod:`.dtw` is the distance of
two traces, :mod:`.classifier` finds the nearest of a training set (:mod:`.training_set`, made of
:mod:`.samples`), :mod:`.threshold` decides when that is too far, :mod:`.vote` combines several
settings, and :mod:`.verdict` is all of that for one server. :mod:`ccbench.classify.web` asks
servers; :mod:`.reclustering` labels the unknown ones among many.

Start with :func:`judge_files` for recorded queues, and :class:`Survey` for servers.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ccbench.classify.files import judge_files
    from ccbench.classify.filters import Filters
    from ccbench.classify.setting import SETTINGS, Setting
    from ccbench.classify.training_set import TrainingSet
    from ccbench.classify.verdict import TraceVerdict, Verdict, judge
    from ccbench.classify.web.manners import Manners
    from ccbench.classify.web.survey import Survey
    from ccbench.classify.web.target import read_targets

__all__ = [
    "SETTINGS",
    "Filters",
    "Manners",
    "Setting",
    "Survey",
    "TraceVerdict",
    "TrainingSet",
    "Verdict",
    "judge",
    "judge_files",
    "read_targets",
]

# Imported when they are first used: a setting's name needs nothing of what reads captures.
_HOMES = {
    "Filters": "filters",
    "Manners": "web.manners",
    "SETTINGS": "setting",
    "Setting": "setting",
    "Survey": "web.survey",
    "TraceVerdict": "verdict",
    "TrainingSet": "training_set",
    "Verdict": "verdict",
    "judge": "verdict",
    "judge_files": "files",
    "read_targets": "web.target",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"ccbench.classify.{_HOMES[name]}"), name)
