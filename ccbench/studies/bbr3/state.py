# SPDX-License-Identifier: Apache-2.0
"""The state of BBR over a run, as far as its implementation tells it.

``bbr3`` reports its state through ``inet_diag``. BBR version 1 (``bbr``) reports its gains, from
which its phase follows. Of any other congestion control, only what TCP itself reports is known: see
:mod:`ccbench.studies.bbr3.wire`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.experiment.when import When
from ccbench.run.intervals import NS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ccbench.run.run import Run

__all__ = [
    "BBR3",
    "PHASES",
    "PROBE_BW",
    "TCP_COLUMNS",
    "Entry",
    "Sender",
    "Span",
    "State",
    "state_of",
]

#: Phases of ``bbr3``.
PHASES = ("startup", "drain", "down", "cruise", "refill", "up", "probe_rtt")

#: The phases of ProbeBW.
PROBE_BW = ("down", "cruise", "refill", "up")

#: Columns of :class:`State` that TCP reports for each congestion control.
TCP_COLUMNS = (
    *("cwnd", "inflight", "lost", "pacing_mbps", "srtt_ms", "min_rtt_ms"),
    *("delivered_bytes", "retransmits", "tcp_state"),
)

#: Bits of ``flags`` (``kernel_modules/include/tcp_bbr3_info.h``); the first two are a number.
_FULL_BW_COUNT = 0x03
_FLAGS = {
    "full_bw_reached": 0x04,
    "full_bw_now": 0x08,
    "is_loss_in_round": 0x10,
    "idle_restart": 0x20,
    "prev_probe_too_high": 0x40,
    "can_undo": 0x80,
}

#: Pacing gains of BBR version 1 in units of 1/256, and the gain of the window in ProbeRTT.
_V1_GAINS = {"startup": 739, "drain": 88, "up": 320, "down": 192, "cruise": 256}
_V1_PHASES = {gain: phase for phase, gain in _V1_GAINS.items()}
_V1_PROBE_RTT_CWND_GAIN = 256


@dataclass(frozen=True)
class Entry:
    """The event that a flow enters a phase.

    Parameters
    ----------
    phase : str
        The phase.
    visit : int, optional
        The number of the stay; by default the first.
    """

    phase: str
    visit: int | None = None


@dataclass(frozen=True)
class Sender:
    """A congestion control and what it tells of its state.

    Parameters
    ----------
    cca : str
        Its Linux name.
    info : tuple of str
        The names of the values that it reports (:meth:`ccbench.Run.cca_info`).
    entry_s : float, optional
        If it reports no phase: the time at which it enters the phase of a case, from a run without
        the case's changes.

    Examples
    --------
    >>> sorted(Sender("bbr", ("rate_low", "rate_high", "pacing_gain", "cwnd_gain")).reported)
    ['cruise', 'down', 'drain', 'max_bw_mbps', 'phase', 'probe_rtt', 'startup', 'up']
    """

    cca: str
    info: tuple[str, ...]
    entry_s: float | None = None

    @property
    def is_silent(self) -> bool:
        """Whether it reports no phase, so that only TCP's own state shows what it does."""
        return not self.reported

    @property
    def reported(self) -> frozenset[str]:
        """The columns of :class:`State` that it reports, and the phases that it has."""
        return _reported(self.info)

    def at(self, entry: Entry, after_s: float = 0.0) -> dict[str, Any]:
        """Return the arguments with which a change takes effect after an event, for `Change`."""
        if self.entry_s is not None:
            return {"at_s": self.entry_s + after_s}
        if _reader(self.info) is _version_3:
            value: dict[str, Any] = {"info": "phase", "equals": entry.phase}
        else:
            value = {"info": "pacing_gain", "equals": _V1_GAINS[entry.phase]}
        when = When(flow=0, occurrence=entry.visit, **value)
        return {"when": when, "after_s": after_s or None}


#: ``bbr3``.
BBR3 = Sender(
    "bbr3",
    (
        *("phase", "flags", "extra_acked", "max_bw_mbps"),
        *("bw_shortterm_mbps", "inflight_longterm", "inflight_shortterm"),
    ),
)


@dataclass(frozen=True)
class Span:
    """A stay in a phase.

    Parameters
    ----------
    phase : str
        The phase.
    start_s, end_s : float
        Times of its first sample and of the first sample after it.
    """

    phase: str
    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """Its length in seconds."""
        return self.end_s - self.start_s


@dataclass(frozen=True, eq=False)
class State:
    """Samples of a flow's state.

    Parameters
    ----------
    samples : DataFrame
        Index ``time_s``. Columns of TCP: ``cwnd``, ``inflight`` and ``lost`` (packets),
        ``pacing_mbps``, ``srtt_ms``, ``min_rtt_ms``, ``delivered_bytes``, ``retransmits``,
        ``tcp_state``. Columns that the congestion control reports: ``phase``, ``max_bw_mbps``
        and others, with NaN for bounds that are not set.
    changed_s : float
        Time of the scenario's first change, NaN if that is an event.
    """

    samples: pd.DataFrame
    changed_s: float = math.nan

    @property
    def spans(self) -> tuple[Span, ...]:
        """The stays in phases, in order, up to the last sample."""
        phases = self.samples["phase"].dropna()
        if phases.empty:
            return ()
        first = phases.ne(phases.shift())
        starts = phases.index[first]
        ends = [*starts[1:], phases.index[-1]]
        return tuple(
            Span(phase, float(start), float(end))
            for phase, start, end in zip(phases[first], starts, ends, strict=True)
        )

    def during(self, span: Span) -> pd.DataFrame:
        """Return the samples within a stay."""
        times = self.samples.index
        return self.samples[(times >= span.start_s) & (times < span.end_s)]

    def before(self, time_s: float) -> pd.Series:
        """Return the last sample before a time."""
        return self.samples[self.samples.index < time_s].iloc[-1]

    def at(self, time_s: float) -> pd.Series:
        """Return the first sample at or after a time; the last one, if there is none."""
        later = self.samples[self.samples.index >= time_s]
        return (self.samples if later.empty else later).iloc[-1 if later.empty else 0]


def state_of(run: Run, flow: int = 0) -> State:
    """Return the state of a flow over a run.

    Parameters
    ----------
    run : Run
        The run.
    flow : int
        Number of the flow.
    """
    rows = run.flows[run.flows["flow"] == flow]
    values = (
        rows["cwnd_packets"],
        rows["inflight_packets"],
        rows["lost"],
        rows["pacing_rate_bps"].fillna(0) / 1e6,  # before the first rate sample
        rows["srtt_us"] / 1e3,
        rows["min_rtt_us"] / 1e3,
        rows["delivered_bytes"],
        rows["retransmits"],
        rows["state"].astype(object),
    )
    columns = dict(zip(TCP_COLUMNS, values, strict=True))
    info = run.cca_info(flow)
    read = _reader(map(str, info))
    own = pd.DataFrame() if read is None else read(info)
    times = pd.Index(rows["time_ns"].to_numpy() / NS, name="time_s")
    # Columns of objects remain so: pandas would take them for strings, which is slow.
    given = {str(name): column.set_axis(times) for name, column in {**columns, **own}.items()}
    unknown = pd.Series(np.nan, index=times)
    order = (*TCP_COLUMNS, *_OWN_COLUMNS, *given)
    samples = pd.DataFrame({name: given.get(name, unknown) for name in order})
    changes_s = [change.at_s for change in run.scenario.path.changes if change.at_s is not None]
    return State(samples, min(changes_s, default=math.nan))


@cache
def _reported(info: tuple[str, ...]) -> frozenset[str]:
    """Return :attr:`Sender.reported` of the names of reported values."""
    reader = _reader(info)
    if reader is None:
        return frozenset()
    phases = PHASES if reader is _version_3 else (*_V1_GAINS, "probe_rtt")
    return frozenset({*reader(_empty(info)), *phases})


def _empty(info: Iterable[str]) -> pd.DataFrame:
    """Return a table of reported values without rows."""
    return pd.DataFrame(columns=pd.Index(info), dtype="float64")


def _reader(info: Iterable[str]) -> Callable[[pd.DataFrame], pd.DataFrame] | None:
    """Return the reader of the state for names of reported values, if there is one."""
    names = {*info}
    return next((read for needed, read in _READERS.items() if {*needed} <= names), None)


def _version_3(info: pd.DataFrame) -> pd.DataFrame:
    """Return the state that ``bbr3`` reports."""
    known = info["phase"].notna()
    flags = info["flags"].fillna(0).astype("int64")
    bits = {name: (flags & bit > 0).where(known) for name, bit in _FLAGS.items()}
    bounds = ("bw_shortterm_mbps", "inflight_longterm", "inflight_shortterm")
    return pd.DataFrame(
        {
            "phase": info["phase"].astype("object"),
            "max_bw_mbps": info["max_bw_mbps"],
            "extra_acked": info["extra_acked"],
            **{name: info[name].where(info[name] > 0) for name in bounds},
            "full_bw_count": (flags & _FULL_BW_COUNT).where(known),
            **bits,
        }
    )


def _version_1(info: pd.DataFrame) -> pd.DataFrame:
    """Return the state that follows from what BBR version 1 reports."""
    phase = info["pacing_gain"].map(_V1_PHASES)
    probes_rtt = (phase == "cruise") & (info["cwnd_gain"] == _V1_PROBE_RTT_CWND_GAIN)
    bytes_per_s = info["rate_low"] + info["rate_high"] * 2.0**32
    return pd.DataFrame(
        {"phase": phase.mask(probes_rtt, "probe_rtt"), "max_bw_mbps": bytes_per_s * 8 / 1e6}
    )


#: Readers by the reported values that each needs.
_READERS: Mapping[tuple[str, ...], Callable[[pd.DataFrame], pd.DataFrame]] = {
    ("phase", "flags", "max_bw_mbps", "inflight_longterm"): _version_3,
    ("pacing_gain", "cwnd_gain", "rate_low", "rate_high"): _version_1,
}

#: Columns of :class:`State` that ``bbr3`` reports, which all states have.
_OWN_COLUMNS = tuple(map(str, _version_3(_empty(BBR3.info))))
