# SPDX-License-Identifier: Apache-2.0
"""The engine ``bess``: real time, and a link that is a real software switch.

:mod:`.engine` runs scenarios, :mod:`.command` any program; the first process of a run's namespaces
(:mod:`.world`, :mod:`.session`) wires two hosts to a switch (:mod:`.wires`, :mod:`.uplink`). The
switch (:mod:`.switch`) is a bessd (:mod:`.client`) that is asked for a path (:mod:`.pipeline`) and
tried first (:mod:`.probe`). What it has captured (:mod:`.pcap`) and counted (:mod:`.account`)
becomes a Run (:mod:`.records`). What this engine shares with Mahimahi is in
:mod:`ccbench.emulate.realtime`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.emulate.engine import EngineInfo, EngineOption

if TYPE_CHECKING:
    from ccbench.emulate.engine import Engine

__all__ = ["DIRECTORY", "ENGINES", "INFO"]


def _engine() -> type[Engine]:
    from ccbench.emulate.bess.engine import BessEngine  # noqa: PLC0415 - pandas

    return BessEngine


DIRECTORY = EngineOption(
    flag="--bess-dir",
    parameter="directory",
    kind=Path,
    metavar="DIR",
    help="The folder in which BESS was built",
    default="$CCBENCH_BESS_DIR",
    environment="CCBENCH_BESS_DIR",
)

INFO = EngineInfo(
    name="bess",
    summary="in real time on this machine, through a BESS switch",
    load=_engine,
    page="bess.md",
    install="BESS from its sources",
    is_real_time=True,
    is_repeatable=False,
    needs_root=True,
    has_links=True,
    options=(DIRECTORY,),
)

ENGINES = (INFO,)
