# SPDX-License-Identifier: Apache-2.0
"""Goyal et al., ABC, NSDI 2020: studies of its figures."""
