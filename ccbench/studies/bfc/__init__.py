# SPDX-License-Identifier: Apache-2.0
"""Studies of P. Goyal's thesis of 2022, BFC."""
