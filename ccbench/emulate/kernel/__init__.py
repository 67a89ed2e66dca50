# SPDX-License-Identifier: Apache-2.0
"""The virtual kernel: Linux, compiled as an ordinary program, in virtual time.

:mod:`.source` finds Linux's source, edits, configures and compiles it with ccbench's additions.
:mod:`.boot` plans the steps of the guest's init, boots the guest and reads its records.
:mod:`.engine` runs scenarios; :mod:`.http` is the engine with a real web server in the guest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.emulate.engine import EngineInfo, EngineOption

if TYPE_CHECKING:
    from ccbench.emulate.engine import Engine

__all__ = ["ENGINES", "HTTP_INFO", "INFO"]


def _kernel_engine() -> type[Engine]:
    from ccbench.emulate.kernel.engine import KernelEngine  # noqa: PLC0415 - pandas

    return KernelEngine


def _http_engine() -> type[Engine]:
    from ccbench.emulate.kernel.http import HttpKernelEngine  # noqa: PLC0415 - pandas

    return HttpKernelEngine


_VERSION = EngineOption(
    flag="--kernel",
    parameter="kernel",
    kind=str,
    metavar="NAME",
    help="Virtual kernel to run: a Linux release such as 6.1, a name or a build of `ccbench kernel "
    "list`",
    default="the default of `ccbench kernel use`, or a newer one that has what the scenario needs",
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
