# SPDX-License-Identifier: Apache-2.0
"""The virtual kernel: Linux, compiled as an ordinary program, in virtual time.

:mod:`.build` makes it: a source (:mod:`.source`) becomes a tree (:mod:`.tree`) that is changed
(:mod:`.edits`), configured (:mod:`.kconfig`) and compiled (:mod:`.toolchain`, :mod:`.command`), and
what is not Linux is compiled against that (:mod:`.guest`).

:mod:`.engine` runs scenarios on it: :mod:`.plan` says what the guest's init has to do, with
:mod:`.rtnetlink` for what ``ip`` and ``tc`` would do; :mod:`.boot` boots it;
:mod:`.results` reads what it leaves (:mod:`.protocol`). :mod:`.http` is the engine with a real web
server in the guest.
"""

from ccbench.emulate.kernel.source.build import KernelBuild, installed
from ccbench.emulate.kernel.source.guest_sources import sources_dir

__all__ = ["KernelBuild", "installed", "sources_dir"]
