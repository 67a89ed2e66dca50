# SPDX-License-Identifier: Apache-2.0
"""Validation of real-time scenarios against this machine, and checks of its requirements."""

from __future__ import annotations

import os
import platform
import pwd
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.versions import installed_version
from ccbench.emulate.engine import Check
from ccbench.emulate.realtime.supported import unsupported
from ccbench.experiment.flow import TRANSPORTS, cca_hint

if TYPE_CHECKING:
    from collections.abc import Mapping

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

#: Maximum number of flows, each of which has a port.
_MAX_FLOWS = 1_000


def check_cca(cca: str, field: str = "cca") -> None:
    """Check that this machine's kernel has a congestion control.

    Raises
    ------
    InputError
        If it does not; the message names `field`.
    """
    path = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    available = sorted(path.read_text(encoding="utf-8").split())
    if cca not in available:
        allowed = f"one that this machine's kernel has: {', '.join(available)}"
        load = f", or load it (sudo modprobe tcp_{cca})"
        step = cca_hint(cca, available) + ("" if cca in TRANSPORTS else load)
        raise validation.bad(field, cca, allowed, step)


def check_scenario(scenario: Scenario, engine: str, *, has_way_back: bool = False) -> None:
    """Check that a real-time engine and this machine's kernel support the flows of a scenario.

    Raises
    ------
    InputError
        If they do not; the message names the engine.
    """
    if len(scenario.path.bottlenecks) > 1:
        allowed, step = f"one with the engine {engine}", "remove some, or use the engine kernel"
        raise validation.bad("bottlenecks", len(scenario.path.bottlenecks), allowed, step)
    count = len(scenario.path.reverse_bottlenecks)
    if count > has_way_back:
        most = "at most one" if has_way_back else "left out"
        allowed, step = f"{most} with the engine {engine}", "use the engine kernel"
        raise validation.bad("reverse_bottlenecks", count, allowed, step)
    if scenario.flow_count > _MAX_FLOWS:
        allowed = f"at most {_MAX_FLOWS} single flows with the engine {engine}"
        raise validation.bad("flows", scenario.flow_count, allowed, "lower the counts")
    for field, value, allowed in unsupported(scenario):
        step = "use the engine kernel"
        raise validation.bad(field, value, f"{allowed} with the engine {engine}", step)
    for i, flow in enumerate(scenario.flows):
        if not flow.is_udp:
            check_cca(flow.cca, f"flows[{i}].cca")


def check_noise(noise: Noise, engine: str, most_ms: float) -> None:
    """Check that a scenario's noise does not exceed the engine's inherent noise.

    Parameters
    ----------
    noise : Noise
        The scenario's noise. The spread of start times is not limited; :mod:`.supported` refuses
        other noise.
    engine : str
        The engine's name.
    most_ms : float
        The engine's jitter in either direction in milliseconds; it has no other noise.

    Raises
    ------
    InputError
        If it does.
    """
    for kind in ("forward_jitter_ms", "reverse_jitter_ms"):
        level = getattr(noise, kind)
        if level > most_ms:
            allowed = f"at most {most_ms:g} with the engine {engine}, which adds no noise"
            step = "lower it, or use --no-noise (in Python noise=NO_NOISE)"
            raise validation.bad(f"noise.{kind}", level, allowed, step)


def ordinary_user(user: str | None) -> str:
    """Return the user that runs Mahimahi's programs, which refuse root.

    It is `user`, the environment variable ``CCBENCH_USER``, the caller of sudo, or ``nobody``, in
    this order.
    """
    named = user or os.environ.get("CCBENCH_USER") or os.environ.get("SUDO_USER", "nobody")
    return "nobody" if named == "root" else named


def provenance(engine: str, engine_version: str) -> dict[str, object]:
    """Describe a real-time engine; see :meth:`ccbench.emulate.engine.Engine.provenance`."""
    return {
        "ccbench": installed_version(),
        "engine": engine,
        "engine_version": engine_version,
        "kernel_release": platform.release(),
        "machine": platform.machine(),
    }


def lacking(programs: Mapping[str, str]) -> dict[str, str]:
    """Return the programs that are not installed, with their packages.

    Runs execute as root, so folders that are not on ordinary users' PATH are searched, too.
    """
    folders = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    return {
        name: package
        for name, package in programs.items()
        if shutil.which(name, path=folders) is None
    }


def forwarding_check() -> Check:
    """Check that this machine forwards packets, which commands behind a link require."""
    path = Path("/proc/sys/net/ipv4/ip_forward")
    return Check(
        name="forwarding",
        ok=path.read_text(encoding="utf-8").strip() == "1",
        detail="a command behind a link reaches other hosts only if IPv4 packets are forwarded",
        remedy="sudo sysctl -w net.ipv4.ip_forward=1",
    )


def root_check() -> Check:
    """Check that this process runs as root."""
    return Check(
        name="root",
        ok=os.geteuid() == 0,
        detail="a run creates network namespaces and captures packets",
        remedy="run it with sudo",
    )


def user_check(name: str) -> Check:
    """Check that the user exists and is not root."""
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        detail, ok = f"there is no user {name}", False
    else:
        ok = user.pw_uid != 0 and user.pw_gid != 0
        detail = f"{name} runs the shells" if ok else f"{name} is root, which the shells refuse"
    remedy = "set CCBENCH_USER to the name of an ordinary user"
    return Check(name="user", ok=ok, detail=detail, remedy=remedy)
