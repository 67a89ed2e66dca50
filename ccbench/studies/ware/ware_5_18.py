# SPDX-License-Identifier: Apache-2.0
"""The progress of the repeated searches compared with the sweep (Ware 2024, Figure 5.18)."""

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
    searches = [
        reno_against_westwood(strategy, seed, quick=quick)
        for seed in ((2,) if quick else (2, 3))
        for strategy in STRATEGIES
    ]
    return (*searches, reno_against_westwood("sweep", quick=quick, full=full))


STUDY = SearchStudy(
    info=info("ware-5.18"),
    searches=_searches,
    conclude=partial(
        conclude, where="caption of Figure 5.18", soon="similar to Figure 5.15", improves="improves"
    ),
)
