# SPDX-License-Identifier: Apache-2.0
"""The machine as the two hosts of a run in real time: what it can do, and what it needs."""

from __future__ import annotations

import os
import platform
import pwd
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.emulate.engine import Check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ccbench.experiment.noise import Noise
    from ccbench.experiment.scenario import Scenario

__all__ = [
    "check_cca",
    "check_noise",
    "check_scenario",
    "forwarding_check",
    "lacking",
    "ordinary_user",
    "provenance",
    "root_check",
    "user_check",
]

#: Each has a port.
_MOST_FLOWS = 1_000


def check_cca(cca: str, field: str = "cca") -> None:
    """Check that this machine's kernel has a congestion control.

    Raises
    ------
    InputError
        If it does not have it. It names `field`.
    """
    path = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    available = sorted(path.read_text(encoding="utf-8").split())
    if cca not in available:
        allowed = f"one that this machine's kernel has: {', '.join(available)}"
        step = f"choose one, or load it (sudo modprobe tcp_{cca})"
        raise validation.bad(field, cca, allowed, step)


def check_scenario(scenario: Scenario, engine: str) -> None:
    """Check that this machine's kernel has what the flows need, and that they share one path.

    Raises
    ------
    InputError
        If not. It names the engine.
    """
    if len(scenario.bottlenecks) > 1:
        allowed, step = f"one with the engine {engine}", "remove some, or use the engine kernel"
        raise validation.bad("bottlenecks", len(scenario.bottlenecks), allowed, step)
    if scenario.flow_count > _MOST_FLOWS:
        allowed = f"at most {_MOST_FLOWS} single flows with the engine {engine}"
        raise validation.bad("flows", scenario.flow_count, allowed, "lower the counts")
    for field, value, allowed in _of_virtual_time(scenario):
        step = "use the engine kernel"
        raise validation.bad(field, value, f"{allowed} with the engine {engine}", step)
    for i, flow in enumerate(scenario.flows):
        with validation.within(f"flows[{i}]."):
            if flow.extra_rtt_ms:
                allowed = f"0 with the engine {engine}, where all flows share one path"
                raise validation.bad("extra_rtt_ms", flow.extra_rtt_ms, allowed, "remove it")
            if not flow.is_udp:
                check_cca(flow.cca)


def check_noise(noise: Noise, engine: str, most_ms: float) -> None:
    """Check that there is no more noise than the engine has of its own.

    Parameters
    ----------
    noise : Noise
        That of the scenario.
    engine : str
        Its name.
    most_ms : float
        Its jitter in either direction, in milliseconds. Starts may be spread by any time; there
        is no other noise.

    Raises
    ------
    InputError
        If there is more.
    """
    path = dict.fromkeys(("forward_jitter_ms", "reverse_jitter_ms"), most_ms)
    for kind, most in (path | {"sender_jitter_ms": 0, "background_share": 0}).items():
        level = getattr(noise, kind)
        if level > most:
            allowed = f"at most {most:g} with the engine {engine}, whose noise is its own"
            step = "lower it, or use --no-noise (in Python noise=NO_NOISE)"
            raise validation.bad(f"noise.{kind}", level, allowed, step)


def _of_virtual_time(scenario: Scenario) -> Iterator[tuple[str, object, str]]:
    """Yield what only the virtual kernel has: field, value, and what is allowed elsewhere."""
    if scenario.bottlenecks[0].wifi is not None:
        yield "bottlenecks[0].wifi", "there", "left out"
    if (every := scenario.bottlenecks[0].loss_every_packets) is not None:
        yield "bottlenecks[0].loss_every_packets", every, "left out"
    if scenario.queue_log == "summary":
        yield "queue_log", scenario.queue_log, "true or false"
    if scenario.ack_batch_ms:
        yield "ack_batch_ms", scenario.ack_batch_ms, "0"
    if scenario.module_parameters:
        yield "module_parameters", dict(scenario.module_parameters), "left out"
    for i, flow in enumerate(scenario.flows):
        if flow.kind == "video":
            yield f"flows[{i}].kind", flow.kind, "another one"
        if flow.connections is not None:
            yield f"flows[{i}].connections", flow.connections, "left out"
        if flow.acks == "every":
            yield f"flows[{i}].acks", flow.acks, '"default" or "delayed"'


def ordinary_user(user: str | None) -> str:
    """Return who runs Mahimahi's programs, which refuse root.

    That is `user`, or whom the environment variable ``CCBENCH_USER`` names, or who has called sudo,
    or ``nobody``.
    """
    named = user or os.environ.get("CCBENCH_USER") or os.environ.get("SUDO_USER", "nobody")
    return "nobody" if named == "root" else named


def provenance(engine: str, engine_version: str) -> dict[str, object]:
    """Return what :meth:`ccbench.emulate.engine.Engine.provenance` is of an engine in real time."""
    return {
        "ccbench": version("ccbench"),
        "engine": engine,
        "engine_version": engine_version,
        "kernel_release": platform.release(),
        "machine": platform.machine(),
    }


def lacking(programs: Mapping[str, str]) -> dict[str, str]:
    """Return the programs that are not installed, with their packages.

    A run is root's, who finds programs where ordinary users do not look for them.
    """
    folders = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    return {
        name: package
        for name, package in programs.items()
        if shutil.which(name, path=folders) is None
    }


def forwarding_check() -> Check:
    """Check that this machine forwards packets, which a command needs that reaches others."""
    path = Path("/proc/sys/net/ipv4/ip_forward")
    return Check(
        name="forwarding",
        ok=path.read_text(encoding="utf-8").strip() == "1",
        detail="a command behind a link reaches others only where IPv4 packets are forwarded",
        remedy="sudo sysctl -w net.ipv4.ip_forward=1",
    )


def root_check() -> Check:
    """Check that this process is root's."""
    return Check(
        name="root",
        ok=os.geteuid() == 0,
        detail="a run makes network namespaces and looks at what passes",
        remedy="run it with sudo",
    )


def user_check(name: str) -> Check:
    """Check that there is such a user, who is not root."""
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        detail, ok = f"there is no user {name}", False
    else:
        ok = user.pw_uid != 0 and user.pw_gid != 0
        detail = f"{name} runs the shells" if ok else f"{name} is root, as whom shells do not run"
    remedy = "set CCBENCH_USER to the name of an ordinary user"
    return Check(name="user", ok=ok, detail=detail, remedy=remedy)
