# SPDX-License-Identifier: Apache-2.0
"""From the record files of a guest to a :class:`~ccbench.run.Run`."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench import cca_info
from ccbench.emulate.kernel import protocol
from ccbench.errors import EngineError
from ccbench.run import EVENT_DTYPE, EVENTS, STATE_DTYPE, Run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    from ccbench.scenario import Scenario

__all__ = ["read_run"]

#: What each event does to the number of waiting packets.
_BACKLOG_STEP = {"enqueue": 1, "dequeue": -1, "drop": -1, "mark": 0, "loss": 0}
_BACKLOG_STEPS = np.array([_BACKLOG_STEP[event] for event in EVENTS], dtype=np.int32)


def read_run(scenario: Scenario, directory: Path, provenance: Mapping[str, Any]) -> Run:
    """Read what a guest has recorded.

    Parameters
    ----------
    scenario : Scenario
        What was run.
    directory : Path
        Where the record files lie.
    provenance : mapping
        What made the run.

    Raises
    ------
    EngineError
        If a flow failed for another reason than the network's, or records are missing.
    """
    completions = np.fromfile(directory / "completions.bin", protocol.COMPLETION_RECORD)
    if len(completions) != scenario.flow_count:
        message = f"the virtual kernel reported {len(completions)} of {scenario.flow_count} flows"
        raise EngineError(message)
    _check_errors(completions["error"])
    return Run(
        scenario=scenario,
        queue=_queue(scenario, directory),
        flows=_flows(scenario, np.fromfile(directory / "samples.bin", protocol.FLOW_RECORD)),
        completions=pd.DataFrame(
            {name: completions[name] for name in completions.dtype.names or () if name != "error"}
        ),
        provenance=provenance,
        **_batches(scenario, directory),
    )


def _check_errors(errors: npt.NDArray[np.int32]) -> None:
    """Let only those flows pass that the network let down: a time-out is a result."""
    failed = np.flatnonzero((errors != 0) & (errors != -errno.ETIMEDOUT))
    if len(failed):
        flow = int(failed[0])
        message = f"flow {flow} failed in the virtual kernel: {os.strerror(-int(errors[flow]))}"
        raise EngineError(message)


def _queue(scenario: Scenario, directory: Path) -> pd.DataFrame:
    path = directory / "queue.bin"
    if scenario.queue_log:
        records = np.fromfile(path, protocol.QUEUE_RECORD)
        # The guest goes on for a moment after the end.
        end_ns = round(scenario.duration_s * 1e9)
        records = records[: np.searchsorted(records["time_ns"], end_ns, side="right")]
    else:
        records = np.empty(0, protocol.QUEUE_RECORD)
    packets = np.empty(len(records), dtype=np.uint32)
    size = np.empty(len(records), dtype=np.uint32)
    for bottleneck in range(len(scenario.bottlenecks)):
        here = _rows_of(bottleneck, records, len(scenario.bottlenecks))
        step = _BACKLOG_STEPS[records["event"][here]]
        packets[here] = np.cumsum(step, dtype=np.int32)
        size[here] = np.cumsum(step * records["bytes"][here], dtype=np.int64)
    columns = {
        "time_ns": records["time_ns"].view(np.int64),
        "bottleneck": records["bottleneck"],
        "event": _categories(records["event"].view(np.int8), EVENT_DTYPE),
        "flow": records["flow"],
        "bytes": records["bytes"],
        "backlog_packets": packets,
        "backlog_bytes": size,
    }
    return _frame(columns)


def _batches(scenario: Scenario, directory: Path) -> dict[str, pd.DataFrame]:
    path = directory / "batches.bin"
    if not path.exists():
        return {}
    records = np.fromfile(path, protocol.BATCH_RECORD)
    records = records[records["acked_ns"] <= round(scenario.duration_s * 1e9)]
    return {"batches": _frame({name: records[name] for name in records.dtype.names or ()})}


def _frame(columns: dict[str, Any]) -> pd.DataFrame:
    # Records lie together, columns do not; one copy of each, none to gather columns of one type.
    contiguous = {
        name: np.ascontiguousarray(column) if isinstance(column, np.ndarray) else column
        for name, column in columns.items()
    }
    return pd.DataFrame(contiguous, copy=False)


def _rows_of(bottleneck: int, records: npt.NDArray[Any], count: int) -> Any:
    # The usual case spares a copy of millions of rows.
    return slice(None) if count == 1 else records["bottleneck"] == bottleneck


def _flows(scenario: Scenario, records: npt.NDArray[Any]) -> pd.DataFrame:
    columns: dict[str, Any] = {name: records[name] for name in records.dtype.names or ()}
    info, attribute = columns.pop("cca_info"), columns.pop("cca_attribute")
    ccas = scenario.flow_table()["cca"].to_numpy()
    for cca in cca_info.NAMES.keys() & set(ccas):
        rows = np.flatnonzero((ccas[records["flow"]] == cca) & (attribute != 0))
        for column, values in zip(cca_info.COLUMNS, cca_info.decode(cca, info[rows]), strict=False):
            whole = columns.setdefault(column, np.full(len(records), np.nan))
            whole[rows] = values
    columns["time_ns"] = records["time_ns"].view(np.int64)
    columns["state"] = _categories(records["state"].astype(np.int8), STATE_DTYPE)
    return _frame(columns)


def _categories(codes: Any, dtype: pd.CategoricalDtype) -> pd.Categorical:
    # Any: not all versions of pandas' types know that codes may be an array.
    return pd.Categorical.from_codes(codes, dtype=dtype)
