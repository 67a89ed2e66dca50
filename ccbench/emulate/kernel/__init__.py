# SPDX-License-Identifier: Apache-2.0
"""The virtual kernel: Linux, compiled as an ordinary program, in virtual time.

:mod:`.source` builds it: finds a source, edits, configures and compiles it with our additions.
:mod:`.boot` runs it: plans what the guest's init does, boots it, and reads its records.
:mod:`.engine` runs scenarios with these; :mod:`.http` is the engine with a real web server in the
guest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.emulate.engine import EngineInfo, EngineOption

if TYPE_CHECKING:
    from ccbench.emulate.engine import Engine
    from ccbench.emulate.kernel.source.build import KernelBuild

__all__ = ["ENGINES", "HTTP_INFO", "INFO"]


def _kernel_engine() -> type[Engine]:
    from ccbench.emulate.kernel.engine import KernelEngine  # noqa: PLC0415 - pandas

    return KernelEngine


def _http_engine() -> type[Engine]:
    from ccbench.emulate.kernel.http import HttpKernelEngine  # noqa: PLC0415 - pandas

    return HttpKernelEngine


def _built(version: str) -> KernelBuild:
    """Return the kernel of a version, which must have been built."""
    from ccbench.emulate.kernel.source import build  # noqa: PLC0415 - compilers

    found = build.find(version)
    if found is None:
        step = "build it with `ccbench kernel build --source`, and write what it says as version"
        raise validation.bad(_VERSION.flag, version, "the version of one that is built", step)
    return found


_VERSION = EngineOption(
    flag="--kernel",
    parameter="kernel",
    kind=str,
    metavar="VERSION",
    help="The virtual kernel to run, by its version in `ccbench kernel list`",
    default="the one that was built last",
    read=_built,
)

INFO = EngineInfo(
    name="kernel",
    summary="Linux in virtual time",
    load=_kernel_engine,
    page="virtual-kernel.md",
    install="`ccbench kernel build`",
    is_real_time=False,
    is_repeatable=True,
    needs_root=False,
    has_links=False,
    options=(_VERSION,),
)

HTTP_INFO = EngineInfo(
    name="kernel-http",
    summary="Linux in virtual time, with nginx as the sender of bulk flows",
    load=_http_engine,
    page="virtual-kernel.md",
    install="`ccbench kernel build`, nginx and h2load",
    is_real_time=False,
    is_repeatable=True,
    needs_root=False,
    has_links=False,
    options=(_VERSION,),
)

ENGINES = (INFO, HTTP_INFO)
