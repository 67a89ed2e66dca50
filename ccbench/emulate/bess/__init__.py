# SPDX-License-Identifier: Apache-2.0
"""The engine ``bess``: real time, with a real software switch as the link.

:mod:`.engine` runs scenarios and commands. The first process of a run's namespaces (:mod:`.world`,
:mod:`.session`) connects two hosts to a switch (:mod:`.wires`, :mod:`.uplink`). The switch
(:mod:`.switch`) is a bessd (:mod:`.client`) with a configured path (:mod:`.pipeline`) whose rate is
measured first (:mod:`.probe`). Its captures (:mod:`.pcap`) and counters (:mod:`.account`) are
converted to a Run (:mod:`.records`). The part shared with Mahimahi is
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
    help="Folder in which BESS was built",
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
