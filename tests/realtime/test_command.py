# SPDX-License-Identifier: Apache-2.0
"""Links that no real-time engine can emulate; the engines need not be installed."""

from __future__ import annotations

from typing import Any

import pytest

from ccbench import Bottleneck
from ccbench.base.errors import InputError
from ccbench.emulate.registry import ENGINES, resolve_link
from ccbench.experiment.wifi import Wifi


@pytest.mark.parametrize("engine", [item.name for item in ENGINES.values() if item.has_links])
@pytest.mark.parametrize(
    ("link", "message"),
    [
        ({"wifi": Wifi(bitrates_mbps=(65,)), "queue_packets": 63}, "^wifi is 'set'; it must be"),
        ({"bandwidth_mbps": 12, "queue_bdp": 2}, "^queue_bdp is 2.0; .*: write queue_packets$"),
    ],
)
def test_link(engine: str, link: dict[str, Any], message: str) -> None:
    """A Wi-Fi link, and an unsupported queue length, are refused by name."""
    with pytest.raises(InputError, match=message):
        resolve_link(engine).record(["true"], Bottleneck(**link), 40)


def test_direction() -> None:
    """A direction that the engine's links do not have is refused."""
    link = Bottleneck(bandwidth_mbps=12, queue_packets=63)
    with pytest.raises(InputError, match=r"^direction is 'up'; it must be 'down'"):
        resolve_link("bess").record(["true"], link, 40, direction="up")
