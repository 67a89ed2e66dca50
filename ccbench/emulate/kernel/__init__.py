# SPDX-License-Identifier: Apache-2.0
"""The virtual kernel: Linux, compiled as an ordinary program, in virtual time."""

from ccbench.emulate.kernel.build import KernelBuild, installed
from ccbench.emulate.kernel.guest import sources_dir

__all__ = ["KernelBuild", "installed", "sources_dir"]
