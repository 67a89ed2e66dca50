# SPDX-License-Identifier: Apache-2.0
#
# Compiled cores, from native/. Callers validate all arguments.

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

def dtw_paths() -> list[str]: ...
def dtw_distances(
    queries: npt.NDArray[np.float32],
    query_starts: npt.NDArray[np.int64],
    references: npt.NDArray[np.float32],
    reference_starts: npt.NDArray[np.int64],
    window: int,
    path: str,
    threads: int,
    out: npt.NDArray[np.float32],
) -> None: ...
def dtw_pairwise(
    series: npt.NDArray[np.float32],
    starts: npt.NDArray[np.int64],
    window: int,
    path: str,
    threads: int,
    out: npt.NDArray[np.float32],
) -> None: ...
def dtw_nearest(
    queries: npt.NDArray[np.float32],
    query_starts: npt.NDArray[np.int64],
    references: npt.NDArray[np.float32],
    reference_starts: npt.NDArray[np.int64],
    window: int,
    path: str,
    threads: int,
    out: npt.NDArray[np.float32],
    indices: npt.NDArray[np.int64],
) -> None: ...
def dtw_lower_bound(
    x: npt.NDArray[np.float32], y: npt.NDArray[np.float32], window: int
) -> float: ...

#: SHA-256 of the simulator's sources without comments, in hexadecimal.
datacenter_digest: str

class DatacenterSwitch:
    def __init__(
        self,
        queues: int,
        table_entries: int,
        sticky_hops: float,
        sampling: float,
        skip_paused: bool,
        rates_mbps: list[int],
        delay_ps: int,
    ) -> None: ...
    def enqueue(
        self,
        now_ps: int,
        flow_hash: int,
        ingress: int,
        egress: int,
        length_bytes: int,
        upstream_queue: int,
        sampled: bool,
        random_queue: int,
    ) -> tuple[int, int]: ...
    def dequeue(self, now_ps: int, packet: int) -> None: ...
    def receive(self, now_ps: int, pause: bool, port: int, queue: int) -> None: ...
    def paused(self, port: int) -> list[int]: ...
    def sent(self) -> list[tuple[bool, int, int]]: ...

def datacenter_simulate(
    settings: dict[str, Any],
    hosts: int,
    nodes: int,
    port_from: npt.NDArray[np.int64],
    port_to: npt.NDArray[np.int64],
    port_rate_mbps: npt.NDArray[np.int64],
    port_delay_ps: npt.NDArray[np.int64],
    flow_start_ps: npt.NDArray[np.int64],
    flow_bytes: npt.NDArray[np.int64],
    flow_source: npt.NDArray[np.int32],
    flow_destination: npt.NDArray[np.int32],
    flow_incast: npt.NDArray[np.bool_],
    flow_priority: npt.NDArray[np.uint8],
    progress: Callable[[int], None] | None,
) -> dict[str, Any]: ...
