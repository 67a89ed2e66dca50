# SPDX-License-Identifier: Apache-2.0
"""Test cases of the draft: a path, what happens on it, and the conditions to verify."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import MTU_BYTES, Flow
from ccbench.experiment.scenario import NetworkPath, Scenario
from ccbench.studies.bbr3.state import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pandas as pd

    from ccbench.experiment.change import Change
    from ccbench.studies.bbr3.state import Sender, Span, State

__all__ = [
    "GRID",
    "PACING_MARGIN",
    "PAYLOAD_BYTES",
    "SECOND_UP",
    "UP_VISIT",
    "DraftCase",
    "Fact",
    "Point",
    "alone",
    "drained",
    "everywhere",
    "few_packets",
    "first",
    "follows",
    "inflight_target",
    "is_bbr",
    "near",
    "paces",
    "probing_s",
    "reaches",
    "round_starts",
    "settle_s",
    "shown",
]

#: Payload of a full packet of TCP over IPv4 with timestamps, and its share of the packet.
PAYLOAD_BYTES = 1448
PAYLOAD = PAYLOAD_BYTES / MTU_BYTES

#: The visit of UP in which something happens: ProbeRTT, five seconds after the start, would
#: interrupt the first one on long paths.
UP_VISIT = 2
SECOND_UP = Entry("up", UP_VISIT)

#: Pacing below bw: PacingMarginPercent.
PACING_MARGIN = 0.99

#: Samples per round trip, which show each of its phases.
_SAMPLES_PER_RTT = 25
_SHORTEST_SAMPLE_MS, _LONGEST_SAMPLE_MS = 0.05, 5.0


@dataclass(frozen=True)
class Point:
    """A path.

    Parameters
    ----------
    mbps : float
        Rate of the bottleneck in Mbit/s of IP packets.
    rtt_ms : float
        Base round-trip time.
    """

    mbps: float
    rtt_ms: float

    def __str__(self) -> str:
        """Return rate and round-trip time."""
        return f"{self.mbps:g} Mbit/s, {self.rtt_ms:g} ms"

    @property
    def payload_mbps(self) -> float:
        """The rate of payload."""
        return self.mbps * PAYLOAD

    @property
    def packet_s(self) -> float:
        """Time of a full packet on the link."""
        return MTU_BYTES * 8 / (self.mbps * 1e6)

    @property
    def rtt_s(self) -> float:
        """Round-trip time of a full packet on the empty path."""
        return self.rtt_ms / 1e3 + self.packet_s

    @property
    def bdp_packets(self) -> float:
        """Bandwidth-delay product."""
        return self.rtt_s / self.packet_s


#: The grid of paths: rates of 64 kbit/s to 1 Gbit/s, round-trip times of 1 ms to 1 s.
GRID = tuple(
    Point(mbps, rtt_ms) for mbps in (0.064, 1, 10, 100, 1000) for rtt_ms in (1, 10, 100, 1000)
)


@dataclass(frozen=True)
class Fact:
    """A condition of a test case.

    Parameters
    ----------
    text : str
        What was found, with numbers.
    holds : bool
        Whether the condition holds.
    is_premise : bool
        Whether it is a premise: without it, the case did not come about, and says nothing.
    """

    text: str
    holds: bool
    is_premise: bool = False


@dataclass(frozen=True, kw_only=True)
class DraftCase:
    """A test case of the draft.

    Parameters
    ----------
    name : str
        A short name.
    title : str
        The draft's title.
    variant : str
        The difference from the draft's words; empty for the draft's case.
    needs : tuple of str
        Columns of :class:`~ccbench.studies.bbr3.state.State` that the conditions on the state need.
    scenario : callable
        Returns the scenario for a congestion control and a path.
    verify : callable
        Returns the conditions on the state, up to the first premise that does not hold.
    verify_wire : callable
        Returns the conditions on what TCP reports and the wire shows
        (:func:`ccbench.studies.bbr3.wire.seen`), for a congestion control that reports no phase.
    unsuitable : callable
        Returns the reason for which a path cannot show the case, or an empty string.
    event : Entry, optional
        The event with which the changes of the scenario begin; without it, they have fixed times.
    """

    name: str
    title: str
    needs: tuple[str, ...]
    scenario: Callable[[Sender, Point], Scenario]
    verify: Callable[[State, Point], Iterable[Fact]]
    verify_wire: Callable[[State, Point], Iterable[Fact]]
    unsuitable: Callable[[Point], str]
    event: Entry | None = None
    variant: str = ""

    @property
    def label(self) -> str:
        """Title, with the variant if it is one."""
        return f"{self.title} ({self.variant})" if self.variant else self.title

    def waits(self, sender: Sender) -> bool:
        """Whether the time at which its changes begin has to be found in a run without them."""
        return self.event is not None and sender.is_silent and sender.entry_s is None

    def entry(self, state: State) -> tuple[float, tuple[Fact, ...]]:
        """Return the time at which its changes begin, NaN if never, and the premises of it."""
        assert self.event is not None
        span, begins = reaches(state.spans, self.event.phase, number=self.event.visit or 1)
        premises = is_bbr(state), begins
        if span is None or not all(premise.holds for premise in premises):
            return math.nan, premises
        return span.start_s, premises

    def steps(self, sender: Sender, state: State, point: Point) -> Iterable[Fact]:
        """Return the conditions that apply to a congestion control."""
        return (self.verify_wire if sender.is_silent else self.verify)(state, point)

    def planned(self, sender: Sender, point: Point) -> Scenario:
        """Return the scenario, without its changes if it waits."""
        if self.waits(sender):
            return replace(
                self.scenario(replace(sender, entry_s=1.0), point),
                path=replace(self.scenario(replace(sender, entry_s=1.0), point).path, changes=()),
            )
        return self.scenario(sender, point)


def everywhere(_point: Point) -> str:
    """Return that each path is suitable."""
    return ""


def few_packets(point: Point) -> str:
    """Return that too few packets fill a path to see what happens to some, if so."""
    return "fewer than ten packets fill the path" if point.bdp_packets < 10 else ""  # noqa: PLR2004


def alone(  # noqa: PLR0913 - settings of a path, mostly by keyword
    sender: Sender,
    point: Point,
    duration_s: float,
    *changes: Change,
    queue_bdp: float = 3.0,
    least_queue: int = 100,
    flows: tuple[Flow, ...] = (),
    **settings: Any,
) -> Scenario:
    """Return a single flow on a path.

    Parameters
    ----------
    sender : Sender
        The congestion control.
    point : Point
        The path.
    duration_s : float
        Length in seconds.
    *changes : Change
        What happens.
    queue_bdp : float
        Length of the queue in bandwidth-delay products: by default enough for no loss at the end of
        Startup, which keeps 2.
    least_queue : int
        Least length of the queue in packets.
    flows : tuple of Flow
        The flow; by default with unlimited data.
    **settings
        Other arguments of the :class:`~ccbench.experiment.path.NetworkPath`, instead of the usual.

    Examples
    --------
    >>> from ccbench.studies.bbr3.state import Sender
    >>> alone(Sender("bbr3", ()), Point(10, 100), 5).path.bottlenecks[0].queue_packets
    253
    """
    queue = max(least_queue, round(queue_bdp * point.bdp_packets))
    sample_ms = point.rtt_s * 1e3 / _SAMPLES_PER_RTT
    link = Bottleneck(bandwidth_mbps=point.mbps, queue_packets=queue)
    path = NetworkPath(
        **{"bottlenecks": (link,), "rtt_ms": point.rtt_ms, "changes": changes, **settings}
    )
    return Scenario(
        flows=flows or (Flow(cca=sender.cca),),
        path=path,
        duration_s=duration_s,
        sample_interval_ms=min(max(sample_ms, _SHORTEST_SAMPLE_MS), _LONGEST_SAMPLE_MS),
        queue_log="summary",
    )


def settle_s(point: Point) -> float:
    """Return a time by which a flow alone on a path is in ProbeBW for the first time, and more.

    Long paths take longest: ProbeRTT interrupts Startup every five seconds.

    Examples
    --------
    >>> settle_s(Point(100, 10)) < 12 < 50 < settle_s(Point(100, 1000))
    True
    """
    return 10 + 60 * point.rtt_s + 250 * point.packet_s


def probing_s(point: Point) -> float:
    """Return a time by which the second probe for bandwidth has ended, and more."""
    return settle_s(point) + 12 + 40 * point.rtt_s


def first(
    spans: Iterable[Span], *phases: str, after_s: float = 0.0, number: int = 1
) -> Span | None:
    """Return the first stay in one of some phases from a time on, or the one with a number."""
    found = [s for s in spans if s.phase in phases and s.start_s >= after_s]
    return found[number - 1] if len(found) >= number else None


def reaches(
    spans: Iterable[Span], *phases: str, after_s: float = 0.0, number: int = 1
) -> tuple[Span | None, Fact]:
    """Return such a stay as :func:`first`, and the premise that it exists."""
    found = first(spans, *phases, after_s=after_s, number=number)
    when = "never" if found is None else f"at {found.start_s:.3g} s"
    return found, Fact(f"{phases[0]} begins {when}", found is not None, is_premise=True)


def is_bbr(state: State) -> Fact:
    """Return the premise that a ProbeRTT shows that a flow uses BBR.

    Without it, conditions by the wire would also hold for other congestion controls.
    """
    probes = sum(span.phase == "probe_rtt" for span in state.spans)
    return Fact(f"{probes} ProbeRTTs show that it is BBR", probes > 0, is_premise=True)


def follows(state: State, span: Span, *phases: str) -> Fact:
    """Return the condition that one of some phases follows a stay.

    ProbeRTT may interrupt any phase: that it does not is a premise.
    """
    following = state.at(span.end_s)["phase"]
    interrupted = following == "probe_rtt" and "probe_rtt" not in phases
    text = f"{span.phase} is followed by {following}"
    return Fact(text, following in phases, is_premise=interrupted)


def drained(state: State, span: Span, target: float) -> Fact:
    """Return the condition that what is in flight falls to a target at the end of a stay.

    Samples are apart, and a burst may leave as soon as the stay has ended.
    """
    last, after = state.during(span).iloc[-1], state.at(span.end_s)
    least = min(last["inflight"], after["inflight"])
    delivered = (after["delivered_bytes"] - last["delivered_bytes"]) / PAYLOAD_BYTES
    text = f"inflight at the end of {span.phase}: {least:g}, target {target:g}"
    return Fact(text, least <= target + delivered + 2)


def near(what: str, value: float, target: float, tolerance: float = 0.02) -> Fact:
    """Return the condition that a value is within a relative tolerance of a target."""
    share = value / target if target else float("nan")
    text = f"{what} is {value:.4g}, {100 * share:.4g} % of {target:.4g}"
    return Fact(text, abs(share - 1) <= tolerance)


def shown(bound: float) -> str:
    """Return a bound in packets in words.

    Examples
    --------
    >>> shown(12.0), shown(math.nan)
    ('12', 'none')
    """
    return "none" if math.isnan(bound) else f"{bound:g}"


def round_starts(samples: pd.DataFrame) -> list[int]:
    """Return the positions of the samples with which rounds begin; the last is the last sample.

    A round ends when everything that was in flight at its beginning has been delivered.

    Parameters
    ----------
    samples : DataFrame
        Samples of a :class:`~ccbench.studies.bbr3.state.State`, at least one.

    Examples
    --------
    >>> import pandas as pd
    >>> delivered = [1448 * i for i in range(6)]
    >>> round_starts(pd.DataFrame({"delivered_bytes": delivered, "inflight": 2}))
    [0, 2, 4, 5]
    """
    starts = [0]
    while starts[-1] < len(samples) - 1:
        sample = samples.iloc[starts[-1]]
        end_bytes = sample["delivered_bytes"] + sample["inflight"] * PAYLOAD_BYTES
        following = int(np.searchsorted(samples["delivered_bytes"], end_bytes))
        starts.append(min(max(following, starts[-1] + 1), len(samples) - 1))
    return starts


def bw_mbps(sample: pd.Series) -> float:
    """Return the draft's bw: the maximum bandwidth, or the short-term bound below it."""
    return float(np.nanmin([sample["max_bw_mbps"], sample["bw_shortterm_mbps"]]))


def paces(phase: str, sample: pd.Series, gain: float) -> Fact:
    """Return the condition that a flow paces at bw, minus the margin, with a phase's gain."""
    return near(
        f"pacing rate in {phase} / bw",
        sample["pacing_mbps"] / bw_mbps(sample) / PACING_MARGIN,
        gain,
    )


def inflight_target(sample: pd.Series, gain: float = 1.0, extra: float = 0.0) -> float:
    """Return the draft's Inflight(gain) in packets: BDP, offload budget, or four packets.

    Parameters
    ----------
    sample : Series
        A sample of a :class:`~ccbench.studies.bbr3.state.State`.
    gain : float
        Factor of the bandwidth-delay product.
    extra : float
        Packets in addition to it.
    """
    bytes_in_flight = gain * bw_mbps(sample) * 1e6 / 8 * sample["min_rtt_ms"] / 1e3
    quantum_bytes = min(sample["pacing_mbps"] * 1e6 / 8 / 1e3, 64 * 1024)
    budget = math.ceil(3 * max(quantum_bytes / PAYLOAD_BYTES, 2))
    return float(max(math.ceil(bytes_in_flight / PAYLOAD_BYTES) + extra, budget, 4))
