# SPDX-License-Identifier: Apache-2.0
"""Mahimahi: real programs over an emulated path, in real time."""
