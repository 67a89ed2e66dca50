# SPDX-License-Identifier: Apache-2.0
"""Goyal et al., Nimbus, SIGCOMM 2022: studies of its figures."""
