# SPDX-License-Identifier: Apache-2.0
"""BBR with another cap of the data in flight has the share of Ware's model (thesis, 3.5)."""

from __future__ import annotations

import pytest

from ccbench import Flow, Run
from ccbench.base.errors import EngineError
from tests.kernel.conftest import dumbbell, run

pytestmark = pytest.mark.kernel

MBPS, RTT_MS = 10, 40
BDP_PACKETS = 33


def capped(cap_percent: int, *others: Flow, queue_bdp: int = 32, duration_s: float = 120) -> Run:
    """Run BBR with this cap and other flows in the thesis's network, with a queue of 32 BDP."""
    return run(
        dumbbell(
            Flow(cca="bbr_capped"),
            *others,
            bandwidth_mbps=MBPS,
            rtt_ms=RTT_MS,
            queue_packets=queue_bdp * BDP_PACKETS,
            duration_s=duration_s,
            module_parameters={"tcp_bbr_capped.cap_percent": str(cap_percent)},
        )
    )


def share(result: Run) -> float:
    """Return the part of the link that BBR has in the second half of a run."""
    late = result.throughput(1.0).loc[result.scenario.duration_s / 2 :].mean()
    return float(late[0]) / MBPS


def test_linux_cap() -> None:
    """With two BDPs, the module is Linux's BBR, but for the random start of its cycle."""
    linux = run(
        dumbbell(
            Flow(cca="bbr"),
            Flow(cca="cubic"),
            bandwidth_mbps=MBPS,
            rtt_ms=RTT_MS,
            queue_packets=8 * BDP_PACKETS,
            duration_s=400,
        )
    )
    module = capped(200, Flow(cca="cubic"), queue_bdp=8, duration_s=400)
    assert share(module) == pytest.approx(share(linux), abs=0.05)


@pytest.mark.parametrize("cap_percent", [300, 400, 600])
def test_window(cap_percent: int) -> None:
    """A lone flow's window in ProbeBW is the cap, and a few packets of Linux's margins."""
    result = capped(cap_percent, duration_s=9)
    windows = result.samples("cwnd_packets")[0].loc[5:]
    assert cap_percent / 100 * BDP_PACKETS <= windows.median()
    assert windows.median() < cap_percent / 100 * BDP_PACKETS * 1.1 + 8


def test_share() -> None:
    """Next to CUBIC in a deep queue, BBR has half of the link with 2 BDPs, and more with 4."""
    two, four = (
        share(capped(cap, Flow(cca="cubic"), queue_bdp=8, duration_s=400)) for cap in (200, 400)
    )
    assert two == pytest.approx(0.5, abs=0.1)
    # At most 1 - 1/4 (3.5.3).
    assert two + 0.1 < four <= 0.75


def test_bad_parameter() -> None:
    """A cap below that of Linux is refused."""
    with pytest.raises(EngineError, match=r"tcp_bbr_capped\.cap_percent"):
        capped(199, duration_s=1)
