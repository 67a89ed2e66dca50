# SPDX-License-Identifier: Apache-2.0
"""Foundations: checks of input, durable files, errors, random streams, estimates."""
