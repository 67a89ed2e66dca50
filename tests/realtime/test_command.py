# SPDX-License-Identifier: Apache-2.0
"""What no engine in real time can put a command behind; nothing has to be installed for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Bottleneck
from ccbench.base.errors import InputError
from ccbench.emulate.bess import command as bess
from ccbench.emulate.mahimahi import command as mahimahi
from ccbench.experiment.wifi import Wifi

if TYPE_CHECKING:
    from types import ModuleType


@pytest.mark.parametrize("engine", [bess, mahimahi], ids=["bess", "mahimahi"])
@pytest.mark.parametrize(
    ("link", "message"),
    [
        ({"wifi": Wifi(bitrates_mbps=(65,)), "queue_packets": 63}, "^wifi is 'there'; it must be"),
        ({"bandwidth_mbps": 12, "queue_bdp": 2}, "^queue_bdp is 2.0; .*: write queue_packets$"),
    ],
)
def test_link(engine: ModuleType, link: dict[str, Any], message: str) -> None:
    """A Wi-Fi link, and a queue as long as a scenario would say, are refused by name."""
    with pytest.raises(InputError, match=message):
        engine.record(["true"], Bottleneck(**link), 40)
