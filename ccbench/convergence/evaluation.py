# SPDX-License-Identifier: Apache-2.0
"""Comparison of convergence detectors with labels (Ware section 5.3.3.2, Figure 5.9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd

from ccbench.convergence.algorithm import DEFAULT_DETECTOR, Detector
from ccbench.convergence.rivals import near_fair_share, near_fixed_point, skipping
from ccbench.convergence.times import Convergence, latest, measured_from

if TYPE_CHECKING:
    from ccbench.convergence.labels import LabelledRun

__all__ = ["METHODS", "Method", "algorithm_1", "evaluate", "summarise"]

#: Function from a table of throughput to each flow's time of convergence, NaN without convergence.
Method: TypeAlias = Callable[[pd.DataFrame], "pd.Series[float]"]

#: Small difference in throughput in the thesis, in percent.
SMALL_PERCENT = 10.0


def algorithm_1(
    throughput: pd.DataFrame, detector: Detector = DEFAULT_DETECTOR
) -> pd.Series[float]:
    """Apply Algorithm 1, as a :data:`Method`.

    Examples
    --------
    >>> times_s = pd.Index([float(second) for second in range(1, 181)], name="time_s")
    >>> algorithm_1(pd.DataFrame({0: 7.0}, times_s)).tolist()
    [5.0]
    """
    return Convergence.of(throughput, detector).times_s


#: Algorithm 1, the alternatives of its ambiguous choices, and its rivals.
METHODS: Mapping[str, Method] = {
    "Algorithm 1": algorithm_1,
    "both thresholds": partial(algorithm_1, detector=Detector(thresholds="both")),
    "end of window": partial(algorithm_1, detector=Detector(window_named_by="end")),
    "percent of right": partial(algorithm_1, detector=Detector(percent_of="right")),
    "percent of larger": partial(algorithm_1, detector=Detector(percent_of="larger")),
    "skip 20 s": partial(skipping, seconds=20),
    "skip 1 min": partial(skipping, seconds=60),
    "Vivace, 25 % for 5 s": near_fair_share,
    "Axiomatizing, alpha 0.9": partial(near_fixed_point, alpha=0.9),
    "Axiomatizing, alpha 0.4": partial(near_fixed_point, alpha=0.4),
}


def evaluate(run: LabelledRun, methods: Mapping[str, Method] = METHODS) -> pd.DataFrame:
    """Apply each method to a labelled run.

    For all flows of a run, the measurement starts when the last flow has converged or, if a flow
    has not, after a minute (section 5.3.3.2).

    Parameters
    ----------
    run : LabelledRun
    methods : mapping
        Methods by name.

    Returns
    -------
    DataFrame
        One row per method and flow. Columns: ``method``; ``flow``; ``label_s`` and ``time_s``, the
        times of convergence (NaN without convergence); ``from_s``, the start of the measurement;
        ``label_mbps``, ``mean_mbps`` and ``steady_mbps``, the mean throughput after the label,
        after the method's time, and in the last 300 s of 600 s; ``label_difference_percent`` and
        ``steady_difference_percent``, the differences of the method's mean from these two (NaN if
        they are 0, the former also if a flow of the run has not converged by its label).

    Raises
    ------
    InputError
        If the throughput is not a valid table.

    Examples
    --------
    >>> from ccbench import emulate
    >>> from ccbench.convergence.labels import labelled_run, labelled_scenarios
    >>> runs = [emulate.run(scenario) for scenario in labelled_scenarios()[:1]]  # doctest: +SKIP
    >>> evaluation = pd.concat([evaluate(labelled_run(run)) for run in runs])  # doctest: +SKIP
    >>> summarise(evaluation)["within_10"]  # doctest: +SKIP
    """
    shown = run.throughput
    length_s = float(shown.index[-1])
    label_s = latest(run.labels_s)
    label_mbps = _mean_from(shown, length_s if label_s is None else label_s)
    tables = []
    for name, method in methods.items():
        times_s = method(shown)
        from_s = measured_from(latest(times_s), length_s)
        mean_mbps = _mean_from(shown, from_s)
        table = pd.DataFrame(
            {
                "method": name,
                "flow": shown.columns,
                "label_s": run.labels_s,
                "time_s": times_s,
                "from_s": from_s,
                "label_mbps": label_mbps,
                "mean_mbps": mean_mbps,
                "steady_mbps": run.steady_mbps,
                "label_difference_percent": _difference_percent(mean_mbps, label_mbps),
                "steady_difference_percent": _difference_percent(mean_mbps, run.steady_mbps),
            }
        )
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def summarise(evaluation: pd.DataFrame) -> pd.DataFrame:
    """Return the agreement of each method with the labels.

    Parameters
    ----------
    evaluation : DataFrame
        Rows of :func:`evaluate`, of any number of runs.

    Returns
    -------
    DataFrame
        Index ``method``, in the order of `evaluation`. Columns in percent of the flows:
        ``agreement``, flows with the same verdict by method and label; ``found``, the share of
        converged flows (by label) that the method accepts; ``refused``, the share of other flows
        that it rejects; ``within_10`` and ``steady_within_10``, flows with a mean throughput within
        10 % of that after the label and of that in the last 300 s of 600 s, among the flows that
        have such a mean. ``median_difference`` is the median of ``label_difference_percent``.

    See :func:`evaluate` for an example.
    """
    rows = {}
    for name, table in evaluation.groupby("method", sort=False):
        label, accepted = table["label_s"].notna(), table["time_s"].notna()
        to_label = table["label_difference_percent"].dropna()
        to_steady = table["steady_difference_percent"].dropna()
        rows[name] = {
            "agreement": 100 * (label == accepted).mean(),
            "found": 100 * accepted[label].mean(),
            "refused": 100 * (~accepted[~label]).mean(),
            "within_10": 100 * (to_label < SMALL_PERCENT).mean(),
            "steady_within_10": 100 * (to_steady < SMALL_PERCENT).mean(),
            "median_difference": to_label.median(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def _mean_from(throughput: pd.DataFrame, from_s: float) -> pd.Series[float]:
    """Return each flow's mean after a given time; NaN at the end."""
    return throughput[throughput.index > from_s].mean()


def _difference_percent(values: pd.Series[float], reference: pd.Series[float]) -> pd.Series[float]:
    return 100 * (values - reference).abs() / reference.where(reference > 0)
