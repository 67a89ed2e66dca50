# SPDX-License-Identifier: Apache-2.0
"""Mahimahi: real programs over an emulated path, in real time.

:mod:`.engine` runs scenarios, :mod:`.command` any program. The first process of a run's private
namespaces (:mod:`.world`, :mod:`.session`, :mod:`.private`) opens Mahimahi's shells one in another
(:mod:`.shells`, :mod:`.gates`). What mm-link has logged (:mod:`.link_log`) and who has sent
what (:mod:`.sniffer`) become the record of the queue (:mod:`.replay`) and a Run (:mod:`.records`).
What this engine shares with BESS is in :mod:`ccbench.emulate.realtime`.
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
