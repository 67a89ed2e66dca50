# SPDX-License-Identifier: Apache-2.0
"""Build of the virtual kernel from Linux's source."""
