# SPDX-License-Identifier: Apache-2.0
"""Studies of L4S: Prague and DualPI2."""
