# SPDX-License-Identifier: Apache-2.0
"""Classification of recorded queues, in one call."""

from __future__ import annotations

from dataclasses import dataclass
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

    import numpy as np
    import numpy.typing as npt
    from matplotlib.figure import Figure

    from ccbench.classify.filters import Filters
    from ccbench.classify.verdict import Verdict

__all__ = ["RecordedQueues", "judge_files"]


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedQueues:
    """Queues of one server that were recorded, and the CCA that made them.

    Attributes
    ----------
    names : tuple of str
        The file or files of each queue.
    traces : tuple of (Setting, ndarray)
        The occupancy of each queue, filtered, and where it was recorded.
    known : TrainingSet
        The training set, filtered in the same way.
    verdict : Verdict
        The CCA, with a vote for each trace.
    """

    names: tuple[str, ...]
    traces: tuple[tuple[Setting, npt.NDArray[np.float32]], ...]
    known: TrainingSet
    verdict: Verdict

    @classmethod
    def read(
        cls,
        paths: Iterable[str | Path],
        setting: str | Setting | None = None,
        *,
        training: str | Path | None = None,
        filters: Filters = NO_FILTERS,
    ) -> RecordedQueues:
        """Read files and judge them; see :func:`judge_files`."""
        if isinstance(paths, (str, Path)):
            raise validation.bad("paths", str(paths), "a list", f"write [{str(paths)!r}]")
        where = Setting.named(setting) if isinstance(setting, str) else setting
        known = TrainingSet.load(PACKAGED if training is None else Path(training))
        recordings = read_all([Path(path) for path in paths], where, known.settings)
        known = filters.known(known, {one.setting for one in recordings})
        traces = tuple((one.setting, filters.trace(one.events)) for one in recordings)
        return cls(
            names=tuple(one.name for one in recordings),
            traces=traces,
            known=known,
            verdict=judge(traces, known),
        )

    def figure(self) -> Figure:
        """Draw each trace over its nearest one of the training set."""
        from ccbench.classify.figures import traces_over_nearest  # noqa: PLC0415 - matplotlib

        return traces_over_nearest(self.traces, self.verdict, self.known)


def judge_files(
    paths: Iterable[str | Path],
    setting: str | Setting | None = None,
    *,
    training: str | Path | None = None,
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
    training : path, optional
        The training set that they are compared with; left out, ccbench's own.
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
    return RecordedQueues.read(paths, setting, training=training, filters=filters).verdict
