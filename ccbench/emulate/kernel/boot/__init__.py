# SPDX-License-Identifier: Apache-2.0
"""Boots of the virtual kernel: plan, guest, records."""
