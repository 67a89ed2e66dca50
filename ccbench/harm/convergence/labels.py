# SPDX-License-Identifier: Apache-2.0
"""Real runs with known times of convergence, to judge convergence detectors.

The thesis labelled 100 experiments by hand (section 5.3.3.2). Here a rule does it, so that everyone
who applies it gets the same labels. It does not know any of the methods that it judges, and it sees
what they cannot see: how the competition goes on. Each scenario is run for 600 s. Methods are given
the first 180 s, which are to the byte those of a run of 180 s, as a scenario's length changes
nothing before its end.

The rule
--------
The last 300 s show a flow's steady state: its mean, and how far the means of blocks of 30 s lie
from it. Within the first 180 s, the flow has converged at the earliest time from which on every
block of 30 s has a mean that the steady state itself could show.

30 s
    Longer than most periods of the CCAs here at these rates (BBR probes for bandwidth every 8 round
    trips and for the round-trip time every 10 s; CUBIC's epochs last up to some 20 s), so that
    swings are averaged out however wide they are; short against the two minutes to be judged.
    Blocks overlap, one begins with every interval, so that no period can hide between them.
4 standard deviations
    "Could show" is within 4 standard deviations of the steady state's block means. The number comes
    from series that are known not to change (white noise, noise with a memory of 5 s, and sawteeth
    of random periods, 1000 of each): with 4 at most 2 % of them are said not to have converged
    and 5 % to have converged late; with 3 these were 11 % and 19 %. There are but 10 independent
    blocks to estimate a standard deviation from and 5 to be judged.
1 % of the link
    A deviation of less than 1 % of what all flows got together counts as none. It changes harm by
    about 0.01, and no eye would see it, however calm the steady state is.
Not before everybody is there
    A competition cannot have settled before its last flow enters, even if the means allow it.
120 s
    What settles later has not converged: less than 60 s would be left to measure.
Is there a steady state?
    A flow whose means in the two halves of the last 300 s differ by more than 4 standard errors
    (and 1 % of the link) still drifts after 300 s, so it has not converged before 120 s.

The rule looks at means, since a mean is what is measured after convergence. It says nothing about
the size of the swings within a block, which is what Algorithm 1 looks at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import cycle, product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ccbench.base import validation
from ccbench.experiment.scenario import Bottleneck, Flow, Scenario
from ccbench.harm.convergence import _throughput

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

__all__ = ["LABELLED_S", "SHOWN_S", "LabelledRun", "label", "labelled_run", "labelled_scenarios"]

#: Length of a run to be labelled, in seconds.
LABELLED_S = 600.0
#: What a method is shown of it: a run as long as the thesis's (section 5.3.3.2).
SHOWN_S = 180.0
#: The steady state is what the last part of this length shows, in seconds.
REFERENCE_S = 300.0
#: Latest time of convergence, in seconds.
LATEST_S = 120.0
#: Length of a block in seconds.
BLOCK_S = 30.0
#: How many standard deviations of the steady state's block means a block may lie from their mean.
DEVIATIONS = 4.0
#: A difference of this fraction of what all flows get together is none.
NEGLIGIBLE = 0.01

#: The CCA that comes later (if one does) and the one that is there.
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
#: Rate in Mbit/s, round-trip time in ms, room in the queue in bandwidth-delay products.
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
#: When the later flows start, in seconds; after 120 there is no convergence in time.
STARTS_S = (0, 30, 0, 60, 0, 90, 130)
#: Numbers of later and of earlier flows.
COUNTS = ((1, 1), (2, 2), (1, 4))

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelledRun:
    """A run as a method sees it, and what the method does not see.

    Attributes
    ----------
    scenario : Scenario
        What was run.
    throughput : DataFrame
        The first 180 s in Mbit/s, as ``Run.throughput(1.0)`` returns them.
    labels_s : Series
        When each flow had converged, in seconds; NaN where it had not.
    steady_mbps : Series
        Each flow's mean throughput in the last 300 s of 600 s.
    """

    scenario: Scenario
    throughput: pd.DataFrame
    labels_s: pd.Series[float]
    steady_mbps: pd.Series[float]


def labelled_scenarios() -> tuple[Scenario, ...]:
    """Return the scenarios of the labelled set: every pair of CCAs in every network.

    The starts and the numbers of flows take turns. There are 7 and 3 of them for 8 networks, so
    that none of these always comes with the same other.

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
            bottlenecks=(Bottleneck(bandwidth_mbps=bandwidth_mbps, queue_bdp=queue_bdp),),
            rtt_ms=rtt_ms,
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
    """Return each flow's time of convergence in the first 180 s, by the rule above.

    Parameters
    ----------
    throughput : DataFrame
        Mbit/s, one column per flow, indexed by the end of each interval in seconds. At least 480 s,
        so that the steady state is seen in a part of its own.

    Returns
    -------
    Series
        Seconds, 0 to 120; NaN where a flow has not converged. Index ``flow``.

    Raises
    ------
    InputError
        `throughput` is too short, or as in :meth:`Convergence.of`.

    Examples
    --------
    A flow that has its rate from 20 s on: the first block that has is the one from there.

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
    everybody_s = float(_throughput.entries_s(throughput).max())
    labels_s = _throughput.by_flow(throughput, settled_s).clip(lower=everybody_s)
    return labels_s.where(labels_s <= LATEST_S)


def labelled_run(run: Run) -> LabelledRun:
    """Return the first 180 s of a run, with the labels that the whole of it gives.

    Raises
    ------
    InputError
        The run is shorter than 480 s, or a value in it is not finite.

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
    """Return the start of a flow's steady state, in seconds; NaN: it has none."""
    block = round(BLOCK_S / interval_s)
    reference = throughput[-round(REFERENCE_S / interval_s) :]
    if _drifts(reference, block, negligible_mbps):
        return math.nan
    allowed_mbps = max(DEVIATIONS * float(_block_means(reference, block).std()), negligible_mbps)
    means = _block_means(throughput[: round(SHOWN_S / interval_s)], block)
    unlike = np.flatnonzero(np.abs(means - reference.mean()) > allowed_mbps)
    return (int(unlike[-1]) + 1) * interval_s if unlike.size else 0.0


def _drifts(reference: FloatArray, block: int, negligible_mbps: float) -> bool:
    """Say whether the mean of the first half is not that of the second."""
    first, second = np.array_split(reference, 2)
    # Within the halves: the drift itself must not count as what is natural.
    variance = np.mean([np.var(_block_means(half, block)) for half in (first, second)])
    standard_error = math.sqrt(2 * float(variance) * block / first.size)
    difference = abs(float(first.mean() - second.mean()))
    return difference > max(DEVIATIONS * standard_error, negligible_mbps)


def _block_means(throughput: FloatArray, block: int) -> FloatArray:
    """Return the mean of every block; element i is that of the one that begins at sample i."""
    means: FloatArray = np.lib.stride_tricks.sliding_window_view(throughput, block).mean(axis=1)
    return means
