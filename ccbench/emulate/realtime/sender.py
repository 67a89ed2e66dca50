# SPDX-License-Identifier: Apache-2.0
"""The sending host in real time."""

from __future__ import annotations

import selectors
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base.random_streams import standard_stream
from ccbench.emulate.realtime.sockets import FIRST_PORT
from ccbench.emulate.realtime.tcp_application import TcpApplication
from ccbench.emulate.realtime.udp_application import UdpApplication

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from ccbench.emulate.realtime.application import Application
    from ccbench.emulate.realtime.clock import Clock
    from ccbench.emulate.realtime.receiver import ReceivingHost
    from ccbench.experiment.scenario import Scenario

__all__ = ["COMPLETION_RECORD", "SAMPLE_RECORD", "SendingHost"]

#: As in ``flows`` of a Run, without the columns derived from the queue's record.
SAMPLE_RECORD = np.dtype(
    [
        *(("time_ns", "i8"), ("flow", "u4"), ("delivered_bytes", "u8")),
        *(("cwnd_packets", "u4"), ("ssthresh_packets", "u4")),
        *(("srtt_us", "u4"), ("min_rtt_us", "u4"), ("pacing_rate_bps", "u8")),
        *(("retransmits", "u4"), ("lost", "u4"), ("state", "i1"), ("inflight_packets", "u4")),
    ]
)
#: As in ``completions`` of a Run.
COMPLETION_RECORD = np.dtype(
    [
        *(("start_ns", "i8"), ("end_ns", "i8")),
        *(("delivered_bytes", "u8"), ("sent_bytes", "u8"), ("retransmits", "u4")),
    ]
)

#: Interval of progress reports in seconds.
_PROGRESS_S = 0.1


class SendingHost:
    """The sending host: the applications of all flows, and samples of their sockets.

    It must be created in the sender's network namespace.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    address : str
        The receiver's address from the sender's point of view.
    receiver : ReceivingHost
        The receiver, which counts delivered bytes.
    clock : Clock
        The scenario's clock.

    Raises
    ------
    OSError
        If this kernel lacks a congestion control.
    """

    def __init__(
        self, scenario: Scenario, address: str, receiver: ReceivingHost, clock: Clock
    ) -> None:
        self._interval_s = scenario.sample_interval_ms / 1e3
        self._end_s = scenario.duration_s
        self._receiver = receiver
        self._clock = clock
        self._samples: list[tuple[int, ...]] = []
        self._flows: list[Application] = []
        row: Any  # mypy knows no columns
        for i, row in enumerate(scenario.flow_table().itertuples()):
            flow, target = scenario.flows[row.group], (address, FIRST_PORT + i)
            if flow.is_udp:
                randomness = standard_stream(scenario.seed, "arrivals", i)
                self._flows.append(UdpApplication(flow, target, row, randomness))
            else:
                self._flows.append(TcpApplication(flow, target, row))

    def run(self, on_progress: Callable[[float], None]) -> None:
        """Send until the scenario ends."""
        poll = selectors.DefaultSelector()
        samples, report_s = 0, 0.0
        while (now_s := self._clock.now_s()) < self._end_s:
            if now_s >= report_s:
                report_s = now_s + _PROGRESS_S
                on_progress(now_s)
            if (samples + 1) * self._interval_s <= now_s:
                samples = max(samples + 1, int(now_s / self._interval_s))
                for i in range(len(self._flows)):
                    self._sample(i, samples * self._interval_s)
            due_s = min((samples + 1) * self._interval_s, self._end_s, report_s)
            for flow in self._flows:
                if flow.stop_s <= now_s:
                    flow.close(poll)
                elif flow.start_s <= now_s:
                    due_s = min(due_s, flow.stop_s, flow.attend(now_s, poll))
                else:
                    due_s = min(due_s, flow.start_s)
            for key, _ in poll.select(max(0.0, due_s - self._clock.now_s())):
                key.data.send(poll)
        for i, flow in enumerate(self._flows):
            self._sample(i, self._end_s)
            flow.close(poll)

    def samples(self) -> npt.NDArray[Any]:
        """Return the samples in order of time."""
        return np.array(self._samples, dtype=SAMPLE_RECORD)

    def completions(self) -> npt.NDArray[Any]:
        """Return the completion of each flow."""
        rows = np.zeros(len(self._flows), dtype=COMPLETION_RECORD)
        for i, flow in enumerate(self._flows):
            delivered = self._receiver.delivered_bytes[i]
            end_ns = self._receiver.last_ns[i] if delivered == flow.size_bytes else -1
            totals = (delivered, flow.sent_bytes, flow.retransmits)
            rows[i] = (round(flow.start_s * 1e9), end_ns, *totals)
        return rows

    def _sample(self, i: int, time_s: float) -> None:
        flow = self._flows[i]
        if flow.start_s < time_s:
            delivered = self._receiver.delivered_bytes[i]
            self._samples.append((round(time_s * 1e9), i, delivered, *flow.sample()))
