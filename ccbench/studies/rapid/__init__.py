# SPDX-License-Identifier: Apache-2.0
"""Studies of Konda and Kaur, RAPID."""
