# SPDX-License-Identifier: Apache-2.0
"""The virtual kernel with a real web server in it, and a real client that asks it.

What fills the bottleneck is then not made by us: nginx answers h2load over HTTP/2, both of them
this machine's own programs, as processes of the guest.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import InputError, MissingRequirement
from ccbench.emulate.engine import Check
from ccbench.emulate.kernel import HTTP_INFO, web
from ccbench.emulate.kernel.boot import plan
from ccbench.emulate.kernel.boot.inputs import guest_input
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.experiment.flow import MTU_BYTES

if TYPE_CHECKING:
    from typing_extensions import Self

    from ccbench.emulate.kernel.boot.inputs import GuestInput
    from ccbench.emulate.resources import Needs
    from ccbench.experiment.scenario import Scenario

__all__ = ["HttpKernelEngine"]

#: Every flow is a process in the guest.
_MOST_FLOWS = 64


class HttpKernelEngine(KernelEngine):
    """Runs scenarios in the virtual kernel, with a real web server as the sender.

    Every flow of kind ``"bulk"`` is one connection of HTTP/2 without TLS. nginx sends, with the
    flow's CCA, which its listening socket is given. h2load connects when the flow starts, asks for
    pages of 100 kB to 1 MB over and over, a hundred at any time, and is ended when the flow stops.
    All other flows are those of :class:`~ccbench.emulate.kernel.engine.KernelEngine`.

    As the client keeps asking, its ACKs are delayed.

    Samples are those of the sockets of nginx and h2load. Payload is what TCP calls so: it includes
    the headers of HTTP/2.

    Parameters
    ----------
    kernel : KernelBuild, optional
        The kernel to run. By default the one that ``ccbench kernel build`` has built last.

    Examples
    --------
    >>> HttpKernelEngine().name
    'kernel-http'
    """

    name = HTTP_INFO.name
    code = (*KernelEngine.code, "ccbench.emulate.kernel.web")

    @classmethod
    def of_version(cls, version: str) -> Self:
        """Return the engine of that version, whatever kernel is in use.

        Raises
        ------
        MissingRequirement
            If this machine cannot have it: another kernel, or other programs.
        """
        engine = super().of_version(version)
        digest = version.rpartition("-")[2]
        if engine.programs_digest != digest:
            raise MissingRequirement(
                f"{' and '.join(web.PACKAGES)} here are {engine.programs_digest}, but {digest} is "
                "needed: install the same packages as on the machine that asks for it"
            )
        return engine

    @cached_property
    def programs_digest(self) -> str:
        """16 hexadecimal digits for the programs and their libraries.

        Raises
        ------
        MissingRequirement
            If a program is not installed.
        """
        return web.programs_digest()

    def software(self) -> tuple[str, ...]:
        """Return the versions of what the guest runs: of the kernel and of the programs."""
        return (*super().software(), self.programs_digest)

    def guest_input(self, scenario: Scenario) -> GuestInput:
        """Return what the guest is given for a scenario."""
        return guest_input(scenario, self.kernel, web.web_programs(scenario))

    def provenance(self) -> dict[str, object]:
        """Return what this engine is; see :meth:`ccbench.emulate.engine.Engine.provenance`."""
        return {**super().provenance(), "programs": self.programs_digest}

    def check(self, scenario: Scenario) -> None:
        """Raise an InputError if the kernel or the web server cannot do what the scenario asks.

        Raises
        ------
        InputError
            Also for bulk flows whose round trip is longer than the scenario's, for CCAs
            that need a receiver, and for more under way than the client asks for.
        MissingRequirement
            If a program is not installed.
        """
        web.check_installed()
        super().check(scenario)
        served = web.served(scenario)
        if not 1 <= len(served) <= _MOST_FLOWS:
            allowed = f"1 to {_MOST_FLOWS} for the web server"
            step = "change their number, or use the engine kernel"
            raise validation.bad("flows of kind bulk", len(served), allowed, step)
        last = max(served)
        if last > web.LAST_PORT - web.FIRST_PORT:
            allowed = f"at most {web.LAST_PORT - web.FIRST_PORT}, as each has a port"
            raise validation.bad("flows: the last of kind bulk", last, allowed, "put them first")
        for i, flow in enumerate(scenario.flows):
            if flow.kind != "bulk":
                continue
            if flow.extra_rtt_ms:
                raise validation.bad(
                    f"flows[{i}].extra_rtt_ms",
                    flow.extra_rtt_ms,
                    "0 for a flow from the web server",
                    "change rtt_ms, or use the engine kernel",
                )
            if flow.acks == "every":
                raise validation.bad(
                    f"flows[{i}].acks",
                    flow.acks,
                    '"default" or "delayed" for a flow from the web server',
                    "change it, or use the engine kernel",
                )
            if self.kernel.cca(flow.cca).needs_receiver:
                raise InputError(
                    f"cca = {flow.cca!r} (flows[{i}]): it needs a receiver that takes part, which "
                    "the web server's client is not: use the engine kernel"
                )
        _check_under_way(scenario)

    def needs(self, scenario: Scenario) -> Needs:
        """Return what a run takes, with the memory of the web server and its clients."""
        needs, programs_bytes = super().needs(scenario), web.memory_mb(scenario) * 2**20
        return replace(
            needs,
            running_bytes=needs.running_bytes + programs_bytes,
            shared_bytes=needs.shared_bytes + programs_bytes,
        )

    def doctor(self) -> list[Check]:
        """Return what engine and programs need of this machine, and whether it is there."""
        return [*super().doctor(), Check.of_programs("web server and client", web.missing())]


def _check_under_way(scenario: Scenario) -> None:
    """Make sure that a client asks for more than the path can hold."""
    under_way = MTU_BYTES * plan.under_way(scenario)
    if under_way > web.MOST_UNDER_WAY_BYTES:
        allowed = f"at most {web.MOST_UNDER_WAY_BYTES / 1e6:g} MB for the web server's client"
        step = "lower bandwidth_mbps, rtt_ms or queue_packets, or use the engine kernel"
        shown = f"{under_way / 1e6:.1f} MB"
        raise InputError(
            f"what the path and its queues hold is {shown}; it must be {allowed}: {step}"
        )
