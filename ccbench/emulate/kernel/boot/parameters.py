# SPDX-License-Identifier: Apache-2.0
"""Parameters and settings of the virtual kernel's modules.

Parameters of our modules are given when they are loaded, those of Linux's own on its command line.
Linux goes on without a word about a parameter that it does not know, so what there is has to be
known before. Settings (sysctls) are written before the first flow, and checked by the kernel; what
would not fit together is said before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from ccbench.emulate.kernel.source.build import KernelBuild
    from ccbench.experiment.scenario import Scenario

__all__ = ["check", "command_line", "module_options"]

#: Settings of NimbusCC: those for the frequencies of pulses with their defaults, the values that
#: the kernel takes, and how far from these frequencies their peaks are compared
#: (kernel_modules/tcp_nimbus/settings.c, dft.h).
_NIMBUS = "net.ipv4.tcp_nimbus_"
_NIMBUS_PULSES = {"pulses": 25, "delay_pulses": 30}
_NIMBUS_FREQUENCIES = range(7, 41)
_NIMBUS_MARGIN = 3

#: The emulation's own: what they are told is the scenario.
_NOT_FOR_SCENARIOS = "ccbench_"


def module_options(scenario: Scenario, module: str) -> str:
    """Return what one of our modules is to be loaded with.

    Examples
    --------
    >>> from ccbench import Bottleneck, Flow, Scenario
    >>> link = Bottleneck(bandwidth_mbps=10, queue_bdp=1)
    >>> settings = {"tcp_rapid.tolerance": "64", "tcp_copa.inverse_delta": "4"}
    >>> scenario = Scenario(
    ...     flows=(Flow(cca="rapid"),),
    ...     bottlenecks=(link,),
    ...     rtt_ms=40,
    ...     duration_s=9,
    ...     module_parameters=settings,
    ... )
    >>> module_options(scenario, "tcp_rapid")
    'tolerance=64'
    """
    own = f"{module}."
    return " ".join(
        f"{name.removeprefix(own)}={value}"
        for name, value in scenario.module_parameters
        if name.startswith(own)
    )


def command_line(scenario: Scenario, kernel: KernelBuild) -> tuple[str, ...]:
    """Return what Linux's own modules need on the kernel's command line."""
    return tuple(
        f"{name}={value}"
        for name, value in scenario.module_parameters
        if name.partition(".")[0] not in kernel.modules
    )


def check(scenario: Scenario, kernel: KernelBuild) -> None:
    """Raise an InputError if the kernel cannot be run with a scenario's parameters and settings.

    Raises
    ------
    InputError
        If the kernel does not have what `module_parameters` names, or if settings of NimbusCC in
        `sysctls` do not fit together.
    """
    _check_nimbus(scenario)
    for full_name, _ in scenario.module_parameters:
        module, _, name = full_name.partition(".")
        known = _parameters(module, kernel)
        if name in known:
            continue
        where = f"module_parameters.{full_name}"
        if known:
            has, hint = ", ".join(known), validation.choice_hint(name, known)
            raise InputError(f"{where}: the module {module} has {has}: {hint}")
        modules = [each for each in _modules(kernel) if _parameters(each, kernel)]
        has, hint = ", ".join(modules), validation.choice_hint(module, modules)
        message = f"{where}: the virtual kernel has modules with parameters {has}: {hint}"
        raise InputError(message)


def _check_nimbus(scenario: Scenario) -> None:
    """Raise an InputError if pulsers that are elected had nothing to compare their peaks with."""
    given = dict(scenario.sysctls)
    if given.get(f"{_NIMBUS}elect", "0") != "1":
        return
    pulses = {
        name: value
        for name, normal in _NIMBUS_PULSES.items()
        if (value := given.get(f"{_NIMBUS}{name}", str(normal))).isdecimal()
        and int(value) in _NIMBUS_FREQUENCIES
    }
    if len(pulses) < len(_NIMBUS_PULSES):
        return  # the kernel says what is wrong with a value
    low, high = sorted(pulses, key=lambda name: int(pulses[name]))
    most = 2 * (int(pulses[low]) - _NIMBUS_MARGIN)
    if int(pulses[high]) > most:
        raise validation.bad(
            f"sysctls.{_NIMBUS}{high}",
            int(pulses[high]),
            f"at most {most} with {_NIMBUS}{low} = {pulses[low]} and {_NIMBUS}elect = 1, as the "
            "peaks of pulses are compared with what is between the higher frequency and twice "
            "the lower",
            "write for example 25 and 30",
        )


def _modules(kernel: KernelBuild) -> list[str]:
    ours = [name for name in kernel.modules if not name.startswith(_NOT_FOR_SCENARIOS)]
    ccas = [f"tcp_{cca}" for cca in kernel.ccas]
    return sorted({*ours, *ccas, *(f"sch_{qdisc}" for qdisc in kernel.qdiscs)})


def _parameters(module: str, kernel: KernelBuild) -> list[str]:
    """Return the names of a module's parameters, sorted; none if there is no such module."""
    if module not in _modules(kernel):
        return []
    if module in kernel.modules:
        # Every parameter has a type there, or a description, or both.
        found = re.findall(rb"\0parm(?:type)?=(\w+):", b"\0" + kernel.module(module).read_bytes())
    else:
        # Linux knows its own parameters by these names; the other such string is a source file.
        found = re.findall(rb"\0%s\.(\w{2,})(?=\0)" % module.encode(), kernel.linux.read_bytes())
    return sorted({name.decode() for name in found})
