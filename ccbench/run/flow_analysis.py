# SPDX-License-Identifier: Apache-2.0
"""Analysis of the flows of a run.

Each function implements the method of :class:`~ccbench.run.run.Run` that documents it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base import validation
from ccbench.run import intervals
from ccbench.run.cca_info import COLUMNS
from ccbench.run.intervals import NS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import pandas as pd

    from ccbench.run.record import RunRecord

__all__ = [
    "cca_info",
    "completion_times",
    "connections",
    "goodput",
    "rates_mbps",
    "samples",
    "summary",
    "summary_columns",
    "throughput",
]


def throughput(run: RunRecord, interval_s: float) -> pd.DataFrame:
    """Return each flow's throughput over time."""
    return _rates(run, "throughput_bytes", interval_s)


def goodput(run: RunRecord, interval_s: float) -> pd.DataFrame:
    """Return each flow's goodput over time."""
    return _rates(run, "delivered_bytes", interval_s)


def samples(run: RunRecord, column: str) -> pd.DataFrame:
    """Return a column of ``flows`` over time."""
    keys = ("time_ns", "flow")
    validation.one_of("column", column, [str(name) for name in run.flows if name not in keys])
    # A pivot table would compute means, which states do not have.
    values = run.flows.pivot(index="time_ns", columns="flow", values=column)  # noqa: PD010
    return values.set_axis(intervals.time_index(values.index))


def cca_info(run: RunRecord, flow: int) -> pd.DataFrame:
    """Return the internal state of a flow's congestion control over time."""
    import pandas as pd  # noqa: PLC0415 - not needed for a summary

    last = run.scenario.flow_count - 1
    flow = validation.whole("flow", flow, validation.Range(0, last), example=0)
    cca = run.scenario.flow_table()["cca"].iloc[flow]
    names = run.provenance.get("cca_info", {}).get(cca, ())
    states = run.provenance.get("cca_states", {}).get(cca, {})
    rows = run.flows[run.flows["flow"] == flow]
    values = {name: rows[column].to_numpy() for name, column in zip(names, COLUMNS, strict=False)}
    named = {name: _named(values[name], states[name]) for name in names if name in states}
    return pd.DataFrame({**values, **named}, index=intervals.time_index(rows["time_ns"]))


def _named(values: npt.NDArray[np.float64], names: Sequence[str]) -> pd.Categorical[str]:
    """Return states by their names; values without one are missing."""
    import pandas as pd  # noqa: PLC0415 - likewise

    known = np.isin(values, np.arange(len(names)))
    codes = np.where(known, values, -1).astype(np.int64)
    return pd.Categorical.from_codes(codes, categories=pd.Index(names))


def summary(run: RunRecord) -> pd.DataFrame:
    """Return throughput, delay, retransmissions and drops of each flow."""
    import pandas as pd  # noqa: PLC0415 - likewise

    columns = summary_columns(run)
    return pd.DataFrame(columns, pd.RangeIndex(run.scenario.flow_count, name="flow"))


def summary_columns(run: RunRecord) -> dict[str, Any]:
    """Return the columns of :func:`summary`."""
    scenario, count = run.scenario, run.scenario.flow_count
    split = scenario.split_flows
    flows = [split[i] for i in scenario.split_numbers()]
    of_flow, throughput_bytes, drops, srtt_us = run.columns(
        "flows", "flow", "throughput_bytes", "drops", "srtt_us"
    )
    start_ns, end_ns, delivered_bytes, retransmits = run.columns(
        "completions", "start_ns", "end_ns", "delivered_bytes", "retransmits"
    )
    stops_s = np.array([flow.stop_s or scenario.duration_s for flow in flows])
    ends_s = np.where(end_ns >= 0, end_ns / NS, stops_s)
    active_us = (ends_s - start_ns / NS) * 1e6
    last = np.full(count, -1)
    last[of_flow] = np.arange(len(of_flow))  # of several samples, the last
    throughput_bytes, drops = (
        np.append(values, values.dtype.type(0))[last] for values in (throughput_bytes, drops)
    )
    return {
        "label": [flow.name for flow in flows],
        "cca": [flow.cca for flow in flows],
        "throughput_mbps": throughput_bytes * 8 / active_us,
        "goodput_mbps": delivered_bytes * 8 / active_us,
        "srtt_ms": _means(srtt_us, of_flow, count) / 1e3,
        "retransmits": retransmits,
        "drops": drops,
    }


def _means(
    values: npt.NDArray[np.float64], of_flow: npt.NDArray[Any], count: int
) -> npt.NDArray[np.float64]:
    """Return the mean of each flow's values that are not NaN; NaN without any."""
    known = ~np.isnan(values)
    values, of_flow = values[known], of_flow[known]
    order = np.argsort(of_flow, kind="stable")
    ends = np.cumsum(np.bincount(of_flow, minlength=count))
    parts = np.split(values[order], ends[:-1])
    return np.array([math.fsum(part) / len(part) if len(part) else math.nan for part in parts])


def completion_times(run: RunRecord) -> pd.DataFrame:
    """Return the completion time of each flow of a given size."""
    import pandas as pd  # noqa: PLC0415 - likewise

    table = run.scenario.flow_table()
    sizes = table["size_bytes"].dropna().astype("int64")
    done = run.completions.loc[sizes.index, ["start_ns", "end_ns"]].assign(size_bytes=sizes)
    is_sized = table.loc[run.messages["flow"], "kind"] == "bytes"
    messages = run.messages[is_sized.to_numpy()].set_index("flow").astype("int64")
    done = pd.concat([done, messages]).sort_index(kind="stable").rename_axis("flow")
    took_s = (done["end_ns"] - done["start_ns"]) / NS
    return pd.DataFrame(
        {
            **{name: table.loc[done.index, name] for name in ("label", "cca")},
            "start_s": done["start_ns"] / NS,
            "size_bytes": done["size_bytes"],
            "fct_s": took_s.where(done["end_ns"] >= 0).astype(float),
        }
    )


def connections(run: RunRecord) -> pd.DataFrame:
    """Return the goodput of each connection of Multipath TCP."""
    import pandas as pd  # noqa: PLC0415 - likewise

    last = run.connections.groupby("flow").last()
    done, table = run.completions.loc[last.index], run.scenario.flow_table().loc[last.index]
    active_us = (_ends_s(done, table) - done["start_ns"] / NS) * 1e6
    return pd.DataFrame(
        {
            "subflows": last["subflows"],
            "delivered_bytes": last["delivered_bytes"],
            "goodput_mbps": last["delivered_bytes"] * 8 / active_us,
        }
    )


def _ends_s(done: pd.DataFrame, table: pd.DataFrame) -> pd.Series[float]:
    """Return the end of each flow, by default that of sending."""
    return (done["end_ns"] / NS).where(done["end_ns"] >= 0, table["stop_s"])


def _rates(run: RunRecord, total: str, interval_s: float) -> pd.DataFrame:
    """Return the rate of a cumulative number of bytes in each whole interval, in Mbit/s."""
    import pandas as pd  # noqa: PLC0415 - likewise

    ends_ns, rates = rates_mbps(run, total, interval_s)
    flows = pd.RangeIndex(run.scenario.flow_count, name="flow")
    return pd.DataFrame(rates, index=intervals.time_index(ends_ns), columns=flows)


def rates_mbps(
    run: RunRecord, total: str, interval_s: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the ends of whole intervals in nanoseconds, and the flows' rates in each.

    The rates are those of a cumulative number of bytes in `flows`, in Mbit/s, shape (intervals,
    flows).
    """
    interval_ns = intervals.interval_ns(interval_s)
    intervals.check_multiple(interval_ns, run.scenario)
    reached = _reached(run, total, interval_ns)
    rates = np.diff(reached, axis=0, prepend=np.uint64(0)) * (8e3 / interval_ns)
    return np.arange(1, len(rates) + 1) * interval_ns, rates


def _reached(run: RunRecord, total: str, interval_ns: int) -> npt.NDArray[np.uint64]:
    """Return a cumulative number at the end of each whole interval, shape (intervals, flows)."""
    flow_count = run.scenario.flow_count
    count = intervals.duration_ns(run.scenario) // interval_ns
    sample_ns = intervals.sample_ns(run.scenario)
    # A sample may be slightly later than its nominal multiple. A sample between two multiples, such
    # as the last of a flow, counts for the later one.
    time_ns, flow, totals = run.columns("flows", "time_ns", "flow", total)
    time_ns = time_ns - sample_ns // 10
    sample = -(-time_ns // sample_ns)
    # Multiples 1 to k belong to the first interval, and so on.
    interval = (sample - 1) // (interval_ns // sample_ns)
    inside = (sample > 0) & (interval < count)
    reached = np.zeros((count, flow_count), dtype=np.uint64)
    cell = interval * flow_count + flow
    np.maximum.at(reached.reshape(-1), cell[inside], totals[inside])
    # Without a sample in an interval, a flow's total is unchanged.
    return np.maximum.accumulate(reached, axis=0, out=reached)
