# SPDX-License-Identifier: Apache-2.0
"""R. Ware, "Battle for Bandwidth", 2024: studies of its figures."""
