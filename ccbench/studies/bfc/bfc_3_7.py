# SPDX-License-Identifier: Apache-2.0
"""Queue and utilisation over the pause threshold (Goyal 2022, Figure 3-7)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.datacenter.case import SimulationCase
from ccbench.datacenter.workload import HEADER_BYTES, PAYLOAD_BYTES, Workload
from ccbench.studies.bfc.testbed import BFC, NETWORK, RECEIVERS, SENDERS
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, percentage, quantity
from ccbench.studies.study import Comparison, Findings, Rows, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.simulation import Simulation

#: Thresholds in 1-hop RTTs at a queue's drain rate.
_HOPS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
#: Time that the link needs to send the bytes of a threshold of one 1-hop RTT: an RTT of 2 μs, at a
#: flow's half of the link's rate. The thesis does not say whether its 2 μs refer to the link's rate
#: or to the queue's. The former was chosen after running both: with the latter, the queue is 7.4 KB
#: at a utilisation of 93 %, and a mean of 15 KB exceeds the threshold. Agreement is therefore weak
#: evidence.
_HOP_US = 1.0
#: The threshold of the compared values.
_COMPARED_US = 2.0
_FLOWS = ((SENDERS[1], RECEIVERS[1]), (SENDERS[2], RECEIVERS[1]))
#: End of the start phase.
_AFTER_S = 1e-4
_WHERE = "section 3.6.1"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return tuple(
        SimulationCase(
            name=f"{hops * _HOP_US:g} μs",
            topology=NETWORK,
            workload=Workload(load=0, long_flows=_FLOWS),
            scheme=replace(BFC, pause_threshold_hops=hops),
            duration_s=5e-4 if quick else 1e-2,
            drain_s=0,
            sample_interval_s=2.5e-7,
        )
        for hops in (_HOPS[5:6] if quick else _HOPS)
    )


def _measure(case: SimulationCase, result: Simulation) -> Rows:
    late = result.samples[result.samples.index >= _AFTER_S]
    span_s = late.index[-1] - late.index[0]
    payload = late["long_bytes"].iloc[-1] - late["long_bytes"].iloc[0]
    on_the_wire = payload * (PAYLOAD_BYTES + HEADER_BYTES) / PAYLOAD_BYTES
    # The second switch only holds the queues of the two flows.
    queue = result.buffers[f"{NETWORK.servers + 1}"].loc[_AFTER_S:] / len(_FLOWS)
    pauses = float(result.ports["queue_pauses"].sum())
    return [
        {
            "threshold_us": case.scheme.pause_threshold_hops * _HOP_US,
            "mean_queue_kb": float(queue.mean()) / 1e3,
            "p99_queue_kb": float(queue.quantile(0.99)) / 1e3,
            "unused_percent": 100 * (1 - on_the_wire * 8 / span_s / 1e11),
            "pauses_per_ms": pauses / result.summary["end_s"] / 1e3,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    compared = table[table["threshold_us"] == _COMPARED_US].iloc[0]
    by_threshold = table.sort_values("threshold_us")

    def growth(column: str) -> float:
        """Return the ratio of a column at the largest threshold to that at the smallest."""
        return float(by_threshold[column].iloc[-1] / by_threshold[column].iloc[0])

    figure = Figure(figsize=(5, 3.2), layout="constrained")
    left = figure.subplots()
    left.plot(by_threshold["threshold_us"], by_threshold["mean_queue_kb"], marker="o")
    left.set(xlabel="pause threshold (μs)", ylabel="mean queue of a flow (KB)")
    right = left.twinx()
    right.plot(by_threshold["threshold_us"], by_threshold["unused_percent"], "--", marker="s")
    right.set(ylabel="unused capacity (%, dashed)")
    return Findings(
        table=table,
        figure=figure,
        comparisons=(
            Comparison(
                quantity="capacity used with a threshold of 2 μs",
                measured=100 - float(compared["unused_percent"]),
                published=percentage(100, _WHERE, text="close to 100"),
                unit="%",
            ),
            Comparison(
                quantity="mean queue of a flow with a threshold of 2 μs",
                measured=float(compared["mean_queue_kb"]),
                published=quantity(15, _WHERE),
                unit="KB",
                note="The thesis's switch has small queues besides that cannot be paused; the "
                "delay of its links is not known.",
            ),
            Comparison(
                quantity="mean queue, largest threshold ÷ smallest",
                measured=growth("mean_queue_kb"),
                published=at_least(1, "section 3.3.3.2", text="increased buffering"),
            ),
            Comparison(
                quantity="pauses, largest threshold ÷ smallest",
                measured=growth("pauses_per_ms"),
                published=at_most(1, "section 3.3.3.2", text="fewer"),
            ),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.7"),
    cases=_cases,
    measure=_measure,
    conclude=_conclude,
)
