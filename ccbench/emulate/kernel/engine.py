# SPDX-License-Identifier: Apache-2.0
"""The virtual kernel as an engine."""

from __future__ import annotations

import platform
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from ccbench.base import validation
from ccbench.base.cache import cache_dir
from ccbench.base.code_digests import code_digest
from ccbench.base.errors import CcbenchError, InputError, MissingRequirement
from ccbench.base.structures import states
from ccbench.base.versions import installed_version
from ccbench.emulate._workspace import workspace
from ccbench.emulate.engine import run_identity, run_provenance
from ccbench.emulate.kernel import INFO
from ccbench.emulate.kernel.boot import (
    features,
    parameters,
    program_digests,
    programs,
    queues,
    stacks,
    triggers,
)
from ccbench.emulate.kernel.boot.inputs import guest_input
from ccbench.emulate.kernel.needs import needs
from ccbench.emulate.kernel.source import build, kernel_build, locks, lookup
from ccbench.emulate.kernel.source.guest_sources import OWN_MODULES
from ccbench.experiment import kinds, qdiscs
from ccbench.experiment.flow import TRANSPORTS, cca_hint
from ccbench.experiment.stack_names import names_stack
from ccbench.experiment.stacks import expanded
from ccbench.run.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typing_extensions import Self

    from ccbench.base.structures import Field
    from ccbench.emulate.engine import Check, Progress
    from ccbench.emulate.kernel.boot.inputs import GuestInput
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild
    from ccbench.emulate.resources import Needs
    from ccbench.experiment.scenario import Scenario

__all__ = ["KernelEngine"]

#: The modules that convert a guest's records to a run.
_READERS = ("ccbench.emulate.kernel.boot.results", "ccbench.emulate.kernel.boot.draws")


class KernelEngine:
    """Runs scenarios on the real Linux TCP stack, in virtual time.

    Each run boots Linux as an ordinary user process on one core.

    Parameters
    ----------
    kernel : KernelBuild or str, optional
        The kernel to run: a build, or the name, Linux release or version of a build in the cache;
        by default the default kernel (``ccbench kernel use``).

    Raises
    ------
    InputError
        If the cache has no such kernel.

    Examples
    --------
    >>> scenario = Scenario.load("examples/bbr-vs-cubic.toml")  # doctest: +SKIP
    >>> run = KernelEngine(kernel="7.3").run(scenario)  # doctest: +SKIP
    """

    name = INFO.name

    #: The modules that convert a scenario to a guest's input, and a guest's records to a run.
    code: ClassVar[tuple[str, ...]] = (
        "ccbench.experiment.scenario",
        "ccbench.experiment.stacks",
        "ccbench.emulate.kernel.boot.inputs",
        "ccbench.emulate.kernel.source.descriptions",
        *qdiscs.MODULES,
        *kinds.MODULES,
        *_READERS,
    )
    #: Whether every random draw is recorded. Those of programs are not.
    _records_draws = True

    def __init__(self, kernel: KernelBuild | str | None = None) -> None:
        self._given = lookup.named(kernel) if isinstance(kernel, str) else kernel

    @classmethod
    def _code_version(cls) -> str:
        return code_digest(*cls.code)[:16]

    @classmethod
    def of_version(cls, version: str) -> Self:
        """Return the engine of that version, whatever kernel is in use.

        If the cache lacks its kernel, one is built as by ``ccbench kernel build``.

        Raises
        ------
        MissingRequirement
            If the kernel or ccbench here has another version, or the kernel cannot be built.
        """
        code, wanted = [*version.split("-"), ""][:2]
        if code != cls._code_version():
            raise MissingRequirement(
                f"the engine {cls.name} here is {cls._code_version()}, but {code} is needed: "
                "install the same ccbench as on the machine that submits the runs"
            )
        try:
            engine = cls(lookup.find(wanted) or build.build())
            actual = engine.kernel.version
            if actual == wanted:
                return engine
            reason = f"it builds {engine.kernel.title}, {actual}"
        except CcbenchError as error:
            actual, reason = _kernel_in_use(), str(error)
        raise MissingRequirement(
            f"the virtual kernel here is {actual}, but {wanted} is needed: copy the folder "
            f"{wanted} from kernel/builds in the cache folder of a machine that has it into "
            f"{cache_dir() / 'kernel' / 'builds'}, or set CCBENCH_CACHE to a folder that the "
            "machines share, or install the same linux-source package and ccbench on them (the "
            f"compiler may differ); `ccbench kernel build` does not help here: {reason}"
        )

    def suiting(self, check: Callable[[Self], object]) -> tuple[Self, str]:
        """Return the engine for an input; see :class:`.ChoosingEngine`.

        Where the default kernel lacks a feature, it is that with the newest Linux in the cache that
        has it.
        """
        if self._given is None:
            try:
                check(self)
            except InputError as error:
                lacking = error.__cause__
                if not isinstance(lacking, kernel_build.MissingFeature):
                    raise
                for kernel in lookup.released():
                    other = type(self)(kernel)
                    with suppress(InputError):
                        check(other)
                        return other, (
                            f"on {kernel.title}, as the default, {self.kernel.title}, lacks "
                            f"{lacking}; --kernel {kernel.name} demands it"
                        )
                raise
        return self, ""

    @cached_property
    def kernel(self) -> KernelBuild:
        """The kernel of the guests; the default one stays in the cache until this process ends.

        Raises
        ------
        MissingRequirement
            If none has been built, or it has been removed.
        """
        if self._given is not None:
            return self._given
        kernel = lookup.installed()
        locks.hold(kernel)
        return kernel

    def version(self) -> str:
        """Return an identifier of everything that affects results.

        It covers the code that encodes scenarios and decodes records, and the guest's software with
        all modules, also those that no run uses.
        """
        return "-".join([self._code_version(), self.kernel.version, *self.programs()])

    def programs(self) -> tuple[str, ...]:
        """Return the versions of the host's programs in the guest."""
        return ()

    def identity(self, scenario: Scenario) -> str:
        """Return the digest of everything that determines a run of `scenario`.

        It covers the guest's input, the software that executes it, without the modules that the run
        does not load, and the code that reads its records. Two scenarios with the same input have
        the same identity.
        """
        given = self.guest_input(scenario)
        digests = program_digests.digests(programs.of_scenario(expanded(scenario)).all)
        software = (self.kernel.identity, *self.programs(), *map(repr, digests.items()))
        modules = repr(sorted(self.kernel.digests(given.modules).items()))
        info = repr(sorted(self._cca_info(scenario).items()))
        names = repr(self._statistics(scenario))
        readers = code_digest(*_READERS)
        qlogs = repr(sorted(programs.qlogs(scenario).items()))
        parts = (modules, readers, given.digest(), info, names, qlogs)
        return run_identity(self.name, *software, *parts)

    def provenance(self) -> dict[str, object]:
        """Describe this engine; see :meth:`ccbench.emulate.engine.Engine.provenance`."""
        return {
            "ccbench": installed_version(),
            "engine": self.name,
            "engine_version": "-".join(
                [self._code_version(), self.kernel.identity, *self.programs()]
            ),
            "kernel_release": self.kernel.release,
            "kernel_build": self.kernel.identity,
            **self.kernel.variant.provenance(),
            "hz": self.kernel.hz,
            "modules": self.kernel.digests(),
            "machine": platform.machine(),
        }

    def check_cca(self, cca: str, field: str = "cca") -> None:
        """Raise an InputError about `field` if the kernel lacks this congestion control.

        That of a stack must be installed.
        """
        if names_stack(cca):
            stacks.check_cca(cca, field)
        elif cca not in self.kernel.ccas:
            features.check_cca(cca, self.kernel, field)
            step = cca_hint(cca, self.kernel.ccas)
            if cca not in TRANSPORTS:
                step += f" (one of your own: name its folder in {OWN_MODULES})"
            raise validation.bad(field, cca, f"one of {', '.join(self.kernel.ccas)}", step)

    def check(self, scenario: Scenario) -> None:
        """Raise an InputError if the kernel lacks something that the scenario requires."""
        for where, flow in scenario.named_split_flows():
            if not flow.is_udp:
                self.check_cca(flow.cca, f"{where}.cca")
        scenario = expanded(scenario)
        programs.check(scenario)
        features.check(scenario, self.kernel)
        queues.check(scenario, self.kernel)
        triggers.check(scenario, self.kernel)
        parameters.check(scenario, self.kernel)

    def needs(self, scenario: Scenario) -> Needs:
        """Return the resources of a run; see :meth:`ccbench.emulate.engine.Engine.needs`."""
        scenario = expanded(scenario)
        own_bytes = programs.memory_mb(scenario) * 2**20
        total = needs(scenario)
        return replace(
            total,
            running_bytes=total.running_bytes + own_bytes,
            shared_bytes=total.shared_bytes + own_bytes,
            work=total.work * programs.work(scenario),
        )

    def capture_bytes(self, scenario: Scenario) -> float:
        """Return the maximum size of a capture; see :class:`.CapturingEngine`."""
        from ccbench.emulate.kernel.boot import capture  # noqa: PLC0415 - rarely needed

        return capture.capture_bytes(scenario)

    def capture(
        self, scenario: Scenario, path: Path, *, on_progress: Progress | None = None
    ) -> Run:
        """Run a scenario and write its packets; see :class:`.CapturingEngine`."""
        return self._run(scenario, on_progress, path)[0]

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Run a scenario; see :meth:`ccbench.emulate.engine.Engine.run`."""
        return self._run(scenario, on_progress)[0]

    def run_with_console(self, scenario: Scenario) -> tuple[Run, str]:
        """Run a scenario; return the run and the text of the guest's console."""
        return self._run(scenario, None)

    def run_live(self, scenario: Scenario, on_output: Callable[[str, bytes], object]) -> Run:
        """Run a scenario, and pass on what its programs print, several times a second.

        Parameters
        ----------
        scenario : Scenario
        on_output : callable
            Called with the name of a program, such as ``"0-sender"``, and what it has printed since
            the last call.
        """
        return self._run(scenario, None, on_output=on_output)[0]

    def _run(
        self,
        scenario: Scenario,
        on_progress: Progress | None,
        packets: Path | None = None,
        on_output: Callable[[str, bytes], object] | None = None,
    ) -> tuple[Run, str]:
        # A stored run is shown without these.
        from ccbench.emulate.kernel.boot import boot, capture, draws, results  # noqa: PLC0415

        self.check(scenario)
        locks.hold(self.kernel)
        given = self.guest_input(scenario, captures=packets is not None)
        info = self._cca_info(scenario)
        reports = results.Reports(
            cca_info=info,
            statistics=self._statistics(scenario),
            qlogs=programs.qlogs(scenario),
        )
        with workspace() as directory:
            log = results.QueueLog(directory, given)
            console = boot.boot(
                self.kernel,
                directory,
                given=given,
                on_progress=on_progress,
                on_output=on_output,
                meanwhile=log.advance,
            )
            tables = results.read_tables(directory, given, reports, log)
            random_draws = draws.read_draws(directory, given.ccas)
            if packets is not None:
                program = f"ccbench {installed_version()}, {self.kernel.title}"
                capture.save(directory, scenario, packets, program)
        provenance = run_provenance(self, scenario)
        provenance["modules"] = self.kernel.digests(given.modules)
        if run := programs.of_scenario(expanded(scenario)).all:
            provenance["programs"] = program_digests.digests(run)
        if self._records_draws and not run:
            provenance["random_draws"] = random_draws
        if drops := queues.drops(scenario, self.kernel):
            provenance["drops"] = drops
        if unlimited := queues.unlimited(scenario, self.kernel):
            provenance["unlimited_qdiscs"] = unlimited
        if asking := features.needing_accecn(scenario, self.kernel):
            provenance["accecn_ccas"] = asking
        if info:
            names = {cca: [field.name for field in fields] for cca, fields in info.items()}
            provenance["cca_info"] = names
            if named := {cca: own for cca, fields in info.items() if (own := states(fields))}:
                provenance["cca_states"] = named
        if "qdiscs" in tables:
            provenance["qdisc_statistics"] = [
                [field.name for field in fields] for fields in self._statistics(scenario)
            ]
        return Run(scenario=scenario, provenance=provenance, **tables), console

    def guest_input(self, scenario: Scenario, *, captures: bool = False) -> GuestInput:
        """Return the guest's input for a scenario, to capture packets or not."""
        scenario = expanded(scenario)
        own = programs.of_scenario(scenario)
        return guest_input(scenario, self.kernel, own, captures=captures)

    def _cca_info(self, scenario: Scenario) -> dict[str, tuple[Field, ...]]:
        """Return the state that the scenario's congestion controls report, by their names."""
        flows = expanded(scenario).split_flows
        fields = {flow.cca: self.kernel.cca(flow.cca).info for flow in flows}
        return {cca: info for cca, info in fields.items() if info}

    def _statistics(self, scenario: Scenario) -> tuple[tuple[Field, ...], ...]:
        """Return the statistics that the qdisc of each bottleneck reports."""
        return tuple(self.kernel.queue(link.qdisc).statistics for link in scenario.path.links)

    def doctor(self) -> list[Check]:
        """Return the checks of this machine's requirements."""
        from ccbench.emulate.kernel import doctor  # noqa: PLC0415 - boots guests

        return doctor.checks(self._given)

    def stack_checks(self) -> list[Check]:
        """Return the checks of stacks; see :class:`.StackEngine`."""
        return stacks.checks()


def _kernel_in_use() -> str:
    try:
        return lookup.installed().version
    except CcbenchError:
        return "none"
