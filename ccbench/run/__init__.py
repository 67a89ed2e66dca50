# SPDX-License-Identifier: Apache-2.0
"""Runs: the records of experiments, their files, tables, packets and plots."""
