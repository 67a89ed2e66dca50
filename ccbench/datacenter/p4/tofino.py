# SPDX-License-Identifier: Apache-2.0
"""The program for Tofino 2: compilation, and its use of the hardware's resources.

p4c compiles it if built with its Tofino back end (``-DENABLE_TOFINO=ON``). The compiler's
``resources.json`` lists the resources in use unit by unit; :func:`read_fit` adds them up.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ccbench.base.errors import CcbenchError, InputError, MissingRequirement

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["FLOW_TABLE", "Fit", "compile_tofino", "missing", "read_fit"]

#: The registers of the flow table, three per entry, in order (section 3.4).
FLOW_TABLE = ("flow_size", "flow_touched", "flow_queue")

_PROGRAM = "bfc_tofino2"
_TARGET = "tofino2-t2na"

#: The compiler's suffix for the second copy of a register accessed by both ghost and ingress.
_SECOND = "__gen_duplicate_ping_pong"


@dataclass(frozen=True)
class Fit:
    """Resources that the program uses in one pipe.

    Attributes
    ----------
    stages : int
        Match-action stages, from the first to the last in use.
    stages_available : int
        Match-action stages of a pipe.
    blocks : mapping of str to int
        For each register, by its name in the program, the blocks of SRAM with map RAM, including
        spare blocks and the copy for the ghost thread.
    blocks_available : int
        Blocks of SRAM with map RAM in all stages, which are all memory that packets can modify.
    sram_blocks : int
        Blocks of SRAM that the whole program uses, for tables and registers.
    sram_blocks_available : int
        Blocks of SRAM in a pipe.
    """

    stages: int
    stages_available: int
    blocks: Mapping[str, int]
    blocks_available: int
    sram_blocks: int
    sram_blocks_available: int

    @property
    def flow_table_share(self) -> float:
        """Share of the stateful memory used by the flow table; below 0.1 in the thesis."""
        return sum(self.blocks.get(name, 0) for name in FLOW_TABLE) / self.blocks_available

    @property
    def stateful_share(self) -> float:
        """Share of the stateful memory used by all registers."""
        return sum(self.blocks.values()) / self.blocks_available


def missing(compiler: str | None = None) -> str | None:
    """Return the reason why the program cannot be compiled for Tofino 2, or None if it can.

    Parameters
    ----------
    compiler : str, optional
        The compiler; by default the installed ``p4c``.
    """
    program = shutil.which(compiler or "p4c")
    if program is None:
        return (
            f"{compiler or 'p4c'} is not installed: for Tofino 2 p4c has to be built with "
            "-DENABLE_TOFINO=ON (https://github.com/p4lang/p4c)"
        )
    # Listing targets without a source file, p4c exits with an error status.
    listed = subprocess.run(  # noqa: S603 - a compiler that the user has installed or named
        [program, "--target-help"], capture_output=True, text=True, check=False
    )
    if _TARGET not in listed.stdout.split():
        return (
            f"{program} has no back end for Tofino 2: it has to be built with -DENABLE_TOFINO=ON "
            "(https://github.com/p4lang/p4c)"
        )
    return None


def compile_tofino(folder: Path, output: Path, compiler: str | None = None) -> Fit:
    """Compile and assemble the program for Tofino 2.

    Parameters
    ----------
    folder : Path
        The sources, as returned by :func:`~ccbench.datacenter.p4.sources.source_folder`.
    output : Path
        A folder for the compiler's output: assembly, binary, reports.
    compiler : str, optional
        The compiler; by default the installed ``p4c``.

    Raises
    ------
    MissingRequirement
        If there is no compiler, or it has no back end for Tofino 2.
    CcbenchError
        If the compiler refuses the program; the message is its first error.
    """
    reason = missing(compiler)
    if reason is not None:
        raise MissingRequirement(reason)
    name = compiler or "p4c"
    done = subprocess.run(  # noqa: S603 - a compiler that the user has installed or named
        [
            str(shutil.which(name)),
            *("--target", "tofino2", "--arch", "t2na"),
            "-g",  # writes resources.json
            # Keep unread headers in containers, too: the assembler does not accept p4c's output for
            # the alternative ("CLOTs").
            "-Xp4c=--no-clot",
            *("-o", str(output.resolve())),
            f"{_PROGRAM}.p4",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    binaries = sorted(output.glob("**/tofino2.bin"))
    if done.returncode or not binaries:
        lines = [*done.stderr.splitlines(), *done.stdout.splitlines()] or ["no message"]
        first = next((line for line in lines if re.search(r"\berror\b", line)), lines[-1])
        raise CcbenchError(f"{name} refuses {_PROGRAM}.p4: {first}")
    return read_fit(next(output.glob("**/resources.json"), output / "resources.json"))


def read_fit(path: Path) -> Fit:
    """Read a program's resource usage from the compiler's ``resources.json``.

    Raises
    ------
    InputError
        If the file has another format.
    """
    try:
        mau = json.loads(path.read_text(encoding="utf-8"))["resources"]["mau"]
        return _add_up(mau)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(
            f"{path} is not a resources.json of p4c's Tofino back end ({error!r}): "
            "compile the program again"
        ) from None


def _add_up(mau: Mapping[str, Any]) -> Fit:
    used_by: dict[tuple[int, int, int], str] = {}  # register by stage, row and unit of map RAM
    sram_blocks = stages = 0
    for stage in mau["mau_stages"]:  # up to the last one in use; all are identical
        number = stage["stage_number"]
        if stage["logical_tables"]["ids"]:
            stages = max(stages, number + 1)
        sram_blocks += len({(unit["row"], unit["column"]) for unit in stage["rams"]["srams"]})
        for unit in stage["map_rams"]["maprams"]:
            for use in unit["usages"]:
                if use["used_for"] == "stateful_ram":
                    place = number, unit["row"], unit["unit_id"]
                    used_by[place] = use["used_by"].rsplit(".", 1)[-1].removesuffix(_SECOND)
    stage = mau["mau_stages"][-1]
    return Fit(
        stages=stages,
        stages_available=mau["nStages"],
        blocks=dict(sorted(Counter(used_by.values()).items())),
        blocks_available=mau["nStages"] * stage["map_rams"]["nRows"] * stage["map_rams"]["nUnits"],
        sram_blocks=sram_blocks,
        sram_blocks_available=mau["nStages"] * stage["rams"]["nRows"] * stage["rams"]["nColumns"],
    )
