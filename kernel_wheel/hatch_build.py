# SPDX-License-Identifier: GPL-2.0-only
"""Adds the compiled kernels to the wheel."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

from ccbench.emulate.kernel.source import packing

#: The kernels are linked statically, so that they run with any C library. These are the oldest that
#: pip installs ccbench's other packages for.
_PLATFORM = "manylinux_2_17_x86_64.musllinux_1_1_x86_64"


class KernelHook(BuildHookInterface):
    """Builds the kernels, or takes those of the cache."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the kernels to the wheel, and name its platform."""
        del version
        linux = self.metadata.config["tool"]["ccbench-kernel"]["linux"]
        self._content = tempfile.TemporaryDirectory()
        folder = Path(self._content.name)
        packing.pack({each["release"]: each["sha256"] for each in linux}, folder)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_PLATFORM}"
        build_data["force_include"][str(folder)] = "ccbench_kernel"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the copies."""
        del version, build_data, artifact_path
        self._content.cleanup()
