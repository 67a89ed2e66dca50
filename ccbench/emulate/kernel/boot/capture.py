# SPDX-License-Identifier: Apache-2.0
"""Capture of the packets of a run, from the guest's records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.emulate._load import acks, packets
from ccbench.emulate.kernel.boot import shared
from ccbench.run.captures import writer

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from ccbench.experiment.scenario import Scenario

__all__ = ["capture_bytes", "save"]

#: Size of the headers of a TCP packet with timestamps and, now and then, selective ACKs.
_HEADERS_BYTES = 56


def capture_bytes(scenario: Scenario) -> float:
    """Return an upper bound of the size of a capture of a run, in bytes."""
    arrivals = sum(packets(scenario))
    # Each bottleneck has two points, and both hosts have all packets and ACKs.
    captured = 2 * arrivals + 2 * (arrivals + acks(scenario))
    return captured * (writer.BLOCK_BYTES + _HEADERS_BYTES)


def save(directory: Path, scenario: Scenario, path: Path, program: str) -> None:
    """Write the capture of a run to `path` (:func:`ccbench.run.captures.writer.write`).

    Parameters
    ----------
    directory : Path
        Folder of the record files.
    scenario : Scenario
        The scenario of the run. The first packet of each flow at each point has a comment.
    path : Path
        A pcapng file or a folder.
    program : str
        Name and version of the program.
    """
    blocks = writer.until(_content(directory / "capture.bin"), round(scenario.duration_s * 1e9))
    firsts = np.fromfile(directory / "capture_firsts.bin", shared.structure("first_record"))
    flows = scenario.flow_table()
    comments = {
        position: f"flow {flow}: {flows['label'][flow]} {flows['cca'][flow]}".rstrip()
        for position, flow in firsts.tolist()
        if position < len(blocks)
    }
    description = (
        f"{scenario.name or 'scenario'}, seed {scenario.seed}. Times are virtual, from the start "
        "of the run. The first packet of each flow at each point has a comment."
    )
    names = writer.points(scenario)
    writer.write(path, blocks, names, comments=comments, program=program, description=description)


def _content(path: Path) -> npt.NDArray[np.uint8]:
    """Return the content of a file without reading all of it at once."""
    is_empty = not path.stat().st_size  # cannot be mapped
    return np.empty(0, np.uint8) if is_empty else np.memmap(path, np.uint8, "r")
