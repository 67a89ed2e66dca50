# SPDX-License-Identifier: Apache-2.0
"""Mahimahi: real programs over an emulated path, in real time.

:mod:`.engine` runs scenarios and commands. The first process of a run's private namespaces
(:mod:`.world`, :mod:`.session`, :mod:`.private`) starts nested Mahimahi shells (:mod:`.shells`,
:mod:`.gates`). mm-link's log (:mod:`.link_log`) and captured packets (:mod:`.sniffer`) are
converted to the record of the queue (:mod:`.replay`) and a Run (:mod:`.records`). The part shared
with BESS is :mod:`ccbench.emulate.realtime`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.emulate.engine import EngineInfo

if TYPE_CHECKING:
    from ccbench.emulate.engine import Engine

__all__ = ["ENGINES", "INFO"]


def _engine() -> type[Engine]:
    from ccbench.emulate.mahimahi.engine import MahimahiEngine  # noqa: PLC0415 - pandas

    return MahimahiEngine


INFO = EngineInfo(
    name="mahimahi",
    summary="in real time on this machine, through Mahimahi's shells",
    load=_engine,
    page="mahimahi.md",
    install="`scripts/mahimahi.sh`",
    is_real_time=True,
    is_repeatable=False,
    needs_root=True,
    has_links=True,
)

ENGINES = (INFO,)
