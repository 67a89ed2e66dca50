# SPDX-License-Identifier: Apache-2.0
"""The virtual kernel as an engine."""

from __future__ import annotations

import platform
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING

from ccbench import _validate
from ccbench.cache import cache_dir
from ccbench.emulate._workspace import workspace
from ccbench.emulate.engine import run_provenance
from ccbench.emulate.kernel import build, doctor, parameters, protocol, qdiscs
from ccbench.emulate.kernel.boot import boot
from ccbench.emulate.kernel.guest import OWN_MODULES
from ccbench.emulate.kernel.plan import Programs, guest_memory_mb, plan
from ccbench.emulate.kernel.results import read_run
from ccbench.errors import CcbenchError, InputError, MissingRequirement

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.emulate.engine import Check, Progress
    from ccbench.emulate.kernel.build import KernelBuild
    from ccbench.run import Run
    from ccbench.scenario import Scenario

__all__ = ["KernelEngine"]

#: Changes when the same scenario in the same kernel would give another Run: the plan, the reading
#: of results. What the guest is made of has a version of its own.
_VERSION = 1

#: Modules of every run; the others are CCAs and qdiscs.
_OWN_MODULES = ("ccbench_link", "ccbench_flows")


class KernelEngine:
    """Runs scenarios on the real Linux TCP stack, in virtual time.

    Every run is a boot of Linux as an ordinary program of the user, on one core.

    Parameters
    ----------
    kernel : KernelBuild, optional
        The kernel to run. By default the one that ``ccbench kernel build`` has built last.

    Examples
    --------
    >>> run = KernelEngine().run(Scenario.load("examples/bbr-vs-cubic.toml"))  # doctest: +SKIP
    """

    name = "kernel"

    def __init__(self, kernel: KernelBuild | None = None) -> None:
        self._given = kernel

    @classmethod
    def of_version(cls, version: str) -> KernelEngine:
        """Return the engine of that version, whatever kernel is in use.

        If the cache does not have its kernel, one is built as by ``ccbench kernel build``.

        Raises
        ------
        MissingRequirement
            If that is another one, or cannot be built.
        """
        wanted = version.partition("-")[2]
        try:
            engine = cls(build.find(wanted) or build.build())
            has = engine.version()
            if has == version:
                return engine
            reason = f"what it gives here is Linux {engine.kernel.release}, {has}"
        except CcbenchError as error:
            has, reason = _version_in_use(), str(error)
        raise MissingRequirement(
            f"the virtual kernel here is {has}, but {version} is needed: copy the folder {wanted} "
            "from kernel/builds in the cache folder of a machine that has it into "
            f"{cache_dir() / 'kernel' / 'builds'}, or set CCBENCH_CACHE to a folder that the "
            "machines share, or give them the same linux-source package and ccbench (the compiler "
            f"may be another); `ccbench kernel build` here does not help: {reason}"
        )

    @cached_property
    def kernel(self) -> KernelBuild:
        """The kernel that runs.

        Raises
        ------
        MissingRequirement
            If none has been built.
        """
        return self._given or build.installed()

    def version(self) -> str:
        """Return what identifies everything that can change a result."""
        return f"{_VERSION}-{self.kernel.version}"

    def provenance(self) -> dict[str, object]:
        """Return what this engine is; see :meth:`ccbench.emulate.engine.Engine.provenance`."""
        return {
            "ccbench": version("ccbench"),
            "engine": self.name,
            "engine_version": self.version(),
            "kernel_release": self.kernel.release,
            "kernel_build": self.kernel.version,
            "hz": self.kernel.hz,
            "modules": list(self.kernel.modules),
            "machine": platform.machine(),
        }

    def hint(self, cca: str) -> str:
        """Say what to do about a congestion control that the kernel does not have."""
        hint = _validate.choice_hint(cca, self.kernel.ccas)
        return f"{hint} (one of your own: name its folder in {OWN_MODULES})"

    def check(self, scenario: Scenario) -> None:
        """Raise an InputError if the kernel does not have what the scenario names."""
        for i, flow in enumerate(scenario.flows):
            if not flow.is_udp and flow.cca not in self.kernel.ccas:
                hint = self.hint(flow.cca)
                allowed = ", ".join(self.kernel.ccas)
                message = (
                    f"cca = {flow.cca!r} (flows[{i}]): the virtual kernel has {allowed}: {hint}"
                )
                raise InputError(message)
        for i, bottleneck in enumerate(scenario.bottlenecks):
            with _validate.within(f"bottlenecks[{i}]."):
                qdiscs.check_qdisc_options(bottleneck.qdisc, dict(bottleneck.qdisc_options))
            _check_encoding(scenario, i)
        parameters.check(scenario, self.kernel)

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Run a scenario; see :meth:`ccbench.emulate.engine.Engine.run`."""
        self.check(scenario)
        build.hold(self.kernel)
        with workspace() as directory:
            programs = self._prepare(scenario, directory)
            modules = [module for module in self.kernel.modules if module not in _OWN_MODULES]
            (directory / "plan").write_text(plan(scenario, modules, programs), encoding="utf-8")
            (directory / "link.bin").write_bytes(protocol.describe_link(scenario))
            flows = protocol.describe_flows(scenario, served=programs is not None)
            (directory / "flows.bin").write_bytes(flows)
            boot(
                self.kernel,
                directory,
                memory_mb=self._memory_mb(scenario),
                seed=scenario.seed,
                parameters=parameters.command_line(scenario, self.kernel),
                on_progress=on_progress,
            )
            return read_run(scenario, directory, run_provenance(self, scenario))

    def _prepare(self, scenario: Scenario, directory: Path) -> Programs | None:
        """Put the files of programs into the run's folder; return their steps, None without any."""
        del scenario, directory
        return None

    def _memory_mb(self, scenario: Scenario) -> int:
        return guest_memory_mb(scenario)

    def doctor(self) -> list[Check]:
        """Return what the virtual kernel needs of this machine, and whether it is there."""
        return doctor.checks()


def _check_encoding(scenario: Scenario, i: int) -> None:
    """Raise an InputError if ABC flows would take a bottleneck's marks for something else."""
    bottleneck = scenario.bottlenecks[i]
    if bottleneck.qdisc != "abc":
        return
    encoding = dict(bottleneck.qdisc_options).get("encoding", "proxied")
    other = "abc" if encoding == "full" else "abc_ns"
    for j, flow in enumerate(scenario.flows):
        if flow.cca == other:
            message = (
                f"cca = {other!r} (flows[{j}]) reads other marks than bottlenecks[{i}], whose "
                f"qdisc_options.encoding is {encoding!r}, makes: use abc with 'proxied', abc_ns "
                "with 'full'"
            )
            raise InputError(message)


def _version_in_use() -> str:
    try:
        return KernelEngine().version()
    except CcbenchError:
        return "none"
