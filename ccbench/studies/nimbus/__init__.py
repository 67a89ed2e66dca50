# SPDX-License-Identifier: Apache-2.0
"""Studies of Goyal et al., Nimbus, SIGCOMM 2022."""
