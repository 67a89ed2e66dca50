# SPDX-License-Identifier: Apache-2.0
"""The virtual kernel as an engine."""

from __future__ import annotations

import platform
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, ClassVar

from ccbench.base import validation
from ccbench.base.cache import cache_dir
from ccbench.base.code_digests import code_digest
from ccbench.base.errors import CcbenchError, MissingRequirement
from ccbench.emulate._workspace import workspace
from ccbench.emulate.engine import run_identity, run_provenance
from ccbench.emulate.kernel import INFO, doctor
from ccbench.emulate.kernel.boot import parameters, queues
from ccbench.emulate.kernel.boot.boot import boot
from ccbench.emulate.kernel.boot.inputs import guest_input
from ccbench.emulate.kernel.boot.results import read_tables
from ccbench.emulate.kernel.needs import needs
from ccbench.emulate.kernel.source import build
from ccbench.emulate.kernel.source.guest_sources import OWN_MODULES
from ccbench.experiment import qdiscs
from ccbench.run.run import Run

if TYPE_CHECKING:
    from typing_extensions import Self

    from ccbench.emulate.engine import Check, Progress
    from ccbench.emulate.kernel.boot.inputs import GuestInput
    from ccbench.emulate.kernel.source.build import KernelBuild
    from ccbench.emulate.resources import Needs
    from ccbench.experiment.scenario import Scenario

__all__ = ["KernelEngine"]

#: What makes the tables of a run of a guest's records.
_READER = "ccbench.emulate.kernel.boot.results"


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

    name = INFO.name

    #: The modules that lead from a scenario into the guest and from there to a run.
    code: ClassVar[tuple[str, ...]] = (
        "ccbench.experiment.scenario",
        "ccbench.emulate.kernel.boot.inputs",
        *qdiscs.MODULES,
        _READER,
    )

    def __init__(self, kernel: KernelBuild | None = None) -> None:
        self._given = kernel

    @classmethod
    def _code_version(cls) -> str:
        return code_digest(*cls.code)[:16]

    @classmethod
    def of_version(cls, version: str) -> Self:
        """Return the engine of that version, whatever kernel is in use.

        If the cache does not have its kernel, one is built as by ``ccbench kernel build``.

        Raises
        ------
        MissingRequirement
            If its kernel is another one or cannot be built, or ccbench is another one.
        """
        code, wanted = [*version.split("-"), ""][:2]
        if code != cls._code_version():
            raise MissingRequirement(
                f"the engine {cls.name} here is {cls._code_version()}, but {code} is needed: "
                "install the same ccbench as on the machine that asks for it"
            )
        try:
            engine = cls(build.find(wanted) or build.build())
            has = engine.kernel.version
            if has == wanted:
                return engine
            reason = f"what it gives here is Linux {engine.kernel.release}, {has}"
        except CcbenchError as error:
            has, reason = _kernel_in_use(), str(error)
        raise MissingRequirement(
            f"the virtual kernel here is {has}, but {wanted} is needed: copy the folder {wanted} "
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
        """Return what identifies everything that can change a result.

        That is the code on a scenario's way into the guest and back, and what the guest runs.
        """
        return "-".join([self._code_version(), *self.software()])

    def software(self) -> tuple[str, ...]:
        """Return the versions of what the guest runs: of the kernel, with its modules."""
        return (self.kernel.version,)

    def identity(self, scenario: Scenario) -> str:
        """Return the digest of all that decides what a run of `scenario` looks like.

        That is what the guest runs, what it is given, and the code that reads its records. Two
        scenarios that give it the same have the same identity.
        """
        given = self.guest_input(scenario)
        return run_identity(self.name, *self.software(), code_digest(_READER), given.digest())

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

    def check_cca(self, cca: str, field: str = "cca") -> None:
        """Raise an InputError that names `field` if the kernel has no such congestion control."""
        if cca not in self.kernel.ccas:
            hint = validation.choice_hint(cca, self.kernel.ccas)
            step = f"{hint} (one of your own: name its folder in {OWN_MODULES})"
            raise validation.bad(field, cca, f"one of {', '.join(self.kernel.ccas)}", step)

    def check(self, scenario: Scenario) -> None:
        """Raise an InputError if the kernel does not have what the scenario names."""
        for i, flow in enumerate(scenario.flows):
            if not flow.is_udp:
                self.check_cca(flow.cca, f"flows[{i}].cca")
        queues.check(scenario, self.kernel)
        parameters.check(scenario, self.kernel)

    def needs(self, scenario: Scenario) -> Needs:
        """Return what a run takes; see :meth:`ccbench.emulate.engine.Engine.needs`."""
        return needs(scenario)

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Run a scenario; see :meth:`ccbench.emulate.engine.Engine.run`."""
        self.check(scenario)
        build.hold(self.kernel)
        given = self.guest_input(scenario)
        with workspace() as directory:
            boot(self.kernel, directory, given=given, on_progress=on_progress)
            tables = read_tables(directory, given)
        provenance = run_provenance(self, scenario)
        if drops := queues.drops(scenario, self.kernel):
            provenance["drops"] = drops
        return Run(scenario=scenario, provenance=provenance, **tables)

    def guest_input(self, scenario: Scenario) -> GuestInput:
        """Return what the guest is given for a scenario."""
        return guest_input(scenario, self.kernel)

    def doctor(self) -> list[Check]:
        """Return what the virtual kernel needs of this machine, and whether it is there."""
        return doctor.checks(self._given)


def _kernel_in_use() -> str:
    try:
        return build.installed().version
    except CcbenchError:
        return "none"
