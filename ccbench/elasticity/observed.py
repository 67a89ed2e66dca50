# SPDX-License-Identifier: Apache-2.0
"""A sender's view of its cross traffic in a run, compared with the true cross traffic.

Definitions:

- **Times** are those at the bottleneck: a packet is sent when it enters the queue and received when
  it leaves for the link. The rest of the path is a constant delay, which does not affect rates.
- **Packets** of a flow leave in the order of their arrival, since the queue's log does not identify
  them. Packets that the queue refuses count as never sent.
- **The window of the rates** is the flow's median smoothed RTT, because NimbusCC measures over one
  window of packets. For UDP, which has no such samples, it is the base RTT.
- **A rate is constant** until the next measurement, as for a sender between two ACKs.
- **The true rate** of the cross traffic is that of the bytes that the queue accepted between the
  first and the last packet of the same window, which is the quantity that (1) estimates.
- **Elastic** flows are TCP flows that always have data (including the phases of ``"onoff"``), and
  transfers above the initial window of 10 packets (section 7.1). Flows at an application's rate and
  UDP are inelastic (table 2).
- **The true elasticity** is whether any bytes of the cross traffic within the FFT's window belong
  to elastic flows (section 3.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.base.validation import Range
from ccbench.elasticity.detector import Detector, spectrum
from ccbench.elasticity.pulse import fundamental_mbps
from ccbench.elasticity.rates import cross_traffic_mbps, packet_windows, window_rates_mbps
from ccbench.experiment.flow import MTU_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["INITIAL_WINDOW_BYTES", "Observation", "elastic_flows", "observe"]

#: Initial window in bytes (10 packets), which leaves independently of the bottleneck's state.
INITIAL_WINDOW_BYTES = 10 * MTU_BYTES
#: Kinds of flows that always have data, at least during their sending phases.
_BACKLOGGED = ("bulk", "onoff")
#: Samples between successive values of η: with 10 ms each, ten values per second.
_EVERY = 10
#: Smallest amplitude of a pulsing sender, relative to that of pulses of μ/4.
_LEAST_PULSE = 0.2

_POSITIVE = Range(0, low_open=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class Observation:
    """A sender's view of its cross traffic over time, and the true cross traffic.

    Parameters
    ----------
    flows : tuple of int
        The sender's flows.
    bottleneck : int
        Position of the bottleneck in the scenario.
    link_mbps : float
        Rate μ of the bottleneck that the sender assumes.
    rate_window_s : float
        Window of the rates in seconds.
    detector : Detector
    rates : DataFrame
        Index ``time_s``, every `step_s` of the detector; columns ``send_mbps`` (S),
        ``receive_mbps`` (R), ``estimate_mbps`` (ẑ) and ``true_mbps`` (z).
    elasticity : DataFrame
        Index ``time_s``, the ends of windows that start 10 samples apart; columns ``peak_mbps``
        (amplitude of ẑ at f_p), ``others_mbps`` (highest amplitude of the compared frequencies),
        ``elasticity`` (η), ``is_elastic``, and ``elastic_share`` (elastic flows' share of the
        window's cross traffic in bytes; NaN without cross traffic).
    send_peak_mbps : float
        Mean amplitude of S at f_p over the windows.
    is_pulsing : bool
        Whether the sender pulses; otherwise η does not indicate elasticity. A sender pulses if S
        has a peak at f_p by the detector's threshold, with at least a fifth of the amplitude of
        pulses of μ/4 in rates over the window.
    busy : float
        Utilisation of the link during the observation, relative to `link_mbps`.

    Examples
    --------
    >>> seen = observe(run)  # doctest: +SKIP
    >>> seen.elasticity["elasticity"].median()  # doctest: +SKIP
    """

    flows: tuple[int, ...]
    bottleneck: int
    link_mbps: float
    rate_window_s: float
    detector: Detector
    rates: pd.DataFrame = field(repr=False)
    elasticity: pd.DataFrame = field(repr=False)
    send_peak_mbps: float
    is_pulsing: bool
    busy: float

    @property
    def errors(self) -> pd.Series[float]:
        """Relative error of the estimate at times with cross traffic."""
        true = self.rates["true_mbps"]
        error = (self.rates["estimate_mbps"] - true).abs() / true.where(true > 0)
        return error.dropna().rename("error")

    @property
    def accuracy(self) -> float:
        """Share of the windows with a correct verdict; NaN without windows."""
        truth = self.elasticity["elastic_share"] > 0
        return float((self.elasticity["is_elastic"] == truth).mean())

    def spectra(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the spectrum of ẑ in each window.

        Returns
        -------
        frequencies_hz : numpy.ndarray
            Shape (frequencies,).
        amplitudes_mbps : numpy.ndarray
            Shape (windows, frequencies), in the order of `elasticity`.
        """
        windows = self.detector.windows(self.rates["estimate_mbps"], every=_EVERY)
        return spectrum(windows, step_s=self.detector.step_s)

    def to_dict(self) -> dict[str, Any]:
        """Return the observation as a dictionary of plain values."""
        frequencies, amplitudes = self.spectra()
        shown = frequencies <= 2.5 * self.detector.pulse_hz
        at_windows = self.rates.iloc[self.detector.samples - 1 :: _EVERY]
        table = pd.concat([at_windows, self.elasticity], axis=1)
        mean = amplitudes.mean(axis=0) if len(amplitudes) else np.full(len(frequencies), np.nan)
        return {
            "flows": list(self.flows),
            "bottleneck": self.bottleneck,
            "link_mbps": self.link_mbps,
            "rate_window_s": self.rate_window_s,
            "detector": {
                "pulse_hz": self.detector.pulse_hz,
                "margin_hz": self.detector.margin_hz,
                "window_s": self.detector.window_s,
                "threshold": self.detector.threshold,
                "step_s": self.detector.step_s,
            },
            "mean": {name: float(column.mean()) for name, column in self.rates.items()},
            "error": {
                "median": float(self.errors.median()),
                "p95": float(self.errors.quantile(0.95)),
            },
            "busy": self.busy,
            "send_peak_mbps": self.send_peak_mbps,
            "is_pulsing": self.is_pulsing,
            "accuracy": self.accuracy,
            "spectrum": {
                "frequency_hz": frequencies[shown].tolist(),
                "mean_mbps": mean[shown].tolist(),
            },
            "over_time": table.reset_index().to_dict("list"),
        }


def elastic_flows(scenario: Scenario) -> pd.Series[bool]:
    """Return whether each flow is elastic while it sends, by its kind and size.

    Changes of applications during the run do not count.

    Returns
    -------
    Series
        Index ``flow``, name ``elastic``.

    Examples
    --------
    >>> from ccbench import Bottleneck, Flow, NetworkPath, Scenario
    >>> flows = Flow(), Flow(kind="poisson", rate_mbps=4), Flow(kind="bytes", size_bytes=9000)
    >>> link = Bottleneck(bandwidth_mbps=24, queue_bdp=2)
    >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=50)
    >>> scenario = Scenario(flows=flows, path=path, duration_s=60)
    >>> elastic_flows(scenario).tolist()
    [True, False, False]
    """
    table = scenario.flow_table()
    is_large = (table["size_bytes"] > INITIAL_WINDOW_BYTES).fillna(value=False).astype(bool)
    return (table["kind"].isin(_BACKLOGGED) | is_large).rename("elastic")


def observe(  # noqa: PLR0913 - selection of packets and settings, by keyword
    run: Run,
    *,
    flows: Sequence[int] = (0,),
    bottleneck: int = 0,
    link_mbps: float | None = None,
    rate_window_s: float | None = None,
    detector: Detector | None = None,
) -> Observation:
    """Return the view of the cross traffic that the sender of some flows of a run has.

    Parameters
    ----------
    run : Run
        A run with a queue log.
    flows : sequence of int
        The sender's flows; all others are its cross traffic.
    bottleneck : int
        Position of the shared bottleneck in the scenario.
    link_mbps : float, optional
        Rate μ of the link that the sender assumes, above 0. Default: the scenario's (mean) rate, as
        in section 7.3.
    rate_window_s : float, optional
        Window of the rates in seconds, above 0. Default: the median RTT of `flows`.
    detector : Detector, optional
        Default: the detector with the paper's settings.

    Returns
    -------
    Observation
        From the first measured rates to the last packet.

    Raises
    ------
    InputError
        If the run has no queue log, no such flow or bottleneck, or too few packets of `flows`.

    Examples
    --------
    >>> observe(run, flows=[0], link_mbps=24).errors.median()  # doctest: +SKIP
    """
    detector = detector or Detector()
    chosen = _checked_flows(flows, run.scenario.flow_count)
    events = run.queue_events(bottleneck)
    if link_mbps is None:
        link_mbps = run.scenario.path.links[bottleneck].mean_mbps
    link_mbps = validation.number("link_mbps", link_mbps, _POSITIVE, example=96)
    if rate_window_s is None:
        rate_window_s = _round_trip_s(run, chosen)
    window_s = validation.number("rate_window_s", rate_window_s, _POSITIVE, example=0.05)

    accepted, packets = _packets(events, chosen)
    if len(packets) < 2:  # noqa: PLR2004 - a rate is between two packets
        step = "name flows that send for longer"
        raise validation.bad("flows", list(chosen), "flows with 2 packets or more in the log", step)
    sent, received = (packets[name].to_numpy() * 1e-9 for name in ("enqueued_ns", "dequeued_ns"))
    step_s = detector.step_s
    steps = np.arange(math.ceil(received[1] / step_s), math.floor(received[-1] / step_s) + 1)
    at = steps * step_s
    at = at[at >= received[1]]
    first, last = packet_windows(received, at, window_s=window_s)
    send, receive = window_rates_mbps(sent, received, packets["bytes"], first, last)

    is_cross = ~accepted["flow"].isin(chosen).to_numpy()
    cross = np.concatenate([[0], np.cumsum(np.where(is_cross, accepted["bytes"], 0))])
    order = packets["order"].to_numpy()
    span = sent[last] - sent[first]
    true = (cross[order[last]] - cross[order[first]]) * 8e-6 / np.where(span > 0, span, np.nan)
    true = np.where(np.isnan(send), np.nan, true)
    rates = pd.DataFrame(
        {"send_mbps": send, "receive_mbps": receive, "true_mbps": true},
        index=pd.Index(at.round(9), name="time_s"),
    )
    rates = rates.ffill().dropna()
    estimate = cross_traffic_mbps(rates["send_mbps"], rates["receive_mbps"], link_mbps=link_mbps)
    rates.insert(2, "estimate_mbps", estimate)

    expected = fundamental_mbps(link_mbps) * abs(float(np.sinc(detector.pulse_hz * window_s)))
    send_peak, send_eta = math.nan, math.nan
    if len(send_windows := detector.windows(rates["send_mbps"], every=_EVERY)):
        amplitudes = spectrum(send_windows, step_s=step_s)[1]
        send_peak = float(amplitudes[:, round(detector.pulse_hz * detector.window_s)].mean())
        send_eta = float(np.median(detector.elasticity(send_windows)))
    return Observation(
        flows=chosen,
        bottleneck=bottleneck,
        link_mbps=link_mbps,
        rate_window_s=window_s,
        detector=detector,
        rates=rates,
        elasticity=_elasticity(rates, detector, run.scenario, accepted[is_cross]),
        send_peak_mbps=send_peak,
        is_pulsing=send_eta >= detector.threshold and send_peak >= _LEAST_PULSE * expected,
        busy=_busy(events, packets, link_mbps),
    )


def _checked_flows(flows: Sequence[int], count: int) -> tuple[int, ...]:
    within = Range(0, count - 1)
    chosen = {validation.whole("flows", flow, within, example=0) for flow in flows}
    if not chosen:
        raise validation.bad("flows", list(flows), "one flow or more", "name the sender's")
    return tuple(sorted(chosen))


def _round_trip_s(run: Run, flows: tuple[int, ...]) -> float:
    samples = run.flows.loc[run.flows["flow"].isin(flows) & (run.flows["srtt_us"] > 0), "srtt_us"]
    if len(samples):
        return float(samples.median()) / 1e6
    extra_ms = run.scenario.flow_table().loc[list(flows), "extra_rtt_ms"].min()
    round_trip_s = (run.scenario.path.rtt_ms + float(extra_ms)) / 1e3
    if round_trip_s <= 0:
        raise InputError(
            "rate_window_s is unknown, because the scenario's rtt_ms is 0: write for example "
            "rate_window_s = 0.05"
        )
    return round_trip_s


def _packets(events: pd.DataFrame, flows: tuple[int, ...]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the packets that the queue accepted, and those of some flows that left for the link.

    Returns
    -------
    accepted : DataFrame
        Columns ``time_ns``, ``flow`` and ``bytes``, in order of arrival.
    packets : DataFrame
        Columns ``order`` (position in `accepted`), ``enqueued_ns``, ``dequeued_ns`` and ``bytes``,
        in order of departure.
    """
    kind = events["event"].cat.codes.to_numpy()
    enqueue, dequeue, drop = (
        events["event"].cat.categories.get_loc(name) for name in ("enqueue", "dequeue", "drop")
    )
    flow, time_ns = events["flow"].to_numpy(), events["time_ns"].to_numpy()
    # A drop at the head of the queue may also come next, but not at the same time.
    is_refused = np.zeros(len(events), dtype=bool)
    is_refused[:-1] = (kind[:-1] == enqueue) & (kind[1:] == drop)
    is_refused[:-1] &= (flow[:-1] == flow[1:]) & (time_ns[:-1] == time_ns[1:])
    refusing = np.roll(is_refused, 1)  # the drop that follows; the last row is never refused
    columns = ["time_ns", "flow", "bytes"]
    accepted = events.loc[(kind == enqueue) & ~is_refused, columns].reset_index(drop=True)
    departed = events.loc[(kind == dequeue) | ((kind == drop) & ~refusing), [*columns, "event"]]

    entered = accepted[accepted["flow"].isin(flows)].rename(columns={"time_ns": "enqueued_ns"})
    entered = entered.assign(order=entered.index, turn=entered.groupby("flow").cumcount())
    departed = departed[departed["flow"].isin(flows)].rename(columns={"time_ns": "dequeued_ns"})
    departed = departed.assign(turn=departed.groupby("flow").cumcount()).drop(columns="bytes")
    both = departed.merge(entered, on=["flow", "turn"])  # preserves the order of departure
    both = both.loc[both["event"] == "dequeue", ["order", "enqueued_ns", "dequeued_ns", "bytes"]]
    return accepted, both.reset_index(drop=True)


def _elasticity(
    rates: pd.DataFrame, detector: Detector, scenario: Scenario, cross: pd.DataFrame
) -> pd.DataFrame:
    """Return η and the elastic share of each window."""
    windows = detector.windows(rates["estimate_mbps"], every=_EVERY)
    ends = rates.index[detector.samples - 1 :: _EVERY]
    amplitudes = spectrum(windows, step_s=detector.step_s)[1]
    values = detector.elasticity(windows)
    elastic_numbers = np.flatnonzero(elastic_flows(scenario))
    is_elastic = cross["flow"].isin(elastic_numbers).to_numpy()
    sizes = cross["bytes"].to_numpy().astype(np.int64)
    sums = [np.concatenate([[0], np.cumsum(x)]) for x in (sizes, np.where(is_elastic, sizes, 0))]
    times = cross["time_ns"].to_numpy()
    edges_ns = [np.rint((ends - ago) * 1e9) for ago in (0.0, detector.window_s)]
    last, first = (np.searchsorted(times, edge, side="right") for edge in edges_ns)
    total, elastic = (cumulative[last] - cumulative[first] for cumulative in sums)
    share = np.full(len(ends), np.nan)
    return pd.DataFrame(
        {
            "peak_mbps": amplitudes[:, round(detector.pulse_hz * detector.window_s)],
            "others_mbps": amplitudes[:, detector.compared].max(axis=-1),
            "elasticity": values,
            "is_elastic": detector.is_elastic(values),
            "elastic_share": np.divide(elastic, total, out=share, where=total > 0),
        },
        index=ends,
    )


def _busy(events: pd.DataFrame, packets: pd.DataFrame, link_mbps: float) -> float:
    """Return the utilisation of the link between the first and the last packet."""
    start, end = packets["dequeued_ns"].iloc[[0, -1]]
    passed = (events["event"] == "dequeue") & events["time_ns"].between(
        start, end, inclusive="left"
    )
    carried = float(events.loc[passed, "bytes"].sum())
    return carried * 8e3 / ((end - start) * link_mbps) if end > start else math.nan
