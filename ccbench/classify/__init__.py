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

from typing import TYPE_CHECKING

from ccbench.base.lazy_names import lazy_names

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
    "Filters": "ccbench.classify.filters",
    "Manners": "ccbench.classify.web.manners",
    "SETTINGS": "ccbench.classify.setting",
    "Setting": "ccbench.classify.setting",
    "Survey": "ccbench.classify.web.survey",
    "TraceVerdict": "ccbench.classify.verdict",
    "TrainingSet": "ccbench.classify.training_set",
    "Verdict": "ccbench.classify.verdict",
    "judge": "ccbench.classify.verdict",
    "judge_files": "ccbench.classify.files",
    "read_targets": "ccbench.classify.web.target",
}


__getattr__ = lazy_names(__name__, _HOMES)
