# SPDX-License-Identifier: Apache-2.0
"""The virtual kernel with a real web server as the sender.

nginx and h2load, the programs installed on this machine, run as processes in the guest and
communicate over HTTP/2.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import InputError, MissingRequirement
from ccbench.emulate.engine import Check
from ccbench.emulate.kernel import HTTP_INFO, doctor, web
from ccbench.emulate.kernel.boot import plan, programs
from ccbench.emulate.kernel.boot.inputs import guest_input
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.experiment.flow import Flow

if TYPE_CHECKING:
    from typing_extensions import Self

    from ccbench.emulate.kernel.boot.inputs import GuestInput
    from ccbench.emulate.resources import Needs
    from ccbench.experiment.scenario import Scenario

__all__ = ["HttpKernelEngine"]

#: Maximum number of flows from the web server, each of which is a process in the guest.
_MAX_FLOWS = 64

#: Settings that a bulk flow must leave at their default, and allowed values. No flow has subflows.
_UNSUPPORTED = {
    "direction": '"forward", as the web server is at the sender',
    "extra_rtt_ms": "0 for a flow from the web server",
    "acks": '"default" or "delayed" for a flow from the web server',
    "initcwnd": "left out for a flow from the web server",
    "receiver": "left out for a flow from the web server",
    "ip_version": "left out for a flow from the web server",
    "host": "left out for a flow from the web server",
    "subflows": "left out with the engine kernel-http",
}


class HttpKernelEngine(KernelEngine):
    """Runs scenarios in the virtual kernel, with a real web server as the sender.

    Each flow of kind ``"bulk"`` is one HTTP/2 connection without TLS. nginx sends with the flow's
    CCA, which is set on its listening socket. h2load connects when the flow starts, continuously
    requests pages of 100 kB to 1 MB with a hundred requests outstanding, and is killed when the
    flow stops. All other flows are those of
    :class:`~ccbench.emulate.kernel.engine.KernelEngine`.

    ACKs are delayed, as the client keeps sending requests. Samples are those of the sockets of
    nginx and h2load. Payload is TCP payload and includes HTTP/2 headers.

    Parameters
    ----------
    kernel : KernelBuild or str, optional
        As in :class:`~ccbench.emulate.kernel.engine.KernelEngine`.

    Examples
    --------
    >>> HttpKernelEngine().name
    'kernel-http'
    """

    name = HTTP_INFO.name
    code = (*KernelEngine.code, "ccbench.emulate.kernel.web")
    _records_draws = False

    @classmethod
    def of_version(cls, version: str) -> Self:
        """Return the engine of that version, whatever kernel is in use.

        Raises
        ------
        MissingRequirement
            If this machine lacks that kernel or has other programs.
        """
        engine = super().of_version(version)
        digest = version.rpartition("-")[2]
        if engine.programs_digest != digest:
            raise MissingRequirement(
                f"{' and '.join(web.PACKAGES)} here are {engine.programs_digest}, but {digest} is "
                "needed: install the same packages as on the machine that submits the runs"
            )
        return engine

    @cached_property
    def programs_digest(self) -> str:
        """Digest of the programs and their libraries: 16 hexadecimal digits.

        Raises
        ------
        MissingRequirement
            If a program is not installed.
        """
        return web.programs_digest()

    def programs(self) -> tuple[str, ...]:
        """Return the version of the web server and its client."""
        return (self.programs_digest,)

    def guest_input(self, scenario: Scenario, *, captures: bool = False) -> GuestInput:
        """Return the guest's input for a scenario, to capture packets or not."""
        both = web.web_programs(scenario) + programs.of_scenario(scenario)
        return guest_input(scenario, self.kernel, both, captures=captures)

    def provenance(self) -> dict[str, object]:
        """Describe this engine; see :meth:`ccbench.emulate.engine.Engine.provenance`."""
        return {**super().provenance(), "programs": self.programs_digest}

    def check(self, scenario: Scenario) -> None:
        """Check that the kernel and the web server can run a scenario.

        Raises
        ------
        InputError
            If they cannot: also for bulk flows with an extra delay, IPv6, a host or in the reverse
            direction, for CCAs that need a receiver, and for paths that hold more data than the
            client requests.
        MissingRequirement
            If a program is not installed.
        """
        web.check_installed()
        super().check(scenario)
        served = web.served(scenario)
        if not 1 <= len(served) <= _MAX_FLOWS:
            allowed = f"1 to {_MAX_FLOWS} for the web server"
            step = "change their number, or use the engine kernel"
            raise validation.bad("flows of kind bulk", len(served), allowed, step)
        last = max(served)
        if last > programs.last_flow():
            allowed = f"at most {programs.last_flow()}, as each has a port"
            raise validation.bad("flows: the last of kind bulk", last, allowed, "put them first")
        for i, flow in enumerate(scenario.flows):
            _check_flow(f"flows[{i}]", flow)
            if flow.kind != "bulk":
                continue
            if self.kernel.cca(flow.cca).needs_receiver:
                raise InputError(
                    f"cca = {flow.cca!r} (flows[{i}]): it needs a receiver that takes part, which "
                    "the web server's client does not: use the engine kernel"
                )
        _check_changes(scenario)
        _check_path(scenario)

    def needs(self, scenario: Scenario) -> Needs:
        """Return the resources of a run, including the web server and its clients."""
        needs, programs_bytes = super().needs(scenario), web.memory_mb(scenario) * 2**20
        return replace(
            needs,
            running_bytes=needs.running_bytes + programs_bytes,
            shared_bytes=needs.shared_bytes + programs_bytes,
        )

    def doctor(self) -> list[Check]:
        """Return the checks of this machine's requirements, including the programs."""
        checks = [*super().doctor(), Check.of_programs("web server and client", web.missing())]
        is_ready = all(check.ok for check in checks)
        return [*checks, doctor.trapping_check(self.kernel)] if is_ready else checks


def _check_flow(where: str, flow: Flow) -> None:
    """Check that a flow has no settings that the web server or its client does not support."""
    if flow.is_stack:
        allowed = "the name of a congestion control of Linux for the web server"
        raise validation.bad(f"{where}.cca", flow.cca, allowed, "use the engine kernel")
    for name, allowed in _UNSUPPORTED.items():
        value = getattr(flow, name)
        is_served = flow.kind == "bulk" or name == "subflows"
        supported = {getattr(Flow, name), *(["delayed"] if name == "acks" else [])}
        if is_served and value not in supported:
            step = f"change {name}, or use the engine kernel"
            raise validation.bad(f"{where}.{name}", value, allowed, step)


def _check_changes(scenario: Scenario) -> None:
    """Check that no change concerns the web server, which always sends as much as possible."""
    for i, change in enumerate(scenario.path.changes):
        if change.flow is None:
            continue
        if scenario.flows[scenario.group_of(change.flow)].kind == "bulk":
            allowed = "that of a flow of another kind than bulk, as the web server's do not change"
            step = "name another one, or use the engine kernel"
            raise validation.bad(f"changes[{i}].flow", change.flow, allowed, step)


def _check_path(scenario: Scenario) -> None:
    """Check that the path holds less data than a client requests."""
    path_bytes = scenario.path.mtu_bytes * plan.data_packets(scenario)
    if path_bytes > web.MAX_PATH_BYTES:
        allowed = f"at most {web.MAX_PATH_BYTES / 1e6:g} MB for the web server's client"
        step = "lower bandwidth_mbps, rtt_ms or queue_packets, or use the engine kernel"
        raise InputError(
            f"the capacity of the path and its queues is {path_bytes / 1e6:.1f} MB; it must be "
            f"{allowed}: {step}"
        )
