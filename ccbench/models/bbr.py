# SPDX-License-Identifier: Apache-2.0
r"""Model of BBRv1 flows that share a link with loss-based flows (CUBIC, Reno).

Alone, BBR sends at its measured rate. In competition it increases its data in flight up to a cap of
twice its estimate of the bandwidth-delay product, which determines its share. It measures the RTT
in ProbeRTT, when its own packets have left the queue and those of its competitors have not.

In the thesis's notation (Table 3.1), N is the number of BBR flows, q the queue in packets, c the
rate of the link in packets per second, l the base RTT in seconds, X = q / (cl), p the share of the
link of all loss-based flows, and k the cap in BDPs, 2 in BBRv1. BBR's data in flight, its part of
the queue and of the pipe, grows up to the cap:

.. math::

    k (1 - p) c \left(\frac{pq + 4N}{c} + l\right) = (1 - p) q + (1 - p) c l

One solution is p = 1, without BBR. Division by 1 - p gives the other:

.. math::

    p = \frac{1}{k} - \left(1 - \frac{1}{k}\right) \frac{1}{X} - \frac{4N}{q}

For k = 2, this is (3.9) of the thesis; in the limit of infinite X, it is (3.5).

The equation does not contain the number of loss-based flows, which is therefore not a setting. The
cap depends on their share of the queue, not on their number: drop-tail losses affect all of them,
and a larger number backs off to the same total. This is why one BBR flow keeps its share against
sixteen loss-based flows.

All equations assume (section 3.5.1): unlimited flows of equal base RTT and packet size that start
together, synchronised within each of the two groups; a link of constant rate; times after
convergence, which can take minutes; and a queue that is typically full. The last assumption fails
for a queue below about 1 BDP: Reno flows, which halve their windows, then empty it at each loss
(CUBIC flows, which keep 0.7 of them, below 0.43 BDP), and BBR's bandwidth probes overflow it. The
model does not cover that regime.

References
----------
R. Ware's thesis, chapter 3, whose equation numbers are used.
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
from ccbench.experiment.scenario import NetworkPath, Scenario

__all__ = ["BbrModel", "BbrPrediction", "inflight_cap_packets"]

#: In-flight cap of BBRv1 as a multiple of the estimated BDP.
CAP_GAIN = 2.0
#: Packets in flight of each flow in ProbeRTT.
PROBE_PACKETS = 4
#: Time between two ProbeRTTs in seconds.
PROBE_INTERVAL_S = 10.0
#: Time in ProbeRTT with four packets in flight, in seconds.
PROBE_WAIT_S = 0.2

_SHARE = Range(0, 1)
_FLOWS = Range(1, MAX_FLOWS)
_GAIN = Range(1, 1000)
_DURATION = Range(0.001, 1e6)


def inflight_cap_packets(
    *, btlbw_est_mbps: float, rtt_est_ms: float, cap_gain: float = CAP_GAIN
) -> float:
    """Return BBR's in-flight cap in packets, given its two estimates (3.1).

    Linux adds a few packets: some for segmentation offload and, since 5.1, the recent size of ACK
    bursts. They matter if the BDP is only a few packets.

    Parameters
    ----------
    btlbw_est_mbps : float
        Estimate of the bandwidth in Mbit/s of IP bytes: of one flow, or the sum over several flows
        for their aggregate cap.
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
        Limit of the queue in packets of 1500 bytes, 1 to 1,000,000. Exactly one of `queue_packets`
        and `queue_bdp` is required.
    queue_bdp : float
        Limit of the queue as a multiple of the bandwidth-delay product; replaced by
        `queue_packets`.
    bbr_flows : int
        Number of BBR flows, 1 or more.
    cap_gain : float
        In-flight cap in estimated BDPs, 1 to 1000: 2 in BBRv1, 4 in the variant of section 3.5.2 of
        the thesis.

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
        # A scenario validates the settings and computes the queue in packets, as in a run.
        scenario = Scenario(
            flows=(Flow(cca="bbr"),),
            path=NetworkPath(
                bottlenecks=(
                    Bottleneck(
                        bandwidth_mbps=self.bandwidth_mbps,
                        queue_packets=self.queue_packets,
                        queue_bdp=self.queue_bdp,
                    ),
                ),
                rtt_ms=self.rtt_ms,
            ),
            duration_s=1,
        )
        (bottleneck,) = scenario.path.bottlenecks
        values: dict[str, object] = {
            "bandwidth_mbps": bottleneck.bandwidth_mbps,
            "rtt_ms": scenario.path.rtt_ms,
            "queue_packets": bottleneck.queue_packets,
            "queue_bdp": None,
        }
        for name, value in values.items():
            set_field(self, name, value)
        check_fields(self)

    @property
    def bdp_packets(self) -> float:
        """Bandwidth-delay product cl in packets."""
        return self._packets_per_s * self.rtt_ms / 1e3

    @property
    def queue_in_bdp(self) -> float:
        """Queue X as a multiple of the bandwidth-delay product."""
        return self._queue / self.bdp_packets

    def btlbw_est_mbps(self, loss_based_share: float) -> float:
        """Return the sum of the BBR flows' bandwidth estimates in Mbit/s (3.2).

        It is the bandwidth that the loss-based flows leave. In reality the sum is slightly larger,
        since each estimate is the maximum of several samples.

        Parameters
        ----------
        loss_based_share : float
            Share p of the link of the loss-based flows, 0 to 1. In this and the following methods,
            it need not be the share after convergence.

        Raises
        ------
        InputError
            If `loss_based_share` is not a number from 0 to 1.
        """
        return (1 - _checked_share(loss_based_share)) * self.bandwidth_mbps

    def simple_inflight_cap_packets(self, loss_based_share: float) -> float:
        """Return the in-flight cap of the simple model in packets, k(p - p²)q (3.4).

        Its RTT estimate is the delay pq/c of the loss-based flows' part of the queue (3.3). This
        holds for one BBR flow and a queue of many BDPs, for which the omitted base RTT is
        negligible: at p = 1/2 it is 1/5 of the estimate in a queue of 8 BDP.

        Raises
        ------
        InputError
            As :meth:`btlbw_est_mbps`.
        """
        p = _checked_share(loss_based_share)
        return self.cap_gain * (p - p**2) * self._queue

    @property
    def simple_loss_based_share(self) -> float:
        """Share of the loss-based flows in the simple model, 1/k (3.5).

        This is the limit of (3.9) for a queue of many BDPs and of many more packets than the BBR
        flows have in ProbeRTT: one half for BBRv1, on any network. It is also the upper bound of
        the loss-based flows' share while BBR sends, that is, outside ProbeRTT.

        Examples
        --------
        >>> four = BbrModel(bandwidth_mbps=10, rtt_ms=40, queue_bdp=32, cap_gain=4)
        >>> 1 - four.simple_loss_based_share
        0.75
        """
        return 1 / self.cap_gain

    @property
    def rtt_est_alone_ms(self) -> float:
        """RTT estimate of BBR flows without competitors, in ms (3.6).

        In ProbeRTT the flows have 4N packets in flight. Packets in excess of the BDP remain in the
        queue and delay every sample; without an excess, the flows measure the base RTT. If 4N
        exceeds BDP + queue, packets are lost even in ProbeRTT, the equation does not apply, and the
        result is the RTT of a full queue.

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
        """Return the RTT estimate of BBR flows in competition, in ms (3.7).

        In ProbeRTT the queue holds the loss-based flows' part, pq, and 4 packets of each BBR flow.
        This assumes that other packets fill the pipe: the loss-based flows have already replaced
        the packets that BBR no longer sends. Until then, up to (1 - p) cl of these packets are in
        the pipe, the estimate is lower by up to (1 - p) l, and the loss-based share (3.9) is higher
        by up to about 1/(2X), which is much for a queue of few BDPs and little for a large one. For
        the same reason, p = 0 does not give :attr:`rtt_est_alone_ms`.

        If pq + 4N exceeds q, the equation does not apply, and the result is the RTT of a full
        queue. With the p of (3.9), this occurs only if it is clipped to 0.

        Raises
        ------
        InputError
            As :meth:`btlbw_est_mbps`.
        """
        p = _checked_share(loss_based_share)
        return self._rtt_behind_ms(p * self._queue + self._probe_packets)

    def inflight_cap_packets(self, loss_based_share: float) -> float:
        """Return the in-flight cap of all BBR flows together in packets (3.8).

        It follows from (3.2) and (3.7) and is valid if they are. If it exceeds BDP + queue, the
        capacity of the network, it does not predict the number of packets in flight.

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
        """Share p of the link to which the loss-based flows converge (3.9).

        It is clipped at 0, which BBRv1 reaches in a queue below BDP + 8N packets: the cap then
        exceeds the capacity of pipe and queue, so that nothing limits BBR and its share is 100 %.
        It never exceeds 1/k. For a queue below about 1 BDP, 0 is the result of the equation but not
        a prediction: the model does not cover such queues.
        """
        return max(0.0, self._unclipped_share)

    @property
    def probe_s(self) -> float:
        """Length of one ProbeRTT in seconds, the bracket of (3.11): q/c + 0.2 + l.

        A full queue drains; then 0.2 s and a round trip pass. Linux waits for the longer of these
        two, not for both, and its round trip is that of the loss-based flows' queue (3.7), not l.
        """
        return self._queue / self._packets_per_s + PROBE_WAIT_S + self.rtt_ms / 1e3

    def probe_time_s(self, duration_s: float) -> float:
        """Return the time that the BBR flows spend in ProbeRTT, in seconds (3.11).

        The equation is a mean over many ProbeRTTs, which begin every 10 s; a shorter duration
        contains one or none. Linux counts the 10 s from the end of a ProbeRTT and thus spends
        ``probe_s / (10 + probe_s)`` of the time in ProbeRTT, not ``probe_s / 10``: (3.11) is too
        large by a factor of ``1 + probe_s / 10``, which is noticeable for a queue of seconds.

        Parameters
        ----------
        duration_s : float
            Time d that the flows compete after convergence, 0.001 to 1,000,000 s.

        Returns
        -------
        float
            NaN if the equation does not apply: one ProbeRTT takes more than 10 s, or 4 packets of
            each BBR flow are more than BDP + queue, so that the flows cannot reach them.

        Raises
        ------
        InputError
            If `duration_s` is out of range.

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
        """Share of the link of all BBR flows over time (3.10).

        It is the share 1 - p outside ProbeRTT times the fraction of the time outside ProbeRTT. The
        duration cancels out. ProbeRTT counts as time without throughput, which is accurate if 4N
        packets are few compared with BDP + queue; if they exceed the BDP, they alone fill the link.
        NaN if :meth:`probe_time_s` is.
        """
        return (1 - self.loss_based_share) * (1 - self._probing)

    def remarks(self, duration_s: float) -> tuple[str, ...]:
        """Return a line for each limit of the equations that this network violates.

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
                "the queue is below 1 BDP and thus not typically full: the model does not apply"
            )
        if self._unclipped_share < 0:
            remarks.append(
                f"(3.9) gives p = {self._unclipped_share:.2g}: the in-flight cap exceeds "
                "BDP + queue, BBR's share is 100 %"
            )
        if not self._probe_fits:
            remarks.append(
                f"4 packets of each BBR flow are {self._probe_packets}, more than BDP + queue: "
                "(3.10) and (3.11) do not apply"
            )
        if self.probe_s > PROBE_INTERVAL_S:
            remarks.append(
                f"one ProbeRTT takes {self.probe_s:.3g} s, but a new one begins every "
                f"{PROBE_INTERVAL_S:g} s: (3.10) and (3.11) do not apply"
            )
        if duration_s < PROBE_INTERVAL_S:
            remarks.append(
                f"in less than {PROBE_INTERVAL_S:g} s there may be no ProbeRTT: (3.10) and (3.11) "
                "are means over many"
            )
        return tuple(remarks)

    def predict(self, duration_s: float) -> BbrPrediction:
        """Evaluate the equations at the share to which the flows converge.

        Parameters
        ----------
        duration_s : float
            Time that the flows compete after convergence, 0.001 to 1,000,000 s.

        Raises
        ------
        InputError
            If `duration_s` is out of range.
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
        return cast("int", self.queue_packets)  # set in __post_init__

    @property
    def _packets_per_s(self) -> float:
        return self.bandwidth_mbps * 1e6 / (8 * MTU_BYTES)

    @property
    def _probe_packets(self) -> int:
        return PROBE_PACKETS * self.bbr_flows

    @property
    def _probe_fits(self) -> bool:
        """Whether pipe and queue hold the packets in flight in ProbeRTT."""
        return self._probe_packets <= self.bdp_packets + self._queue

    @property
    def _unclipped_share(self) -> float:
        k = self.cap_gain
        return 1 / k - (1 - 1 / k) / self.queue_in_bdp - self._probe_packets / self._queue

    @property
    def _probing(self) -> float:
        """Fraction of the time in ProbeRTT; NaN if (3.11) does not apply."""
        if not self._probe_fits or self.probe_s > PROBE_INTERVAL_S:
            return math.nan
        return self.probe_s / PROBE_INTERVAL_S

    def _rtt_behind_ms(self, packets: float) -> float:
        """Return the RTT of a packet behind `packets` others, at most that of a full queue."""
        return self.rtt_ms + 1e3 * min(packets, self._queue) / self._packets_per_s


@dataclass(frozen=True, kw_only=True)
class BbrPrediction:
    """The model's results for one network, in the order of their derivation.

    Attributes
    ----------
    bdp_packets : float
        Bandwidth-delay product in packets of 1500 bytes.
    queue_packets : int
        Limit of the queue in packets.
    simple_loss_based_share : float
        Share of the link of the loss-based flows in the simple model (3.5).
    rtt_est_alone_ms : float
        RTT estimate of the BBR flows without competitors, in ms (3.6).
    rtt_est_ms : float
        RTT estimate of the BBR flows in competition, in ms (3.7).
    inflight_cap_packets : float
        In-flight cap of all BBR flows together in packets (3.8).
    loss_based_share : float
        Share of the link of the loss-based flows, 0 to 1 (3.9).
    probe_time_s : float
        Time that the BBR flows spend in ProbeRTT, in seconds (3.11); NaN if the equation does not
        apply.
    bbr_fraction : float
        Share of the link of the BBR flows over time (3.10); NaN if `probe_time_s` is.
    remarks : tuple of str
        A line for each limit of the equations that the network violates.
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
        """Return the results as a dictionary of plain values."""
        return {**asdict(self), "remarks": list(self.remarks)}


def _checked_share(p: float) -> float:
    return validation.number("loss_based_share", p, _SHARE, example=0.5)
