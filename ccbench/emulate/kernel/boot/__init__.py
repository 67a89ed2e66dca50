# SPDX-License-Identifier: Apache-2.0
"""One boot of the virtual kernel: its plan, the guest, and the records that it leaves."""
