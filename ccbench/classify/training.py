# SPDX-License-Identifier: Apache-2.0
"""Traces of CCAs that are known: what servers are compared with.

The virtual kernel makes them. A server differs from a laboratory in ways that do not change its
CCA, and each of these is a variation: its round trip is not exactly the setting's, a packet is lost
now and then, others use the link, its kernel remembers how the last connection left slow start, the
beginning was missed, the link has the clock of Mahimahi's, which has steps of a millisecond, or the
client keeps asking, and so delays its ACKs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from ccbench.classify.occupancy import DURATION_S, occupancy
from ccbench.classify.setting import SETTINGS
from ccbench.emulate import run_many
from ccbench.emulate.mahimahi.rate import constant_rate
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import Flow
from ccbench.experiment.noise import Noise
from ccbench.experiment.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    import numpy as np
    import numpy.typing as npt

    from ccbench.classify.setting import Setting
    from ccbench.emulate import Engine
    from ccbench.run.run import Run

__all__ = [
    "CCAS",
    "TESTED_VARIATIONS",
    "VARIATIONS",
    "Sample",
    "Variation",
    "collect",
    "scenario",
    "trace",
]

#: The CCAs of Linux for wide-area networks.
CCAS = (
    *("bbr", "bic", "cdg", "cubic", "highspeed", "htcp", "hybla", "illinois"),
    *("nv", "reno", "scalable", "vegas", "veno", "westwood", "yeah"),
)

#: How long an earlier connection takes at most, whose end is remembered, and how much later the
#: next one starts. Only one that has sent all it had leaves something behind.
_EARLIER_S, _PAUSE_S = 10.0, 10.0
#: What part of the link that connection is sure to use.
_GOODPUT = 0.8
#: Linux before 5.6 remembered the threshold of slow start unless it was told not to.
_REMEMBER = (
    ("net.ipv4.tcp_no_metrics_save", "0"),
    ("net.ipv4.tcp_no_ssthresh_metrics_save", "0"),
)
#: What others send is sent in packets of this size.
_CROSS_PACKET_BYTES = 700


@dataclass(frozen=True, kw_only=True)
class Variation:
    """A way in which a connection differs from that of a laboratory.

    Parameters
    ----------
    name : str
        In a word or two.
    extra_rtt_ms : float
        What the round trip is longer than the setting's.
    loss : float
        Probability with which a packet is lost before the queue.
    cross_share : float
        The share of the link that others use, at random times.
    remembers : bool
        Whether the connection begins with the threshold of slow start that another has left.
    skipped_s : float
        What is missing of the beginning.
    in_milliseconds : bool
        Whether packets leave the link at whole milliseconds.
    jitter_ms : float
        How long the client holds an answer back at most, at random.
    delayed_acks : bool
        Whether the client keeps asking, as one does over HTTP/2.
    """

    name: str
    extra_rtt_ms: float = 0.0
    loss: float = 0.0
    cross_share: float = 0.0
    remembers: bool = False
    skipped_s: float = 0.0
    in_milliseconds: bool = False
    jitter_ms: float = 1.0
    delayed_acks: bool = False


#: With clients that only take what comes. The delivery rate that BBR measures, and so its queue,
#: depends on how the clocks of a path group packets and answers, so there are several kinds of
#: these: programs like mm-delay have a clock each way.
_TAKING = (
    Variation(name="plain"),
    Variation(name="longer", extra_rtt_ms=4.0),
    Variation(name="shorter", extra_rtt_ms=-4.0),
    Variation(name="lossy", loss=1e-4),
    Variation(name="shared", cross_share=0.01),
    Variation(name="shared more", cross_share=0.03),
    Variation(name="shared most", cross_share=0.06),
    Variation(name="remembers", remembers=True),
    Variation(name="late", skipped_s=3.0),
    Variation(name="later", skipped_s=7.0),
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


#: Those that there are also with clients that keep asking. How slow start ends, and how fast some
#: CCAs grow, depends on how many ACKs there are.
_ASKING = (
    *("plain", "longer", "shorter", "lossy", "shared", "remembers", "late"),
    *("jitter 2 ms", "clocks 2 ms"),
)


def _asking(variations: Iterable[Variation]) -> tuple[Variation, ...]:
    return tuple(replace(one, name=f"{one.name}, asking", delayed_acks=True) for one in variations)


#: Those of the training set.
VARIATIONS = (*_TAKING, *_asking(one for one in _TAKING if one.name in _ASKING))

_TESTED_TAKING = (
    Variation(name="a bit longer", extra_rtt_ms=2.0),
    Variation(name="a bit shorter", extra_rtt_ms=-2.5),
    Variation(name="longer still", extra_rtt_ms=6.0),
    Variation(name="jitter", jitter_ms=2.5, extra_rtt_ms=1.5),
    Variation(name="clocks", in_milliseconds=True, jitter_ms=2.0, extra_rtt_ms=1.0),
    Variation(name="clocks, longer", in_milliseconds=True, jitter_ms=2.0, extra_rtt_ms=4.0),
    Variation(name="shared by others", cross_share=0.02, extra_rtt_ms=1.0),
)

#: Those of the traces by which thresholds are chosen: none is like one of the training set.
TESTED_VARIATIONS = (*_TESTED_TAKING, *_asking(_TESTED_TAKING))


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """A trace whose CCA is known.

    Parameters
    ----------
    cca : str
        Its label.
    setting : Setting
        Where it was observed.
    variation : Variation
        How it differs.
    seed : int
        Of the run.
    trace : ndarray, shape (n_points,)
        Packets in the queue.
    """

    cca: str
    setting: Setting
    variation: Variation
    seed: int
    trace: npt.NDArray[np.float32]


def scenario(
    setting: Setting, cca: str, variation: Variation, *, seed: int, duration_s: float = DURATION_S
) -> Scenario:
    """Return the scenario in which a CCA is observed.

    Parameters
    ----------
    setting, variation
        Where, and how it differs.
    cca : str
        Whose.
    seed : int
        Of everything random.
    duration_s : float
        How long the trace is to be.

    Examples
    --------
    >>> scenario(SETTINGS[0], "bbr", VARIATIONS[0], seed=1).rtt_ms
    85.0
    """
    start_s = _start_s(variation)
    end_s = start_s + variation.skipped_s + duration_s + 1.0
    acks = "delayed" if variation.delayed_acks else "default"
    flows = [Flow(cca=cca, start_s=start_s, acks=acks)]
    if variation.remembers:
        size_bytes = round(_EARLIER_S * setting.bandwidth_mbps * 1e6 / 8 * _GOODPUT)
        flows.append(Flow(cca=cca, kind="bytes", size_bytes=size_bytes))
    if variation.cross_share:
        rate_mbps = variation.cross_share * setting.bandwidth_mbps
        flows.append(
            Flow(cca="", kind="poisson", rate_mbps=rate_mbps, packet_bytes=_CROSS_PACKET_BYTES)
        )
    rate: dict[str, Any] = {"bandwidth_mbps": setting.bandwidth_mbps}
    if variation.in_milliseconds:
        rate = {"trace": constant_rate(setting.bandwidth_mbps)}
    link = Bottleneck(**rate, queue_packets=setting.queue_packets, loss=variation.loss)
    return Scenario(
        flows=tuple(flows),
        bottlenecks=(link,),
        rtt_ms=setting.rtt_ms + variation.extra_rtt_ms,
        duration_s=end_s,
        seed=seed,
        noise=Noise(reverse_jitter_ms=variation.jitter_ms),
        sysctls=_REMEMBER if variation.remembers else (),
        name=f"{cca}, {setting.name}, {variation.name}",
    )


def collect(  # noqa: PLR0913 - what is combined, and how
    ccas: Sequence[str] = CCAS,
    settings: Sequence[Setting] = SETTINGS,
    variations: Sequence[Variation] = VARIATIONS,
    seeds: Sequence[int] = (1,),
    *,
    duration_s: float = DURATION_S,
    engine: str | Engine = "kernel",
) -> Generator[Sample, None, None]:
    """Observe CCAs; in any order.

    Parameters
    ----------
    ccas, settings, variations, seeds
        What is to be observed: each combination once.
    duration_s : float
        How long the traces are.
    engine : str or Engine
        What runs them.

    Raises
    ------
    InputError
        If the engine has no such CCA.
    EngineError
        If a run fails.
    """
    wanted = list(product(settings, ccas, variations, seeds))
    scenarios = [
        scenario(setting, cca, variation, seed=seed, duration_s=duration_s)
        for setting, cca, variation, seed in wanted
    ]
    for i, run in run_many(scenarios, engine=engine):
        setting, cca, variation, seed = wanted[i]
        observed = trace(run, variation, duration_s=duration_s)
        yield Sample(cca=cca, setting=setting, variation=variation, seed=seed, trace=observed)


def trace(
    run: Run, variation: Variation, *, duration_s: float = DURATION_S
) -> npt.NDArray[np.float32]:
    """Return the trace of a run of :func:`scenario`.

    Parameters
    ----------
    run : Run
        What came of the scenario.
    variation : Variation
        That of the scenario.
    duration_s : float
        How long the trace is to be.

    Returns
    -------
    ndarray, shape (n_points,)
        Packets in the queue.

    Raises
    ------
    InputError
        If the run ends before the trace does.
    """
    from_s = _start_s(variation) + variation.skipped_s
    return occupancy(run.queue_events(), from_s=from_s, duration_s=duration_s)


def _start_s(variation: Variation) -> float:
    return _EARLIER_S + _PAUSE_S if variation.remembers else 0.0
