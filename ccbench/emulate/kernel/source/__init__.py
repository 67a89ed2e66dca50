# SPDX-License-Identifier: Apache-2.0
"""Linux's source: found, edited and compiled into the virtual kernel."""
