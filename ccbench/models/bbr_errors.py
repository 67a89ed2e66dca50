# SPDX-License-Identifier: Apache-2.0
"""Measured errors of the model of BBR: results of the study ``ware-3.10``.

The errors are those of (3.10) relative to the fraction that BBR flows had in runs against one CUBIC
or Reno flow, after 20 and 10 minutes of convergence.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from ccbench.models.bbr import CAP_GAIN

if TYPE_CHECKING:
    from ccbench.models.bbr import BbrModel

__all__ = ["MeasuredErrors", "RegionError", "measured_errors"]


@dataclass(frozen=True, kw_only=True)
class RegionError:
    """The error in a region of queue lengths.

    Attributes
    ----------
    quantity : str
        Name of the result in the study.
    other : str
        Congestion control of the loss-based flow.
    queue_bdp : tuple of float
        Shortest and longest queue, in bandwidth-delay products.
    median_percent, half_width_percent : float
        Median error in percent of the measured fraction, and half of its 95 % interval.
    """

    quantity: str
    other: str
    queue_bdp: tuple[float, float]
    median_percent: float
    half_width_percent: float


@dataclass(frozen=True, kw_only=True)
class MeasuredErrors:
    """Errors that a study measured on one network, by region.

    Attributes
    ----------
    study : str
    bandwidth_mbps, rtt_ms : float
        The network of the study.
    bbr_flows : tuple of int
        Smallest and largest number of BBR flows.
    errors : tuple of RegionError
    """

    study: str
    bandwidth_mbps: float
    rtt_ms: float
    bbr_flows: tuple[int, int]
    errors: tuple[RegionError, ...]

    def of(self, model: BbrModel) -> tuple[RegionError, ...]:
        """Return the errors in the region of a model; empty outside the measured region."""
        fewest, most = self.bbr_flows
        if not fewest <= model.bbr_flows <= most or model.cap_gain != CAP_GAIN:
            return ()
        return tuple(
            error
            for error in self.errors
            if error.queue_bdp[0] <= model.queue_in_bdp <= error.queue_bdp[1]
        )

    def is_network_of(self, model: BbrModel) -> bool:
        """Return whether a model has the rate and the RTT of the study."""
        return (model.bandwidth_mbps, model.rtt_ms) == (self.bandwidth_mbps, self.rtt_ms)

    def describe(self, model: BbrModel) -> str:
        """Return the error of a model's prediction, or that it is unknown.

        Examples
        --------
        >>> from ccbench.models.bbr import BbrModel
        >>> measured_errors().describe(BbrModel(bandwidth_mbps=10, rtt_ms=40, queue_bdp=128))
        'unknown for this queue and number of flows (ware-3.10: 0.96 to 61 BDP, 1 to 10 bbr flows)'
        """
        fewest, most = self.bbr_flows
        errors = self.of(model)
        covered = errors or self.errors
        shortest = min(error.queue_bdp[0] for error in covered)
        longest = max(error.queue_bdp[1] for error in covered)
        region = (
            f"({self.study}: {shortest:.2g} to {longest:.2g} BDP, {fewest} to {most} bbr flows)"
        )
        if not errors:
            return f"unknown for this queue and number of flows {region}"
        values = ", ".join(
            f"{error.median_percent:.1f} ± {error.half_width_percent:.1f}% against {error.other}"
            for error in errors
        )
        return f"{values} in the median {region}"

    def remark(self, model: BbrModel) -> str:
        """Return a limit of the error's validity; empty on the network of the study."""
        if self.is_network_of(model) or not self.of(model):
            return ""
        return (
            f"the error was measured at {self.bandwidth_mbps:g} Mbit/s and {self.rtt_ms:g} ms, "
            "10 minutes and more after the start; on this network it is unknown"
        )

    def to_dict(self, model: BbrModel) -> dict[str, Any]:
        """Return the errors in a model's region as a dictionary of plain values."""
        return {
            "study": self.study,
            "is_network_of_study": self.is_network_of(model),
            "errors": [
                {
                    "other": error.other,
                    "queue_bdp": list(error.queue_bdp),
                    "median_percent": error.median_percent,
                    "half_width_percent": error.half_width_percent,
                }
                for error in self.of(model)
            ],
        }


@cache
def measured_errors() -> MeasuredErrors:
    """Return the errors that the study ``ware-3.10`` measured, which the package contains."""
    text = (resources.files("ccbench.models") / "bbr_errors.json").read_text(encoding="utf-8")
    document = json.loads(text)
    errors = tuple(
        RegionError(**{**error, "queue_bdp": tuple(error["queue_bdp"])})
        for error in document["errors"]
    )
    return MeasuredErrors(
        **{**document, "bbr_flows": tuple(document["bbr_flows"]), "errors": errors}
    )
