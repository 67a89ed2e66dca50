# SPDX-License-Identifier: Apache-2.0
"""Algorithms of Linux 5.6 grow per ACK, those of later kernels per packet.

Delayed ACKs acknowledge two packets each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench import Bottleneck, Flow
from ccbench.experiment.scenario import MSS_BYTES
from tests.kernel.conftest import run
from tests.scenarios import flat

if TYPE_CHECKING:
    from ccbench import Run

pytestmark = pytest.mark.kernel

CCAS = ("bic", "scalable", "veno", "yeah")

RTT_MS, SAMPLE_MS = 100, 5

#: A link whose queue is full: 83 packets in flight, 100 waiting.
FULL: dict[str, Any] = {"bandwidth_mbps": 10, "queue_packets": 100}
#: A link whose queue is empty: periodic losses keep the window below its 833 packets in flight.
EMPTY: dict[str, Any] = {"bandwidth_mbps": 100, "queue_packets": 1000, "loss_every_packets": 4000}


def sent(cca: str, acks: str, link: dict[str, Any], duration_s: float = 60, **more: Any) -> Run:
    """Run a flow over a link with a round trip of 100 ms."""
    return run(
        flat(
            flows=(Flow(cca=cca, acks=acks),),
            bottlenecks=(Bottleneck(**link),),
            rtt_ms=RTT_MS,
            duration_s=duration_s,
            sample_interval_ms=SAMPLE_MS,
            **more,
        )
    )


def growth(result: Run, from_s: float = 10, *, per_window: bool = False) -> float:
    """Return the growth of the window in congestion avoidance.

    It is in packets per acknowledged packet, or per window of acknowledged packets.
    """
    samples = result.flows
    steady = samples[(samples["time_ns"] > from_s * 1e9) & (samples["state"] == "open")]
    window = steady["cwnd_packets"].astype(float)
    more = window.diff()
    grows = (window > steady["ssthresh_packets"]) & more.between(0, 0.1 * window)
    # ACKs take the whole round trip.
    acked_bytes = samples["delivered_bytes"].astype(float).shift(RTT_MS // SAMPLE_MS)
    packets = acked_bytes[steady.index].diff() / MSS_BYTES
    grown = more * window if per_window else more
    return float(grown[grows].sum() / packets[grows].sum())


class TestGrowth:
    @pytest.mark.parametrize(
        ("cca", "acks", "expected"),
        [
            ("scalable", "every", 1 / 100),
            ("scalable", "delayed", 1 / 100),
            ("scalable_5_6", "every", 1 / 50),
            ("scalable_5_6", "delayed", 1 / 100),
        ],
    )
    def test_scalable(self, cca: str, acks: str, expected: float) -> None:
        """Scalable TCP adds a packet per 50 ACKs, which later is a packet per 100 packets."""
        assert expected == pytest.approx(growth(sent(cca, acks, FULL)), rel=0.05)

    @pytest.mark.parametrize(
        ("cca", "acks", "expected"),
        [
            ("veno", "every", 1),
            ("veno", "delayed", 1),
            ("veno_5_6", "every", 1),
            ("veno_5_6", "delayed", 1 / 2),
        ],
    )
    def test_veno(self, cca: str, acks: str, expected: float) -> None:
        """With an empty queue, Veno adds a packet per window of ACKs; later, of packets."""
        measured = growth(sent(cca, acks, EMPTY), per_window=True)
        assert expected == pytest.approx(measured, rel=0.05)

    @pytest.mark.parametrize(
        ("cca", "acks", "expected"),
        [
            ("yeah", "every", 1),
            ("yeah", "delayed", 1),
            ("yeah_5_6", "every", 1),
            ("yeah_5_6", "delayed", 1 / 2),
        ],
    )
    def test_yeah_slow(self, cca: str, acks: str, expected: float) -> None:
        """With a long queue, YeAH adds a packet per window of ACKs; later, of packets."""
        measured = growth(sent(cca, acks, FULL), per_window=True)
        assert expected == pytest.approx(measured, rel=0.05)

    @pytest.mark.parametrize(
        ("cca", "acks", "packets"),
        [
            ("yeah", "every", 100),
            ("yeah", "delayed", 100),
            ("yeah_5_6", "every", 101),
            ("yeah_5_6", "delayed", 102),
        ],
    )
    def test_yeah_fast(self, cca: str, acks: str, packets: int) -> None:
        """With an empty queue, YeAH adds a packet on the first ACK above 100 packets."""
        assert 1 / packets == pytest.approx(growth(sent(cca, acks, EMPTY)), rel=0.03)

    @pytest.mark.parametrize(
        ("cca", "acks", "expected"),
        [
            ("bic", "every", 1 / 10),
            ("bic", "delayed", 1 / 10),
            ("bic_5_6", "every", 1 / 10),
            ("bic_5_6", "delayed", 1 / 20),
        ],
    )
    def test_bic(self, cca: str, acks: str, expected: float) -> None:
        """Before its first loss, BIC adds 5 % per window of ACKs of two packets; later, 10 %.

        Its estimate of packets per ACK, which it multiplies by, is not below 31/16 when rounded.
        """
        result = sent(
            cca,
            acks,
            {"bandwidth_mbps": 1000, "queue_packets": 20_000},
            duration_s=3,
            module_parameters={"tcp_bic.initial_ssthresh": 400},
        )
        assert expected == pytest.approx(growth(result, from_s=1.5), rel=0.05)


class TestLikeCurrent:
    @pytest.mark.parametrize("cca", CCAS)
    def test_slow_start(self, cca: str) -> None:
        """In slow start, the window doubles per round trip as in later kernels."""
        windows = [
            sent(name, "delayed", FULL).flows.set_index("time_ns")["cwnd_packets"]
            for name in (cca, f"{cca}_5_6")
        ]
        # From the end of the handshake to the first loss.
        for until_s in (0.15, 0.25, 0.35, 0.45):
            now, then = (window.loc[: until_s * 1e9].iloc[-1] for window in windows)
            assert now == then
        assert windows[0].loc[:0.45e9].iloc[-1] > 60

    @pytest.mark.parametrize("cca", CCAS)
    def test_losses(self, cca: str) -> None:
        """A loss reduces the window as in later kernels."""
        factors = []
        for name in (cca, f"{cca}_5_6"):
            samples = sent(name, "every", FULL).flows
            window = samples[samples["time_ns"] > 10e9]["cwnd_packets"]
            factors.append(window.min() / window.max())
        assert factors[0] == pytest.approx(factors[1], rel=0.02)

    @pytest.mark.parametrize("cca", CCAS)
    def test_fills_the_link(self, cca: str) -> None:
        """The link is always in use."""
        result = sent(f"{cca}_5_6", "default", FULL)
        assert 10 == pytest.approx(np.mean(result.throughput(0.5)[0].loc[10:]), rel=0.01)

    @pytest.mark.parametrize(("bandwidth_mbps", "queue_packets"), [(5, 200), (10, 300)])
    def test_yeah(self, bandwidth_mbps: float, queue_packets: int) -> None:
        """With an ACK per packet and a long queue, YeAH's window is that of later kernels."""
        link = {"bandwidth_mbps": bandwidth_mbps, "queue_packets": queue_packets}
        now, then = (
            sent(cca, "every", link).flows["cwnd_packets"].to_numpy().astype(int)
            for cca in ("yeah", "yeah_5_6")
        )
        assert np.abs(now - then).max() <= 1
