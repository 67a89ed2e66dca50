# SPDX-License-Identifier: Apache-2.0
"""Runs: the record of an experiment, its files, tables, packets and plots."""
