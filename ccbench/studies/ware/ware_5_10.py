# SPDX-License-Identifier: Apache-2.0
"""Harm of BBRv1 over the whole run and after convergence (Ware 2024, Figure 5.10)."""

from __future__ import annotations

from ccbench.studies.catalogue import info
from ccbench.studies.ware.late_convergence import study

STUDY = study(info("ware-5.10"), alpha="bbr", seeds=(1, 2, 3, 4, 5))
