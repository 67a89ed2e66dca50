# SPDX-License-Identifier: Apache-2.0
"""Konda and Kaur, RAPID: studies of its figures."""
