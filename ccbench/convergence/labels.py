# SPDX-License-Identifier: Apache-2.0
"""Labels of runs with their times of convergence, for the evaluation of convergence detectors.

The thesis labelled 100 experiments by hand (section 5.3.3.2). Here a reproducible rule labels runs.
It is independent of the detectors and has more information: each scenario runs for 600 s, and
detectors receive the first 180 s. These are byte-identical to a run of 180 s, since the length of a
scenario affects nothing before its end.

Rule
----
The last 300 s give a flow's steady state: its mean, and the spread of the means of blocks of 30 s.
Within the first 180 s, the flow has converged at the earliest time from which the mean of every
block of 30 s is consistent with the steady state.

Blocks of 30 s
    This is longer than most periods of the CCAs at these rates (BBR probes for bandwidth every 8
    round trips and for the round-trip time every 10 s; CUBIC's epochs last up to some 20 s), so
    that even wide oscillations average out, and short compared with the two minutes to be judged.
    Overlapping blocks start at every interval, so that no period can hide between them.
Consistency within 4 standard deviations
    A mean is consistent within 4 standard deviations of the steady state's block means. The number
    was chosen with stationary series (white noise, noise with a memory of 5 s, and sawteeth of
    random periods, 1000 of each): with 4, at most 2 % of them are labelled as not converged and 5 %
    as converged late; with 3, these were 11 % and 19 %. Only 10 independent blocks determine the
    standard deviation, and 5 are judged.
Negligible differences of 1 %
    A deviation below 1 % of the throughput of all flows is ignored. It changes harm by about 0.01
    and is invisible in a trace, even if the steady state is very stable.
No convergence before the last entry
    The competition cannot converge before its last flow enters, even if the means are consistent.
Latest convergence at 120 s
    A flow that settles later has not converged, because less than 60 s would be left to measure.
Drift
    A flow whose means in the two halves of the last 300 s differ by more than 4 standard errors
    (and 1 %) still drifts after 300 s and thus has not converged before 120 s.

The rule uses means, because the mean is measured after convergence. It ignores the size of
oscillations within a block, on which Algorithm 1 is based.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import cycle, product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ccbench.base import validation
from ccbench.convergence import _throughput
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

__all__ = ["LABELLED_S", "SHOWN_S", "LabelledRun", "label", "labelled_run", "labelled_scenarios"]

#: Length of a labelled run in seconds.
LABELLED_S = 600.0
#: Length of the part given to the methods in seconds, that of runs in the thesis (section 5.3.3.2).
SHOWN_S = 180.0
#: Length of the final part that gives the steady state, in seconds.
REFERENCE_S = 300.0
#: Latest time of convergence, in seconds.
LATEST_S = 120.0
#: Length of a block in seconds.
BLOCK_S = 30.0
#: Maximum distance of a block's mean from that of the steady state, in standard deviations.
DEVIATIONS = 4.0
#: Negligible difference as a fraction of the throughput of all flows.
NEGLIGIBLE = 0.01

#: The CCAs of the later flows (possibly also at 0 s) and of the earlier flows.
PAIRS = (
    ("bbr", "cubic"),
    ("bbr", "reno"),
    ("cubic", "reno"),
    ("vegas", "cubic"),
    ("westwood", "cubic"),
    ("bbr", "vegas"),
    ("westwood", "bbr"),
    ("bbr", "bbr"),
    ("cubic", "cubic"),
)
#: Rate in Mbit/s, round-trip time in ms, limit of the queue in bandwidth-delay products.
NETWORKS = (
    (10, 40, 1),
    (10, 40, 16),
    (20, 20, 2),
    (20, 100, 0.5),
    (50, 20, 0.4),
    (50, 50, 4),
    (100, 10, 3),
    (100, 100, 1),
)
#: Start of the later flows in seconds; after 120 s, there is no convergence in time.
STARTS_S = (0, 30, 0, 60, 0, 90, 130)
#: Numbers of later and of earlier flows.
COUNTS = ((1, 1), (2, 2), (1, 4))

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelledRun:
    """The part of a run given to methods, and its labels.

    Attributes
    ----------
    scenario : Scenario
    throughput : DataFrame
        The first 180 s of ``Run.throughput(1.0)`` in Mbit/s.
    labels_s : Series
        Time of convergence of each flow in seconds; NaN without convergence.
    steady_mbps : Series
        Mean throughput of each flow in the last 300 s of 600 s.
    """

    scenario: Scenario
    throughput: pd.DataFrame
    labels_s: pd.Series[float]
    steady_mbps: pd.Series[float]


def labelled_scenarios() -> tuple[Scenario, ...]:
    """Return the scenarios of the labelled set: every pair of CCAs in every network.

    The 7 starts and 3 numbers of flows alternate independently of the 8 networks.

    Examples
    --------
    >>> scenarios = labelled_scenarios()
    >>> len(scenarios)
    72
    >>> scenarios[1].name
    '2 bbr from 30 s against 2 cubic, 10 Mbit/s, 40 ms, 16 BDP'
    """
    settings = zip(product(PAIRS, NETWORKS), cycle(STARTS_S), cycle(COUNTS), strict=False)
    return tuple(
        Scenario(
            flows=(
                Flow(cca=earlier, count=earlier_flows),
                Flow(cca=later, count=later_flows, start_s=start_s),
            ),
            path=NetworkPath(
                bottlenecks=(Bottleneck(bandwidth_mbps=bandwidth_mbps, queue_bdp=queue_bdp),),
                rtt_ms=rtt_ms,
            ),
            duration_s=LABELLED_S,
            seed=seed,
            queue_log=False,
            name=(
                f"{later_flows} {later} from {start_s} s against {earlier_flows} {earlier}, "
                f"{bandwidth_mbps} Mbit/s, {rtt_ms} ms, {queue_bdp:g} BDP"
            ),
        )
        for seed, (
            ((later, earlier), (bandwidth_mbps, rtt_ms, queue_bdp)),
            start_s,
            (later_flows, earlier_flows),
        ) in enumerate(settings, start=1)
    )


def label(throughput: pd.DataFrame) -> pd.Series[float]:
    """Return each flow's time of convergence in the first 180 s, by the rule of this module.

    Parameters
    ----------
    throughput : DataFrame
        Mbit/s, one column per flow, indexed by the end of each interval in seconds. At least 480 s,
        so that the steady state does not overlap with the first 180 s.

    Returns
    -------
    Series
        Seconds, 0 to 120; NaN without convergence. Index ``flow``.

    Raises
    ------
    InputError
        If `throughput` is too short, or as in :meth:`Convergence.of`.

    Examples
    --------
    A flow with a constant rate from 20 s on:

    >>> import pandas as pd
    >>> times_s = pd.Index(np.arange(1.0, 601.0), name="time_s")
    >>> label(pd.DataFrame({0: np.where(times_s <= 20, 0.0, 10.0)}, times_s)).tolist()
    [20.0]
    """
    _throughput.check(throughput)
    interval_s = _throughput.interval_s(throughput)
    span_s = float(throughput.index[-1])
    if span_s < SHOWN_S + REFERENCE_S:
        allowed = f"at least {SHOWN_S + REFERENCE_S:g} s long"
        raise validation.bad("throughput", f"{span_s:g} s long", allowed, "run for longer")
    total_mbps = float(throughput.iloc[-round(REFERENCE_S / interval_s) :].mean().sum())
    settled_s = [
        _settled_s(throughput[flow].to_numpy(dtype=np.float64), interval_s, NEGLIGIBLE * total_mbps)
        for flow in throughput.columns
    ]
    last_entry_s = float(_throughput.entries_s(throughput).max())
    labels_s = _throughput.by_flow(throughput, settled_s).clip(lower=last_entry_s)
    return labels_s.where(labels_s <= LATEST_S)


def labelled_run(run: Run) -> LabelledRun:
    """Return the first 180 s of a run with labels from the whole run.

    Raises
    ------
    InputError
        If the run is shorter than 480 s, or a value is not finite.

    Examples
    --------
    >>> from ccbench import emulate
    >>> labelled = labelled_run(emulate.run(labelled_scenarios()[0]))  # doctest: +SKIP
    """
    throughput = run.throughput(interval_s=1.0)
    steady = throughput[throughput.index > run.scenario.duration_s - REFERENCE_S]
    return LabelledRun(
        scenario=run.scenario,
        throughput=throughput[throughput.index <= SHOWN_S],
        labels_s=label(throughput),
        steady_mbps=steady.mean(),
    )


def _settled_s(throughput: FloatArray, interval_s: float, negligible_mbps: float) -> float:
    """Return the start of a flow's steady state in seconds; NaN if it has none."""
    block = round(BLOCK_S / interval_s)
    reference = throughput[-round(REFERENCE_S / interval_s) :]
    if _drifts(reference, block, negligible_mbps):
        return math.nan
    allowed_mbps = max(DEVIATIONS * float(_block_means(reference, block).std()), negligible_mbps)
    means = _block_means(throughput[: round(SHOWN_S / interval_s)], block)
    inconsistent = np.flatnonzero(np.abs(means - reference.mean()) > allowed_mbps)
    return (int(inconsistent[-1]) + 1) * interval_s if inconsistent.size else 0.0


def _drifts(reference: FloatArray, block: int, negligible_mbps: float) -> bool:
    """Return whether the means of the two halves differ."""
    first, second = np.array_split(reference, 2)
    # The variance within each half excludes the drift itself.
    variance = np.mean([np.var(_block_means(half, block)) for half in (first, second)])
    standard_error = math.sqrt(2 * float(variance) * block / first.size)
    difference = abs(float(first.mean() - second.mean()))
    return difference > max(DEVIATIONS * standard_error, negligible_mbps)


def _block_means(throughput: FloatArray, block: int) -> FloatArray:
    """Return the mean of every block; element i belongs to the block that starts at sample i."""
    means: FloatArray = np.lib.stride_tricks.sliding_window_view(throughput, block).mean(axis=1)
    return means
