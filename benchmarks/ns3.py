# SPDX-License-Identifier: Apache-2.0
"""Programs for ns-3, compiled against the installed ns-3 or the one in ``NS3_PREFIX``."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from ccbench.base.errors import MissingRequirement

#: Named one by one: Debian's pkg-config files also require libraries that libns3-dev lacks.
LIBRARIES = ("applications", "point-to-point", "internet", "traffic-control", "network", "core")
REMEDY = "apt-get install g++ libns3-dev, or set NS3_PREFIX to the folder of an ns-3"


def build(source: Path, directory: Path) -> Path:
    """Compile a program into a folder and return where it is.

    Raises
    ------
    MissingRequirement
        If there is no compiler or no ns-3 that it compiles with.
    """
    if shutil.which("g++") is None:
        raise MissingRequirement(f"ns-3 is not measured: there is no g++ ({REMEDY})")
    program = directory / source.stem
    places = []
    prefix = os.environ.get("NS3_PREFIX")
    if prefix:
        libraries = sorted(Path(prefix).glob("lib*/**/libns3-core.so"))
        if not libraries:
            reason = f"NS3_PREFIX is {prefix}, where there is no lib/libns3-core.so"
            raise MissingRequirement(f"ns-3 is not measured: {reason}")
        folder = libraries[0].parent
        places = [f"-I{prefix}/include", f"-L{folder}", f"-Wl,-rpath-link,{folder}"]
        # Not a run path: libraries required by the libraries are not searched there.
        os.environ["LD_LIBRARY_PATH"] = str(folder)
    named = [f"-lns3-{library}" for library in LIBRARIES]
    command = ["g++", "-O3", "-DNDEBUG", str(source), "-o", str(program), *places, *named]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    if compiled.returncode != 0:
        reason = compiled.stderr.partition("\n")[0]
        raise MissingRequirement(f"ns-3 is not measured ({REMEDY}): {reason}")
    return program
