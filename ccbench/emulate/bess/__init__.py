# SPDX-License-Identifier: Apache-2.0
"""The engine ``bess``: real time, and a link that is a real software switch."""
