# SPDX-License-Identifier: Apache-2.0
"""The program for Tofino 2: compiled and assembled, and what it takes of the hardware.

p4c compiles it where it was built with its Tofino back end (``-DENABLE_TOFINO=ON``). What a program
takes stands in the compiler's ``resources.json``, unit by unit; :func:`read_fit` adds it up.
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

#: The registers of the flow table: three for each entry, one after the other (section 3.4).
FLOW_TABLE = ("flow_size", "flow_touched", "flow_queue")

_PROGRAM = "bfc_tofino2"
_TARGET = "tofino2-t2na"

#: What the compiler calls the second copy of a register that both ghost and ingress touch.
_SECOND = "__gen_duplicate_ping_pong"


@dataclass(frozen=True)
class Fit:
    """What the program takes of one pipe.

    Attributes
    ----------
    stages : int
        The match-action stages that it uses, from the first to the last.
    stages_available : int
        Those that a pipe has.
    blocks : mapping of str to int
        For each register, by its name in the program, the blocks of SRAM with map RAM that it
        takes, the spare ones and the copy for the ghost thread included.
    blocks_available : int
        The blocks of SRAM with map RAM in all stages, which is all memory that packets can change.
    sram_blocks : int
        The blocks of SRAM that the whole program takes, for tables and registers.
    sram_blocks_available : int
        Those that a pipe has.
    """

    stages: int
    stages_available: int
    blocks: Mapping[str, int]
    blocks_available: int
    sram_blocks: int
    sram_blocks_available: int

    @property
    def flow_table_share(self) -> float:
        """The share of the stateful memory that the flow table takes; the thesis: below 0.1."""
        return sum(self.blocks.get(name, 0) for name in FLOW_TABLE) / self.blocks_available

    @property
    def stateful_share(self) -> float:
        """The share of the stateful memory that all registers take."""
        return sum(self.blocks.values()) / self.blocks_available


def missing(compiler: str | None = None) -> str | None:
    """Return why the program cannot be compiled for Tofino 2 here, or None if it can.

    Parameters
    ----------
    compiler : str, optional
        The program to call; left out, the ``p4c`` that is installed.
    """
    found = shutil.which(compiler or "p4c")
    if found is None:
        return (
            f"{compiler or 'p4c'} is not installed: for Tofino 2 p4c has to be built with "
            "-DENABLE_TOFINO=ON (https://github.com/p4lang/p4c)"
        )
    # p4c asks for a source beside the list of its targets, and ends with an error without one.
    listed = subprocess.run(  # noqa: S603 - a compiler that the user has installed or named
        [found, "--target-help"], capture_output=True, text=True, check=False
    )
    if _TARGET not in listed.stdout.split():
        return (
            f"{found} has no back end for Tofino 2: it has to be built with -DENABLE_TOFINO=ON "
            "(https://github.com/p4lang/p4c)"
        )
    return None


def compile_tofino(folder: Path, output: Path, compiler: str | None = None) -> Fit:
    """Compile and assemble the program for Tofino 2.

    Parameters
    ----------
    folder : Path
        The sources, as :func:`~ccbench.datacenter.p4.sources.source_folder` finds them.
    output : Path
        A folder for all that the compiler makes: the assembly, the binary, its reports.
    compiler : str, optional
        The program to call; left out, the ``p4c`` that is installed.

    Returns
    -------
    Fit
        What the program takes of a pipe.

    Raises
    ------
    MissingRequirement
        If there is no compiler, or it has no back end for Tofino 2.
    CcbenchError
        If it refuses the program; the message is the first error.
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
            # Headers that pass unread are kept in containers, too: what p4c writes of its other way
            # of keeping them ("CLOTs"), its assembler does not accept.
            "-Xp4c=--no-clot",
            *("-o", str(output.resolve())),
            f"{_PROGRAM}.p4",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    made = sorted(output.glob("**/tofino2.bin"))
    if done.returncode or not made:
        lines = [*done.stderr.splitlines(), *done.stdout.splitlines()] or ["it says nothing"]
        first = next((line for line in lines if re.search(r"\berror\b", line)), lines[-1])
        raise CcbenchError(f"{name} refuses {_PROGRAM}.p4: {first}")
    return read_fit(next(output.glob("**/resources.json"), output / "resources.json"))


def read_fit(path: Path) -> Fit:
    """Read what a program takes from the compiler's ``resources.json``.

    Raises
    ------
    InputError
        If the file is not one.
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
    used_by: dict[tuple[int, int, int], str] = {}  # a register, by stage, row and unit of map RAM
    sram_blocks = stages = 0
    for stage in mau["mau_stages"]:  # up to the last that is used; all are alike
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
