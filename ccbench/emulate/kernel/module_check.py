# SPDX-License-Identifier: Apache-2.0
"""Check of a user's module: what a maintainer would run before a patch is sent.

The module is compiled for every kernel in the cache, loaded, and run in adverse scenarios, after
which all connections are closed and the qdiscs removed. Findings are errors of the run (crashes,
sleeps, warnings, packets that a qdisc loses) and what a run does not refuse: a window or a pacing
rate of 0, flows that starve or flood, messages for packets, and memory that is not released.

Each scenario runs twice, the second time with a pattern in memory that the module has not set or
has freed, compiled so that unset variables have the pattern, too, and with each call of the module
compared. Equal runs do not depend on such memory, nor on the host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from ccbench.base.counts import counted
from ccbench.base.errors import CcbenchError, InputError
from ccbench.emulate._workspace import workspace
from ccbench.emulate.kernel.boot.boot import boot
from ccbench.emulate.kernel.boot.inputs import guest_input
from ccbench.emulate.kernel.command import BuildError
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source import lookup
from ccbench.emulate.kernel.source.guest_sources import own_modules
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.change import Change
from ccbench.experiment.flow import Flow
from ccbench.experiment.impairments import BurstLoss, Reordering
from ccbench.experiment.receiver import Receiver
from ccbench.experiment.scenario import NetworkPath, Scenario
from ccbench.run import conservation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from ccbench.emulate.kernel.source.kernel_build import KernelBuild
    from ccbench.run.run import Run

__all__ = ["Finding", "ModuleCheck", "adverse_scenarios", "check_module"]

#: Memory in use after a run, beyond that of another run, that counts as a leak, in KB.
_LEAK_KB = 64
#: What a module does whose runs depend on memory that it must not read.
_UNSET = (
    "it reads a variable or memory that it has not set, or memory or a socket that has been freed"
)
#: Messages of a module in one run from which it floods the console.
_MANY_MESSAGES = 100
#: Share of a link that a flow alone must carry.
_STARVED = 0.01
#: Window from which a flow floods the path, relative to the packets that the path can hold.
_FLOOD_PATHS = 20

_FREE_MEMORY = re.compile(r"ccbench: free memory: (\d+) KB")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that a module does wrong.

    Parameters
    ----------
    kernel : str
        Release or name of the kernel.
    subject : str
        The congestion control or qdisc, empty for the module.
    scenario : str
        The scenario; empty while the module is compiled.
    problem : str
        What is wrong, in one line.
    details : tuple of str
        Further lines, such as errors of the compiler or calls.
    """

    kernel: str
    problem: str
    subject: str = ""
    scenario: str = ""
    details: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ModuleCheck:
    """The result of a check.

    Parameters
    ----------
    kernels : tuple of str
        The kernels on which the module was checked.
    ccas, qdiscs : tuple of str
        What it registers.
    scenarios : tuple of str
        The scenarios of each of them.
    findings : tuple of Finding
    """

    kernels: tuple[str, ...]
    ccas: tuple[str, ...] = ()
    qdiscs: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = field(default=())


def adverse_scenarios(cca: str, qdisc: str = "droptail") -> dict[str, Scenario]:
    """Return the scenarios of a check by their names.

    Parameters
    ----------
    cca : str
        Congestion control of all flows.
    qdisc : str
        Qdisc of the bottleneck.
    """

    def path(**settings: Any) -> Bottleneck:
        values: dict[str, Any] = {
            "bandwidth_mbps": 10,
            "queue_packets": 50,
            "qdisc": qdisc,
            **settings,
        }
        return Bottleneck(**values)

    def scenario(
        link: Bottleneck, *flows: Flow, duration_s: float = 20, **settings: Any
    ) -> Scenario:
        values: dict[str, Any] = {"bottlenecks": (link,), "rtt_ms": 40, **settings}
        flows = flows or (Flow(cca=cca), Flow(cca=cca, start_s=2))
        return Scenario(flows=flows, path=NetworkPath(**values), duration_s=duration_s)

    one = Flow(cca=cca)
    return {
        "two flows": scenario(path()),
        "a fast link and a short queue": scenario(
            path(bandwidth_mbps=200, queue_packets=10), duration_s=5
        ),
        "a tiny window": scenario(path(bandwidth_mbps=0.1, queue_packets=2), rtt_ms=10),
        "random loss": scenario(path(loss=0.05)),
        "losses in bursts": scenario(
            path(burst_loss=BurstLoss(to_bad=0.01, to_good=0.2, loss_good=0, loss_bad=1))
        ),
        "timeouts": scenario(
            path(), changes=tuple(Change(at_s=at, outage_s=3) for at in (2, 8, 14))
        ),
        "reordering": scenario(path(reordering=Reordering(share=0.1, delay_ms=15))),
        "duplicates": scenario(path(duplicates=0.05)),
        "ECN": scenario(path(), ecn=True),
        "idle and application-limited flows": scenario(
            path(),
            Flow(cca=cca, kind="onoff", on_s=1, off_s=2),
            Flow(cca=cca, kind="rate", rate_mbps=1),
        ),
        "a slow receiver and few ACKs": scenario(
            path(),
            Flow(cca=cca, receiver=Receiver(read_mbps=1, window_bytes=20_000)),
            Flow(cca=cca, receiver=Receiver(packets_per_ack=8)),
        ),
        # Flows end during slow start, recovery and outages, before a connection exists, and idle.
        "flows that end in every state": scenario(
            path(loss=0.02, bandwidth_mbps=5),
            *(Flow(cca=cca, start_s=i / 4, stop_s=i / 4 + 0.01 * 1.35**i) for i in range(24)),
            Flow(cca=cca, kind="bytes", size_bytes=1, start_s=1),
            Flow(cca=cca, kind="bytes", size_bytes=300_000, start_s=1),
            replace(one, start_s=3),
            changes=(Change(at_s=4, outage_s=2),),
            duration_s=30,
        ),
    }


def check_module(
    folder: Path, *, on_progress: Callable[[str, float], None] | None = None
) -> ModuleCheck:
    """Check the modules of a folder on every kernel in the cache.

    Parameters
    ----------
    folder : Path
        The folder with the C files and the Kbuild.
    on_progress : callable, optional
        Called with the current step and the completed share, 0 to 1.

    Raises
    ------
    InputError
        If it is not a folder of modules, its names are taken, or it registers nothing.
    MissingRequirement
        If no kernel is built.

    Examples
    --------
    >>> check_module(Path("examples/own-cca/tcp_aimd")).findings  # doctest: +SKIP
    ()
    """
    report = on_progress or (lambda _step, _share: None)
    kernels = lookup.built()
    findings: list[Finding] = []
    ccas: tuple[str, ...] = ()
    qdiscs: tuple[str, ...] = ()
    scenarios: dict[str, Scenario] = {}
    with own_modules((folder,), "folder"):
        for i, name in enumerate(kernels):
            report(f"Linux {name}: compiling", i / len(kernels))
            try:
                kernel, filling = _kernels(name)
            except BuildError as error:
                findings.append(
                    Finding(kernel=name, problem="it does not compile", details=error.console)
                )
                continue
            if kernel.warnings:
                problem = f"the compiler has {counted(len(kernel.warnings), 'warning')}"
                findings.append(Finding(kernel=name, problem=problem, details=kernel.warnings))
            ccas, qdiscs = kernel.own.ccas, kernel.own.qdiscs
            if not ccas and not qdiscs:
                raise InputError(
                    f"{folder}: it registers neither a congestion control nor a qdisc by "
                    "tcp_register_congestion_control() or register_qdisc(): correct the path"
                )
            subjects = [(cca, cca, "droptail") for cca in ccas if cca in kernel.ccas]
            subjects += [(qdisc, "cubic", qdisc) for qdisc in qdiscs if qdisc in kernel.queues]
            for subject, cca, qdisc in subjects:
                scenarios = adverse_scenarios(cca, qdisc)
                report(f"Linux {name}: {subject}", (i + 0.5) / len(kernels))
                findings += _checked(kernel, filling, subject, scenarios)
    report("done", 1.0)
    return ModuleCheck(
        kernels=tuple(kernels),
        ccas=ccas,
        qdiscs=qdiscs,
        scenarios=tuple(scenarios),
        findings=tuple(findings),
    )


def _kernels(name: str) -> tuple[KernelBuild, KernelBuild]:
    """Return the kernel, and the same with a pattern in memory that modules have not set."""
    kernel, filling = lookup.of_release(name), lookup.of_release(name, fills=True)
    assert kernel is not None
    assert filling is not None
    return kernel, filling


def _checked(
    kernel: KernelBuild, filling: KernelBuild, subject: str, scenarios: Mapping[str, Scenario]
) -> Iterator[Finding]:
    """Yield the findings of one congestion control or qdisc on one kernel."""
    engine, other, name = KernelEngine(kernel), KernelEngine(filling), kernel.name
    found = False
    for title, scenario in scenarios.items():
        try:
            run, console = _run(engine, scenario)
        except InputError as error:  # such as a CCA that excludes ECN
            problems = [f"the scenario is refused: {error}"] if title == "two flows" else []
            details: tuple[str, ...] = ()
        except CcbenchError as error:
            problems, details = [str(error)], getattr(error, "console", ())
        else:
            problems, details = [*_problems(run, console, kernel)], ()
            if not found:
                problems += filter(None, [_dependence(run, engine, other)])
        found = found or bool(problems)
        for problem in problems:
            yield Finding(
                kernel=name, subject=subject, scenario=title, problem=problem, details=details
            )
    if not found:
        yield from _leaks(engine, name, subject, scenarios["two flows"])


def _dependence(run: Run, engine: KernelEngine, filling: KernelEngine) -> str:
    """Return on what a run depends beyond its scenario, if on anything."""
    try:
        filled = filling.run(run.scenario)
    except CcbenchError as error:
        return (
            f"in a second run, with other contents of such memory and each call compared, {error}"
        )
    if _is_same(run, filled):
        return ""
    if not _is_same(run, engine.run(run.scenario)):
        return "two runs of one scenario differ: it uses something of the host"
    return f"{_UNSET}: with other contents of this memory, the run differs"


def _run(engine: KernelEngine, scenario: Scenario) -> tuple[Run, str]:
    """Return a run that obeys the conservation laws, and the console of its guest."""
    run, console = engine.run_with_console(scenario)
    conservation.check(run)
    return run, console


def _problems(run: Run, console: str, kernel: KernelBuild) -> Iterator[str]:
    """Yield what is wrong in a run that did not fail."""
    own = set(kernel.own.ccas)
    paths = run.scenario.split_flows
    numbers = run.scenario.split_numbers()
    for flow, samples in run.flows.groupby("flow"):
        path = paths[numbers[cast("int", flow)]]
        if path.cca not in own:
            continue
        is_open = samples["srtt_us"].notna()
        window = samples["cwnd_packets"][is_open]
        room = max(_room(run.scenario), 50)
        if (window > _FLOOD_PATHS * room).any():
            yield (
                f"flow {flow} floods the path: its window reaches {window.max()} packets, and the "
                f"path holds {room:.0f}"
            )
        paced = samples["pacing_rate_bps"][is_open]
        if paced.notna().any() and (paced[paced.notna().cumsum() > 0].isna()).any():
            yield f"flow {flow} does not pace any more: its pacing rate becomes unlimited (~0UL)"
    delivered = run.completions["delivered_bytes"].sum() * 8 / 1e6 / run.scenario.duration_s
    expected = min(link.mean_mbps for link in run.scenario.path.bottlenecks)
    if delivered < _STARVED * expected:
        yield f"the flows starve: {delivered:.3f} Mbit/s on a link of {expected:g} Mbit/s"
    printed = _messages(console)
    if printed > _MANY_MESSAGES:
        yield f"it prints {printed} messages; a module must not print for each packet"


def _is_same(run: Run, other: Run) -> bool:
    """Return whether two runs have the same packets and samples."""
    return run.queue.equals(other.queue) and run.flows.equals(other.flows)


def _room(scenario: Scenario) -> float:
    """Return the packets that the path and its queue can hold."""
    (link,) = scenario.path.bottlenecks
    return scenario.path.bdp_packets() + (link.queue_packets or 0)


def _messages(console: str) -> int:
    """Return the number of messages of Linux since the start of the experiment."""
    _, _, after = console.partition("loading out-of-tree module")
    return sum(line.startswith("[") for line in after.splitlines())


def _leaks(engine: KernelEngine, name: str, subject: str, scenario: Scenario) -> Iterator[Finding]:
    """Yield findings about memory in use after all connections are closed.

    A run of many flows must not use more than with Reno and drop-tail, nor one of many packets more
    than one of half as many.
    """
    (link,) = scenario.path.bottlenecks
    (flow, *_) = scenario.flows
    fast = replace(link, bandwidth_mbps=100, queue_packets=200)
    path = replace(scenario.path, bottlenecks=(fast,))
    short = replace(flow, kind="bytes", size_bytes=3000)
    flows = tuple(replace(short, start_s=i / 200) for i in range(2000))
    of_flows = replace(scenario, flows=flows, path=path, queue_log=False)
    of_packets = replace(scenario, flows=(flow,), path=path, queue_log=False)
    usual = replace(
        of_flows,
        flows=tuple(replace(flow, cca="reno") for flow in flows),
        path=replace(path, bottlenecks=(replace(fast, qdisc="droptail"),)),
    )
    half = replace(of_packets, duration_s=of_packets.duration_s / 2)
    for title, own, other in (
        ("many flows", of_flows, usual),
        ("many packets", of_packets, half),
    ):
        try:
            used_kb = _free_kb(engine, other) - _free_kb(engine, own)
        except CcbenchError as error:
            problem, details = str(error), getattr(error, "console", ())
        else:
            problem, details = f"it does not release {used_kb} KB of memory", ()
            if used_kb < _LEAK_KB:
                continue
        yield Finding(
            kernel=name, subject=subject, scenario=title, problem=problem, details=details
        )


def _free_kb(engine: KernelEngine, scenario: Scenario) -> int:
    """Return the free memory of a guest in KB after a run and the end of its connections."""
    with workspace() as directory:
        kernel = engine.kernel
        console = boot(
            kernel, directory, given=guest_input(scenario, kernel, also=kernel.own.modules)
        )
    match = _FREE_MEMORY.search(console)
    assert match is not None
    return int(match[1])
