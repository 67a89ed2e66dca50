# SPDX-License-Identifier: Apache-2.0
"""Studies of R. Ware, "Battle for Bandwidth", 2024."""
