# SPDX-License-Identifier: Apache-2.0
"""P. Goyal's thesis of 2022, BFC: studies of its figures."""
