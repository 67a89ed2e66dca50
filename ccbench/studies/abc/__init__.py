# SPDX-License-Identifier: Apache-2.0
"""Studies of Goyal et al., ABC, NSDI 2020."""
