# SPDX-License-Identifier: Apache-2.0
"""The progress of the searches compared with the sweep (Ware 2024, Figure 5.15)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ccbench.studies.catalogue import info
from ccbench.studies.study import SearchStudy
from ccbench.studies.ware.raygen import STRATEGIES, reno_against_westwood
from ccbench.studies.ware.raygen_progress import conclude

if TYPE_CHECKING:
    from ccbench.raygen import SearchConfig


def _searches(*, quick: bool, full: bool) -> tuple[SearchConfig, ...]:
    return tuple(
        reno_against_westwood(strategy, quick=quick, full=full)
        for strategy in (*STRATEGIES, "sweep")
    )


STUDY = SearchStudy(
    info=info("ware-5.15"),
    searches=_searches,
    conclude=partial(conclude, where="section 5.5.1", soon="almost as high", improves="improves"),
)
