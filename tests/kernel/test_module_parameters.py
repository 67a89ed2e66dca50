# SPDX-License-Identifier: Apache-2.0
"""Parameters of modules can be set from a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench import Flow
from ccbench.base.errors import EngineError, InputError
from tests.kernel.conftest import dumbbell, run

if TYPE_CHECKING:
    from ccbench.emulate.kernel.engine import KernelEngine

pytestmark = pytest.mark.kernel


def first_rate_bps(**parameters: str) -> int:
    """Return the first pacing rate of a RAPID flow that has no estimate yet."""
    settings = {f"tcp_rapid.{name}": value for name, value in parameters.items()}
    scenario = dumbbell(
        Flow(cca="rapid"), duration_s=0.1, sample_interval_ms=1, module_parameters=settings
    )
    return int(run(scenario).flows["pacing_rate_bps"].dropna().iloc[0])


def largest_window(**parameters: str) -> int:
    """Return the largest congestion window of a CUBIC flow through a long queue."""
    settings = {f"tcp_cubic.{name}": value for name, value in parameters.items()}
    scenario = dumbbell(queue_packets=2000, duration_s=3, module_parameters=settings)
    return int(run(scenario).flows["cwnd_packets"].max())


class TestParameters:
    def test_ccbench_module(self) -> None:
        """One of ccbench's modules starts with the scenario's parameter."""
        assert first_rate_bps(start_kbps="1700") == pytest.approx(
            2 * first_rate_bps(start_kbps="850"), rel=0.01
        )

    def test_linux_module(self) -> None:
        """A module of Linux too: CUBIC leaves slow start at the given threshold."""
        # Without one, slow start fills the path and the queue of 2000 packets.
        assert largest_window(hystart="0", initial_ssthresh="20") < 200
        assert largest_window(hystart="0") > 1000

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("tcp_rapid.tolerence", "did you mean 'tolerance'?"),
            ("tcp_cubic.hystar", "did you mean 'hystart'?"),
            ("tcp_rapit.push", "did you mean 'tcp_rapid'?"),
            ("ccbench_link.out", "the virtual kernel's modules with parameters are"),
        ],
    )
    def test_unknown(self, engine: KernelEngine, name: str, message: str) -> None:
        """An unknown parameter is an error before anything runs."""
        with pytest.raises(InputError) as caught:
            engine.check(dumbbell(module_parameters={name: "1"}))
        assert str(caught.value).startswith(f"module_parameters.{name}: ")
        assert message in str(caught.value)

    @pytest.mark.parametrize(
        ("name", "value", "described"),
        [
            ("tcp_rapid.tolerance", "1001", r"change it; its description: .+ \(0 to 1000\)$"),
            ("tcp_cubic.hystart", "on", "change it$"),
        ],
    )
    def test_refused(self, engine: KernelEngine, name: str, value: str, described: str) -> None:
        """A value that the module refuses ends the run with the parameter and its description."""
        message = rf"module_parameters\.{name} = '{value}' is refused by the virtual kernel: "
        with pytest.raises(EngineError, match=message + described):
            engine.run(dumbbell(module_parameters={name: value}))
