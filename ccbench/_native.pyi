# SPDX-License-Identifier: Apache-2.0
#
# The compiled cores, from native/. Their callers have checked everything.

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
