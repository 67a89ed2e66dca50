# SPDX-License-Identifier: Apache-2.0
"""Experiments as data: scenarios and their parts."""
