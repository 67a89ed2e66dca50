# SPDX-License-Identifier: Apache-2.0
"""The testbed of the Nimbus studies and its cross traffic.

The testbed is that of sections 5 and 7 of Goyal et al., "Elasticity Detection: A Building Block for
Internet Congestion Control" (SIGCOMM 2022): 96 Mbit/s, 50 ms, a drop-tail queue of 2 BDP, one
backlogged sender under evaluation, and cross traffic.

Choices left open by the paper:

- **The link's rate** is given to NimbusCC, as in the authors' published scripts
  (github.com/mitnebula/nimbus); ``nimbus-13`` studies the effect of a wrong rate.
- **Poisson traffic** consists of full packets, as the text suggests ("Poisson packet arrivals").
- **"An equal mix"** of elastic and inelastic traffic is one backlogged NewReno flow and Poisson
  traffic of a third of the link: with fair shares all three flows have equal throughput.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ccbench.elasticity.pulse import PULSE_HZ, PULSE_SIZE
from ccbench.experiment.noise import Noise
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CATEGORIES",
    "CCAS",
    "COLOURS",
    "LINK_MBPS",
    "QUEUE_BDP",
    "RTT_MS",
    "category_of",
    "cross_traffic",
    "pulser",
    "seeds",
    "shared",
]

LINK_MBPS = 96.0
RTT_MS = 50.0
QUEUE_BDP = 2.0
#: "We report the mean accuracy of the detector across 5 runs" (section 7.2).
_SEEDS = (1, 2, 3, 4, 5)
#: A packet's time on the link. Without random host timing, seeds would have no effect where TCP
#: flows compete with TCP flows or constant rates, and flows could synchronise.
_JITTER_MS = 0.125

#: The compared senders; the paper also has PCC-Vivace.
CCAS = ("nimbus", "cubic", "bbr", "vegas", "copa")
COLOURS = {cca: f"C{i}" for i, cca in enumerate(CCAS)}

#: Cross traffic in section 7.2.
CATEGORIES = ("elastic", "inelastic", "mix")


def seeds(*, quick: bool) -> tuple[int, ...]:
    """Return the seeds of a study; its quick version has a single seed."""
    return _SEEDS[:1] if quick else _SEEDS


def shared(  # noqa: PLR0913 - the testbed's settings, all but the flows by keyword
    *flows: Flow,
    duration_s: float,
    seed: int,
    name: str,
    link_mbps: float = LINK_MBPS,
    rtt_ms: float = RTT_MS,
    queue_bdp: float = QUEUE_BDP,
    qdisc: str = "droptail",
    qdisc_options: tuple[tuple[str, Any], ...] = (),
    settings: Mapping[str, int] | None = None,
    module_parameters: tuple[tuple[str, str], ...] = (),
) -> Scenario:
    """Return a scenario in the testbed; the first flow is the one under evaluation.

    NimbusCC receives the link's rate and the `settings`, named without ``net.ipv4.tcp_nimbus_``.

    Examples
    --------
    >>> shared(Flow(), Flow(cca="reno"), duration_s=60, seed=2, name="two").path.bdp_packets()
    400.0
    """
    ccas = {flow.cca.partition("_")[0] for flow in flows}
    own = {"link_kbps": round(link_mbps * 1e3), **(settings or {})} if "nimbus" in ccas else {}
    link = Bottleneck(
        bandwidth_mbps=link_mbps, queue_bdp=queue_bdp, qdisc=qdisc, qdisc_options=qdisc_options
    )
    return Scenario(
        flows=flows,
        path=NetworkPath(
            bottlenecks=(link,),
            rtt_ms=rtt_ms,
            noise=Noise(reverse_jitter_ms=_JITTER_MS),
            sysctls=tuple((f"net.ipv4.tcp_nimbus_{name}", str(own[name])) for name in own),
            module_parameters=module_parameters,
        ),
        duration_s=duration_s,
        seed=seed,
        name=f"{name}, seed {seed}",
    )


def cross_traffic(
    category: str, *, rtt_ms: float = RTT_MS, link_mbps: float = LINK_MBPS, cca: str = "reno"
) -> tuple[Flow, ...]:
    """Return the cross traffic of a category of section 7.2.

    Parameters
    ----------
    category : str
        One of :data:`CATEGORIES`.
    rtt_ms : float
        Base RTT of its TCP flow, if larger than the testbed's.
    link_mbps : float
        Rate of the link; Poisson traffic takes a half of it, or a third in a mix.
    cca : str
        CCA of its TCP flow.

    Examples
    --------
    >>> [flow.kind for flow in cross_traffic("mix")]
    ['bulk', 'poisson']
    """
    elastic = Flow(cca=cca, extra_rtt_ms=max(0.0, rtt_ms - RTT_MS))
    parts = {"inelastic": 2, "mix": 3}
    inelastic = Flow(kind="poisson", rate_mbps=link_mbps / parts.get(category, 2))
    return {"elastic": (elastic,), "inelastic": (inelastic,), "mix": (elastic, inelastic)}[category]


def pulser(mean_mbps: float, duration_s: float, link_mbps: float = LINK_MBPS) -> tuple[Flow, ...]:
    """Return UDP flows that together form a sender with pulses and an otherwise constant rate.

    One flow has a constant rate; another is active for a quarter of each period. Its burst equals
    that of the paper's pulse, a half-sine of a quarter of the link's rate; the mean rate is
    unaffected.

    Examples
    --------
    >>> flows = pulser(48, 10)
    >>> sum(f.rate_mbps * ((f.stop_s or 10) - f.start_s) for f in flows) / 10
    48.0...
    """
    up_mbps = link_mbps * PULSE_SIZE * 2 / math.pi
    period_s = 1 / PULSE_HZ
    pulses = round(duration_s * PULSE_HZ)
    starts_s = (round(i * period_s, 6) for i in range(pulses))
    return Flow(kind="cbr", rate_mbps=mean_mbps - up_mbps / 3), *(
        Flow(
            kind="cbr",
            rate_mbps=4 / 3 * up_mbps,
            start_s=start_s,
            stop_s=round(start_s + period_s / 4, 6),
        )
        for start_s in starts_s
    )


def category_of(scenario: Scenario) -> str:
    """Return the category (:data:`CATEGORIES`) of all flows but the first.

    Examples
    --------
    >>> scenario = shared(Flow(), *cross_traffic("mix"), duration_s=9, seed=1, name="")
    >>> category_of(scenario)
    'mix'
    """
    is_udp = {flow.is_udp for flow in scenario.flows[1:]}
    return "mix" if len(is_udp) > 1 else "inelastic" if True in is_udp else "elastic"
