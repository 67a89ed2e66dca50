# SPDX-License-Identifier: Apache-2.0
r"""The share of BBRv1 flows on a link with loss-based flows (CUBIC, Reno).

Alone, BBR sends at the rate that it measures. In competition it probes until its in-flight cap,
twice its estimate of the bandwidth-delay product, holds it back: the cap decides its share. The
estimate of the RTT is taken in ProbeRTT, when BBR leaves the queue but its competitors stay in it.

The derivation in the thesis's letters (Table 3.1): N BBR flows, a queue of q packets, a link of c
packets per second, a base RTT of l seconds, X = q / (cl), and p, the share of the link that the
loss-based flows get together; k is the cap in BDPs, 2 in BBRv1. What BBR has in flight, its part
of the queue and of the pipe, grows until it is at the cap:

.. math::

    k (1 - p) c \left(\frac{pq + 4N}{c} + l\right) = (1 - p) q + (1 - p) c l

One solution is p = 1, no BBR at all. Divided by 1 - p, what remains is linear:

.. math::

    p = \frac{1}{k} - \left(1 - \frac{1}{k}\right) \frac{1}{X} - \frac{4N}{q}

which for k = 2 is the thesis's (3.9), and for X without bounds its (3.5).

The number of loss-based flows is not in it, and so no setting here. The cap depends on how much of
the queue they hold, not on how many they are: drop-tail losses hit them all, and more of them back
off to the same total. This is why one BBR flow keeps its share against sixteen.

What all equations assume (section 3.5.1): endless flows of equal base RTT and packet size, all
started together, BBR's synchronised and the loss-based ones synchronised; a link of constant rate;
times after convergence, which can take minutes; and a queue that is typically full. The last fails
in a queue of less than about 1 BDP: Reno's flows, which halve their windows, then empty it at each
loss (CUBIC's, which keep 0.7 of them, below 0.43 BDP), and BBR's bandwidth probes overflow it. That
is another regime, which this model is not about.

References
----------
R. Ware's thesis, chapter 3; the equations bear its numbers.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from ccbench.base import validation
from ccbench.base.checked_fields import check_fields, number, set_field, whole
from ccbench.base.validation import Range
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import MAX_FLOWS, MTU_BYTES, Flow
from ccbench.experiment.scenario import Scenario

__all__ = ["BbrModel", "BbrPrediction", "inflight_cap_packets"]

#: In-flight cap of BBRv1 as a multiple of the BDP that it estimates.
CAP_GAIN = 2.0
#: Packets that a flow keeps in flight in ProbeRTT.
PROBE_PACKETS = 4
#: Time between two ProbeRTTs in seconds.
PROBE_INTERVAL_S = 10.0
#: How long a flow stays in ProbeRTT once it is down to its four packets, in seconds.
PROBE_WAIT_S = 0.2

_SHARE = Range(0, 1)
_FLOWS = Range(1, MAX_FLOWS)
_GAIN = Range(1, 1000)
_DURATION = Range(0.001, 1e6)


def inflight_cap_packets(
    *, btlbw_est_mbps: float, rtt_est_ms: float, cap_gain: float = CAP_GAIN
) -> float:
    """Return the most packets that BBR has in flight, given its two estimates (3.1).

    Linux adds a few packets to it: some for segmentation offload and, since 5.1, as many as ACKs
    have lately come in bursts. Where the BDP is a few packets only, they count.

    Parameters
    ----------
    btlbw_est_mbps : float
        Estimate of the bandwidth in Mbit/s of IP bytes: of one flow, or the sum over several, whose
        aggregate cap is then returned.
    rtt_est_ms : float
        Estimate of the base RTT in milliseconds.
    cap_gain : float
        Cap in BDPs.

    Examples
    --------
    >>> inflight_cap_packets(btlbw_est_mbps=12, rtt_est_ms=50)
    100.0
    """
    return cap_gain * btlbw_est_mbps * 1e3 * rtt_est_ms / (8 * MTU_BYTES)


@dataclass(frozen=True, kw_only=True)
class BbrModel:
    """BBRv1 flows against any number of loss-based flows at one drop-tail queue.

    Parameters
    ----------
    bandwidth_mbps : float
        Rate of the link in Mbit/s of IP bytes, 0.001 to 100,000.
    rtt_ms : float
        Base round-trip time in milliseconds, 0.001 to 10,000.
    queue_packets : int
        Room in the queue in packets of 1500 bytes, 1 to 1,000,000. Exactly one of `queue_packets`
        and `queue_bdp` is given.
    queue_bdp : float
        The same as a multiple of the bandwidth-delay product; replaced by `queue_packets`.
    bbr_flows : int
        Number of BBR flows, 1 or more.
    cap_gain : float
        In-flight cap in estimated BDPs, 1 to 1000: 2 in BBRv1, 4 in the variant that the thesis
        tries in section 3.5.2.

    Raises
    ------
    InputError
        If a setting is out of range.

    Examples
    --------
    >>> model = BbrModel(bandwidth_mbps=10, rtt_ms=40, queue_bdp=32, bbr_flows=1)
    >>> model.queue_packets, round(model.loss_based_share, 3)
    (1067, 0.481)
    >>> round(model.bbr_fraction, 2)
    0.44
    """

    bandwidth_mbps: float
    rtt_ms: float
    queue_packets: int | None = None
    queue_bdp: float | None = None
    bbr_flows: int = field(default=1, metadata=whole(_FLOWS, example=1))
    cap_gain: float = field(default=CAP_GAIN, metadata=number(_GAIN, example=CAP_GAIN))

    def __post_init__(self) -> None:
        # A scenario knows the limits of a network and how many packets its queue holds: the model
        # then speaks of the very network that a run has.
        scenario = Scenario(
            flows=(Flow(cca="bbr"),),
            bottlenecks=(
                Bottleneck(
                    bandwidth_mbps=self.bandwidth_mbps,
                    queue_packets=self.queue_packets,
                    queue_bdp=self.queue_bdp,
                ),
            ),
            rtt_ms=self.rtt_ms,
            duration_s=1,
        )
        (bottleneck,) = scenario.bottlenecks
        values: dict[str, object] = {
            "bandwidth_mbps": bottleneck.bandwidth_mbps,
            "rtt_ms": scenario.rtt_ms,
            "queue_packets": bottleneck.queue_packets,
            "queue_bdp": None,
        }
        for name, value in values.items():
            set_field(self, name, value)
        check_fields(self)

    @property
    def bdp_packets(self) -> float:
        """Bandwidth-delay product in packets, cl."""
        return self._packets_per_s * self.rtt_ms / 1e3

    @property
    def queue_in_bdp(self) -> float:
        """Queue as a multiple of the bandwidth-delay product, X."""
        return self._queue / self.bdp_packets

    def btlbw_est_mbps(self, loss_based_share: float) -> float:
        """Return the bandwidth that the BBR flows together estimate, in Mbit/s (3.2).

        It is what the loss-based flows leave. The sum of the flows' estimates is a little more, as
        each is the maximum of several samples; the model ignores that.

        Parameters
        ----------
        loss_based_share : float
            The loss-based flows' share of the link, p, from 0 to 1: here and below it need not be
            the one at which the flows converge.

        Raises
        ------
        InputError
            `loss_based_share` is not a number from 0 to 1.
        """
        return (1 - _checked_share(loss_based_share)) * self.bandwidth_mbps

    def simple_inflight_cap_packets(self, loss_based_share: float) -> float:
        """Return the in-flight cap of the simple model in packets, k(p - p²)q (3.4).

        The RTT estimate in it is the time that the loss-based flows' part of the queue takes, pq/c
        (3.3). This holds for one BBR flow and a queue of many BDPs, where the base RTT that it
        leaves out is negligible: at p = 1/2 that is 1/5 of the estimate in a queue of 8 BDP.

        Raises
        ------
        InputError
            As :meth:`btlbw_est_mbps`.
        """
        p = _checked_share(loss_based_share)
        return self.cap_gain * (p - p**2) * self._queue

    @property
    def simple_loss_based_share(self) -> float:
        """The loss-based flows' share in the simple model, 1/k (3.5).

        The limit of (3.9) for a queue of many BDPs and of many more packets than the BBR flows have
        in ProbeRTT, so one half for BBRv1, of whatever network. No network leaves more to the
        loss-based flows while BBR sends; the time that BBR then loses in ProbeRTT is not in it.

        Examples
        --------
        >>> four = BbrModel(bandwidth_mbps=10, rtt_ms=40, queue_bdp=32, cap_gain=4)
        >>> 1 - four.simple_loss_based_share
        0.75
        """
        return 1 / self.cap_gain

    @property
    def rtt_est_alone_ms(self) -> float:
        """The base RTT that BBR flows without competitors estimate, in ms (3.6).

        In ProbeRTT they have 4N packets in flight. What of it the pipe, 1 BDP, does not hold stays
        in the queue and delays every sample; below that the base RTT itself is measured. The
        equation stops where 4N exceeds BDP + queue: packets are lost in ProbeRTT too, and what is
        returned is the RTT of a full queue, as none is longer.

        Examples
        --------
        A BDP of 50 packets is exceeded by 13 flows, and not by 12 (Figure 3.8a):

        >>> for n in (12, 13):
        ...     model = BbrModel(bandwidth_mbps=15, rtt_ms=40, queue_bdp=64, bbr_flows=n)
        ...     print(round(model.rtt_est_alone_ms, 3))
        40.0
        41.6
        """
        return self._rtt_behind_ms(max(0.0, self._probe_packets - self.bdp_packets))

    def rtt_est_ms(self, loss_based_share: float) -> float:
        """Return the base RTT that BBR flows estimate in competition, in ms (3.7).

        In ProbeRTT the queue holds the loss-based flows' part, pq, and 4 packets of each BBR flow.
        This counts the pipe as filled by others: it takes for granted that the loss-based flows
        have made up for what BBR no longer sends. While they have not, up to (1 - p) cl packets of
        these are in the pipe, the estimate is lower by up to (1 - p) l, and the loss-based share
        (3.9) higher by up to about 1/(2X): much in a queue of few BDPs, little in a large one. For
        the same reason p = 0 does not give :attr:`rtt_est_alone_ms`.

        The equation stops where pq + 4N exceeds q. Beyond, the RTT of a full queue is returned, as
        none is longer; the p of (3.9) never leads there unless it is clipped to 0.

        Raises
        ------
        InputError
            As :meth:`btlbw_est_mbps`.
        """
        p = _checked_share(loss_based_share)
        return self._rtt_behind_ms(p * self._queue + self._probe_packets)

    def inflight_cap_packets(self, loss_based_share: float) -> float:
        """Return the in-flight cap of all BBR flows together in packets (3.8).

        It follows from (3.2) and (3.7), and holds where they do. It is a bound and no prediction of
        what is in flight where it exceeds BDP + queue, as no more fits into the network.

        Raises
        ------
        InputError
            As :meth:`btlbw_est_mbps`.
        """
        return inflight_cap_packets(
            btlbw_est_mbps=self.btlbw_est_mbps(loss_based_share),
            rtt_est_ms=self.rtt_est_ms(loss_based_share),
            cap_gain=self.cap_gain,
        )

    @property
    def loss_based_share(self) -> float:
        """The share of the link that the loss-based flows converge to, p (3.9).

        It is 0 where the equation gives less, for BBRv1 in a queue of less than BDP + 8N packets:
        the cap then exceeds all that pipe and queue hold, so that nothing holds BBR back and its
        share is 100 %. It never exceeds 1/k. Where the queue is less than about 1 BDP, the 0 is a
        result of the equation but no prediction: see the top of this module.
        """
        return max(0.0, self._unclipped_share)

    @property
    def probe_s(self) -> float:
        """Length of one ProbeRTT in seconds, the bracket of (3.11): q/c + 0.2 + l.

        The queue drains, full as it was; then 0.2 s and a round trip pass. Linux waits for the
        longer of these two, not for both, and its round trip is that of the queue which the
        loss-based flows keep, (3.7), not l.
        """
        return self._queue / self._packets_per_s + PROBE_WAIT_S + self.rtt_ms / 1e3

    def probe_time_s(self, duration_s: float) -> float:
        """Return the seconds of `duration_s` that the BBR flows spend in ProbeRTT (3.11).

        One ProbeRTT begins every 10 s, so the equation is a mean over many: in less than 10 s there
        may be one or none. Linux counts the 10 s from the end of a ProbeRTT, so that it spends
        ``probe_s / (10 + probe_s)`` of the time there and not ``probe_s / 10``: (3.11) is too large
        by ``1 + probe_s / 10``, which a queue of seconds shows.

        Parameters
        ----------
        duration_s : float
            How long the flows compete after convergence, d, from 0.001 to 1,000,000 s.

        Returns
        -------
        float
            NaN where the equation means nothing: where one ProbeRTT takes more than 10 s, it would
            exceed the duration; and where 4 packets of each BBR flow are more than BDP + queue,
            ProbeRTT does not bring the flows down to them.

        Raises
        ------
        InputError
            `duration_s` is out of range.

        Examples
        --------
        >>> model = BbrModel(bandwidth_mbps=12, rtt_ms=50, queue_packets=1000)
        >>> model.probe_time_s(400)
        50.0
        """
        duration_s = validation.number("duration_s", duration_s, _DURATION, example=400)
        return self._probing * duration_s

    @property
    def bbr_fraction(self) -> float:
        """The part of the link that the BBR flows get together over time (3.10).

        Their share while they send, 1 - p, by the part of the time in which they do. The duration
        cancels out: its ProbeRTTs are proportional to it. It counts a ProbeRTT as time without any
        throughput, which holds where 4N packets are little beside BDP + queue; where they are more
        than the BDP, they alone would fill the link. NaN where :meth:`probe_time_s` is.
        """
        return (1 - self.loss_based_share) * (1 - self._probing)

    def remarks(self, duration_s: float) -> tuple[str, ...]:
        """Return a line for every limit of the equations that this network is beyond.

        Parameters
        ----------
        duration_s : float
            As in :meth:`probe_time_s`.

        Examples
        --------
        >>> BbrModel(bandwidth_mbps=10, rtt_ms=40, queue_bdp=32).remarks(400)
        ()
        >>> print(*BbrModel(bandwidth_mbps=10, rtt_ms=40, queue_bdp=1).remarks(400))
        (3.9) gives p = -0.13: the in-flight cap exceeds BDP + queue, BBR's share is 100 %
        """
        remarks = []
        if self._queue <= self.bdp_packets - 1:  # a queue of 1 BDP may have been rounded down
            remarks.append(
                "the queue is below 1 BDP, so not typically full: the model is not about it"
            )
        if self._unclipped_share < 0:
            remarks.append(
                f"(3.9) gives p = {self._unclipped_share:.2g}: the in-flight cap exceeds "
                "BDP + queue, BBR's share is 100 %"
            )
        if not self._probe_fits:
            remarks.append(
                f"4 packets of each BBR flow are {self._probe_packets}, more than BDP + queue: "
                "(3.10) and (3.11) have no meaning"
            )
        if self.probe_s > PROBE_INTERVAL_S:
            remarks.append(
                f"one ProbeRTT takes {self.probe_s:.3g} s, but a new one begins every "
                f"{PROBE_INTERVAL_S:g} s: (3.10) and (3.11) have no meaning"
            )
        if duration_s < PROBE_INTERVAL_S:
            remarks.append(
                f"in less than {PROBE_INTERVAL_S:g} s there may be no ProbeRTT: (3.10) and (3.11) "
                "are means over many"
            )
        return tuple(remarks)

    def predict(self, duration_s: float) -> BbrPrediction:
        """Evaluate the equations one after the other, at the share to which the flows converge.

        Parameters
        ----------
        duration_s : float
            How long the flows compete after convergence, from 0.001 to 1,000,000 s.

        Raises
        ------
        InputError
            `duration_s` is out of range.
        """
        p = self.loss_based_share
        return BbrPrediction(
            bdp_packets=self.bdp_packets,
            queue_packets=self._queue,
            simple_loss_based_share=self.simple_loss_based_share,
            rtt_est_alone_ms=self.rtt_est_alone_ms,
            rtt_est_ms=self.rtt_est_ms(p),
            inflight_cap_packets=self.inflight_cap_packets(p),
            loss_based_share=p,
            probe_time_s=self.probe_time_s(duration_s),
            bbr_fraction=self.bbr_fraction,
            remarks=self.remarks(duration_s),
        )

    @property
    def _queue(self) -> int:
        return cast("int", self.queue_packets)  # set when the model was made

    @property
    def _packets_per_s(self) -> float:
        return self.bandwidth_mbps * 1e6 / (8 * MTU_BYTES)

    @property
    def _probe_packets(self) -> int:
        return PROBE_PACKETS * self.bbr_flows

    @property
    def _probe_fits(self) -> bool:
        """Whether pipe and queue hold what the flows have in flight in ProbeRTT."""
        return self._probe_packets <= self.bdp_packets + self._queue

    @property
    def _unclipped_share(self) -> float:
        k = self.cap_gain
        return 1 / k - (1 - 1 / k) / self.queue_in_bdp - self._probe_packets / self._queue

    @property
    def _probing(self) -> float:
        """The part of the time that ProbeRTT takes; NaN where (3.11) means nothing."""
        if not self._probe_fits or self.probe_s > PROBE_INTERVAL_S:
            return math.nan
        return self.probe_s / PROBE_INTERVAL_S

    def _rtt_behind_ms(self, packets: float) -> float:
        """Return the RTT of a packet behind `packets` others, which the queue's room limits."""
        return self.rtt_ms + 1e3 * min(packets, self._queue) / self._packets_per_s


@dataclass(frozen=True, kw_only=True)
class BbrPrediction:
    """The model's numbers for one network, in the order of their derivation.

    Attributes
    ----------
    bdp_packets : float
        Bandwidth-delay product in packets of 1500 bytes.
    queue_packets : int
        Room in the queue in packets.
    simple_loss_based_share : float
        The loss-based flows' share of the link in the simple model (3.5).
    rtt_est_alone_ms : float
        RTT estimate of the BBR flows if there were no others, in ms (3.6).
    rtt_est_ms : float
        Their RTT estimate in competition, in ms (3.7).
    inflight_cap_packets : float
        In-flight cap of all BBR flows together in packets (3.8).
    loss_based_share : float
        The loss-based flows' share of the link, from 0 to 1 (3.9).
    probe_time_s : float
        Time that the BBR flows spend in ProbeRTT, in seconds (3.11); NaN where the equation means
        nothing.
    bbr_fraction : float
        The part of the link that the BBR flows get over time (3.10); NaN where `probe_time_s` is.
    remarks : tuple of str
        A line for every limit of the equations that the network is beyond.
    """

    bdp_packets: float
    queue_packets: int
    simple_loss_based_share: float
    rtt_est_alone_ms: float
    rtt_est_ms: float
    inflight_cap_packets: float
    loss_based_share: float
    probe_time_s: float
    bbr_fraction: float
    remarks: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the parts as a dictionary of plain values."""
        return {**asdict(self), "remarks": list(self.remarks)}


def _checked_share(p: float) -> float:
    return validation.number("loss_based_share", p, _SHARE, example=0.5)
