# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import Any

import pytest

from ccbench.base.errors import ServerError
from ccbench.classify.setting import SETTINGS
from ccbench.classify.web.client import Responses
from ccbench.classify.web.download import added_rtt_ms, check_download, utilisation
from ccbench.classify.web.download import download as load
from ccbench.classify.web.h2load import H2Load
from ccbench.classify.web.manners import Manners
from ccbench.classify.web.site import Site
from ccbench.classify.web.target import Target
from tests.unit.classify.web.conftest import download


class TestAnswers:
    def test_read(self) -> None:
        """The output of h2load is parsed."""
        text = """
Application protocol: h2
finished in 22.00s, 28.41 req/s, 559.05KB/s
requests: 625 total, 675 started, 625 done, 620 succeeded, 5 failed, 3 errored, 0 timeout
status codes: 620 2xx, 0 3xx, 12 4xx, 1 5xx
connections opened: 2
"""
        expected = Responses(protocol="h2", connections=2, pages=620, others=13, broken=3)
        assert H2Load().responses(text) == expected

    def test_nothing(self) -> None:
        """An empty output means no answers."""
        nothing = Responses(protocol="", connections=0, pages=0, others=0, broken=0)
        assert H2Load().responses("") == nothing


class TestAdded:
    @pytest.mark.parametrize(("rtt_ms", "added_ms"), [(0.03, 84), (40.0, 44), (83.9, 2), (85.0, 2)])
    def test_added(self, rtt_ms: float, added_ms: int) -> None:
        """The added delay is even, like the emulated delay, and completes the setting's RTT."""
        assert added_rtt_ms(SETTINGS[0], rtt_ms) == added_ms
        assert abs(rtt_ms + added_ms - SETTINGS[0].rtt_ms) <= 2

    def test_too_far(self) -> None:
        """A server farther than the setting's RTT is refused."""
        with pytest.raises(ServerError, match="above 85 ms") as caught:
            added_rtt_ms(SETTINGS[0], 85.1)
        assert caught.value.kind == "too far"


class TestDownload:
    def test_loopback(self) -> None:
        """A name that resolves to a loopback address, as in /etc/hosts, is refused."""
        site = Site(
            target=Target.named("my-host.com"), address="127.0.1.1", rtt_ms=0.1, body_bytes=10**6
        )
        with pytest.raises(ServerError, match=r"127\.0\.1\.1, .*hostname -I") as caught:
            load(site, SETTINGS[0], Manners(), pytest.fail, client=H2Load())
        assert caught.value.kind == "loopback"


class TestTrace:
    def test_utilisation(self) -> None:
        """Utilisation is that of the link during the trace."""
        actual = utilisation(download(SETTINGS[0], share=0.9, seconds=40).queue, SETTINGS[0])
        assert actual == pytest.approx(0.9, rel=1e-3)

    def test_valid(self) -> None:
        """A download that used the link over one connection for a whole trace is valid."""
        check_download(download(SETTINGS[0], seconds=20.0), SETTINGS[0])

    def test_min_utilisation(self) -> None:
        """The required utilisation is an option."""
        check_download(download(SETTINGS[0], share=0.6), SETTINGS[0], 0.55)
        with pytest.raises(ServerError, match="uses 60% of the link, not 65%"):
            check_download(download(SETTINGS[0], share=0.6), SETTINGS[0], 0.65)

    @pytest.mark.parametrize(
        ("wrong", "kind", "words"),
        [
            ({"pages": 0}, "refused", "does not answer"),
            ({"pages": 40, "others": 10}, "status", "10 of 50"),
            ({"connections": 2}, "connections", "2 connections"),
            ({"share": 0.79}, "slow", "79% of the link"),
            ({"seconds": 18.0, "broken": 4}, "closed", "after 50 responses and 18.0 s"),
            ({"seconds": 18.0}, "slow", "larger file"),
            ({"seconds": 19.95}, "slow", "larger file"),
        ],
    )
    def test_invalid(self, wrong: dict[str, Any], kind: str, words: str) -> None:
        """An invalid download states the reason."""
        with pytest.raises(ServerError, match=words) as caught:
            check_download(download(SETTINGS[0], **wrong), SETTINGS[0])
        assert caught.value.kind == kind
