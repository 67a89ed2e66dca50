# SPDX-License-Identifier: Apache-2.0
"""The program on BMv2's ``simple_switch``, with real interfaces in separate namespaces.

BMv2 is not part of ccbench; p4lang packages it for Ubuntu and Debian. The switch, its interfaces
and the sockets at their other ends live in namespaces that end with the run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench.base.errors import CcbenchError, MissingRequirement
from ccbench.datacenter.p4.sources import COMPILED, load_compiled
from ccbench.datacenter.vectors import dumps
from ccbench.emulate.realtime.namespaces import in_namespaces

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ccbench.datacenter.vectors import SwitchScenario

__all__ = ["check_all", "missing", "run_in_namespaces"]

_PROGRAMS = ("simple_switch", "simple_switch_CLI", "ip", "unshare")


def missing() -> str | None:
    """Return the reason why BMv2 cannot run on this machine, or None if it can."""
    absent = [name for name in _PROGRAMS if shutil.which(name) is None]
    if absent:
        return (
            f"{' and '.join(absent)} not installed: p4lang packages BMv2 (p4lang-bmv2) for Ubuntu "
            "and Debian; `ccbench bfc p4 test` runs the program without it"
        )
    if os.geteuid() != 0:
        return "namespaces and raw sockets need root: run it with sudo"
    return None


def check_all(
    stepped: Iterable[SwitchScenario],
    paced: Iterable[SwitchScenario] = (),
    loads_per_s: Iterable[int] = (),
    *,
    compiled: Path | None = None,
) -> dict[str, str | None]:
    """Run scenarios and loads through the program on BMv2.

    Parameters
    ----------
    stepped : iterable of SwitchScenario
        Scenarios for step-by-step execution, with the driver as the traffic manager, in parallel
        with the interpreter; about 5 ms per step.
    paced : iterable of SwitchScenario
        Scenarios of :func:`~ccbench.datacenter.p4.paced.paced_scenarios`, replayed in real time
        with BMv2's own queues; about 10 s each.
    loads_per_s : iterable of int
        Packets per second at which flows must retain their queues, for 6 s each
        (:mod:`ccbench.datacenter.p4.load`); if there are any, the loss of headers is tested as
        well.
    compiled : Path, optional
        A compiled program other than the packaged one.

    Returns
    -------
    dict
        For each scenario and load, the fault in one line, or None.

    Raises
    ------
    MissingRequirement
        If BMv2 is not installed, or the user is not root.
    CcbenchError
        If the switch does not start or refuses its configuration.
    """
    with tempfile.TemporaryDirectory(prefix="ccbench-bmv2-") as scratch:
        files = []
        for name, scenarios in (("stepped", stepped), ("paced", paced)):
            files.append(Path(scratch, f"{name}.jsonl"))
            files[-1].write_text(dumps(scenarios), encoding="utf-8")
        faults: dict[str, str | None] = run_in_namespaces(
            "ccbench.datacenter.p4.bmv2_world", *files, scratch, *loads_per_s, compiled=compiled
        )
    return faults


def run_in_namespaces(module: str, *words: object, compiled: Path | None = None) -> Any:
    """Run a module that starts BMv2, in separate namespaces, and return its output.

    Parameters
    ----------
    module : str
        Name of the module. It receives the path of the compiled program and `words`, and prints
        JSON.
    *words : object
        Further arguments.
    compiled : Path, optional
        A compiled program other than the packaged one.

    Raises
    ------
    MissingRequirement
        If BMv2 is not installed, or the user is not root.
    CcbenchError
        If a switch does not start or refuses its configuration.
    """
    reason = missing()
    if reason is not None:
        raise MissingRequirement(f"BMv2: {reason}")
    if compiled is None:
        load_compiled()  # raises if the sources have changed
    done = subprocess.run(  # noqa: S603 - a module of ccbench, in namespaces
        in_namespaces(module, str(compiled or COMPILED), *map(str, words), network=True),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.splitlines() or ["no message"]
        raise CcbenchError(f"BMv2: {lines[-1]}")
    return json.loads(done.stdout)
