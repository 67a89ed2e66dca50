# SPDX-License-Identifier: Apache-2.0
"""Harm of BBRv3 over the whole run and after convergence (Ware 2024, Figure 5.10)."""

from __future__ import annotations

from ccbench.studies.catalogue import info
from ccbench.studies.ware.late_convergence import study

STUDY = study(info("ware-5.10-bbr3"), alpha="bbr3", seeds=(1, 2, 3, 4))
