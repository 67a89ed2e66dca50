# SPDX-License-Identifier: Apache-2.0
"""Traces of known CCAs for training sets, from runs on the virtual kernel.

Servers differ from a laboratory in ways that do not change their CCA, and each of these is a
variation: the round trip differs from the setting's, packets are lost, other traffic shares the
link, the kernel reuses the slow-start threshold of an earlier connection, the link's rate includes
Ethernet's framing, the sender has no segmentation offload, the start of the trace is missing,
packets leave at whole milliseconds as in Mahimahi, or the client keeps sending requests and thus
delays its ACKs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ccbench.base.random_streams import derived_seed, stream
from ccbench.classify.implementation import IMPLEMENTATIONS, Implementation
from ccbench.classify.measurements import measured_events
from ccbench.classify.occupancy import DURATION_S, events_of, occupancy
from ccbench.classify.setting import SETTINGS
from ccbench.classify.trace import QueueTrace
from ccbench.classify.view import View
from ccbench.emulate.mahimahi.rate import constant_rate
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import MTU_BYTES, Flow
from ccbench.experiment.noise import Noise
from ccbench.experiment.scenario import NetworkPath, Scenario

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    import numpy.typing as npt

    from ccbench.classify.setting import Setting
    from ccbench.emulate import Campaign
    from ccbench.run.run import Run

__all__ = [
    "TESTED_VARIATIONS",
    "VARIATIONS",
    "Sample",
    "Variation",
    "collect",
    "measured",
    "needed",
    "noisy_variation",
    "sample_of",
    "scenario",
    "start_s",
    "trace",
]

#: Maximum duration of the earlier connection, and the pause after it, in seconds. Linux saves the
#: metrics of a connection only if it has sent all its data.
_EARLIER_S, _PAUSE_S = 10.0, 10.0
#: Minimum utilisation of the link by the earlier connection.
_GOODPUT = 0.8
#: Reuse the slow-start threshold, which was the default of Linux before 5.6.
_REMEMBER = (
    ("net.ipv4.tcp_no_metrics_save", "0"),
    ("net.ipv4.tcp_no_ssthresh_metrics_save", "0"),
)
#: Packet size of cross traffic in bytes.
_CROSS_PACKET_BYTES = 700
#: Kinds of noisy variations, with and without loss and cross traffic, and their shares. Loss is the
#: most frequent, as it hides more of a CCA's behaviour.
_KINDS, _SHARES = (
    ((False, False), (True, False), (False, True), (True, True)),
    (0.2, 0.35, 0.2, 0.25),
)
#: Ranges of noisy variations: probability of loss, and shares of the link.
_LOSSES, _CROSS_SHARES, _EARLIER_CROSS_SHARES = (1e-4, 1e-2), (0.005, 0.15), (0.7, 0.98)


#: A bottleneck, a CCA at it, and a variation with its seed.
Combination: TypeAlias = "tuple[Setting, Implementation, tuple[Variation, int]]"


@dataclass(frozen=True, kw_only=True)
class Variation:
    """A difference of a connection from that of a laboratory.

    Parameters
    ----------
    name : str
    extra_rtt_ms : float
        Difference of the round-trip time from the setting's in milliseconds.
    loss : float
        Probability of a packet loss before the queue.
    cross_share : float
        Fraction of the link used by Poisson cross traffic.
    remembers : bool
        Whether the connection starts with the slow-start threshold of an earlier connection.
    earlier_cross_share : float
        Fraction of the link used by cross traffic during the earlier connection. Close to 1, the
        threshold is small, and the connection starts in congestion avoidance at some ten packets.
    framing_bytes : int
        Bytes of each packet that count for the link's rate only, as Ethernet's framing of 38 bytes.
        The queue of such a link also holds one packet less: that in transmission.
    skipped_s : float
        Length of the missing start in seconds.
    segmentation_offload : bool
        Whether the sender's network device splits bursts of segments.
    in_milliseconds : bool
        Whether packets leave the link at whole milliseconds.
    jitter_ms : float
        Maximum random delay of ACKs at the client in milliseconds.
    delayed_acks : bool
        Whether the client keeps sending requests, as over HTTP/2.
    """

    name: str
    extra_rtt_ms: float = 0.0
    loss: float = 0.0
    cross_share: float = 0.0
    remembers: bool = False
    earlier_cross_share: float = 0.0
    framing_bytes: int = 0
    skipped_s: float = 0.0
    segmentation_offload: bool = True
    in_milliseconds: bool = False
    jitter_ms: float = 1.0
    delayed_acks: bool = False


#: Variations with clients that only receive. BBR's delivery rate samples, and thus its queue,
#: depend on how the clocks of a path group packets and ACKs, so several kinds of clocks are
#: included: programs such as mm-delay have one in each direction.
_RECEIVING = (
    Variation(name="plain"),
    Variation(name="longer", extra_rtt_ms=4.0),
    Variation(name="shorter", extra_rtt_ms=-4.0),
    Variation(name="lossy", loss=1e-4),
    Variation(name="shared", cross_share=0.01),
    Variation(name="shared more", cross_share=0.03),
    Variation(name="shared most", cross_share=0.06),
    Variation(name="remembers", remembers=True),
    Variation(name="remembers little", remembers=True, earlier_cross_share=0.9),
    Variation(name="framed", framing_bytes=38),
    Variation(name="late", skipped_s=3.0),
    Variation(name="later", skipped_s=7.0),
    Variation(name="single segments", segmentation_offload=False),
    Variation(name="single segments, jitter 2 ms", segmentation_offload=False, jitter_ms=2.0),
    Variation(name="in milliseconds", in_milliseconds=True),
    Variation(name="in milliseconds, longer", in_milliseconds=True, extra_rtt_ms=3.0),
    Variation(name="jitter 1.5 ms", jitter_ms=1.5, extra_rtt_ms=1.0),
    Variation(name="jitter 2 ms", jitter_ms=2.0),
    Variation(name="jitter 2 ms, longer", jitter_ms=2.0, extra_rtt_ms=2.0),
    Variation(name="jitter 2 ms, shorter", jitter_ms=2.0, extra_rtt_ms=-2.0),
    Variation(name="jitter 2.5 ms", jitter_ms=2.5, extra_rtt_ms=1.0),
    Variation(name="jitter 3 ms", jitter_ms=3.0, extra_rtt_ms=1.0),
    Variation(name="clocks 1.5 ms", in_milliseconds=True, jitter_ms=1.5, extra_rtt_ms=1.0),
    Variation(name="clocks 2 ms", in_milliseconds=True, jitter_ms=2.0),
    Variation(name="clocks 2 ms, longer", in_milliseconds=True, jitter_ms=2.0, extra_rtt_ms=3.0),
    Variation(name="clocks 2 ms, shared", in_milliseconds=True, jitter_ms=2.0, cross_share=0.02),
    Variation(name="clocks 2.5 ms", in_milliseconds=True, jitter_ms=2.5, extra_rtt_ms=1.0),
)


#: Variations that also exist with clients that keep sending requests. The end of slow start, and
#: the growth of some CCAs, depends on the number of ACKs.
_REQUESTING = (
    *("plain", "longer", "shorter", "lossy", "shared", "remembers", "remembers little", "late"),
    *("single segments", "jitter 2 ms", "clocks 2 ms"),
)


def _requesting(variations: Iterable[Variation]) -> tuple[Variation, ...]:
    return tuple(
        replace(variation, name=f"{variation.name}, asking", delayed_acks=True)
        for variation in variations
    )


#: Variations of the training set.
VARIATIONS = (
    *_RECEIVING,
    *_requesting(variation for variation in _RECEIVING if variation.name in _REQUESTING),
)

_TESTED_RECEIVING = (
    Variation(name="a bit longer", extra_rtt_ms=2.0),
    Variation(name="a bit shorter", extra_rtt_ms=-2.5),
    Variation(name="longer still", extra_rtt_ms=6.0),
    Variation(name="jitter", jitter_ms=2.5, extra_rtt_ms=1.5),
    Variation(name="clocks", in_milliseconds=True, jitter_ms=2.0, extra_rtt_ms=1.0),
    Variation(name="clocks, longer", in_milliseconds=True, jitter_ms=2.0, extra_rtt_ms=4.0),
    Variation(name="shared by others", cross_share=0.02, extra_rtt_ms=1.0),
)

#: Variations of the traces for choosing thresholds; none is in the training set.
TESTED_VARIATIONS = (*_TESTED_RECEIVING, *_requesting(_TESTED_RECEIVING))


def noisy_variation(number: int) -> Variation:
    """Return a random path, with losses, cross traffic, both or neither.

    Parameters
    ----------
    number : int
        Each number has its own path.

    Examples
    --------
    >>> noisy_variation(1) == noisy_variation(1), noisy_variation(1) == noisy_variation(2)
    (True, False)
    """
    rng = stream(number, "noisy variation")
    has_loss, has_cross = _KINDS[rng.choice(len(_KINDS), p=_SHARES)]
    remembers = rng.random() < 0.2  # noqa: PLR2004
    return Variation(
        name=f"noisy {number}",
        extra_rtt_ms=round(rng.uniform(-5, 7), 1),
        loss=round(float(np.exp(rng.uniform(*np.log(_LOSSES)))), 6) if has_loss else 0.0,
        cross_share=round(rng.uniform(*_CROSS_SHARES), 3) if has_cross else 0.0,
        remembers=remembers,
        earlier_cross_share=round(rng.uniform(*_EARLIER_CROSS_SHARES), 3)
        if remembers and rng.random() < 0.5  # noqa: PLR2004
        else 0.0,
        skipped_s=round(rng.uniform(0, 8), 1) if rng.random() < 0.25 else 0.0,  # noqa: PLR2004
        in_milliseconds=bool(rng.random() < 0.25),  # noqa: PLR2004
        jitter_ms=round(rng.uniform(0.5, 3), 1),
        delayed_acks=bool(rng.random() < 0.35),  # noqa: PLR2004
        framing_bytes=38 if rng.random() < 0.15 else 0,  # noqa: PLR2004
        segmentation_offload=bool(rng.random() < 0.85),  # noqa: PLR2004
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample(QueueTrace):
    """A trace of a known CCA; of noisy paths, ``points`` are empty.

    Parameters
    ----------
    cca : str
    variant : str
        The implementation of the CCA, if there are several.
    variation : Variation
    seed : int
        Seed of the run.
    setting, points, measured
        See :class:`~ccbench.classify.trace.QueueTrace`.
    """

    cca: str
    variant: str = ""
    variation: Variation
    seed: int


def scenario(
    setting: Setting, cca: str, variation: Variation, *, seed: int, duration_s: float = DURATION_S
) -> Scenario:
    """Return the scenario in which a CCA is observed.

    Parameters
    ----------
    setting : Setting
    cca : str
    variation : Variation
    seed : int
        Seed of all random numbers, which are independent of those of other settings and CCAs.
    duration_s : float
        Length of the trace in seconds.

    Examples
    --------
    >>> scenario(SETTINGS[0], "bbr", VARIATIONS[0], seed=1).path.rtt_ms
    85.0
    """
    from_s = start_s(variation)
    end_s = from_s + variation.skipped_s + duration_s + 1.0
    acks = "delayed" if variation.delayed_acks else "default"
    offload = variation.segmentation_offload
    flows = [Flow(cca=cca, start_s=from_s, acks=acks, segmentation_offload=offload)]
    if variation.remembers:
        free_mbps = (1 - variation.earlier_cross_share) * setting.bandwidth_mbps
        size_bytes = round(_EARLIER_S * free_mbps * 1e6 / 8 * _GOODPUT)
        earlier = replace(flows[0], kind="bytes", size_bytes=size_bytes)
        flows.append(replace(earlier, start_s=0.0, acks="default"))
    if variation.earlier_cross_share:
        flows.append(_cross(setting, variation.earlier_cross_share, stop_s=_EARLIER_S))
    if variation.cross_share:
        flows.append(_cross(setting, variation.cross_share))
    mbps = setting.bandwidth_mbps * MTU_BYTES / (MTU_BYTES + variation.framing_bytes)
    rate: dict[str, Any] = {"bandwidth_mbps": mbps}
    if variation.in_milliseconds:
        rate = {"trace": constant_rate(mbps)}
    queue_packets = max(1, setting.queue_packets - (variation.framing_bytes > 0))
    link = Bottleneck(**rate, queue_packets=queue_packets, loss=variation.loss)
    return Scenario(
        flows=tuple(flows),
        path=NetworkPath(
            bottlenecks=(link,),
            rtt_ms=max(setting.rtt_ms / 2, setting.rtt_ms + variation.extra_rtt_ms),
            noise=Noise(reverse_jitter_ms=variation.jitter_ms),
            sysctls=_REMEMBER if variation.remembers else (),
        ),
        duration_s=end_s,
        seed=derived_seed(seed, "observed", setting.name, cca),
        name=f"{cca}, {setting.name}, {variation.name}",
    )


def needed(
    paths: Sequence[tuple[Variation, int]],
    ccas: Sequence[str],
    settings: Sequence[Setting],
    *,
    duration_s: float,
) -> dict[Combination, tuple[Scenario]]:
    """Return the scenario of each sample of :func:`collect`."""
    return {
        (setting, own, (variation, seed)): (
            scenario(setting, own.module, variation, seed=seed, duration_s=duration_s),
        )
        for setting, own, (variation, seed) in product(
            settings, map(Implementation.named, ccas), paths
        )
    }


def collect(
    paths: Sequence[tuple[Variation, int]],
    ccas: Sequence[str] = IMPLEMENTATIONS,
    settings: Sequence[Setting] = SETTINGS,
    *,
    duration_s: float = DURATION_S,
    campaign: Campaign | None = None,
) -> Generator[Sample, None, None]:
    """Run each combination once and yield its sample, in any order.

    Parameters
    ----------
    paths : sequence of (Variation, int)
        Variations with their seeds.
    ccas : sequence of str
        Descriptions for :meth:`~ccbench.classify.implementation.Implementation.named`.
    settings : sequence of Setting
    duration_s : float
        Length of the traces in seconds.
    campaign : Campaign, optional
        Engine, store and workers of the runs; by default the virtual kernel and all cores.

    Raises
    ------
    InputError
        If the engine has no such CCA.
    EngineError
        If runs fail, after all others have finished.
    """
    needs = needed(paths, ccas, settings, duration_s=duration_s)
    from ccbench.emulate import Campaign  # noqa: PLC0415 - an answer runs nothing

    results = (campaign or Campaign()).streamed(
        needs,
        partial(sample_of, duration_s=duration_s),
        named=lambda key: f"{needs[key][0].name}, seed {needs[key][0].seed}",
    )
    for _, each in results:
        yield each


def sample_of(key: Combination, run: Run, *, duration_s: float) -> Sample:
    """Return the sample of a run of :func:`needed`."""
    setting, own, (variation, seed) = key
    return Sample(
        cca=own.cca,
        variant=own.variant,
        setting=setting,
        variation=variation,
        seed=seed,
        points=trace(run, variation, duration_s=duration_s),
        measured=measured(run, setting, variation, duration_s=duration_s),
    )


def trace(
    run: Run, variation: Variation, *, duration_s: float = DURATION_S
) -> npt.NDArray[np.float32]:
    """Return the trace of a run of :func:`scenario`.

    Parameters
    ----------
    run : Run
    variation : Variation
        The variation of the scenario.
    duration_s : float
        Length of the trace in seconds.

    Returns
    -------
    ndarray, shape (n_points,)
        Packets in the queue.

    Raises
    ------
    InputError
        If the run ends before the end of the trace.
    """
    return occupancy(events_of(run), from_s=_from_s(variation), duration_s=duration_s)


def measured(
    run: Run, setting: Setting, variation: Variation, *, duration_s: float = DURATION_S
) -> npt.NDArray[np.uint8]:
    """Return the measurements of a run's trace; parameters as for :func:`trace`."""
    view = View(length_s=duration_s)
    return measured_events(events_of(run), setting, from_s=_from_s(variation), view=view)


def _from_s(variation: Variation) -> float:
    return start_s(variation) + variation.skipped_s


def _cross(setting: Setting, share: float, stop_s: float | None = None) -> Flow:
    rate_mbps = share * setting.bandwidth_mbps
    size = _CROSS_PACKET_BYTES
    return Flow(cca="", kind="poisson", rate_mbps=rate_mbps, packet_bytes=size, stop_s=stop_s)


def start_s(variation: Variation) -> float:
    """Return the time at which the observed connection starts, in seconds."""
    return _EARLIER_S + _PAUSE_S if variation.remembers else 0.0
