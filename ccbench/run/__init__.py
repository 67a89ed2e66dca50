# SPDX-License-Identifier: Apache-2.0
"""Runs: the records of experiments, their files, tables, packets and plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from ccbench.run.run import Run

__all__ = ["Run"]

# Imported on first use: :mod:`ccbench.run.run` imports pandas.
__getattr__ = lazy_names(__name__, {"Run": "ccbench.run.run"})
