# SPDX-License-Identifier: GPL-2.0-only
"""Prebuilt virtual kernels of ccbench, which ccbench itself reads."""
