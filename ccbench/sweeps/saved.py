# SPDX-License-Identifier: Apache-2.0
"""Sweeps in the folders of ``ccbench sweep -o``."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.base.estimate import Estimate
from ccbench.base.result_folders import KINDS
from ccbench.sweeps.estimates import CaseEstimate
from ccbench.sweeps.metrics import metrics_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ccbench.experiment.setting_paths import Value
    from ccbench.metrics import Metric

__all__ = ["SavedSweep"]


@dataclass(frozen=True, kw_only=True)
class SavedSweep:
    """The settings and the medians of a saved sweep.

    Parameters
    ----------
    document, vary
        As of :class:`~ccbench.sweeps.Sweep`.
    measured : tuple of Metric
        Its metrics.
    medians : tuple of CaseEstimate
        The medians of all metrics for all combinations, in order.
    """

    document: Mapping[str, Any]
    vary: Mapping[str, Sequence[Value]]
    measured: tuple[Metric, ...]
    medians: tuple[CaseEstimate, ...]

    @classmethod
    def load(cls, folder: str | Path) -> SavedSweep:
        """Read the folder of a sweep.

        Raises
        ------
        InputError
            If it has none.

        Examples
        --------
        The sweep of ``ccbench sweep scenario.toml ... -o sweep``:

        .. code-block:: python

            SavedSweep.load("sweep").medians
        """
        path = Path(folder) / KINDS["sweep"]
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            sweep = document["sweep"]
            measured = metrics_named(sweep["metrics"])
            metrics = {metric.name: metric for metric in measured}
            return cls(
                document=sweep["scenario"],
                vary=sweep["vary"],
                measured=measured,
                medians=tuple(_median(row, metrics) for row in document["estimates"]),
            )
        except (OSError, ValueError, LookupError, TypeError) as error:
            step = f"repeat it with ccbench sweep … -o {folder}"
            raise validation.bad("FOLDER", str(folder), "the folder of a sweep", step) from error


def _median(row: Mapping[str, Any], metrics: Mapping[str, Metric]) -> CaseEstimate:
    single = [math.nan if value is None else value for value in row["single"]]
    return CaseEstimate(
        row["settings"],
        metrics[row["metric"]],
        row["of"],
        Estimate(single, of="median"),
        row["exact"],
    )
