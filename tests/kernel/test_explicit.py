# SPDX-License-Identifier: Apache-2.0
"""What XCP, RCP and VCP have in common: headers, routers in a row, other flows, and options."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Bottleneck, Flow
from ccbench.base.errors import EngineError, InputError
from ccbench.emulate.kernel.boot import inputs as inputs_module
from ccbench.emulate.kernel.boot import plan as plan_module
from ccbench.emulate.kernel.boot import rtnetlink
from ccbench.experiment.qdiscs import QueuedLink
from tests.documentation import DOCS
from tests.kernel.conftest import events, read_back, run
from tests.kernel.explicit import MBPS, link, path, queued, rates

if TYPE_CHECKING:
    from ccbench.emulate.kernel.engine import KernelEngine

pytestmark = pytest.mark.kernel

#: Each option of each qdisc, with another value than the default.
OPTIONS: dict[str, dict[str, float | str]] = {
    "rcp": {"alpha": 0.4, "beta": 0.2, "eta": 0.9, "interval_ms": 20, "rate_mbps": 17},
    "vcp": {"interval_ms": 100, "gamma": 0.9, "kappa": 0.25, "rate_mbps": 17},
    "xcp": {"alpha": 0.55, "beta": 0.4, "gamma": 0.2, "update": "packet", "rate_mbps": 17},
}
SCHEMES = sorted(OPTIONS)
#: Least utilisation of a flow in equilibrium: RCP's target, and the mean of VCP's cycle.
USED = {"rcp": 0.94, "vcp": 0.85, "xcp": 0.98}
#: Time to equilibrium: VCP needs 2.3 s to double its window.
SETTLED_S = {"rcp": 5, "vcp": 20, "xcp": 5}


#: Least throughput with random losses, in units of Reno's. VCP grows by 3 % per RTT, which is less
#: than Reno's packet if the window is below 33 packets.
LOSSY = {"rcp": 1, "vcp": 0.25, "xcp": 1}


class TestRouters:
    @pytest.mark.parametrize("slow", [0, 1])
    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_slowest_decides(self, scheme: str, slow: int) -> None:
        """The router with the least capacity controls the rate, wherever it is."""
        links = (link(scheme, 12 if i == slow else MBPS) for i in range(2))
        result = run(path(Flow(cca=scheme), *links, duration_s=2 * SETTLED_S[scheme]))
        assert USED[scheme] * 12 < rates(result)[0] <= 12
        assert max(queued(result, bottleneck=i) for i in range(2)) < 10

    @pytest.mark.parametrize("scheme", ["rcp", "xcp"])
    def test_no_router(self, scheme: str) -> None:
        """Without a router that answers, a flow is Reno."""
        lossy = Bottleneck(bandwidth_mbps=MBPS, queue_packets=500, loss=0.001)
        result, reno = (run(path(Flow(cca=cca), lossy, duration_s=60)) for cca in (scheme, "reno"))
        assert rates(result, 5)[0] == pytest.approx(rates(reno, 5)[0], rel=0.15)
        assert not result.cca_info(0)["answered"].any()

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_given_rate(
        self, scheme: str, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine
    ) -> None:
        """A host's own qdisc with a given rate answers each segment of super-packets."""
        host = rtnetlink.set_qdisc(
            2, engine.kernel.queue(scheme), QueuedLink(1000, 24), {"rate_mbps": 12}
        )
        plan = plan_module.plan
        step = f"netlink host-qdisc {host.hex()}\nnetns\n"

        def with_qdisc(*arguments: Any) -> str:
            # The last change of namespace ends the sender's.
            return step.join(plan(*arguments).rsplit("netns\n", 1))

        monkeypatch.setattr(inputs_module, "plan", with_qdisc)
        duration_s = 3 * SETTLED_S[scheme]
        result = engine.run(path(Flow(cca=scheme), link("droptail"), duration_s=duration_s))
        assert USED[scheme] * 12 < rates(result)[0] < 12.2


class TestFlows:
    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_application_limited(self, scheme: str) -> None:
        """A flow that sends less than its share leaves the rest to the other."""
        limited = Flow(cca=scheme, kind="rate", rate_mbps=4)
        result = run(path(limited, Flow(cca=scheme), duration_s=4 * SETTLED_S[scheme]))
        small, large = rates(result)
        assert small == pytest.approx(4, rel=0.1)
        assert small + large > USED[scheme] * MBPS

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_both_directions(self, scheme: str) -> None:
        """A flow whose ACKs share a link with the data of another flow still uses its link."""
        flows = (Flow(cca=scheme), Flow(cca=scheme, direction="reverse"))
        back = (link(scheme),)
        result = run(path(*flows, reverse_bottlenecks=back, duration_s=2 * SETTLED_S[scheme]))
        assert min(rates(result)) > 0.9 * USED[scheme] * MBPS

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_ipv6(self, scheme: str) -> None:
        """Headers travel in packets of IPv6 as in those of IPv4."""
        duration_s = 2 * SETTLED_S[scheme]
        ipv4, ipv6 = (
            rates(run(path(Flow(cca=scheme, ip_version=version), duration_s=duration_s)))[0]
            for version in (4, 6)
        )
        assert ipv6 == pytest.approx(ipv4, rel=0.02)

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_packet_size(self, scheme: str) -> None:
        """The option fits into packets of the path's MTU."""
        arrived = events(run(path(Flow(cca=scheme), duration_s=2)), "enqueue")
        assert arrived["bytes"].max() == 1500

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_losses(self, scheme: str) -> None:
        """With random losses, ACKs with blocks of SACK still have echoes: no flow starves."""
        lossy = replace(link(scheme), loss=0.01)
        result = run(path(Flow(cca=scheme), lossy, duration_s=40))
        reno = run(path(Flow(cca="reno"), replace(lossy, qdisc="droptail"), duration_s=40))
        assert rates(result)[0] > LOSSY[scheme] * rates(reno)[0]


class TestOptions:
    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_every_option(
        self, scheme: str, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine
    ) -> None:
        """Each option, read back from the kernel, has the value that was set."""
        table = engine.kernel.queue(scheme).options
        assert set(OPTIONS[scheme]) == set(table)
        actual = read_back(engine, monkeypatch, scheme, OPTIONS[scheme])
        for name, value in OPTIONS[scheme].items():
            (got,) = struct.unpack("=I", actual[table[name].attribute])
            assert got == table[name].scaled(name, value), name

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_defaults(
        self, scheme: str, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine
    ) -> None:
        """Defaults of the description are those of the module and of the page."""
        table = engine.kernel.queue(scheme).options
        actual = read_back(engine, monkeypatch, scheme, {})
        page = (DOCS / "explicit.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (\S*?) ?\|", page, re.MULTILINE)
        shown = {name: default.strip('`"') for qdisc, name, default in rows if qdisc == scheme}
        assert set(shown) == set(table)
        for name, option in table.items():
            assert shown[name] == ("" if option.default is None else str(option.default))
            if option.default is not None:
                (got,) = struct.unpack("=I", actual[option.attribute])
                assert got == pytest.approx(option.scaled(name, option.default), abs=1), name

    @pytest.mark.parametrize(
        ("scheme", "name", "value", "allowed"),
        [
            ("rcp", "eta", 1.1, "at most 1"),
            ("rcp", "interval_ms", 0, "at least 1"),
            ("vcp", "gamma", 0, "at least"),
            ("vcp", "kappa", 5, "at most 4"),
            ("xcp", "alpha", 5, "at most 4"),
            ("xcp", "gamma", 1.1, "at most 1"),
            ("xcp", "update", "never", "'packet'"),
        ],
    )
    def test_bad(
        self, engine: KernelEngine, scheme: str, name: str, value: float | str, allowed: str
    ) -> None:
        """An invalid value is an error that names it and the valid ones."""
        router = replace(link(scheme), qdisc_options=((name, value),))
        with pytest.raises(InputError, match=f"qdisc_options.{name}.*{allowed}"):
            engine.check(path(Flow(cca=scheme), router))

    @pytest.mark.parametrize(
        ("name", "value"),
        [("beta_permille", "1001"), ("interval_ms", "0"), ("kappa_permille", "-1")],
    )
    def test_bad_parameter(self, name: str, value: str) -> None:
        """Parameters of VCP's sender out of range are refused."""
        parameters = {f"tcp_vcp.{name}": value}
        with pytest.raises(EngineError, match=rf"tcp_vcp\.{name}"):
            run(path(Flow(cca="vcp"), duration_s=1, module_parameters=parameters))
