# SPDX-License-Identifier: Apache-2.0
"""Requirements of BESS on a machine."""

from __future__ import annotations

import importlib.util
import math
import os
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.emulate.bess import files
from ccbench.emulate.bess.pipeline import DELAY_MODULE
from ccbench.emulate.engine import Check
from ccbench.emulate.mahimahi import delay
from ccbench.emulate.mahimahi import doctor as mahimahi
from ccbench.emulate.realtime.host import lacking, root_check

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_rtt", "checks", "delays"]

_PACKAGES = ("grpc", "grpc_tools", "google.protobuf")
_TOOLS = {"ip": "iproute2", "ethtool": "ethtool", "unshare": "util-linux", "chrt": "util-linux"}
_LEAST_CORES = 2


def checks(directory: Path | None, user: str) -> list[Check]:
    """Return the checks, which have no side effects.

    Parameters
    ----------
    directory : Path, optional
        BESS's folder.
    user : str
        The user of Mahimahi's mm-delay, if BESS cannot delay packets.
    """
    results = [_directory(directory), _packages(), _tools(), _cores(), root_check()]
    if directory is not None and not delays(directory):
        results += [check for check in mahimahi.checks(user) if check.name != "root"]
    return results


def check_rtt(directory: Path, rtt_ms: float) -> None:
    """Check that this build of BESS supports a delay.

    Raises
    ------
    InputError
        If it does not.
    """
    if not delays(directory):
        delay.check_rtt(rtt_ms, "bess")
    elif rtt_ms % 1:
        step = f"write for example {math.ceil(rtt_ms)}"
        raise validation.bad("rtt_ms", rtt_ms, "a whole number with the engine bess", step)


def delays(directory: Path) -> bool:
    """Return whether this build of BESS has a module that delays packets."""
    modules = files.protocol(directory) / "module_msg.proto"
    return modules.exists() and f"message {DELAY_MODULE}Arg" in modules.read_text(encoding="utf-8")


def _directory(directory: Path | None) -> Check:
    ok, detail = False, "not set"
    if directory is not None:
        program, service = files.program(directory), files.protocol(directory) / "service.proto"
        missing = [
            str(path)
            for path, exists in (
                (program.relative_to(directory), os.access(program, os.X_OK)),
                (service.relative_to(directory), service.is_file()),
            )
            if not exists
        ]
        ok = not missing
        detail = f"{directory} has no {' and no '.join(missing)}" if missing else str(directory)
    return Check(
        name="BESS",
        ok=ok,
        detail=detail,
        remedy="build it (https://github.com/NetSys/bess) and name its folder: --bess-dir DIR or "
        "CCBENCH_BESS_DIR, which sudo may drop (PyPI's bess and pybess are other packages)",
    )


def _packages() -> Check:
    missing = [name for name in _PACKAGES if not _is_installed(name)]
    return Check(
        name="Python packages",
        ok=not missing,
        detail=f"not installed: {', '.join(missing)}" if missing else "all installed",
        remedy='pip install "ccbench[bess]"',
    )


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # its parent package is not installed
        return False


def _tools() -> Check:
    return Check.of_programs("programs for the wires", lacking(_TOOLS))


def _cores() -> Check:
    cores = len(os.sched_getaffinity(0))
    return Check(
        name="cores",
        ok=cores >= _LEAST_CORES,
        detail=f"{cores}, of which BESS keeps one busy",
        remedy=f"use a machine with {_LEAST_CORES} cores or more",
    )
