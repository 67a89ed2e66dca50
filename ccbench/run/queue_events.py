# SPDX-License-Identifier: Apache-2.0
"""The events of one queue of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.run.tables import BACKLOG_STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt
    import pandas as pd

    from ccbench.run.record import RunRecord

__all__ = ["check_bottleneck", "check_events", "events", "parts"]


def events(run: RunRecord, bottleneck: int, queue: str | None = None) -> pd.DataFrame:
    """Return the rows of ``queue`` that belong to a bottleneck, or to one of its queues."""
    check_events(run, bottleneck, queue)
    rows = run.queue
    if len(run.scenario.path.links) > 1:  # avoids a copy of millions of rows
        rows = rows[rows["bottleneck"] == bottleneck]
    if queue is None:
        return rows
    rows = rows[rows["queue"] == queue]
    step = BACKLOG_STEPS[rows["event"].cat.codes]
    return rows.assign(
        backlog_packets=np.cumsum(step).astype(np.uint32),
        backlog_bytes=np.cumsum(step * rows["bytes"].to_numpy(np.int64)).astype(np.uint32),
    )


def parts(
    run: RunRecord, bottleneck: int, queue: str | None, *names: str
) -> Iterator[tuple[npt.NDArray[Any], ...]]:
    """Yield consecutive parts of columns of these rows; see :meth:`.RunRecord.blocks`."""
    if queue is not None:
        rows = events(run, bottleneck, queue)
        yield tuple((rows[n].cat.codes if n == "event" else rows[n]).to_numpy() for n in names)
    elif len(run.scenario.path.links) == 1:  # avoids a copy of millions of rows
        yield from run.blocks("queue", *names)
    else:
        for numbers, *values in run.blocks("queue", "bottleneck", *names):
            yield tuple(value[numbers == bottleneck] for value in values)


def check_events(run: RunRecord, bottleneck: int, queue: str | None = None) -> None:
    """Raise an InputError as :func:`check_bottleneck`, or if the run has no log of its queues."""
    check_bottleneck(run, bottleneck, queue)
    if run.scenario.queue_log is not True:
        raise InputError(
            f"queue_log is {run.scenario.queue_log!r}, so this run has no events of its queues: "
            "run with queue_log = true"
        )


def check_bottleneck(run: RunRecord, bottleneck: int, queue: str | None = None) -> None:
    """Raise an InputError if the scenario has no such bottleneck, or the qdisc no such queue."""
    last = len(run.scenario.path.links) - 1
    validation.whole("bottleneck", bottleneck, validation.Range(0, last), example=0)
    link = run.scenario.path.links[bottleneck]
    if queue is not None and not link.queues:
        raise InputError(
            f"queue = {queue!r}: the qdisc {link.qdisc} of bottleneck {bottleneck} has no queue "
            "for L4S: leave queue out"
        )
    if queue is not None:
        validation.one_of("queue", queue, link.queues)
