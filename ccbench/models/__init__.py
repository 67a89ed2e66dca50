# SPDX-License-Identifier: Apache-2.0
"""Closed-form models: what to expect of a network without running it.

One module for each: :mod:`ccbench.models.bbr` for BBRv1 against loss-based congestion control.
"""
