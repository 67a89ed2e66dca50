# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from ccbench.base.errors import InputError
from ccbench.classify.setting import Setting
from ccbench.classify.web.manners import Manners, visit


class TestManners:
    def test_user_agent(self) -> None:
        """Requests name the program, its purpose and a contact."""
        agent = Manners(contact="mail@example.com").user_agent
        assert agent.startswith("ccbench/")
        assert "congestion control" in agent
        assert "mail@example.com" in agent

    @pytest.mark.parametrize(
        "wrong",
        [
            {"max_megabytes": 0},
            {"max_connections": 0},
            {"pause_s": -1},
            {"contact": "a\r\nHost: b"},
        ],
    )
    def test_refused(self, wrong: dict[str, Any]) -> None:
        """Ineffective limits, and a contact that would inject a header, are refused."""
        with pytest.raises(InputError, match=next(iter(wrong))):
            Manners(**wrong)

    def test_megabytes(self) -> None:
        """Downloads take at most what links carry; beyond the limit no request is sent."""
        each = Setting(bandwidth_mbps=8, rtt_ms=100, queue_packets=10)
        assert Manners(max_megabytes=40).check([each, each], 20.0) == pytest.approx(40)
        with pytest.raises(InputError, match="max_megabytes"):
            Manners(max_megabytes=39).check([each, each], 20.0)

    def test_visits(self) -> None:
        """Visits to a server exclude each other, and are separated by the pause."""
        begun = threading.Event()
        ended_s = []

        def first() -> None:
            with visit("192.0.2.1"):
                begun.set()
                time.sleep(0.3)
                ended_s.append(time.time())

        thread = threading.Thread(target=first)
        thread.start()
        begun.wait()
        with visit("192.0.2.1", pause_s=0.4):
            waited_s = time.time() - ended_s[0]
        thread.join()
        assert waited_s >= 0.39

    def test_other_servers(self) -> None:
        """Visits to different servers are independent."""
        with visit("192.0.2.1"), visit("192.0.2.2", pause_s=60):
            pass
