# SPDX-License-Identifier: Apache-2.0
"""Which CCA made the queues that are recorded in these files, in one call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.classify.filters import NO_FILTERS
from ccbench.classify.recording import read_all
from ccbench.classify.setting import Setting
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ccbench.classify.filters import Filters
    from ccbench.classify.verdict import Verdict

__all__ = ["judge_files"]


def judge_files(
    paths: Iterable[str | Path],
    setting: str | Setting | None = None,
    *,
    training: str | Path = PACKAGED,
    filters: Filters = NO_FILTERS,
) -> Verdict:
    """Say which CCA made queues that were recorded, as ``ccbench classify FILE...`` does.

    Parameters
    ----------
    paths : iterable of path
        All of one server: folders of runs, CSV files with the columns ``time_s`` and
        ``occupancy_packets``, logs of mm-link, or captures in pairs, from before the queue and from
        after it (``.pcap``, ``.pcapng``). See :func:`ccbench.classify.recording.read_all`.
    setting : str or Setting, optional
        Where they were recorded, such as ``"5bw-85rtt-64q"``: 5 Mbit/s, 85 ms, 64 packets. Runs
        know it themselves.
    training : path
        The training set that they are compared with.
    filters : Filters
        What is done to the traces before.

    Raises
    ------
    InputError
        If a file is none of these, or it is not known where one was recorded.

    Examples
    --------
    What arrived at a queue and what left it, as two captures tell:

    .. code-block:: python

        judge_files(["before.pcap", "after.pcap"], "5bw-85rtt-64q").label
    """
    if isinstance(paths, (str, Path)):
        raise validation.bad("paths", str(paths), "a list", f"write [{str(paths)!r}]")
    where = Setting.named(setting) if isinstance(setting, str) else setting
    known = TrainingSet.load(Path(training))
    recordings = read_all([Path(path) for path in paths], where, known.settings)
    known = filters.known(known, {one.setting for one in recordings})
    return judge([(one.setting, filters.trace(one.events)) for one in recordings], known)
