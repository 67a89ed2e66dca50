# SPDX-License-Identifier: Apache-2.0
"""Parameters and sysctls of the virtual kernel's modules.

Parameters of loadable modules are passed when a module is loaded, those of built-in modules on the
kernel's command line. Linux silently ignores unknown parameters, so they are validated before the
run. Sysctls are written before the first flow and validated by the kernel; only combinations are
validated here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.emulate.kernel.boot.hosts import uses_ipv6

if TYPE_CHECKING:
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild
    from ccbench.experiment.scenario import Scenario

__all__ = ["check", "command_line", "module_options", "module_parameters"]

#: NimbusCC's sysctls of pulse frequencies with their defaults, their valid values, and the distance
#: from a frequency at which its peak is compared (kernel_modules/tcp_nimbus/settings.c, dft.h).
_NIMBUS = "net.ipv4.tcp_nimbus_"
_NIMBUS_PULSES = {"pulses": 25, "delay_pulses": 30}
_NIMBUS_FREQUENCIES = range(7, 41)
_NIMBUS_MARGIN = 3

#: Prefix of the emulation's own modules, whose input is the scenario itself.
_INTERNAL = "ccbench_"


def module_options(scenario: Scenario, module: str) -> str:
    """Return the parameters with which a loadable module is loaded.

    Examples
    --------
    >>> from ccbench import Bottleneck, Flow, NetworkPath, Scenario
    >>> link = Bottleneck(bandwidth_mbps=10, queue_bdp=1)
    >>> settings = {"tcp_rapid.tolerance": "64", "tcp_copa.inverse_delta": "4"}
    >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=40, module_parameters=settings)
    >>> scenario = Scenario(flows=(Flow(cca="rapid"),), path=path, duration_s=9)
    >>> module_options(scenario, "tcp_rapid")
    'tolerance=64'
    """
    prefix = f"{module}."
    return " ".join(
        f"{name.removeprefix(prefix)}={value}"
        for name, value in scenario.path.module_parameters
        if name.startswith(prefix)
    )


def command_line(scenario: Scenario, kernel: KernelBuild) -> tuple[str, ...]:
    """Return the parameters of built-in modules for the kernel's command line."""
    ipv6 = ("ipv6.disable=0",) if uses_ipv6(scenario) else ()
    return ipv6 + tuple(
        f"{name}={value}"
        for name, value in scenario.path.module_parameters
        if name.partition(".")[0] not in kernel.modules
    )


def check(scenario: Scenario, kernel: KernelBuild) -> None:
    """Validate a scenario's module parameters and sysctls.

    Raises
    ------
    InputError
        If the kernel lacks a module or parameter in `module_parameters`, or if NimbusCC's settings
        in `sysctls` are incompatible.
    """
    _check_nimbus(scenario)
    for full_name, _ in scenario.path.module_parameters:
        module, _, name = full_name.partition(".")
        parameters = module_parameters(module, kernel)
        if name in parameters:
            continue
        field = f"module_parameters.{full_name}"
        if parameters:
            names, hint = ", ".join(parameters), validation.choice_hint(name, parameters)
            raise InputError(f"{field}: the parameters of the module {module} are {names}: {hint}")
        modules = [module for module in _modules(kernel) if module_parameters(module, kernel)]
        names, hint = ", ".join(modules), validation.choice_hint(module, modules)
        message = f"{field}: the virtual kernel's modules with parameters are {names}: {hint}"
        raise InputError(message)


def _check_nimbus(scenario: Scenario) -> None:
    """Raise an InputError if elected pulsers have no frequencies to compare their peaks with."""
    given = dict(scenario.path.sysctls)
    if given.get(f"{_NIMBUS}elect", "0") != "1":
        return
    pulses = {
        name: value
        for name, normal in _NIMBUS_PULSES.items()
        if (value := given.get(f"{_NIMBUS}{name}", str(normal))).isdecimal()
        and int(value) in _NIMBUS_FREQUENCIES
    }
    if len(pulses) < len(_NIMBUS_PULSES):
        return  # the kernel reports invalid values
    low, high = sorted(pulses, key=lambda name: int(pulses[name]))
    most = 2 * (int(pulses[low]) - _NIMBUS_MARGIN)
    if int(pulses[high]) > most:
        raise validation.bad(
            f"sysctls.{_NIMBUS}{high}",
            int(pulses[high]),
            f"at most {most} with {_NIMBUS}{low} = {pulses[low]} and {_NIMBUS}elect = 1, as the "
            "peaks of pulses are compared with frequencies between the higher pulse frequency and "
            "twice the lower",
            "write for example 25 and 30",
        )


def _modules(kernel: KernelBuild) -> list[str]:
    loadable = [name for name in kernel.modules if not name.startswith(_INTERNAL)]
    ccas = [f"tcp_{cca}" for cca in kernel.ccas]
    return sorted({*loadable, *ccas, *(f"sch_{qdisc}" for qdisc in kernel.qdiscs)})


def module_parameters(module: str, kernel: KernelBuild) -> dict[str, str]:
    """Return the parameters of a module, sorted, with their descriptions; none without the module.

    Descriptions are empty if the module has none, or is built in.
    """
    if module not in _modules(kernel):
        return {}
    if module in kernel.modules:
        # Each parameter has a type, a description, or both.
        content = kernel.module(module).read_bytes()
        names = re.findall(rb"(?<![ -~])parm(?:type)?=(\w+):", content)
        described = dict(re.findall(rb"(?<![ -~])parm=(\w+):([^\0]*)", content))
    else:
        # These are Linux's names of parameters; the other such string is the name of a source file.
        names = re.findall(rb"\0%s\.(\w{2,})(?=\0)" % module.encode(), kernel.linux.read_bytes())
        described = {}
    return {
        name.decode(): described.get(name, b"").decode(errors="replace")
        for name in sorted({*names})
    }
