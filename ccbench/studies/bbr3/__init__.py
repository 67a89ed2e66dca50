# SPDX-License-Identifier: Apache-2.0
"""Studies of BBR version 3 (draft-ietf-ccwg-bbr)."""
