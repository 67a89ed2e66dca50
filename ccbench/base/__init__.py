# SPDX-License-Identifier: Apache-2.0
"""Foundations: validation, durable files, errors, random streams, estimates."""
