# SPDX-License-Identifier: Apache-2.0
"""Classification of congestion control algorithms by traces of queue occupancy.

:mod:`.recording` reads recorded queues (pairs of packet captures: :mod:`.pcap_pair`),
:mod:`.occupancy` converts them to traces, and :mod:`.filters` smooths these. :mod:`.dtw` is the
distance of two traces, :mod:`.classifier` finds the nearest trace of a training set
(:mod:`.training_set`, built from :mod:`.samples` of each :mod:`.implementation`, for further
settings :mod:`.on_demand`; in files: :mod:`.columns`), :mod:`.threshold` limits its distance, and
:mod:`.vote` combines the settings. For paths with noise, :mod:`.measurements` describes the
sender's window, and :mod:`.reactions` is the second stage, whose :mod:`.trees` scikit-learn grows.
:mod:`.verdict` applies all of these to one server, and :mod:`.estimator` another estimator.
:mod:`ccbench.classify.web` measures servers; :mod:`.reclustering` labels unknown servers by
clustering.

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

# Imported on first use: parsing a setting's name must not import scikit-learn and pandas.
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
